"""Where checks come from: the clauses of the page in our words, and what the `source` of a check leads to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import yaml
from pydantic import StringConstraints, TypeAdapter, ValidationError

from reports.model import Model, Practice, describe_errors, repeated

PAGE = "https://kubernetes.io/docs/concepts/cluster-administration/dra/"
CLAUSES = Path(__file__).parents[1] / "suites" / "clauses.yaml"

_CLAUSE = r"GP-\d+[a-z]?"
_KEP = r"KEP-(?P<number>\d+)"
_FILE = r"(?P<repository>[\w.-]+/[\w.-]+): (?P<path>[\w.-]+(/[\w.-]+)*)"


class Clause(Model):
    """One thing that the page asks or says. `contextual` tells why no check names it, and is empty where one does."""

    id: Annotated[str, StringConstraints(pattern=f"^{_CLAUSE}$")]
    practice: Practice
    link: Annotated[str, StringConstraints(pattern=rf"^{re.escape(PAGE)}#[a-z0-9]+(-[a-z0-9]+)*$")]
    text: Annotated[str, StringConstraints(min_length=1)]
    contextual: str = ""


class ClausesError(Exception):
    """The clauses cannot be read; the message names file, place and fault."""


@cache
def load_clauses(path: Path = CLAUSES) -> Mapping[str, Clause]:
    """The clauses by their ids, in the order of the page; none where there is no such file, as outside a checkout.

    Raises ClausesError when the file is malformed or names an id twice.
    """
    if not path.exists():
        return MappingProxyType({})
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        clauses = TypeAdapter(tuple[Clause, ...]).validate_python(content["clauses"])
    except (OSError, yaml.YAMLError, TypeError, KeyError) as error:
        raise ClausesError(f"{path}: no readable `clauses:` list: {error}") from error
    except ValidationError as error:
        raise ClausesError(f"{path}: {'; '.join(describe_errors(error))}") from error
    if twice := repeated([clause.id for clause in clauses]):
        raise ClausesError(f"{path}: ids that appear more than once: {', '.join(twice)}")
    return MappingProxyType({clause.id: clause for clause in clauses})


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a check for readers: `link` is empty when it leads nowhere, `text` when it says no more."""

    name: str
    link: str = ""
    text: str = ""


def resolve(source: str, clauses: Mapping[str, Clause] | None = None) -> Source:
    """What a source leads to.

    It is the id of a clause (`GP-4b`), a KEP (`KEP-4680`), or a file of a public repository
    (`kubernetes/kubernetes: pkg/kubelet/cm/dra/manager.go`). Where the clauses are not at hand, one leads to the page.
    """
    clauses = load_clauses() if clauses is None else clauses
    if clause := clauses.get(source):
        return Source(source, clause.link, clause.text)
    if not clauses and re.fullmatch(_CLAUSE, source):
        return Source(source, PAGE)
    if kep := re.fullmatch(_KEP, source):
        return Source(source, f"https://github.com/kubernetes/enhancements/issues/{kep['number']}")
    if file := re.fullmatch(_FILE, source):
        return Source(source, f"https://github.com/{file['repository']}/blob/HEAD/{file['path']}")
    return Source(source)
