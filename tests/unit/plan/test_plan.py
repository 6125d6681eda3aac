"""The plan: one decision for what is printed and for what is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fixtures.check.decorator import Check
from fixtures.cluster.existing.kubeconfig import Access
from fixtures.cluster.handle import ClusterHandle, Node
from fixtures.cluster.kind.topology import TOPOLOGIES
from fixtures.kube.api import Kube
from fixtures.options.options import OPTIONS, Options, parse
from fixtures.plan import offers
from fixtures.plan.offers import foreseen, given
from fixtures.plan.ruling import Offer, OfferedCluster, Ruling, left_out, ruled_out
from fixtures.rights.right import Right
from fixtures.rights.table import Table
from fixtures.run.questions import plan

ID = "drain.order.driver-last"
CHECK = Check(ID, "core", "GP-6", "wait")
PLACE = Offer({"standard": OfferedCluster("1.35.4", frozenset({"node-shell"}), takable=1)})


def options(**values: str) -> Options:
    given = {option.name: option.default for option in OPTIONS}
    return parse(given | values, {ID, "drain.order.other"})


def outcome(check: Check, offer: Offer = PLACE, /, **values: str) -> tuple[str | None, str] | None:
    ruling = ruled_out(check, options(**values), offer)
    return (ruling.outcome, ruling.reason) if ruling else None


def test_a_check_runs_where_nothing_is_against_it() -> None:
    assert outcome(CHECK) is None
    assert outcome(replace(CHECK, capabilities=("node-shell",), since="1.35", disturbs="node")) is None
    assert outcome(CHECK, check=ID, practice="drain,rbac") is None
    assert outcome(replace(CHECK, across_versions=True)) is None


@pytest.mark.parametrize(
    ("change", "offer", "values", "says"),
    [
        ({}, {}, {"practice": "rbac"}, (None, "the practice drain was not chosen (--dra-practice)")),
        ({}, {}, {"check": "drain.order.other"}, ("not-run", "other checks were chosen (--dra-check)")),
        ({}, {}, {"exempt": f"{ID}=we have our own"}, ("exempt", "we have our own")),
        (
            {"features": ("rolling-update",)},
            {},
            {"driver": "kubernetes-pydra"},
            ("not-supported", "the driver's manifest declares rolling-update unsupported"),
        ),
        ({"fake": True}, {}, {"driver": "kubernetes-pydra"}, ("not-applicable", "needs the fake driver's switches")),
        (
            {"across_versions": True},
            {},
            {"driver": "kubernetes-pydra"},
            ("not-supported", "the driver's manifest names no other version (`upgrade`)"),
        ),
        (
            {"topology": "skew"},
            {},
            {},
            ("not-applicable", "needs a cluster of topology skew, which cannot be had here"),
        ),
        ({"since": "1.36"}, {}, {}, ("not-applicable", "needs Kubernetes 1.36 or later, here is 1.35.4")),
        (
            {"capabilities": ("node-shell", "node-restart", "old-kubelet")},
            {},
            {},
            ("not-applicable", "needs node-restart, old-kubelet, which this place does not allow"),
        ),
        (
            {"takes": 2},
            {"clusters": {"standard": OfferedCluster("1.35.4", frozenset(), takable=1)}},
            {},
            ("inconclusive", "needs 3 nodes that the driver is for, here is not more than 2"),
        ),
        (
            {"disturbs": "node"},
            {"disruptive": False},
            {},
            ("not-applicable", "disturbs drivers or nodes, which needs --dra-allow-disruptive with --dra-context NAME"),
        ),
        (
            {},
            {"missing": {ID: ("patch nodes", "list pods")}},
            {},
            ("inconclusive", "the runner lacks the right to patch nodes, list pods"),
        ),
    ],
)
def test_why_a_check_does_not_run(
    change: dict[str, Any], offer: dict[str, Any], values: dict[str, str], says: tuple[str | None, str]
) -> None:
    assert outcome(replace(CHECK, **change), replace(PLACE, **offer), **values) == says


def test_a_preinstalled_driver_is_given_nothing_that_its_vendor_has_not_shipped() -> None:
    chosen = options()
    preinstalled = chosen.driver.install.model_copy(update={"kind": "preinstalled"})
    there = replace(chosen, driver=chosen.driver.model_copy(update={"install": preinstalled}))
    altering = replace(CHECK, alters=True)
    assert ruled_out(altering, chosen, PLACE) is None
    assert ruled_out(altering, there, PLACE) == Ruling(
        "not-applicable", "a preinstalled driver is given no other version than its own"
    )


def test_the_users_choice_comes_before_what_the_place_lacks() -> None:
    check = replace(CHECK, topology="skew", features=("rolling-update",))
    assert outcome(check, practice="rbac", driver="kubernetes-pydra") == left(check, practice="rbac")
    assert outcome(check, driver="kubernetes-pydra") == (
        "not-supported",
        "the driver's manifest declares rolling-update unsupported",
    )


@pytest.mark.parametrize(("disruptive", "planned"), [(True, True), (False, False)])
def test_the_verdict_does_not_miss_what_the_mode_leaves_out(disruptive: bool, planned: bool) -> None:
    check = replace(CHECK, capabilities=("old-kubelet",), disturbs="node")
    ruling = ruled_out(check, options(), replace(PLACE, disruptive=disruptive))
    assert ruling is not None
    assert (ruling.outcome, ruling.planned) == ("not-applicable", planned)


def left(check: Check, /, **values: str) -> tuple[str | None, str] | None:
    ruling = left_out(check, options(**values))
    return (ruling.outcome, ruling.reason) if ruling else None


@pytest.mark.parametrize(("since", "here"), [("1.9", "1.10.0"), ("1.36", "1.36.0-rc.1"), ("1.36", "v1.37.2+k3s1")])
def test_versions_are_compared_as_numbers(since: str, here: str) -> None:
    assert outcome(replace(CHECK, since=since), Offer({"standard": OfferedCluster(here, frozenset())})) is None


def test_an_offer_is_the_same_in_another_process() -> None:
    offer = Offer(PLACE.clusters, disruptive=False, missing={ID: ("list pods",)}, unrecorded=("drain.order.other",))
    assert Offer.from_json(offer.to_json()) == offer


def test_somebody_elses_cluster_is_loaded_in_a_run_of_the_scale_practice_alone() -> None:
    handle = ClusterHandle("standard", "theirs", Path(), "1.37.2", (), frozenset(), None, None, Path())
    assert given(options(cluster="existing"), handle).clusters.keys() == {"standard"}
    assert given(options(cluster="existing", practice="scale"), handle).clusters.keys() == {"standard", "scale"}


def test_kind_gives_simulated_nodes_only_for_a_load() -> None:
    assert foreseen(options()).clusters.keys() == TOPOLOGIES.keys() - {"scale"}
    check = replace(CHECK, topology="scale", capabilities=("simulated-nodes",))
    ruling = ruled_out(check, options(), foreseen(options()))
    assert ruling is not None
    assert (ruling.outcome, ruling.reason.endswith("(--dra-practice scale)")) == ("not-applicable", True)


def test_kind_gives_all_topologies_each_with_its_own_version() -> None:
    offer = foreseen(options(kubernetes="1.36.3", scale="small"))
    assert offer.clusters.keys() == TOPOLOGIES.keys()
    assert offer.clusters["standard"].kubernetes == "1.36.3"
    assert "node-shell" in offer.clusters["standard"].capabilities
    assert offer.clusters["skew"].kubernetes == "1.35.4"
    assert "old-kubelet" in offer.clusters["skew"].capabilities
    assert offer.disruptive


@pytest.mark.parametrize("disruptive", [False, True])
def test_an_existing_cluster_gives_itself_and_no_other_topology(
    disruptive: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nodes = tuple(Node(name, "worker", "") for name in ("a", "b"))
    handle = ClusterHandle("standard", "dev", tmp_path, "1.36.1", nodes, frozenset(), None, None, tmp_path)
    access = Access("dev", "https://dev", tmp_path)
    monkeypatch.setattr(offers, "examine", lambda _settings, _directory: (access, handle))
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: None)
    monkeypatch.setattr(offers, "missing", lambda *_: frozenset())
    monkeypatch.setattr(offers, "may", lambda *_: True)
    allowed = {"allow-disruptive": "true"} if disruptive else {}
    offer = foreseen(options(**{"cluster": "existing", "context": "dev"} | allowed))
    assert offer.clusters == {
        "standard": OfferedCluster("1.36.1", frozenset({"node-shell", "kubelet-restart"}), "dev", 1)
    }
    assert offer.disruptive == disruptive


def test_a_cluster_that_is_there_is_believed_more_than_the_options(tmp_path: Path) -> None:
    handle = ClusterHandle("standard", "k", tmp_path, "1.36.0", (), frozenset({"x"}), None, None, tmp_path)
    offer = given(options(), handle)
    assert offer.clusters["standard"] == OfferedCluster("1.36.0", frozenset({"x"}), "k")
    assert Offer.from_json(offer.to_json()) == offer
    assert offer.clusters["skew"] == foreseen(options()).clusters["skew"]


def test_rights_that_the_runner_lacks_hold_up_the_checks_that_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pods, nodes = Right.parse("get pods"), Right.parse("patch nodes")
    monkeypatch.setattr(Table, "load", lambda: Table(frozenset(), frozenset(), {ID: frozenset({pods, nodes})}))
    monkeypatch.setattr(offers, "missing", lambda _kube, wanted: wanted & {nodes})
    kube: Any = None
    offer = offers.with_rights(PLACE, options(), [ID], kube)
    assert offer.missing == {ID: ("patch nodes",)}
    assert outcome(CHECK, offer) == ("inconclusive", "the runner lacks the right to patch nodes")


@pytest.mark.parametrize(("everything", "unrecorded"), [(False, (ID,)), (True, ())])
def test_a_plan_tells_of_which_checks_no_rights_are_recorded_unless_the_runner_may_do_everything(
    everything: bool, unrecorded: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Table, "load", lambda: Table(frozenset(), frozenset(), {"drain.order.other": frozenset()}))
    monkeypatch.setattr(offers, "missing", lambda *_: frozenset())
    monkeypatch.setattr(offers, "may", lambda *_: everything)
    kube: Any = None
    offer = offers.with_rights(PLACE, options(), [ID, "drain.order.other"], kube)
    assert offer.unrecorded == unrecorded
    assert outcome(CHECK, offer) is None
    (line,) = (line for line in plan(options(), offer).splitlines() if f" {ID} " in line)
    assert line.split()[0] == "run"
    told = line.endswith(
        "But it is not recorded which rights this check needs (remedy: python -m fixtures.rights --record)."
    )
    assert told != everything


def test_the_plan_shows_every_check_once_in_the_order_of_the_page() -> None:
    chosen = options(practice="rbac,upgrade", exempt=f"{ID}=ours")
    lines = plan(chosen, replace(PLACE, disruptive=False)).splitlines()
    ids = [line.split()[1] for line in lines if line.startswith("  ")]
    assert len(ids) == len(set(ids)) > 10
    assert [line.partition(":")[0] for line in lines if not line.startswith("  ")][:-1] == [
        *("rbac", "driver", "upgrade", "liveness", "drain", "scale")
    ]
    shown = {line.split()[1]: line for line in lines if line.startswith("  ")}
    assert shown["rbac.operator.manages-claims"].split()[0] == "run"
    assert "not-applicable: " in shown["upgrade.seamless.slices-continuous"]
    assert shown[ID].endswith("the practice drain was not chosen (--dra-practice)")
    assert lines[-1].endswith("in a kind cluster that the run makes, Kubernetes 1.35.4. Nothing was made or changed.")
