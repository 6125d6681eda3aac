"""Rules that spoil chosen calls at run time, whoever serves them.

A rule says which calls it meets (`method`, `claim`, `times`, `probe`) and what happens to them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import grpc


class RpcError(Exception):
    """Ends a call with a gRPC status instead of an answer."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to the calls of a method (the bare name, such as `NodePrepareResources`).

    `claim` restricts it to calls with a claim of that name, `times` to so many calls; `probe` makes it meet the
    driver's calls of its own sockets too. To the call as a whole: `delay` (seconds), `hang` (until the caller gives
    up or the rules are replaced), `code` (a gRPC status by name, such as `UNAVAILABLE`). To each claim it meets:
    `error` (the answer for it), `omit` (no answer for it) or `wrong_uid` (prepared, but answered under another UID).
    """

    method: str
    claim: str | None = None
    times: int | None = None
    probe: bool = False
    delay: float = 0.0
    hang: bool = False
    code: str | None = None
    error: str | None = None
    omit: bool = False
    wrong_uid: bool = False

    @classmethod
    def parse(cls, document: Any) -> Rule:
        """A rule from JSON; raises ValueError on an unknown key or value."""
        known = {field.name for field in fields(cls)}
        if not isinstance(document, dict) or document.keys() - known or "method" not in document:
            raise ValueError(f"a rule is an object with the key method and some of {', '.join(sorted(known))}")
        rule = cls(**{**document, "delay": float(document.get("delay", 0))})
        if not isinstance(rule.times, int | None):
            raise ValueError(f"times must be a number, not {rule.times!r}")
        if rule.code is not None and rule.code not in grpc.StatusCode.__members__:
            raise ValueError(f"code {rule.code!r} is not one of {', '.join(grpc.StatusCode.__members__)}")
        return rule

    def meets_claim(self, name: str) -> bool:
        """Whether a claim of this name is spoiled."""
        return self.claim is None or self.claim == name


class Rules:
    """The rules of a process, with what is left of their `times`."""

    def __init__(self) -> None:
        self._rules: list[tuple[Rule, int | None]] = []
        self._hung: list[threading.Event] = []
        self._lock = threading.Lock()

    def replace(self, rules: list[Rule]) -> None:
        """Make these the current rules; calls that hang go on."""
        with self._lock:
            self._rules = [(rule, rule.times) for rule in rules]
            hung, self._hung = self._hung, []
        for over in hung:
            over.set()

    def hang(self, over: threading.Event) -> None:
        """Wait until `over` is set, by the caller or when the rules are replaced."""
        with self._lock:
            self._hung.append(over)
        over.wait()

    def document(self) -> list[dict[str, Any]]:
        """The rules as JSON, `times` being what is left."""
        with self._lock:
            return [{**asdict(rule), "times": left} for rule, left in self._rules]

    def take(self, method: str, claims: list[str], probe: bool) -> list[Rule]:
        """The rules that meet a call with claims of these names, which uses up one of their `times`."""
        with self._lock:
            taken = [
                index
                for index, (rule, left) in enumerate(self._rules)
                if rule.method == method
                and left != 0
                and (rule.probe or not probe)
                and (rule.claim is None or rule.claim in claims)
            ]
            for index in taken:
                rule, left = self._rules[index]
                self._rules[index] = (rule, None if left is None else left - 1)
            return [self._rules[index][0] for index in taken]


def spoil(rules: list[Rule], request: Any, pause: Callable[[float | None], None], serve: Callable[[Any], Any]) -> Any:
    """Serve a request under the rules that meet it; `pause` waits so many seconds, or hangs."""
    for rule in rules:
        if rule.hang or rule.delay:
            pause(None if rule.hang else rule.delay)
        if rule.code:
            raise RpcError(grpc.StatusCode[rule.code], f"injected {rule.code}")
    errors: dict[str, str] = {}
    omitted, renamed = set(), set()
    for claim in getattr(request, "claims", ()):
        for rule in rules:
            if rule.meets_claim(claim.name):
                if rule.error is not None:
                    errors[claim.uid] = rule.error
                if rule.omit:
                    omitted.add(claim.uid)
                if rule.wrong_uid:
                    renamed.add(claim.uid)
    if not (errors or omitted or renamed):
        return serve(request)
    withheld = errors.keys() | omitted
    response = serve(type(request)(claims=[claim for claim in request.claims if claim.uid not in withheld]))
    for uid, text in errors.items():
        response.claims[uid].error = text
    for uid in renamed - withheld:
        response.claims[f"not-{uid}"].CopyFrom(response.claims[uid])
        del response.claims[uid]
    return response
