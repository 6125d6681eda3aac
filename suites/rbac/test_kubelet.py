"""Kubelets delete the slices of drivers that are gone, on their own node."""

from __future__ import annotations

from drivers.install import Instance
from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, inconclusive
from fixtures.cluster.handle import ClusterHandle
from fixtures.driver.check_run import CheckRun
from fixtures.kube.discovery import Served
from fixtures.rbac.personas import slices
from fixtures.rbac.personas.identities import kubelet


@check(
    "rbac.kubelet.own-slices",
    level="core",
    source="GP-1a",
    hint="give system:nodes no right to resourceslices by RBAC, and keep the authorizer Node and the admission plugin "
    "NodeRestriction switched on",
)
def test_own_slices(check_run: CheckRun, cluster: ClusterHandle, instance: Instance, api: tuple[Served, ...]) -> None:
    """A kubelet can neither read nor write the slices of another node."""
    names = [node.name for node in cluster.workers][:2]
    if len(names) < 2:
        inconclusive("needs two nodes")
    own, other = names
    driver = f"kubelet-{instance.id}.dra-conformance"
    with (
        slices.probes(check_run.kube, driver, names, instance.run),
        kubelet(check_run.kube, check_run.shells[own]) as itself,
    ):
        check_run.note(f"The {itself.how}.")
        slices.await_own(itself, check_run.kube, driver, own)
        for version in slices.versions(api):
            theirs = slices.done(slices.of_node(itself, check_run.kube, version, driver, other))
            expect(not theirs, f"{version}: slices of another node cannot be written", f"granted: {', '.join(theirs)}")
            read = slices.readable(itself, check_run.kube, version, driver, other)
            expect(not read, f"{version}: slices of another node cannot be read", f"granted: {', '.join(read)}")
