"""The shapes of the catalogue and of the conformance report, and nothing about how they are judged or written.

In files every key is camelCase and an unknown key is an error. In code every object is frozen. Times are aware
datetimes, durations are seconds, paths are relative to the directory of the run.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, get_args

import yaml
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    FiniteFloat,
    NonNegativeFloat,
    NonNegativeInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel

Practice = Literal["rbac", "driver", "upgrade", "liveness", "drain", "scale"]
Level = Literal["core", "extended", "advisory"]
Outcome = Literal["passed", "failed", "error", "inconclusive", "not-supported", "not-applicable", "exempt", "not-run"]
Verdict = Literal["conformant", "partial", "non-conformant"]
PracticeVerdict = Literal["conformant", "partial", "non-conformant", "not-judged"]
ExitCode = Literal[0, 1, 2, 3, 4]

PRACTICES: tuple[Practice, ...] = get_args(Practice)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def _alias(field: str) -> str:
    return to_camel(field).replace("Sha256", "SHA256")


def _inside_the_run(path: str) -> str:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or ":" in path.split("/", 1)[0] or "\\" in path:
        raise ValueError(f"{path!r} is not a path relative to the directory of the run")
    return str(pure)


CheckId = Annotated[str, StringConstraints(pattern=r"^[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*){2}$")]
RunPath = Annotated[str, AfterValidator(_inside_the_run)]


class Model(BaseModel):
    """The base of everything in a file: strict keys, camelCase aliases, frozen."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=_alias, validate_by_name=True, validate_by_alias=True
    )


class CatalogueEntry(Model):
    """One check as `suites/catalogue.yaml` promises it: what a run is compared with."""

    id: CheckId
    practice: Practice
    claim: str
    level: Level
    features: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    disruptive: bool = False
    topology: str = "standard"
    since: str = ""
    source: str
    saboteurs: tuple[str, ...] = ()


class CatalogueError(Exception):
    """The catalogue cannot be read; the message names file, place and fault."""


def load_catalogue(path: Path) -> tuple[CatalogueEntry, ...]:
    """Read the `checks:` list of a catalogue file, in the order of the file.

    Raises CatalogueError when the file is missing, malformed or names an id twice.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = TypeAdapter(tuple[CatalogueEntry, ...]).validate_python(content["checks"])
    except (OSError, yaml.YAMLError, TypeError, KeyError) as error:
        raise CatalogueError(f"{path}: no readable `checks:` list: {error}") from error
    except ValidationError as error:
        raise CatalogueError(f"{path}: {'; '.join(describe_errors(error))}") from error
    if twice := repeated([entry.id for entry in entries]):
        raise CatalogueError(f"{path}: ids that appear more than once: {', '.join(twice)}")
    return entries


def catalogue_sha256(path: Path) -> str:
    """The hex digest that a report carries, so that a reader can tell which catalogue it was judged by."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def describe_errors(error: ValidationError) -> list[str]:
    """One line per fault of a model, `where.in.the.file: what is wrong`."""
    return [
        f"{'.'.join(str(part) for part in fault['loc']) or 'document'}: {fault['msg']}"
        for fault in error.errors(include_url=False)
    ]


def repeated(ids: Sequence[str]) -> list[str]:
    """The ids that appear more than once, each once, sorted."""
    return sorted({name for name in ids if ids.count(name) > 1})


class Failure(Model):
    """What a reader needs first about a check that did not hold; long data lies in the files of the check."""

    expected: str
    observed: str
    context: str = ""
    hint: str = ""


class Measurement(Model):
    """A number that a check took, with the limit it was held against and the same number without claims."""

    name: str
    value: FiniteFloat
    unit: str
    threshold: FiniteFloat | None = None
    baseline: FiniteFloat | None = None


class Table(Model):
    """What a check found, row by row, whatever the outcome; each row has as many texts as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


class CheckResult(Model):
    """What became of one check. `started` is None for a check that never began.

    planned: False for a check that the mode of the run leaves out, a run that may not disturb the cluster those that
    would; it is then not-applicable, and the verdict does not cover it.
    notes: what was seen and is worth knowing whatever the outcome, such as what this version does.
    """

    id: CheckId
    practice: Practice
    claim: str
    level: Level
    source: str
    features: tuple[str, ...] = ()
    outcome: Outcome
    planned: bool = True
    reason: str | None = None
    started: AwareDatetime | None = None
    duration: NonNegativeFloat = 0.0
    failure: Failure | None = None
    files: tuple[RunPath, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    timeline: RunPath | None = None


class PracticeResult(Model):
    """The verdict on one practice, with how many of its checks had each outcome (all eight are listed).

    It is not-judged when the run planned none of its checks.
    """

    name: Practice
    verdict: PracticeVerdict
    counts: dict[Outcome, NonNegativeInt]


class Metadata(Model):
    """Which run this is and which suite made it. `suite_commit` is empty outside a checkout."""

    run_id: str
    started: AwareDatetime
    finished: AwareDatetime
    suite_version: str
    suite_commit: str = ""
    suite_dirty: bool = False
    catalogue_sha256: str


class NodeFacts(Model):
    """One node as the API server describes it: versions of kubelet and container runtime."""

    name: str
    kubelet: str
    runtime: str


class ClusterFacts(Model):
    """Where the run took place. `resource_versions` are the served versions of resource.k8s.io."""

    provider: str
    name: str
    server_version: str
    resource_versions: tuple[str, ...] = ()
    nodes: tuple[NodeFacts, ...] = ()


class DriverFacts(Model):
    """The driver under test. `saboteur` is the id of a planted fault: such a run proves the suite, not the driver."""

    name: str
    organization: str = ""
    project: str = ""
    version: str = ""
    url: str = ""
    contact: str = ""
    saboteur: str | None = None


class TimeoutUse(Model):
    """A named timeout in seconds; `exceeded` when the run allowed itself more than a conformant run may."""

    name: str
    used: NonNegativeFloat
    conformant_maximum: NonNegativeFloat
    exceeded: bool


class Report(Model):
    """The whole of what a run says. `crash` tells what broke the suite outside any check.

    leftovers: objects of this run that stayed behind; they are no part of the verdict.
    """

    api_version: Literal["dra.conformance/v1alpha1"] = "dra.conformance/v1alpha1"
    kind: Literal["ConformanceReport"] = "ConformanceReport"
    metadata: Metadata
    verdict: Verdict
    exit_code: ExitCode
    crash: str | None = None
    cluster: ClusterFacts
    driver: DriverFacts
    options: dict[str, str] = {}
    practices: tuple[PracticeResult, ...]
    checks: tuple[CheckResult, ...]
    timeouts: tuple[TimeoutUse, ...] = ()
    leftovers: tuple[str, ...] = ()
