"""The catalogue is what the suites say, and every check in it can be trusted to be able to fail."""

from __future__ import annotations

import pytest
import yaml

from drivers.saboteurs import REGISTRY
from fixtures.catalogue.__main__ import generated
from fixtures.check.collected import FILE, checks
from fixtures.cluster.existing.cluster import CAPABILITIES as ANYWHERE
from fixtures.cluster.existing.cluster import TOPOLOGY
from reports.clauses import load_clauses, resolve
from reports.model import PRACTICES, CatalogueEntry, load_catalogue

# A driver's own checks are also about what it does before and after it is away.
ALSO = {"driver": "upgrade"}
CAPABILITIES = {
    *("node-shell", "kubelet-restart", "node-restart", "control-plane-config", "simulated-nodes", "old-kubelet"),
}
ENTRIES = load_catalogue(FILE)
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])


def test_the_catalogue_and_the_readmes_of_the_practices_are_up_to_date() -> None:
    assert len(generated()) == 1 + len(PRACTICES)
    stale = [str(path) for path, text in generated().items() if not path.exists() or path.read_text() != text]
    assert not stale, "run `python -m fixtures.catalogue`"


@every_entry
def test_the_readme_of_a_practice_tells_each_of_its_checks_with_remedy_and_saboteurs(entry: CatalogueEntry) -> None:
    text = (FILE.parent / entry.practice / "README.md").read_text()
    section = text.partition(f"\n## {entry.id}\n")[2].partition("\n## ")[0]
    (hint,) = (check.hint for check, _ in checks() if check.id == entry.id)
    assert all(part in section for part in (entry.claim, entry.level, entry.source, hint))
    assert all(f"`{name}`: {REGISTRY[name].plants}" in section for name in entry.saboteurs)


def test_the_catalogue_has_each_check_once() -> None:
    ids = [check.id for check, _ in checks()]
    assert sorted(ids) == sorted(entry.id for entry in ENTRIES)
    assert len(set(ids)) == len(ids)


@every_entry
def test_a_check_has_a_saboteur_that_breaks_it(entry: CatalogueEntry) -> None:
    assert entry.saboteurs
    assert all(entry.id in REGISTRY[saboteur].breaks for saboteur in entry.saboteurs)


@every_entry
def test_a_check_is_named_after_its_practice_and_says_one_sentence(entry: CatalogueEntry) -> None:
    assert entry.id.partition(".")[0] == entry.practice
    assert entry.claim[0].isupper()
    assert entry.claim.endswith(".")
    assert "\n" not in entry.claim


@every_entry
def test_a_check_names_a_source_that_can_be_found(entry: CatalogueEntry) -> None:
    assert resolve(entry.source).link, "a clause of suites/clauses.yaml, KEP-NUMBER, or OWNER/REPOSITORY: PATH"


@every_entry
def test_the_clause_that_a_check_names_belongs_to_its_practice(entry: CatalogueEntry) -> None:
    clause = load_clauses().get(entry.source)
    assert clause is None or clause.practice in (entry.practice, ALSO.get(entry.practice))


def test_every_clause_has_a_check_or_says_why_not() -> None:
    contextual = {clause.id: clause.contextual for clause in load_clauses().values() if clause.contextual}
    assert load_clauses().keys() - contextual == load_clauses().keys() & {entry.source for entry in ENTRIES}
    assert {reason.split()[0] for reason in contextual.values()} <= {entry.id for entry in ENTRIES}


@every_entry
def test_a_check_needs_only_capabilities_that_there_are(entry: CatalogueEntry) -> None:
    assert set(entry.capabilities) <= CAPABILITIES


def test_every_check_tells_its_remedy() -> None:
    assert not [check.id for check, _ in checks() if len(check.hint.split()) < 5]


def test_a_check_with_a_feature_is_a_must_only_where_the_feature_is() -> None:
    assert not [check.id for check, _ in checks() if check.features and check.level == "core"]


def test_a_must_can_be_met_in_any_place_on_any_version_by_any_driver() -> None:
    """What cannot be met somewhere would make every run there `partial` for ever."""
    limited = [c.id for c, _ in checks() if c.topology != TOPOLOGY or c.fake or c.since or {*c.capabilities} - ANYWHERE]
    core = {check.id for check, _ in checks() if check.level == "core"}
    assert not core.intersection(limited)


def test_the_practices_are_in_the_order_of_the_page() -> None:
    practices = [entry["practice"] for entry in yaml.safe_load(FILE.read_text())["checks"]]
    assert list(dict.fromkeys(practices)) == ["rbac", "driver", "upgrade", "liveness", "drain", "scale"]
    assert practices == sorted(practices, key=PRACTICES.index)
