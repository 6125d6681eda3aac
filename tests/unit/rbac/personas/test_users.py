"""What operators and viewers try."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.rbac.personas import reviews, users

if TYPE_CHECKING:
    from tests.unit.rbac.personas.conftest import Stage

BASE = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"


def test_an_operator_with_all_rights_is_stopped_nowhere(stage: Stage) -> None:
    kube = stage.scripted(default=200)
    assert users.stopped(stage.persona(kube), stage.served) == []
    assert len(kube.asked) == 2 * 2 * 8
    assert all(parameters.get("dry_run") is None for _, _, parameters in kube.asked)
    names = {p["body"]["metadata"]["name"] for method, _, p in kube.asked if method == "post"}
    assert names == {"someone-v1", "someone-v1beta1"}


def test_in_somebody_elses_namespace_nothing_is_made(stage: Stage) -> None:
    kube = stage.scripted(default=200)
    users.stopped(stage.persona(kube, own=False), stage.served)
    assert {p["dry_run"] for method, _, p in kube.asked if method != "get"} == {"All"}


@pytest.mark.parametrize(
    ("line", "answer", "told"),
    [
        (f"post {BASE}", 403, ["v1 create resourceclaims in ns: HTTP 403 no"]),
        (f"post {BASE}", (422, "policy"), ["v1 create resourceclaims in ns: HTTP 422 policy"]),
        (f"patch {BASE}/", 404, []),
        (f"get {BASE}/", 403, ["v1 get resourceclaims in ns: HTTP 403 no"]),
    ],
)
def test_each_stop_is_told_with_the_servers_words(stage: Stage, line: str, answer: object, told: list[str]) -> None:
    kube = stage.scripted({line: answer}, default=200)
    assert users.stopped(stage.persona(kube), [item for item in stage.served if item.name == "resourceclaims"]) == told


def test_a_watch_that_ends_at_once_was_granted(stage: Stage) -> None:
    kube = stage.scripted({f"get {BASE}": 400}, default=200)
    told = users.stopped(stage.persona(kube), stage.served)
    assert not [line for line in told if "watch" in line]


def test_a_claim_is_written_as_each_version_wants_it(stage: Stage) -> None:
    old, new = (next(i for i in stage.served if i == type(i)(v, "resourceclaims", True)) for v in ("v1beta1", "v1"))
    request = users.body_of(old, "c", "ns")["spec"]["devices"]["requests"][0]
    assert request == {"name": "device", "deviceClassName": "any"}
    request = users.body_of(new, "c", "ns", admin_access=True)["spec"]["devices"]["requests"][0]
    assert request == {"name": "device", "exactly": {"deviceClassName": "any", "adminAccess": True}}


def test_admin_access_is_had_only_if_it_is_in_what_was_made(stage: Stage) -> None:
    without: dict[str, Any] = {"spec": {"devices": {"requests": [{"exactly": {}}]}}}
    given = {"spec": {"devices": {"requests": [{"exactly": {"adminAccess": True}}]}}}
    claims = [item for item in stage.served if item.name == "resourceclaims" and item.version == "v1"]
    assert users.admin_access(stage.persona(stage.scripted({f"post {BASE}": without})), claims) == []
    assert users.admin_access(stage.persona(stage.scripted({f"post {BASE}": 422})), claims) == []
    found = users.admin_access(stage.persona(stage.scripted({f"post {BASE}": given})), claims)
    assert found == ["v1 create resourceclaims in ns with adminAccess"]


def test_the_label_is_tried_on_the_own_namespace_without_changing_it(stage: Stage) -> None:
    kube = stage.scripted({"patch /api/v1/namespaces/ns": 200})
    assert users.admin_access(stage.persona(kube), ()) == ["v1 patch namespaces ns"]
    assert {(path, p["dry_run"]) for _, path, p in kube.asked} == {("/api/v1/namespaces/ns", "All")}


def test_every_version_and_part_is_tried(stage: Stage) -> None:
    assert len(users.of_theirs(stage.served, "ns")) == 2 * 2 * 8
    assert {str(a) for a in users.writes_of_status(stage.served, "ns")} == {
        f"{version} {verb} resourceclaims/status in ns" for version in ("v1", "v1beta1") for verb in ("update", "patch")
    }
    assert len(users.writes_of(stage.served, "deviceclasses")) == 2 * 5
    assert users.writes_of(stage.served, "devicetaintrules") == []
    assert len(users.writes_of_cluster_scoped(stage.served)) == 2 * 2 * 5


def test_reviews_ask_for_the_same_as_the_request(stage: Stage) -> None:
    admin, kube = stage.scripted(), stage.scripted()
    attempts = users.writes_of_status(stage.served, "ns")[:1]
    assert reviews.disagreements(admin, stage.persona(kube), attempts) == []
    ((path, own),) = kube.reviews
    ((other_path, other),) = admin.reviews
    assert path.endswith("/selfsubjectaccessreviews")
    assert other_path.endswith("/subjectaccessreviews")
    assert (
        own["spec"]["resourceAttributes"]
        == other["spec"]["resourceAttributes"]
        == {
            "group": "resource.k8s.io",
            "version": "v1",
            "resource": "resourceclaims",
            "subresource": "status",
            "verb": "update",
            "namespace": "ns",
            "name": "dra-conformance-nonexistent",
        }
    )
    assert other["spec"]["user"] == "system:serviceaccount:ns:someone"
    assert "system:serviceaccounts:ns" in other["spec"]["groups"]


@pytest.mark.parametrize(("request_", "own", "admin"), [(200, False, False), (403, True, True), (200, True, False)])
def test_any_difference_is_told(stage: Stage, request_: int, own: bool, admin: bool) -> None:
    first, second = stage.scripted(), stage.scripted(default=request_)
    first.allows, second.allows = admin, own
    attempts = users.writes_of(stage.served, "deviceclasses")[:1]
    (line,) = reviews.disagreements(first, stage.persona(second), attempts)
    assert line.startswith(f"ServiceAccount ns/someone: v1 create deviceclasses: the request gets HTTP {request_}")


def test_parts_of_claims_are_asked_by_reviews(stage: Stage) -> None:
    kube = stage.scripted()
    kube.allows = True
    assert len(reviews.parts_of_claims(stage.persona(kube))) == 6
    asked = [body["spec"]["resourceAttributes"] for _, body in kube.reviews]
    assert [(a["subresource"], a["verb"], a["namespace"]) for a in asked[:3]] == [
        ("binding", "update", ""),
        ("binding", "patch", ""),
        ("driver", "associated-node:update", "ns"),
    ]
    assert json.dumps(asked).count("arbitrary-node") == 2
