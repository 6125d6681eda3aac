"""A run of the suite on each shape finds what there is to be found in it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.cluster.kind.by_hand import PlainCluster
from fixtures.cluster.kind.config import DEVICE_LABEL
from tests.shapes.expectations import Expected
from tests.shapes.layout import SHAPES

if TYPE_CHECKING:
    from tests.runs import Suite


@contextmanager
def tainted_cluster(directory: Path, taint: str) -> Iterator[list[str]]:
    """A plain kind cluster whose workers have a taint; yields the options for a run that may do anything in it."""
    directory.mkdir()
    with PlainCluster.made(directory, print) as made:
        nodes = [node["metadata"]["name"] for node in made.kube.list("Node", labels=DEVICE_LABEL)]
        words = [made.image.kubectl, "--kubeconfig", made.kubeconfig, "taint", "node", *nodes, taint]
        made.commands.run(words, limit=60)
        there = [f"--dra-kubeconfig={made.kubeconfig}", f"--dra-context={made.context}"]
        yield ["--dra-cluster=existing", *there, "--dra-allow-disruptive"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_finds_what_the_shape_lacks(shape: str, manifests: dict[str, Path], suite: Suite, tmp_path: Path) -> None:
    expected = Expected.of(shape)
    driver = f"--dra-driver={manifests[shape]}"
    if expected.taint:
        with tainted_cluster(tmp_path / "cluster", expected.taint) as options:
            done = suite.run(driver, *options)
    else:
        done = suite.run(driver)
    assert done.report, done.said
    assert expected.surprises(done.report.checks) == []
