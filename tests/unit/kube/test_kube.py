"""The API client against a small HTTP server: paths and parameters, errors by type, patience, and watch streams."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import tenacity
from kubernetes import client

from fixtures.kube.api import DELETED_AT_ONCE, Conflict, Gone, Kube, Refused, Unprocessable, WatchExpired
from fixtures.kube.kinds import KINDS, path_of
from fixtures.kube.retries import TRANSIENT, ApiError, message_of, pause

Object = dict[str, Any]
CUT = 0
"""As a status: the connection breaks off in the middle of the answer, or before it."""
IN_THE_HEAD = "HTTP/1.1 200 OK\r\nContent-Le"
"""As an answer that is cut: it breaks off there."""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """Answers with the scripted status and text, one after the other; `{}` when there are no more."""

    answers: list[tuple[int, str]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    def will(self, status: int, body: Object | str) -> None:
        self.answers.append((status, body if isinstance(body, str) else json.dumps(body)))

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        text = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        body = json.loads(text) if text else None
        self.asked.append(Asked(request.command, parts.path, dict(parse_qsl(parts.query)), dict(request.headers), body))
        status, answer = self.answers.pop(0) if self.answers else (200, "{}")
        if status == CUT:
            whole = f"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{answer}"
            request.wfile.write(
                whole[: len(IN_THE_HEAD) if answer == IN_THE_HEAD else len(whole) * bool(answer)].encode()
            )
            request.close_connection = True
            return
        request.send_response(status)
        request.send_header("Content-Length", str(len(answer.encode())))
        request.end_headers()
        request.wfile.write(answer.encode())


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            made.answer(self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        made.port = http.server_port
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        http.shutdown()
        thread.join()


@pytest.fixture
def kube(server: Server, monkeypatch: pytest.MonkeyPatch) -> Kube:
    monkeypatch.setattr(Kube._call.retry, "wait", tenacity.wait_none())
    configuration = client.Configuration(host=f"http://127.0.0.1:{server.port}")
    return Kube(configuration, "dra-conformance/test")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kube._call.retry, "stop", tenacity.stop_after_attempt(3))
    monkeypatch.setattr(Kube._call.retry, "wait", tenacity.wait_none())


CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "ns"}}
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"


@pytest.mark.parametrize(
    ("ask", "method", "path", "query"),
    [
        (lambda k: k.get("ResourceClaim", "c", "ns"), "GET", f"{CLAIMS}/c", {}),
        (lambda k: k.get("Node", "n"), "GET", "/api/v1/nodes/n", {}),
        (lambda k: k.create(CLAIM), "POST", CLAIMS, {}),
        (lambda k: k.create(CLAIM, dry_run=True), "POST", CLAIMS, {"dryRun": "All"}),
        (lambda k: k.replace(CLAIM), "PUT", f"{CLAIMS}/c", {}),
        (lambda k: k.apply(CLAIM), "PATCH", f"{CLAIMS}/c", {"fieldManager": "dra-conformance", "force": "true"}),
        (lambda k: k.patch("ResourceClaim", "c", "ns", {}), "PATCH", f"{CLAIMS}/c", {}),
        (lambda k: k.patch("ResourceClaim", "c", "ns", {}, "status"), "PATCH", f"{CLAIMS}/c/status", {}),
        (lambda k: k.delete("ResourceClaim", "c", "ns"), "DELETE", f"{CLAIMS}/c", {}),
        (
            lambda k: k.delete("Pod", "p", "ns", grace=0),
            "DELETE",
            "/api/v1/namespaces/ns/pods/p",
            {"gracePeriodSeconds": "0"},
        ),
        (lambda k: k.post("/some/path", {}), "POST", "/some/path", {}),
        (lambda k: k.raw("get", "/version"), "GET", "/version", {}),
        (
            lambda k: k.logs("p", "ns", "c", previous=True),
            "GET",
            "/api/v1/namespaces/ns/pods/p/log",
            {"container": "c", "tailLines": "2000", "timestamps": "true", "previous": "true"},
        ),
    ],
)
def test_a_verb_asks_the_right_path(
    kube: Kube, server: Server, ask: Callable[[Kube], object], method: str, path: str, query: dict[str, str]
) -> None:
    ask(kube)
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.query) == (method, path, query)
    assert asked.headers["User-Agent"] == "dra-conformance/test"


def test_apply_and_patch_say_how_they_are_meant(kube: Kube, server: Server) -> None:
    kube.apply(CLAIM)
    kube.patch("ResourceClaim", "c", "ns", {"spec": {}})
    applied, patched = server.asked
    assert applied.headers["Content-Type"] == "application/apply-patch+yaml"
    assert applied.body == CLAIM
    assert patched.headers["Content-Type"] == "application/merge-patch+json"
    assert patched.body == {"spec": {}}


def test_thousands_are_deleted_page_by_page(kube: Kube, server: Server) -> None:
    server.will(200, {"metadata": {"continue": "next"}})
    server.will(200, {"metadata": {"continue": ""}})
    kube.delete_all("Pod", "ns", "a=b")
    first, second = server.asked
    assert (first.method, first.path) == ("DELETE", "/api/v1/namespaces/ns/pods")
    assert first.query == {"labelSelector": "a=b", "limit": str(DELETED_AT_ONCE)}
    assert second.query == {**first.query, "continue": "next"}
    assert first.body == {"gracePeriodSeconds": 0}


def test_a_listing_gives_its_items_kind_and_version_back(kube: Kube, server: Server) -> None:
    server.will(200, {"metadata": {"resourceVersion": "42"}, "items": [{"metadata": {"name": "s"}}]})
    items, version = kube.listing("ResourceSlice", labels="a=b", fields="spec.driver=x")
    assert version == "42"
    assert items == [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}]
    assert server.asked[0].query == {"labelSelector": "a=b", "fieldSelector": "spec.driver=x"}


def test_objects_of_the_core_group_have_its_version(kube: Kube, server: Server) -> None:
    server.will(200, {"metadata": {"resourceVersion": "1"}, "items": [{}]})
    assert kube.list("Pod", "ns") == [{"apiVersion": "v1", "kind": "Pod"}]


@pytest.mark.parametrize(("status", "error"), [(403, Refused), (404, Gone), (409, Conflict), (422, Unprocessable)])
def test_an_answer_that_will_not_change_is_raised_at_once(
    kube: Kube, server: Server, status: int, error: type[Exception]
) -> None:
    server.will(status, {"message": "no"})
    with pytest.raises(error):
        kube.get("Pod", "p", "ns")
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_trouble_that_may_pass_is_waited_out(kube: Kube, server: Server, status: int) -> None:
    server.will(status, {})
    server.will(status, {})
    server.will(200, {"kind": "Pod"})
    assert kube.get("Pod", "p", "ns") == {"kind": "Pod"}
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [408, 502])
def test_trouble_of_a_server_in_between_is_waited_out(kube: Kube, server: Server, status: int) -> None:
    server.will(status, "<html>")
    server.will(200, {"kind": "Pod"})
    assert kube.get("Pod", "p", "ns") == {"kind": "Pod"}


def test_the_first_pod_of_a_new_namespace_waits_for_its_service_account(kube: Kube, server: Server) -> None:
    server.will(403, {"message": 'pods "p" is forbidden: error looking up service account ns/default: not found'})
    server.will(201, {"kind": "Pod"})
    assert kube.create({"kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}}) == {"kind": "Pod"}


def test_a_connection_that_breaks_is_tried_again(kube: Kube, server: Server) -> None:
    server.will(CUT, '{"kind": "P')
    server.will(CUT, "")
    server.will(CUT, IN_THE_HEAD)
    server.will(200, {"kind": "Pod"})
    assert kube.get("Pod", "p", "ns") == {"kind": "Pod"}
    assert len(server.asked) == 4, "by us, and not by the transport"


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"Retry-After": "600"}, 10, 10),
        ({"Retry-After": "Monday"}, 0, 3),
        ({}, 0, 3),
    ],
)
def test_the_next_try_is_when_the_server_asks_for_it(headers: dict[str, str], least: float, most: float) -> None:
    facts = SimpleNamespace(status=429, reason="", body="", headers=headers)
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.set_exception((ApiError, ApiError(facts), None))  # type: ignore[no-untyped-call]
    assert least <= pause(state) <= most


@pytest.mark.parametrize(
    ("body", "says"),
    [('{"message": "no\\nway"}', "no way"), ("<html>", "<html>"), ("", "Forbidden"), ("[]", "[]")],
)
def test_a_refusal_is_told_in_the_servers_words(body: str, says: str) -> None:
    facts = SimpleNamespace(status=403, reason="Forbidden", body=body, headers={})
    assert message_of(ApiError(facts)) == says  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("there", "conflicts"), [("mine", False), ("theirs", True)])
def test_an_object_whose_replacement_got_no_answer_is_replaced(
    kube: Kube, server: Server, there: str, conflicts: bool
) -> None:
    server.will(504, {})
    server.will(409, {"reason": "Conflict"})
    server.will(200, {"kind": "ResourceClaim", "spec": there})
    with pytest.raises(Conflict) if conflicts else nullcontext():
        assert kube.replace({**CLAIM, "spec": "mine"})["spec"] == "mine"
    assert [asked.method for asked in server.asked] == ["PUT", "PUT", "GET"]


@pytest.mark.usefixtures("hasty")
def test_trouble_that_does_not_pass_is_raised_as_it_is(kube: Kube, server: Server) -> None:
    for _ in range(3):
        server.will(503, {})
    with pytest.raises(TRANSIENT):
        kube.get("Pod", "p", "ns")


@pytest.mark.parametrize("status", [500, 504])
def test_an_object_whose_creation_got_no_answer_is_created(kube: Kube, server: Server, status: int) -> None:
    server.will(status, {})
    server.will(409, {"reason": "AlreadyExists"})
    server.will(200, {"kind": "ResourceClaim", "spec": {}})
    assert kube.create(CLAIM) == {"kind": "ResourceClaim", "spec": {}}
    assert [(asked.method, asked.path) for asked in server.asked] == [
        ("POST", CLAIMS),
        ("POST", CLAIMS),
        ("GET", f"{CLAIMS}/c"),
    ]


def test_an_object_that_was_there_before_is_not_created(kube: Kube, server: Server) -> None:
    server.will(409, {"reason": "AlreadyExists"})
    with pytest.raises(Conflict):
        kube.create(CLAIM)
    assert len(server.asked) == 1


def test_asking_whether_an_object_could_be_created_makes_none(kube: Kube, server: Server) -> None:
    server.will(500, {})
    server.will(409, {"reason": "AlreadyExists"})
    with pytest.raises(Conflict):
        kube.create(CLAIM, dry_run=True)


def test_what_is_not_there_can_be_looked_for_and_deleted(kube: Kube, server: Server) -> None:
    server.will(404, {})
    server.will(404, {})
    assert kube.find("Pod", "p", "ns") is None
    kube.delete("Pod", "p", "ns")


def test_a_server_that_answers_is_alive_though_it_may_have_been_ill(kube: Kube, server: Server) -> None:
    assert kube.alive()
    server.will(500, {})
    assert kube.alive()
    assert {asked.path for asked in server.asked} == {"/readyz"}


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_not_there_is_not_alive() -> None:
    assert not Kube(client.Configuration(host="http://127.0.0.1:1"), "x").alive()


@pytest.mark.usefixtures("hasty")
def test_a_server_that_stays_ill_is_not_alive(kube: Kube, server: Server) -> None:
    for _ in range(3):
        server.will(500, {})
    assert not kube.alive()


def test_a_token_is_shown_instead_of_the_own_identity(kube: Kube, server: Server) -> None:
    kube.as_token("abc").raw("get", "/version")
    assert server.asked[0].headers["authorization"] == "Bearer abc"


def lines(*events: Object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def test_a_watch_gives_one_event_per_line(kube: Kube, server: Server) -> None:
    pods = [{"metadata": {"name": f"p{n}", "note": "ü" * 3000}} for n in range(20)]
    server.will(200, "\n" + lines(*({"type": "ADDED", "object": pod} for pod in pods)))
    assert list(kube.watch("Pod", "7", 3, "ns", "a=b")) == [("ADDED", pod) for pod in pods]
    query = server.asked[0].query
    assert query.items() >= {"watch": "true", "resourceVersion": "7", "labelSelector": "a=b"}.items()
    assert query["timeoutSeconds"] == "4"


def test_a_watch_that_is_cut_off_in_a_line_gives_the_whole_lines(kube: Kube, server: Server) -> None:
    server.will(200, lines({"type": "ADDED", "object": {"n": 1}}) + '{"type": "ADD')
    assert list(kube.watch("Pod", "7", 3)) == [("ADDED", {"n": 1})]


def test_a_watch_that_the_server_gives_up_has_expired(kube: Kube, server: Server) -> None:
    event = {"type": "ADDED", "object": {"n": 1}}
    server.will(200, lines(event, {"type": "ERROR", "object": {"code": 410, "message": "too old"}}))
    seen: list[tuple[str, Object]] = []
    with pytest.raises(WatchExpired, match="too old"):
        seen += kube.watch("Pod", "7", 3)


def test_a_watch_from_a_version_that_the_server_forgot_has_expired(kube: Kube, server: Server) -> None:
    server.will(410, {"message": "too old"})
    with pytest.raises(WatchExpired):
        list(kube.watch("Pod", "7", 3))


@pytest.mark.parametrize("status", [500, 503])
def test_a_watch_that_cannot_begin_is_transient(kube: Kube, server: Server, status: int) -> None:
    server.will(status, {})
    with pytest.raises(TRANSIENT):
        list(kube.watch("Pod", "7", 3))


def test_a_path_has_the_namespace_only_where_the_kind_has_one() -> None:
    assert path_of("Node", "ns", "n") == "/api/v1/nodes/n"
    assert path_of("Pod") == "/api/v1/pods"
    assert path_of("DaemonSet", "ns", "d") == "/apis/apps/v1/namespaces/ns/daemonsets/d"


def test_the_table_of_kinds_has_paths_that_the_server_serves() -> None:
    for path, plural, _ in KINDS.values():
        assert path.partition("/")[0] in ("api", "apis")
        assert plural.islower()
