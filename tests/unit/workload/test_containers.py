"""What a container writes into its log as it starts, by a real shell, and how that is read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from drivers.loading import load
from drivers.manifest import Proof
from fixtures.check.outcomes import CheckFailed
from fixtures.workload.containers import container_object, read_findings
from tests.unit.workload.test_workloads import Shelf, workloads

LOG = """\
2026-01-01T00:00:00.000000001Z [environment]
2026-01-01T00:00:00.000000002Z PATH=/bin
2026-01-01T00:00:00.000000003Z TEXT=a = b
2026-01-01T00:00:00.000000004Z [proof]
2026-01-01T00:00:00.000000005Z device-0
2026-01-01T00:00:00.000000006Z [ended]
2026-01-01T00:00:00.000000007Z 1
2026-01-01T00:00:00.000000008Z findings-end-here
2026-01-01T00:00:00.000000009Z more
"""


def proof(**keys: Any) -> Proof:
    return Proof.model_validate(keys)


def written(declared: Proof | None, **environment: str) -> dict[str, list[str]]:
    """What a container's script finds here; the kubelet makes `$` of `$$`."""
    *_, script = container_object("main", [], linger=0, lasts=0, proof=declared)["command"]
    done = subprocess.run(
        ["/bin/sh", "-c", script.replace("$$", "$")],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return read_findings("".join(f"2026Z {line}\n" for line in done.stdout.splitlines()))


def test_a_container_tells_its_surroundings_to_their_end() -> None:
    found = written(None, TEXT="a = b")
    assert found.keys() == {"environment", "files", "mounts", "links", "cpus"}
    assert "TEXT=a = b" in found["environment"]
    assert "/dev/null|character special file|1:3" in found["files"]
    assert any(line.startswith("lo ") for line in found["links"])
    assert [line.partition(":")[0] for line in found["cpus"]] == ["Cpus_allowed_list"]


def test_a_container_lists_the_paths_that_a_proof_may_mean(tmp_path: Path) -> None:
    for name in ("card0 1", "card1", "other"):
        (tmp_path / name).touch()
    found = written(proof(path=f"{tmp_path}/card{{device}}"))
    assert found["proof"] == [f"{tmp_path}/card0 1", f"{tmp_path}/card1"]
    assert written(proof(path=f"{tmp_path}/nosuch{{device}}"))["proof"] == []


def test_a_container_runs_the_command_of_a_proof() -> None:
    found = written(proof(command=["sh", "-c", "echo $$ \"$(echo 'a  b')\"; echo no >&2; exit 3"], output="{device}"))
    assert re.fullmatch(r"\d+ a  b\n", "\n".join(found["proof"]))
    assert found["ended"] == ["3"]
    assert written(proof(command=["nosuch"], output="{device}"))["ended"] == ["127"]


def test_what_a_container_wrote_is_read_by_its_heads_until_the_end() -> None:
    assert read_findings(LOG) == {"environment": ["PATH=/bin", "TEXT=a = b"], "proof": ["device-0"], "ended": ["1"]}


def test_findings_are_read_once_they_are_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = iter(["", LOG[: LOG.index("Z [ended]")], LOG])
    monkeypatch.setattr(Shelf, "logs", lambda *_: next(logs))
    assert workloads(Shelf()).findings("p")["ended"] == ["1"]


def test_findings_that_are_never_whole_fail_the_check() -> None:
    with pytest.raises(CheckFailed, match="container main of p writes what it finds"):
        workloads(Shelf(log=LOG[: LOG.index("Z [ended]")]), api_answer=0.01).findings("p")


def test_a_pod_has_the_proof_of_its_driver() -> None:
    kube = Shelf()
    workloads(kube).pod("p")
    (made,) = kube.created[0]["spec"]["containers"]
    assert made == container_object("main", [], linger=0, lasts=None, proof=load("fake").proof)
