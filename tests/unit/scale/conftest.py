"""A reference load as a healthy cluster answers it, to be changed by each test."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from fixtures.scale.generator import Pace
from fixtures.scale.loader import Clearing, Phase
from fixtures.scale.on_nodes import Spent, table
from fixtures.scale.prepared import Operation, Prepared
from fixtures.scale.quantiles import Quantiles
from fixtures.scale.reference import Reference, Side
from fixtures.scale.series import Queue
from fixtures.scale.started import Started
from fixtures.scale.startup_latency import WITH_CLAIM, WITHOUT_CLAIM, Stage
from fixtures.scale.usage import API_SERVER, CONTROLLER_MANAGER, SCHEDULER, Usage

PODS = 100


def flat(seconds: float, count: int = PODS) -> Quantiles:
    return Quantiles(seconds, seconds, seconds, seconds, count)


def a_phase(
    name: str = "filling",
    *,
    claims: bool = True,
    unfinished: int = 0,
    stages: Mapping[Stage, float] = MappingProxyType({}),
) -> Phase:
    spans = WITH_CLAIM if claims else WITHOUT_CLAIM
    return Phase(
        name=name,
        claims=claims,
        pods=PODS,
        unfinished=unfinished,
        took=10.0,
        stages={stage: flat(stages.get(stage, 0.1)) for stage in spans},
        pace=Pace(flat(0.01), rate=10.0, cpu=0.1),
    )


def a_side(*, claims: bool, calls: float) -> Side:
    used = Usage(calls=calls * 2 * PODS, cpu=1.0, memory=1 << 27)
    return Side(
        filling=a_phase(claims=claims),
        churning=a_phase("churning", claims=claims),
        clearing=Clearing(0.0, 1.0, 0, 0),
        usage={CONTROLLER_MANAGER: used, SCHEDULER: used, API_SERVER: used},
    )


@pytest.fixture
def reference() -> Reference:
    work = {0.1: 100.0, 1.0: 100.0, math.inf: 100.0}
    queue = [Queue(float(at), 30.0 * at, 1.0, {bound: count * at for bound, count in work.items()}) for at in range(9)]
    return Reference(a_side(claims=False, calls=2.0), a_side(claims=True, calls=5.0), queue, 0.0)


@pytest.fixture
def with_filling(reference: Reference) -> Callable[[Phase], Reference]:
    def change(filling: Phase) -> Reference:
        return replace(reference, claims=replace(reference.claims, filling=filling))

    return change


@pytest.fixture
def prepared() -> Prepared:
    quick = Operation(flat(0.2), flat(0.1))
    spent = {"kubelet": Spent(1.0, 1 << 27), "driver": Spent(0.5, 1 << 25)}
    operations = {"PrepareResources": quick, "UnprepareResources": quick}
    started = Started((a_phase("churning on real nodes"),), flat(0.1), None)
    return Prepared(operations, started, table(PODS, spent, spent, spent))
