"""A driver that cannot be rendered is a wrong option, for whatever would render it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drivers.loading import CATALOG, load
from fixtures import images, incluster, rights
from fixtures.incluster.__main__ import main as incluster_main
from fixtures.options.package import prepare
from fixtures.options.values import UsageError
from fixtures.rights.__main__ import main as rights_main


@pytest.fixture
def lacking(tmp_path: Path) -> Path:
    """A driver whose manifest names a DaemonSet that nothing renders."""
    text = (CATALOG / "kubernetes-pydra.yaml").read_text().replace('daemonSets: ["{prefix}"]', "daemonSets: [nosuch]")
    for name in ("kubernetes-pydra/driver.yaml.j2", "pydra_server.py"):
        text = text.replace(name, str(CATALOG / name))
    file = tmp_path / "driver.yaml"
    file.write_text(text)
    return file


def test_what_is_wrong_is_told_with_the_driver_and_a_remedy(lacking: Path) -> None:
    with pytest.raises(UsageError) as caught:
        prepare(load(str(lacking)), print)
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith(
        "--dra-driver: kubernetes-pydra: version 0.1.0: `workload.daemonSets`: no DaemonSet is called"
    )
    assert last.startswith("Remedy: correct the package, or what the driver's manifest says about it")


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (images.main, ["--dra-driver"]),
        (rights_main, ["--practice=driver", "--driver"]),
        (incluster_main, ["manifests", "--practice=driver", "--driver"]),
    ],
    ids=[images.__name__, rights.__name__, incluster.__name__],
)
def test_commands_that_render_it_end_with_exit_code_2(
    lacking: Path, capsys: pytest.CaptureFixture[str], main: Callable[[list[str]], int], words: list[str]
) -> None:
    assert main([*words, str(lacking)]) == 2
    said = capsys.readouterr()
    assert "no DaemonSet is called 'nosuch'; there are: driver-rehearsal" in said.err
    assert said.out == ""
