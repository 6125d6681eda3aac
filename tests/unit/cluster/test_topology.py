"""What a run's choice of version and node image means for each topology."""

import pytest

from fixtures.cluster.kind.config import minor_of
from fixtures.cluster.kind.topology import SKEW, STANDARD, ClusterSettings


def test_run_chooses_for_the_standard_topology() -> None:
    assert ClusterSettings("1.36.3", "example.com/node:1").choice_for(STANDARD) == ("1.36.3", "example.com/node:1")


@pytest.mark.parametrize(
    ("node_image", "choice"), [("auto", "auto"), ("build", "build"), ("example.com/node:1", "auto")]
)
def test_mixed_cluster_has_its_own_version(node_image: str, choice: str) -> None:
    assert ClusterSettings("1.37.2", node_image).choice_for(SKEW) == ("1.35.4", choice)


def test_named_image_of_the_mixed_clusters_version_is_used() -> None:
    assert ClusterSettings("1.35.4", "example.com/node:1").choice_for(SKEW) == ("1.35.4", "example.com/node:1")


def test_kubelet_of_the_mixed_cluster_is_as_old_as_its_control_plane_accepts() -> None:
    assert SKEW.kubernetes is not None
    assert SKEW.old_kubelet is not None
    major, minor = minor_of(SKEW.kubernetes)
    assert minor_of(SKEW.old_kubelet) == (major, minor - 3)


def test_only_the_standard_topology_has_spare_nodes() -> None:
    assert STANDARD.roles.count("spare") == 3
    assert "spare" not in SKEW.roles


def test_a_run_may_want_more_spare_nodes_where_there_are_any() -> None:
    settings = ClusterSettings("1.37.2", "auto", more_spares=2)
    assert settings.shape("standard").roles == (*STANDARD.roles, "spare", "spare")
    assert settings.shape("skew") == SKEW
