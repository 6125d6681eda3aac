"""What the API says of a cluster's nodes."""

import pytest

from fixtures.cluster.handle import Role
from fixtures.cluster.kind.readiness import role_of


@pytest.mark.parametrize(
    ("labels", "role"),
    [
        ({"node-role.kubernetes.io/control-plane": ""}, "control-plane"),
        ({"dra-conformance/room": "common"}, "worker"),
        ({"dra-conformance/room": "spare"}, "spare"),
        ({"dra-conformance/simulated": "true"}, "other"),
        ({}, "worker"),
    ],
)
def test_labels_tell_what_a_node_is_for(labels: dict[str, str], role: Role) -> None:
    assert role_of(labels) == role
