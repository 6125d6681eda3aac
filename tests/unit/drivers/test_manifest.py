"""A driver manifest that cannot be used is refused with file, line, key and the nearest right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.install import Instance, render
from drivers.loading import CATALOG, ManifestError, known_drivers, load

GOOD = """\
apiVersion: dra.conformance/v1alpha1
kind: DriverUnderTest
name: "x-{id}.example.dra"
implementation:
  organization: Example
  project: x
  version: "1"
  url: https://example.com
install:
  kind: manifest
  files: [driver.yaml.j2]
workload:
  daemonSets: ["{prefix}"]
  serviceAccount: "{prefix}"
  containers: {driver: "{name}"}
claim: {deviceClassName: "{name}"}
proof:
  env: X_.*
  value: "{driver}/{pool}/{device}"
features:
  rolling-update: supported
"""


THERE = """\
apiVersion: dra.conformance/v1alpha1
kind: DriverUnderTest
name: gpu.example.com
implementation:
  organization: Example
  project: gpu
  version: "1"
  url: https://example.com
install:
  kind: preinstalled
workload:
  namespace: gpu-driver
  daemonSets: [plugin]
  serviceAccount: plugin
  containers: {driver: gpu.example.com}
claim: {deviceClassName: gpu.example.com}
proof:
  env: X_.*
  value: "{driver}/{pool}/{device}"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "driver.yaml.j2").touch()
    return tmp_path / "driver.yaml"


def refusal(place: Path, text: str | bytes) -> str:
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ManifestError) as caught:
        load(str(place))
    return str(caught.value).replace(str(place), "FILE")


def test_a_manifest_by_path_has_absolute_files_and_defaults(place: Path) -> None:
    place.write_text(GOOD)
    manifest = load(str(place))
    assert manifest.install.files == (place.parent / "driver.yaml.j2",)
    assert manifest.devices_per_node is None
    assert manifest.node_selector == {}
    assert manifest.kubelet_root == Path("/var/lib/kubelet")


def test_what_a_manifest_does_not_say_about_a_feature_is_unknown(place: Path) -> None:
    place.write_text(GOOD)
    manifest = load(str(place))
    assert manifest.supports("rolling-update") == "supported"
    assert manifest.supports("device-health") == "unknown"


@pytest.mark.parametrize("name", known_drivers())
def test_every_catalog_entry_loads_by_name_and_by_path(name: str) -> None:
    assert load(name) == load(str(CATALOG / f"{name}.yaml"))


def test_the_catalog_has_the_fake_driver_and_a_stranger() -> None:
    assert known_drivers() == ["fake", "kubernetes-pydra"]


@pytest.mark.parametrize(
    ("was", "becomes", "line", "says"),
    [
        ("claim:", "clam:", 16, "unknown key `clam` (did you mean `claim`?); known"),
        ("deviceClassName:", "device_class_name:", 16, "unknown key `claim.device_class_name` (did you mean `device"),
        ("  env:", "  envv:", 18, "unknown key `proof.envv` (did you mean `env`?); known keys: env, value, "),
        ("  files:", "  file:", 11, "unknown key `install.file` (did you mean `files`?)"),
        ("kind: Driver", "knd: Driver", 2, "unknown key `knd` (did you mean `kind`?)"),
        ('claim: {deviceClassName: "{name}"}\n', "", 1, "missing key `claim`"),
        ('  containers: {driver: "{name}"}\n', "", 12, "missing key `workload.containers`"),
        ('{driver: "{name}"}', "{driver: other}", 15, "`workload.containers`: no container serves x-{id}."),
        (
            "features:",
            'upgrade: {version: "1"}\nfeatures:',
            20,
            "`upgrade.version`: 1 is the version that is",
        ),
        ("  files:", "  chart: .\n  files:", 11, "`install.chart`: a driver of kind manifest has none"),
        ("features:", "upgrade: {versio: 2}\nfeatures:", 20, "unknown key `upgrade.versio` (did you mean `version`?)"),
        ("features:", "metrics: {}\nfeatures:", 20, "missing key `metrics.port`"),
        (
            "rolling-update:",
            "roling-update:",
            21,
            "unknown key `features.roling-update` (did you mean `rolling-update`?)",
        ),
        ("supported\n", "maybe\n", 21, "`features.rolling-update`: Input should be 'supported'"),
        ("v1alpha1", "v2", 1, "`apiVersion`: Input should be 'dra.conformance/v1alpha1'"),
        ("kind: manifest", "kind: helmet", 10, "`install.kind`: Input should be 'fake', 'manifest', 'helm', "),
        ("[driver.yaml.j2]", "[]", 11, "missing key `install.files`: the templates of a driver of kind manifest"),
        ("  files: [driver.yaml.j2]\n", "", 9, "missing key `install.files`: the templates"),
        (
            "workload:",
            "workload:\n  namespace: theirs",
            13,
            "`workload.namespace`: each check installs the driver into",
        ),
        ("[driver.yaml.j2]", "[driver.yaml.j2, other.j2]", 11, "`install.files.1`: "),
        ("[driver.yaml.j2]", "[driver.yaml.j2]\n  code: ../nosuch", 12, "`install.code`: "),
        ("x-{id}", "x-{ident}", 3, "`name`: 'x-{ident}.example.dra' has a placeholder that is none of {id}"),
        ("x-{id}", "x-{id", 3, "`name`: "),
        ("x-{id}", "x", 12, "missing key `workload.namespace`: that of the driver's pods, since its name is fixed"),
        (
            "x-{id}",
            "x-{{id}}",
            13,
            "`workload.daemonSets.0`: '{prefix}' varies, yet the name of",
        ),
        ('Name: "{name}"', 'Name: "{nam}"', 16, "`claim.deviceClassName`: "),
        ("{device}", "{devices}", 19, "`proof.value`: "),
        ("X_.*", "X_(", 18, "`proof.env`: 'X_(' is not a regular expression"),
        ("features:", "devicesPerNode: many\nfeatures:", 20, "`devicesPerNode`: "),
        ("features:", "devicesPerNode: 0\nfeatures:", 20, "`devicesPerNode`: "),
        ("features:", "metrics: {port: 70000}\nfeatures:", 20, "`metrics.port`: "),
        ("features:", "timeouts: {pod_running: 0}\nfeatures:", 20, "`timeouts.pod_running`: "),
        ("features:", "timeouts: {pod_running: .inf}\nfeatures:", 20, "`timeouts.pod_running`: "),
        ("features:", "7: seven\nfeatures:", 20, "`7`: "),
    ],
)
def test_a_wrong_key_or_value_is_shown_in_its_place(place: Path, was: str, becomes: str, line: int, says: str) -> None:
    assert was in GOOD
    assert f"FILE:{line}: {says}" in refusal(place, GOOD.replace(was, becomes, 1))


@pytest.mark.parametrize(
    ("was", "becomes", "line", "says"),
    [
        (
            "  namespace: gpu-driver\n",
            "",
            11,
            "missing key `workload.namespace`: that of the driver's pods, since its name is fixed",
        ),
        ("  namespace:", "  namespce:", 12, "unknown key `workload.namespce` (did you mean `namespace`?)"),
        (
            "preinstalled",
            "preinstalled\n  files: [driver.yaml.j2]",
            11,
            "`install.files`: a driver that is",
        ),
        ("preinstalled", "preinstalled\n  code: .", 11, "`install.code`: a driver that is there already"),
        ("claim:", "upgrade: {version: 2}\nclaim:", 16, "`upgrade`: a preinstalled driver is rolled out"),
        ("name: gpu.", "name: gpu-{id}.", 3, "`name`: 'gpu-{id}.example.com' varies, yet the names of a preinstalled"),
        ("[plugin]", '["{prefix}"]', 13, "`workload.daemonSets.0`: '{prefix}' varies"),
        ("namespace: gpu", "namespace: x-{namespace}", 12, "`workload.namespace`: 'x-{namespace}-driver' varies"),
    ],
)
def test_of_a_preinstalled_driver_everything_is_fixed(
    place: Path, was: str, becomes: str, line: int, says: str
) -> None:
    assert was in THERE
    text = THERE.replace(was, becomes, 1).replace("version: 2", 'version: "2"')
    assert f"FILE:{line}: {says}" in refusal(place, text)


def test_a_preinstalled_driver_lives_in_a_namespace_of_its_own(place: Path) -> None:
    place.write_text(THERE.replace("deviceClassName: gpu.example.com", 'deviceClassName: "{name}"'))
    manifest = load(str(place))
    assert manifest.preinstalled
    assert not load("fake").preinstalled
    instance = Instance(manifest, id="1a2b3c", run="run-1", version="1", node_selector={})
    assert (instance.name, instance.device_class) == ("gpu.example.com", "gpu.example.com")
    assert (instance.home, instance.namespace) == ("gpu-driver", "dra-1a2b3c")
    assert render(instance) == []


@pytest.mark.parametrize("text", ["", "- a", "words"])
def test_a_file_that_is_no_mapping_is_told_how_one_begins(place: Path, text: str) -> None:
    assert "begins with `apiVersion: dra.conformance/v1alpha1`" in refusal(place, text)


@pytest.mark.parametrize("text", ["a: [", f"{GOOD}---\n{GOOD}", b"\xff\xfe\x00"])
def test_a_file_that_is_not_one_yaml_document_is_refused(place: Path, text: str | bytes) -> None:
    assert refusal(place, text).startswith("FILE: not YAML: ")


@pytest.mark.parametrize("name", ["{id}.example.dra", "{prefix}", "x.{namespace}"])
def test_a_name_is_unique_by_whatever_is_made_of_the_id(place: Path, name: str) -> None:
    place.write_text(GOOD.replace("x-{id}.example.dra", name))
    assert load(str(place)).name == name


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("a: b\n{% if x %}\nc: d\n", "FILE.j2:2: not a Jinja2 template: Unexpected end of template."),
        ("a: b\n\nc: {{ d }\n", "FILE.j2:3: not a Jinja2 template: unexpected '}'"),
        ("{% nosuch %}", "FILE.j2:1: not a Jinja2 template: Encountered unknown tag 'nosuch'."),
        (b"\xff\xfe\x00", "FILE.j2: not text: "),
        (None, "FILE.j2: cannot be read: Is a directory"),
    ],
    ids=["not closed", "typo", "unknown tag", "not text", "a directory"],
)
def test_a_template_that_cannot_be_rendered_is_told_with_its_line(
    place: Path, template: str | bytes | None, says: str
) -> None:
    file = place.parent / "driver.yaml.j2"
    if template is None:
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(template if isinstance(template, bytes) else template.encode())
    assert refusal(place, GOOD).startswith(says)


PROOF = GOOD[GOOD.index("proof:") : GOOD.index("features:")]


@pytest.mark.parametrize(
    "proof",
    [
        "",
        "proof: {path: '/dev/{device}'}",
        "proof: {path: '/dev/dri/card{attributes[minor]}'}",
        "proof: {path: '/dev/dri/card{attributes[gpu.example.com/minor]}'}",
        "proof: {command: [cut, -f2, /proc/self/status], output: '{attributes[cpuID]}'}",
        "proof: {env: 'CPUS_.*', value: '{claim}'}",
        "proof: {env: 'X', value: '{pool}'}",
        "devicesPerNode: 1\nproof: {path: /dev/accel0}",
    ],
)
def test_a_proof_is_of_one_kind_or_there_is_none(place: Path, proof: str) -> None:
    place.write_text(GOOD.replace(PROOF, f"{proof}\n"))
    assert (load(str(place)).proof is None) is (not proof)


@pytest.mark.parametrize(
    ("proof", "line", "says"),
    [
        ("{}", 17, "missing key `proof.env`, `proof.path` or `proof.command`"),
        ("{value: '{device}'}", 17, "missing key `proof.env`, `proof.path` or `proof.command`"),
        ("{env: X}", 17, "missing key `proof.value`: what shows a device in a proof by `env`"),
        ("{command: [x]}", 17, "missing key `proof.output`: what shows a device in a proof by `command`"),
        ("{command: [], output: '{device}'}", 17, "`proof.command`: Tuple should have at least 1 item"),
        ("{command: x, output: '{device}'}", 17, "`proof.command`: Input should be a valid tuple"),
        ("\n  env: X\n  value: '{device}'\n  path: /{device}", 20, "`proof.path`: a proof has just one of `proof.env`"),
        ("\n  path: '/{device}'\n  value: '{device}'", 19, "`proof.value`: a proof by `path` has none"),
        ("\n  env: X\n  value: '{device}'\n  output: x", 20, "`proof.output`: a proof by `env` has none"),
        ("{path: 'dev/{device}'}", 17, "`proof.path`: 'dev/{device}' does not begin with /"),
        ("{path: '{attributes[path]}'}", 17, "`proof.path`: '{attributes[path]}' does not begin with /"),
        ("{path: /dev/accel0}", 17, "`proof.path`: '/dev/accel0' is the same for every device: it needs {device}, "),
        ("{env: X, value: '{driver}'}", 17, "`proof.value`: '{driver}' is the same for every device"),
        ("{command: [x], output: yes it is}", 17, "`proof.output`: 'yes it is' is the same for every device"),
        ("{path: '/{device!r}'}", 17, "`proof.path`: '/{device!r}' has a placeholder that is none of {driver}, "),
        ("{path: '/{attributes}'}", 17, "`proof.path`: '/{attributes}' has a placeholder that is none of"),
        ("{path: '/{attributes[]}'}", 17, "`proof.path`: '/{attributes[]}' has a placeholder that is none of"),
        ("{path: '/{device'}", 17, "`proof.path`: '/{device' has a placeholder that is none of"),
    ],
)
def test_a_proof_that_proves_nothing_is_refused(place: Path, proof: str, line: int, says: str) -> None:
    assert f"FILE:{line}: {says}" in refusal(place, GOOD.replace(PROOF, f"proof: {proof}\n"))


def test_every_fault_is_told_at_once(place: Path) -> None:
    lines = refusal(place, GOOD.replace("env:", "envv:").replace("kind: manifest", "kind: x")).splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["FILE:10", "FILE:18"]


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("fakee", "unknown driver 'fakee': neither a file nor one of fake, kubernetes-pydra (did you mean `fake`?)"),
        ("kubernetes-pidra", "(did you mean `kubernetes-pydra`?)"),
        ("zzz", "unknown driver 'zzz': neither a file nor one of fake, kubernetes-pydra"),
        ("", "unknown driver ''"),
        ("/", "unknown driver '/'"),
    ],
)
def test_an_unknown_driver_is_answered_with_the_nearest(reference: str, says: str) -> None:
    with pytest.raises(ManifestError) as caught:
        load(reference)
    assert says in str(caught.value)
