"""Kubelets delete the slices of drivers that are gone, on their own node."""

from __future__ import annotations

from drivers.install import Instance
from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, inconclusive
from fixtures.cluster.handle import ClusterHandle
from fixtures.driver.scene import Scene
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
def test_own_slices(scene: Scene, cluster: ClusterHandle, instance: Instance, api: tuple[Served, ...]) -> None:
    """A kubelet can neither read nor write the slices of another node."""
    names = [node.name for node in cluster.workers][:2]
    if len(names) < 2:
        inconclusive("needs two nodes")
    own, other = names
    driver = f"kubelet-{instance.id}.dra-conformance"
    with slices.probes(scene.kube, driver, names, instance.run), kubelet(scene.kube, scene.shells[own]) as itself:
        scene.note(f"The {itself.how}.")
        slices.await_own(itself, scene.kube, driver, own)
        for version in slices.versions(api):
            theirs = slices.done(slices.of_node(itself, scene.kube, version, driver, other))
            expect(not theirs, f"{version}: slices of another node cannot be written", f"granted: {', '.join(theirs)}")
            read = slices.readable(itself, scene.kube, version, driver, other)
            expect(not read, f"{version}: slices of another node cannot be read", f"granted: {', '.join(read)}")
