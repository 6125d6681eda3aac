"""One context is singled out of the kubeconfigs of this user; what is wrong with them is told with a remedy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from fixtures.cluster.errors import ClusterError
from fixtures.cluster.existing.kubeconfig import Access, single_out


def config(*names: str, current: str = "", **parts: Any) -> dict[str, Any]:
    """A kubeconfig with contexts of these names, each with a cluster and a user of its own."""
    return {
        "contexts": [{"name": n, "context": {"cluster": f"c-{n}", "user": f"u-{n}", "namespace": "x"}} for n in names],
        "clusters": [{"name": f"c-{n}", "cluster": {"server": f"https://{n}:6443"} | parts} for n in names],
        "users": [{"name": f"u-{n}", "user": {"token": f"secret-{n}"} | parts} for n in names],
        "current-context": current,
    }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(path: Path, content: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def singled(home: Path, given: str = "", context: str = "", **environment: str) -> Access:
    return single_out(given, context, home / "session" / "kubeconfig", environment, home / "pod")


def refusal(home: Path, given: str = "", context: str = "", **environment: str) -> str:
    with pytest.raises(ClusterError) as caught:
        singled(home, given, context, **environment)
    assert caught.value.remedy
    return str(caught.value)


def test_a_run_has_one_context_and_nothing_of_the_others(home: Path) -> None:
    file = write(home / "mine", config("dev", "prod", current="prod"))
    access = singled(home, file, "dev")
    assert (access.context, access.server) == ("dev", "https://dev:6443")
    text = access.kubeconfig.read_text()
    assert "prod" not in text
    assert yaml.safe_load(text)["current-context"] == "dev"
    assert yaml.safe_load(text)["users"] == [{"name": "u-dev", "user": {"token": "secret-dev"}}]
    assert access.kubeconfig.stat().st_mode & 0o777 == 0o600


def test_without_a_name_the_current_context_counts(home: Path) -> None:
    assert singled(home, write(home / "mine", config("dev", "prod", current="prod"))).context == "prod"


def test_a_file_that_is_named_goes_before_the_environment_before_the_users_own(home: Path) -> None:
    write(home / ".kube" / "config", config("own", current="own"))
    environment = write(home / "env", config("env", current="env"))
    named = write(home / "named", config("named", current="named"))
    assert singled(home).context == "own"
    assert singled(home, KUBECONFIG=environment).context == "env"
    assert singled(home, named, KUBECONFIG=environment).context == "named"


def test_several_files_are_one_in_which_the_first_counts(home: Path) -> None:
    first = write(home / "a", config("dev"))
    second = write(home / "b", config("dev", "prod", current="prod"))
    both = os.pathsep.join([first, str(home / "missing"), second])
    assert singled(home, KUBECONFIG=both).context == "prod"
    assert singled(home, context="dev", KUBECONFIG=both).server == "https://dev:6443"


def test_paths_are_those_of_the_files_they_stand_in(home: Path) -> None:
    parts = {"certificate-authority": "ca.crt", "client-key": "/abs/key", "exec": {"command": "./login", "args": ["x"]}}
    access = singled(home, write(home / "deep" / "mine", config("dev", current="dev", **parts)))
    written = yaml.safe_load(access.kubeconfig.read_text())
    assert written["clusters"][0]["cluster"]["certificate-authority"] == str(home / "deep" / "ca.crt")
    user = written["users"][0]["user"]
    assert user["client-key"] == "/abs/key"
    assert user["exec"] == {"command": str(home / "deep" / "login"), "args": ["x"]}


def test_a_program_of_the_path_is_left_to_the_path(home: Path) -> None:
    access = singled(home, write(home / "mine", config("dev", current="dev", exec={"command": "aws"})))
    assert yaml.safe_load(access.kubeconfig.read_text())["users"][0]["user"]["exec"] == {"command": "aws"}


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_has_its_service_account(home: Path, host: str, server: str) -> None:
    write(home / "pod" / "token", "t")
    access = singled(home, KUBERNETES_SERVICE_HOST=host)
    assert (access.context, access.server) == ("in-cluster", server)
    assert yaml.safe_load(access.kubeconfig.read_text())["users"][0]["user"] == {"tokenFile": str(home / "pod/token")}


def test_a_pod_with_a_kubeconfig_uses_that(home: Path) -> None:
    write(home / "pod" / "token", "t")
    assert singled(home, KUBECONFIG=write(home / "mine", config("dev", current="dev"))).context == "dev"


@pytest.mark.parametrize(
    ("content", "context", "says"),
    [
        (config("dev", "prod", current="dev"), "prd", "no context 'prd'; did you mean 'prod'? It has: dev, prod."),
        (config("dev", current="dev"), "zzz", "no context 'zzz'; It has: dev."),
        (config("dev", current="gone"), "", "no current context 'gone'"),
        (config("dev"), "", "no current context.\nRemedy: Name one with --dra-context: dev."),
        (config("dev", current="dev") | {"clusters": []}, "", "names the cluster 'c-dev', which the kubeconfig does"),
        (config("dev", current="dev") | {"users": None}, "", "names the user 'u-dev', which the kubeconfig does not"),
        (config(), "", "There is no kubeconfig with a context"),
        ("", "", "There is no kubeconfig with a context"),
        ("a: [", "", "is no kubeconfig that can be read: ParserError"),
        ("words", "", "is no kubeconfig that can be read: AttributeError"),
        ("contexts: [{}]", "", "is no kubeconfig that can be read: KeyError"),
    ],
)
def test_what_is_wrong_is_told_with_a_remedy(home: Path, content: object, context: str, says: str) -> None:
    assert says in refusal(home, write(home / "mine", content), context)


def test_a_file_that_is_named_must_exist(home: Path) -> None:
    assert "There is no kubeconfig /no/such." in refusal(home, "/no/such")


def test_where_it_was_looked_for_is_told(home: Path) -> None:
    assert "KUBECONFIG is not set, ~/.kube/config has none" in refusal(home)
    assert "KUBECONFIG is /no/such" in refusal(home, KUBECONFIG="/no/such")
