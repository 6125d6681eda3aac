"""A corpus of texts as kubectl, kubelet, docker and Python print them: what must go, and what must stay."""

import base64
import json
from textwrap import dedent

import pytest

from reports.redact import MARK, redact

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl-c2ln_bmF0"
OPAQUE = "sha256~V0hBVC1BLVNFQ1JFVA0123"
BASE64 = base64.b64encode(b"hunter2-and-some-more").decode()
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq83vZm9v\n-----END RSA PRIVATE KEY-----"
PEM64 = base64.b64encode(PEM.encode()).decode()

SECRET = {
    "apiVersion": "v1",
    "data": {"plain": BASE64, "other": "YWJj"},
    "kind": "Secret",
    "metadata": {"name": "pull-me", "namespace": "default"},
    "stringData": {"config.json": '{"auths":{"r":{"auth":"dTpw"}}} and "hunter3"'},
}
DOCKER = {"auths": {"registry.example": {"username": "u", "password": "hunt'er\"2", "auth": "dTpw", "email": "e@x"}}}

# name: (text, what must not be left of it, what must still be there)
CORPUS: dict[str, tuple[str, list[str], list[str]]] = {
    "bearer in a header": (f"> Authorization: Bearer {JWT}\n> Accept: */*", [JWT, "c2ln"], ["Accept"]),
    "opaque bearer": (f"curl -H 'Authorization: Bearer {OPAQUE}' https://10.0.0.1", [OPAQUE], ["https://10.0.0.1"]),
    "short bearer": ("authorization: Bearer abc.def", ["abc.def"], ["authorization"]),
    "bearer in a log of headers": (f"map[Authorization:[Bearer {OPAQUE}] Accept:[x]]", [OPAQUE], ["Accept"]),
    "basic": ("Authorization: Basic dXNlcjpwdw==", ["dXNlcjpwdw"], ["Basic"]),
    "bearer in prose": (f"sent bearer {OPAQUE} and waited", [OPAQUE], ["and waited"]),
    "bare token": (f"issued {JWT} for pod p", [JWT], ["for pod p"]),
    "TokenRequest": (
        json.dumps({"kind": "TokenRequest", "status": {"token": OPAQUE, "expirationTimestamp": "2026-01-01"}}),
        [OPAQUE],
        ["expirationTimestamp", "2026-01-01"],
    ),
    "bootstrap token": ("kubeadm join --token abcdef.0123456789abcdef 1.2.3.4", ["0123456789abcdef"], ["1.2.3.4"]),
    "kubeconfig": (
        dedent(
            f"""\
            clusters:
            - cluster:
                certificate-authority-data: {PEM64}
                server: https://127.0.0.1:6443
            users:
            - name: admin
              user:
                client-certificate-data: Zm9vYmFy
                client-key-data: "{PEM64}"
                token: {OPAQUE}
                password: a pass, with blanks
                username: someone
            """
        ),
        [PEM64, "Zm9vYmFy", OPAQUE, "with blanks"],
        ["server: https://127.0.0.1:6443", "name: admin", "client-key-data", "username: someone"],
    ),
    "kubeconfig as JSON": (
        json.dumps({"users": [{"user": {"client-key-data": "Zm9v", "token": OPAQUE, "id-token": "short"}}]}),
        ["Zm9v", OPAQUE, "short"],
        ["client-key-data"],
    ),
    "PEM": (f"before\n{PEM}\nafter", ["MIIE", "q83v"], ["before", "after"]),
    "PEM in one line of JSON": (json.dumps({"key": PEM, "next": "stays"}), ["MIIE", "q83v"], ["stays"]),
    "PEM cut off": ("-----BEGIN CERTIFICATE-----\nMIIE\nq83v", ["MIIE", "q83v"], []),
    "PEM cut off in a log": ("-----BEGIN CERTIFICATE-----\nMIIE\n[info] goes on", ["MIIE"], ["[info] goes on"]),
    "PEM as base64 without a key": (f"wrote {PEM64} to disk", [PEM64], ["to disk"]),
    "Secret in YAML": (
        dedent(
            f"""\
            apiVersion: v1
            data:
              plain: {BASE64}
              block: |
                line one
                line two
            kind: Secret
            metadata:
              name: pull-me
            stringData:
              "quoted": hunter2
            ---
            apiVersion: v1
            data:
              plain: visible
            kind: ConfigMap
            """
        ),
        [BASE64, "line one", "line two", "hunter2"],
        ["plain: <redacted>", "name: pull-me", "plain: visible", "kind: ConfigMap"],
    ),
    "Secrets in a YAML list": (
        dedent(
            f"""\
            apiVersion: v1
            items:
            - apiVersion: v1
              data:
                a: {BASE64}
              kind: Secret
            - apiVersion: v1
              data:
                a: visible
              kind: ConfigMap
            - kind: Secret
              type: Opaque
              data:
                b: {BASE64}

                c: YWJj
            kind: List
            """
        ),
        [BASE64, "YWJj"],
        ["a: visible", "type: Opaque", "kind: List"],
    ),
    "SecretList in YAML": (
        f"items:\n- data:\n    a: {BASE64}\n  metadata:\n    name: n\nkind: SecretList\n",
        [BASE64],
        ["name: n"],
    ),
    "Secret in JSON": (json.dumps(SECRET), [BASE64, "YWJj", "hunter3", "dTpw"], ["pull-me", "plain"]),
    "Secret in pretty JSON": (json.dumps(SECRET, indent=2), [BASE64, "YWJj", "hunter3", "dTpw"], ["pull-me"]),
    "Secret in Python": (repr(SECRET), [BASE64, "YWJj", "hunter3", "dTpw"], ["pull-me", "plain"]),
    "Secret in an annotation": (
        json.dumps({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(SECRET)}}),
        [BASE64, "YWJj", "hunter3", "dTpw"],
        ["pull-me", "last-applied"],
    ),
    "Secret cut off": (
        json.dumps({"kind": "Secret", "data": {"a": "Zm9vYmFy"}}).rstrip('"}'),
        ["Zm9vYmFy"],
        ["Secret"],
    ),
    "SecretList in JSON": (json.dumps({"kind": "SecretList", "items": [{"data": {"a": BASE64}}]}), [BASE64], []),
    "docker config": (json.dumps(DOCKER), ["hunt", "dTpw"], ["registry.example", "e@x"]),
    "docker config in a string": (json.dumps({"x": json.dumps(DOCKER)}), ["hunt", "dTpw"], ["registry.example"]),
    "docker config secret": (f".dockerconfigjson: {BASE64}", [BASE64], [".dockerconfigjson"]),
    "identity token": ('{"identitytoken": "abc"}', ["abc"], []),
    "URL": ("pull https://me:hunter2@registry.example/x: denied", ["me:", "hunter2"], ["@registry.example/x"]),
    "URL with a token": ("git+https://ghtoken@host/repo", ["ghtoken"], ["host/repo"]),
    "environment": ("DB_PASSWORD=hunter2 API_TOKEN=0123456789abcdef PORT=80", ["hunter2", "0123456789ab"], ["PORT=80"]),
    "flags": ("run --password hunter2 --token=0123456789abcdef --v 5", ["hunter2", "0123456789abcdef"], ["--v 5"]),
    "camelCase": ('{"clientSecret": "hunter2", "dbPassword": "x y"}', ["hunter2", "x y"], ["clientSecret"]),
}

# Diagnostics are made of these; a redaction that eats them hides the fault that it should help to find.
HARMLESS = [
    "automountServiceAccountToken: false",
    "projected:\n  sources:\n  - serviceAccountToken:\n      expirationSeconds: 3607\n      path: token",
    "secretKeyRef:\n  key: a\n  name: b",
    "Warning FailedPrepareDynamicResources pod/p: NodePrepareResources: rpc error: code = Unavailable",
    "kind: ResourceClaim\nstatus:\n  allocation:\n    devices:\n      results:\n      - device: gpu-0",
    "kind: ConfigMap\ndata:\n  config.yaml: |\n    qps: 50",
    "upgrade.seamless.new-pods-start failed: basic authentication, a bearer of news",
    "checksum/config: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "involvedObject:\n  kind: Secret\n  name: pull-me\nreason: FailedMount",
    "registration socket /var/lib/kubelet/plugins_registry/d-1a2b3c.fake.dra-reg.sock",
    "image: registry.example:5000/acme/driver@sha256:9f86d081884c7d659a2feaa0c55ad015",
    "see https://kubernetes.io/docs/concepts/ and mail someone@example.com",
    "error: You must be logged in to the server (the server has asked for the client to provide credentials)",
    '{"kind":"Pod","metadata":{"name":"p"},"data":{"a":"b"}}',
]


@pytest.mark.parametrize("name", CORPUS)
def test_secrets_go_and_the_rest_stays(name: str) -> None:
    text, gone, stays = CORPUS[name]
    clean = redact(text)
    assert MARK in clean
    assert [secret for secret in gone if secret in clean] == [], clean
    assert [word for word in stays if word not in clean] == [], clean


@pytest.mark.parametrize("name", CORPUS)
def test_again_changes_nothing(name: str) -> None:
    once = redact(CORPUS[name][0])
    assert redact(once) == once


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_colours_do_not_hide_a_secret_and_nothing_unwritable_stays() -> None:
    clean = redact(f"\x1b[1mAuthorization\x1b[0m: Bearer \x1b[31m{OPAQUE}\x1b[0m \x00\ud800 tab\tand\nline")
    assert clean == f"Authorization: Bearer {MARK} \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} tab\tand\nline"


def test_all_at_once_in_one_log() -> None:
    clean = redact("\n---\n".join(text for text, _, _ in CORPUS.values()))
    assert [secret for _, gone, _ in CORPUS.values() for secret in gone if len(secret) > 5 and secret in clean] == []


def test_json_stays_json() -> None:
    for document in (SECRET, DOCKER, {"annotation": json.dumps(SECRET)}):
        json.loads(redact(json.dumps(document)))


@pytest.mark.parametrize(
    "text",
    ["a" * 300_000, "a." * 150_000, '"' * 100_000, '\\"' * 50_000, "-" * 200_000, " " * 200_000, "password" * 30_000,
     "kind: Secret\n" * 3_000, '"kind":"Secret","data":{' * 3_000, "://" * 50_000, "data:\n" * 3_000 + "kind: Secret"],
)  # fmt: skip
def test_hostile_text_takes_no_time(text: str) -> None:
    redact(text)
