"""Options: which of several sources counts, and that a wrong value is answered at once with the nearest right one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.saboteurs import REGISTRY
from fixtures.options.options import OPTIONS, Options, parse, resolve
from fixtures.options.sizes import SIZES
from fixtures.options.values import UsageError
from reports.model import PRACTICES

CHECKS = {"rbac.operator.manages-claims", "driver.slices.published", "scale.cost.per-pod"}
MANIFEST = Path(__file__).parents[3] / "drivers" / "catalog" / "kubernetes-pydra.yaml"

PREINSTALLED = """\
apiVersion: dra.conformance/v1alpha1
kind: DriverUnderTest
name: gpu.example.com
implementation: {organization: Example, project: gpu, version: "1", url: https://example.com}
install: {kind: preinstalled}
workload: {namespace: gpu-driver, daemonSets: [plugin], serviceAccount: plugin, containers: {driver: gpu.example.com}}
claim: {deviceClassName: gpu.example.com}
proof: {env: X_.*, value: "{device}"}
"""


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in OPTIONS:
        monkeypatch.delenv(variable(option.name), raising=False)


def variable(option: str) -> str:
    return f"DRA_{option.upper().replace('-', '_')}"


def resolved(root: Path, table: str = "", **flags: Any) -> Options:
    """The options of a run in a project with that [tool.dra] table."""
    (root / "pyproject.toml").write_text(f"[tool.dra]\n{table}\n")
    config: Any = SimpleNamespace(getoption={f"dra_{k}": v for k, v in flags.items()}.get, rootpath=root)
    return resolve(config, CHECKS)


def parsed(**values: str) -> Options:
    given = {option.name: option.default for option in OPTIONS}
    return parse(given | {name.replace("_", "-"): value for name, value in values.items()}, CHECKS)


def refusal(**values: str) -> str:
    with pytest.raises(UsageError) as caught:
        parsed(**values)
    return str(caught.value)


def test_the_defaults_are_a_run_of_all_practices_with_the_fake_driver_on_kind() -> None:
    options = parsed()
    assert options.cluster == "kind"
    assert options.driver.implementation.project == "fake driver"
    assert options.practices == PRACTICES
    assert options.checks == frozenset()
    assert options.exempt == {}
    assert options.saboteur is None
    assert options.timeout_scale == 1.0
    assert options.keep == "never"


def test_a_flag_goes_before_the_environment_before_the_project_before_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolved(tmp_path).keep == "never"
    assert resolved(tmp_path, 'keep = "always"').keep == "always"
    monkeypatch.setenv("DRA_KEEP", "on-failure")
    assert resolved(tmp_path, 'keep = "always"').keep == "on-failure"
    assert resolved(tmp_path, 'keep = "always"', keep="never").keep == "never"


def test_each_source_is_asked_for_each_option_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRA_TIMEOUT_SCALE", "2")
    monkeypatch.setenv("DRA_NODE_IMAGE", "build")
    options = resolved(tmp_path, 'report-dir = "elsewhere"\nkubernetes = "v1.35.1"', practice="drain,scale")
    assert options.timeout_scale == 2.0
    assert options.node_image == "build"
    assert options.report_dir == Path("elsewhere")
    assert options.kubernetes == "1.35.1", "a leading v is left away"
    assert options.practices == ("drain", "scale")


def test_a_project_may_write_lists_and_numbers(tmp_path: Path) -> None:
    table = 'practice = ["rbac", "drain"]\ntimeout-scale = 1.5\nexempt = ["driver.slices.published = known, open"]'
    options = resolved(tmp_path, table)
    assert options.practices == ("rbac", "drain")
    assert options.timeout_scale == 1.5
    assert options.exempt == {"driver.slices.published": "known, open"}


def test_a_switch_is_off_unless_it_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not resolved(tmp_path).plan
    assert resolved(tmp_path, plan="true").plan, "what the flag stands for"
    assert resolved(tmp_path, "doctor = true").doctor
    monkeypatch.setenv("DRA_DOCTOR", "False")
    assert not resolved(tmp_path, "doctor = true").doctor


def test_a_project_without_a_table_or_a_file_has_the_defaults(tmp_path: Path) -> None:
    config: Any = SimpleNamespace(getoption={}.get, rootpath=tmp_path)
    assert resolve(config, CHECKS) == parsed()


def test_a_project_may_give_parts_to_people_in_a_table(tmp_path: Path) -> None:
    table = '[tool.dra.personas]\noperator = "group:dev in team-a"\nadmin = ["user:jane", "group:platform"]'
    options = resolved(tmp_path, table)
    assert {part: [str(who) for who in all_] for part, all_ in options.personas.items()} == {
        "operator": ["Group dev in team-a"],
        "admin": ["User jane", "Group platform"],
    }
    assert options.shown()["personas"] == "operator=Group dev in team-a, admin=User jane, admin=Group platform"
    assert resolved(tmp_path, table, personas=["viewer=group:all"]).personas.keys() == {"viewer"}


def test_an_unknown_option_in_a_project_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[tool.dra\] has no option 'drivr'; did you mean 'driver'\?"):
        resolved(tmp_path, 'drivr = "fake"')


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("cluster", "knid", "--dra-cluster: unknown 'knid'; did you mean 'kind'?"),
        ("practice", "rbac,drian", "--dra-practice: unknown 'drian'; did you mean 'drain'?"),
        ("practice", "zzz", "--dra-practice: unknown 'zzz'; known: drain, driver, liveness, rbac, scale, upgrade"),
        ("check", "driver.slice.published", "--dra-check: unknown 'driver.slice.published'; did you mean 'driver.sl"),
        ("saboteur", "keeps-dci", "--dra-saboteur: unknown 'keeps-dci'; did you mean 'keeps-cdi'?"),
        ("keep", "on-fail", "--dra-keep: unknown 'on-fail'; did you mean 'on-failure'?"),
        ("timeout-scale", "fast", "--dra-timeout-scale: 'fast' is not a number above 0"),
        ("timeout-scale", "0", "--dra-timeout-scale: '0' is not"),
        ("timeout-scale", "-2", "--dra-timeout-scale: '-2' is not"),
        ("timeout-scale", "inf", "--dra-timeout-scale: 'inf' is not"),
        ("timeout-scale", "nan", "--dra-timeout-scale: 'nan' is not"),
        ("driver", "fak", "--dra-driver: unknown driver 'fak': neither a file nor one of fake, kubernetes-pydra"),
        ("plan", "maybe", "--dra-plan: unknown 'maybe'; "),
        ("image-registry", "https://registry.example.com", "'https://registry.example.com' is no prefix of images"),
        ("personas", "boss=group:a", "--dra-personas: unknown part 'boss'; known: admin, driver, operator, viewer"),
        ("exempt", "driver.slices.published", "--dra-exempt: 'driver.slices.published' lacks a reason"),
        ("exempt", "driver.slices.published= ", "lacks a reason; write ID=REASON"),
        ("exempt", "driver.slices.publishd=x", "--dra-exempt: unknown 'driver.slices.publishd'; did you mean 'driver."),
    ],
)
def test_a_wrong_value_is_answered_with_the_nearest_right_one(option: str, value: str, says: str) -> None:
    assert says in refusal(**{option: value})


def test_a_wrong_manifest_is_shown_where_it_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MANIFEST.read_text().replace("deviceClassName", "deviceClasName"))
    assert f"--dra-driver: {file}:" in (said := refusal(driver=str(file)))
    assert "unknown key `claim.deviceClasName` (did you mean `deviceClassName`?)" in said


def test_a_timeout_that_nobody_uses_is_refused(tmp_path: Path) -> None:
    place = MANIFEST.parent
    text = MANIFEST.read_text().replace("kubernetes-pydra/driver", f"{place}/kubernetes-pydra/driver")
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("code: ", f"code: {place}/") + "timeouts: {pod_runing: 5}\n")
    said = refusal(driver=str(file))
    assert said == f"--dra-driver: {file}: timeouts: unknown 'pod_runing'; did you mean 'pod_running'?"
    file.write_text(file.read_text().replace("pod_runing", "pod_running"))
    assert parsed(driver=str(file)).driver.timeouts == {"pod_running": 5}


def test_exemptions_keep_their_reasons_whatever_is_in_them() -> None:
    options = parsed(exempt="driver.slices.published=see a=b, c\nrbac.operator.manages-claims = own authorizer ")
    assert options.exempt == {
        "driver.slices.published": "see a=b, c",
        "rbac.operator.manages-claims": "own authorizer",
    }


def test_lists_may_have_blanks_and_empty_parts() -> None:
    assert parsed(practice=" rbac , ,drain,").practices == ("rbac", "drain")
    assert parsed(practice="").practices == PRACTICES
    assert parsed(check="driver.slices.published,").checks == {"driver.slices.published"}


@pytest.mark.parametrize("layer", ["driver", "package"])
def test_a_saboteur_of_the_driver_needs_the_fake_driver(layer: str) -> None:
    name = next(s.id for s in REGISTRY.values() if s.layer == layer)
    assert parsed(saboteur=name).saboteur is REGISTRY[name]
    said = refusal(saboteur=name, driver="kubernetes-pydra")
    assert said == f"--dra-saboteur: {name} is planted in the fake driver; use it with --dra-driver fake"


def test_a_saboteur_of_the_cluster_goes_with_any_driver() -> None:
    planted = next(s for s in REGISTRY.values() if s.layer == "cluster")
    assert parsed(saboteur=planted.id, driver="kubernetes-pydra").saboteur is planted


def test_the_report_shows_every_option_as_text() -> None:
    shown = parsed(
        driver="kubernetes-pydra", check="driver.slices.published", exempt="driver.slices.published=why", keep="always"
    ).shown()
    assert all(isinstance(text, str) for text in shown.values())
    assert shown["driver"] == "kubernetes-pydra"
    assert shown["exempt"] == "driver.slices.published=why"
    assert shown["keep"] == "always"
    assert shown["saboteur"] == ""
    assert len(shown) == len(OPTIONS)


def test_an_existing_cluster_is_not_disturbed_unless_it_is_named() -> None:
    assert not parsed(cluster="existing").allow_disruptive
    assert not parsed(cluster="existing", context="dev").allow_disruptive
    options = parsed(cluster="existing", context="dev", allow_disruptive="true")
    assert options.allow_disruptive
    assert options.kubernetes == "", "it has its own"
    said = refusal(cluster="existing", allow_disruptive="true")
    assert said.startswith("--dra-allow-disruptive: say which cluster may be disturbed, with --dra-context NAME")


@pytest.mark.parametrize(
    ("cluster", "option", "value"),
    [
        ("kind", "kubeconfig", "f"),
        ("kind", "context", "dev"),
        ("kind", "allow-disruptive", "true"),
        ("existing", "kubernetes", "1.36.3"),
        ("existing", "node-image", "build"),
        ("existing", "keep", "always"),
        ("existing", "scale", "reference"),
    ],
)
def test_an_option_without_a_meaning_here_is_refused(cluster: str, option: str, value: str) -> None:
    other = "existing" if cluster == "kind" else "kind"
    said = refusal(**{"cluster": cluster, option: value})
    assert said == f"--dra-{option} is for --dra-cluster {other}, leave it away with {cluster}"
    assert parsed(cluster="kind", allow_disruptive="false").cluster == "kind"


def test_a_load_has_a_size(tmp_path: Path) -> None:
    assert (parsed().scale, parsed().size) == ("auto", None)
    assert parsed(practice="scale").size == parsed(check="scale.cost.per-pod").size == SIZES["small"]
    assert parsed(check="scale.cost.per-pod,driver.slices.published").size is None
    assert parsed(scale="reference").size == SIZES["reference"]
    assert parsed(scale="large").shown()["scale"] == "large"
    assert "size" not in parsed().shown()
    file = tmp_path / "mine.yaml"
    file.write_text("{nodes: 2, lasting: 20, churning: 1, swept: 1}")
    assert refusal(scale=str(file)).endswith("take fewer pods or more nodes")
    assert refusal(saboteur="slow-prepare").endswith("add --dra-practice scale or --dra-scale small")
    assert parsed(saboteur="slow-prepare", scale="small").size == parsed(saboteur="no-metrics", scale="small").size
    assert parsed(saboteur="no-metrics").size is None
    assert refusal(scale="huge").startswith("--dra-scale: 'huge' is none of small, reference, large")


def test_a_preinstalled_driver_is_not_in_a_new_cluster(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(PREINSTALLED)
    assert parsed(driver=str(file), cluster="existing").driver.preinstalled
    assert "is in no new cluster; use --dra-cluster existing" in refusal(driver=str(file))


def test_no_fault_is_planted_in_a_cluster_of_somebody_else() -> None:
    one = {saboteur.layer: saboteur.id for saboteur in REGISTRY.values() if not saboteur.under_load}
    assert parsed(saboteur=one["driver"], cluster="existing").saboteur
    said = refusal(saboteur=one["cluster"], cluster="existing")
    assert "is planted in the cluster itself; use --dra-cluster kind" in said


def test_no_option_is_a_secret() -> None:
    assert not [o.name for o in OPTIONS if {"token", "password", "secret", "key"} & set(o.name.split("-"))]


def test_a_drain_command_is_taken_apart_and_shown_as_it_was_written() -> None:
    options = parsed(drain_command="sh -c 'drain {node} --with={kubeconfig}'")
    assert options.drain_command == ("sh", "-c", "drain {node} --with={kubeconfig}")
    assert options.shown()["drain-command"] == "sh -c 'drain {node} --with={kubeconfig}'"
    assert parsed().drain_command == ()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("sh -c drain", "does not say where the node goes; write {node}"),
        ("sh {nod}", "unknown 'nod'; did you mean 'node'?"),
        ("no-such-drain {node}", "there is no program 'no-such-drain'"),
        ("sh 'drain {node}", "No closing quotation"),
    ],
)
def test_a_drain_command_that_cannot_work_is_refused(command: str, told: str) -> None:
    assert told in refusal(drain_command=command)
