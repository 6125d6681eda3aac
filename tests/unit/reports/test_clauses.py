"""What a check's source leads to, and how the clauses of the page are read."""

from pathlib import Path

import pytest

from reports.clauses import CLAUSES, PAGE, ClausesError, Source, load_clauses, resolve

CLAUSE = f"{{id: GP-1, practice: rbac, link: '{PAGE}#a-section', text: t}}"


def test_clauses_are_read_by_id_in_order(tmp_path: Path) -> None:
    file = tmp_path / "clauses.yaml"
    file.write_text(f"clauses: [{CLAUSE.replace('GP-1', 'GP-2b')}, {CLAUSE}]")
    assert list(load_clauses(file)) == ["GP-2b", "GP-1"]


def test_clauses_that_are_not_there_are_none(tmp_path: Path) -> None:
    assert load_clauses(tmp_path / "clauses.yaml") == {}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[]", "clauses"),
        ("clauses: [", "clauses"),
        ("clauses: [{id: GP-1}]", "practice"),
        (f"clauses: [{CLAUSE[:-1]}, txt: t}}]", "txt"),
        (f"clauses: [{CLAUSE.replace('GP-1', 'GP')}]", "id"),
        (f"clauses: [{CLAUSE.replace('#a-section', '')}]", "link"),
        (f"clauses: [{CLAUSE.replace('text: t', 'text: !!str')}]", "text"),
        (f"clauses: [{CLAUSE}, {CLAUSE}]", "more than once: GP-1"),
    ],
)
def test_broken_clauses_are_told_with_their_file(content: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "clauses.yaml"
    file.write_text(content)
    with pytest.raises(ClausesError, match=r"clauses\.yaml") as told:
        load_clauses(file)
    assert problem in str(told.value)


def test_a_clause_leads_to_its_section_and_says_what_the_page_asks() -> None:
    clause = load_clauses(CLAUSES)["GP-6a"]
    assert resolve("GP-6a") == Source("GP-6a", clause.link, clause.text)
    assert clause.link == f"{PAGE}#when-draining-a-node-drain-the-dra-driver-as-late-as-possible"


def test_a_kep_leads_to_its_issue_and_a_file_to_its_repository() -> None:
    assert resolve("KEP-4680").link == "https://github.com/kubernetes/enhancements/issues/4680"
    file = "kubernetes/kubernetes: pkg/kubelet/cm/dra/manager.go"
    assert resolve(file).link == "https://github.com/kubernetes/kubernetes/blob/HEAD/pkg/kubelet/cm/dra/manager.go"


def test_without_the_clauses_one_leads_to_the_page() -> None:
    assert resolve("GP-6a", {}) == Source("GP-6a", PAGE)


@pytest.mark.parametrize("unknown", ["GP-99", "gp-6a", "javascript:x", "DESIGN", "kubernetes: pkg/x.go", "KEP-4680 "])
def test_a_source_that_nobody_knows_leads_nowhere(unknown: str) -> None:
    assert resolve(unknown) == Source(unknown)
