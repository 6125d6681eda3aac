"""Docker's configuration and the runtime wrapper for hosts without CAP_SYS_RESOURCE."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fixtures.cluster import engine
from fixtures.cluster.errors import ClusterError
from fixtures.kube import polls

WRAPPER = Path(engine.__file__).with_name("runc_without_sys_resource.sh")


def test_daemon_configuration_keeps_what_it_had() -> None:
    present = {"log-driver": "journald", "runtimes": {"gvisor": {"path": "/usr/bin/runsc"}}}
    assert engine.with_wrapper(present) == {
        "log-driver": "journald",
        "default-runtime": engine.WRAPPER_NAME,
        "runtimes": {"gvisor": {"path": "/usr/bin/runsc"}, engine.WRAPPER_NAME: {"path": str(engine.WRAPPER)}},
    }


def run_wrapper(tmp_path: Path, *arguments: str) -> str:
    """Run the wrapper with a runc that prints its arguments."""
    runc = tmp_path / "bin" / "runc"
    runc.parent.mkdir(exist_ok=True)
    runc.write_text('#!/bin/sh\necho "$@"\n')
    runc.chmod(0o755)
    env = {"PATH": f"{runc.parent}:{os.environ['PATH']}"}
    return subprocess.run(["sh", WRAPPER, *arguments], env=env, check=True, capture_output=True, text=True).stdout


def process_with(*capabilities: str) -> dict[str, Any]:
    return {"args": ["sh"], "capabilities": {"bounding": list(capabilities), "effective": list(capabilities)}}


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize(
    "capabilities",
    [
        ["CAP_SYS_RESOURCE"],
        ["CAP_CHOWN", "CAP_SYS_RESOURCE"],
        ["CAP_SYS_RESOURCE", "CAP_KILL"],
        ["CAP_CHOWN", "CAP_SYS_RESOURCE", "CAP_KILL"],
        ["CAP_CHOWN"],
    ],
)
def test_new_container_goes_without_the_capability(
    tmp_path: Path, capabilities: list[str], separators: tuple[str, str]
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"process": process_with(*capabilities)}, separators=separators))
    printed = run_wrapper(tmp_path, "--root", "/run/x", "create", "--bundle", str(tmp_path), "some-id")
    rest = [capability for capability in capabilities if capability != "CAP_SYS_RESOURCE"]
    assert json.loads(config.read_text()) == {"process": process_with(*rest)}
    assert printed == f"--root /run/x create --bundle {tmp_path} some-id\n"


@pytest.mark.parametrize("form", ["--process {}", "-p {}", "--process={}"])
def test_command_in_a_container_goes_without_the_capability(tmp_path: Path, form: str) -> None:
    process = tmp_path / "process.json"
    process.write_text(json.dumps(process_with("CAP_SYS_RESOURCE", "CAP_KILL")))
    run_wrapper(tmp_path, "exec", *form.format(process).split(), "--detach", "some-id")
    assert json.loads(process.read_text()) == process_with("CAP_KILL")


def test_other_commands_pass_through(tmp_path: Path) -> None:
    assert run_wrapper(tmp_path, "--root", "/run/x", "state", "some-id") == "--root /run/x state some-id\n"


def test_without_docker_and_root_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(engine, "answering_client", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError) as caught:
        engine.find_engine(print)
    assert "systemctl start docker" in caught.value.remedy
    assert "DOCKER_HOST" in caught.value.remedy


def test_installing_is_only_tried_where_apt_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(engine, "answering_client", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ClusterError, match="Debian and Ubuntu only"):
        engine.find_engine(print)


def test_a_daemon_outlives_the_place_of_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon, seen = tmp_path / "dockerd", tmp_path / "seen"
    daemon.write_text(f"#!/bin/sh\nenv >{seen}.part && mv {seen}.part {seen}\n")
    daemon.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("fixtures.cluster.host.has_capability", lambda _: True)
    monkeypatch.setattr(engine, "SYSTEMD", tmp_path / "none")
    monkeypatch.setattr(engine, "_daemon_log", lambda: tmp_path / "log")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    engine._start(lambda _: None)
    assert polls.poll(seen.exists, 10.0)
    assert "TMPDIR" not in seen.read_text()
    assert "PATH" in seen.read_text()
