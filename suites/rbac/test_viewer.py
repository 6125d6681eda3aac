"""Viewers look at what operators deploy."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.kube.discovery import Served
from fixtures.rbac.personas import users
from fixtures.rbac.personas.attempts import WRITES, granted, refused
from fixtures.rbac.personas.identities import Persona


@check(
    "rbac.viewer.reads-only",
    level="core",
    source="GP-1",
    hint="keep get, list and watch of claims and templates in the role `view`, and nothing else of DRA",
)
def test_reads_only(viewer: Persona, api: tuple[Served, ...]) -> None:
    """A viewer reads claims and templates in the own namespace and writes nothing of DRA."""
    unreadable = refused(viewer.kube, users.of_theirs(api, viewer.namespace, users.READS))
    expect(not unreadable, "claims and templates can be read", f"refused: {', '.join(unreadable)}")
    writes = [
        *users.of_theirs(api, viewer.namespace, WRITES),
        *users.writes_of_status(api, viewer.namespace),
        *users.writes_of_cluster_scoped(api),
    ]
    written = granted(viewer.kube, writes)
    expect(not written, "every write is refused", f"granted: {', '.join(written)}")
