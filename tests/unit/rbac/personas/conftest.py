"""An API server that answers requests with scripted statuses, and keeps what was asked."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.dynamic import exceptions

from fixtures.kube.api import Gone, Kube, Refused
from fixtures.kube.discovery import Served
from fixtures.kube.subjects import Subject
from fixtures.rbac.personas.identities import Persona

Object = dict[str, Any]
KINDS: dict[int, type[exceptions.DynamicApiError]] = {
    400: exceptions.BadRequestError,
    401: exceptions.UnauthorizedError,
    403: Refused,
    404: Gone,
    405: exceptions.MethodNotAllowedError,
    409: exceptions.ConflictError,
    422: exceptions.UnprocessibleEntityError,
    500: exceptions.InternalServerError,
}
SERVED = tuple(
    Served(version, name, namespaced)
    for version in ("v1", "v1beta1")
    for name, namespaced in (
        ("deviceclasses", False),
        ("resourceslices", False),
        ("resourceclaims", True),
        ("resourceclaims/status", True),
        ("resourceclaimtemplates", True),
    )
)


def problem(status: int, message: str = "no") -> exceptions.DynamicApiError:
    body = json.dumps({"kind": "Status", "message": message})
    error: exceptions.DynamicApiError = KINDS[status](SimpleNamespace(status=status, reason="", body=body, headers={}))
    return error


class Scripted(Kube):
    """Answers by `METHOD PATH`, the longest beginning that fits; 403 unless told otherwise.

    An answer is a status, a status with its message, or an object.
    """

    def __init__(self, answers: dict[str, Any] | None = None, default: int = 403) -> None:
        self.answers, self.default = answers or {}, default
        self.asked: list[tuple[str, str, Object]] = []
        self.reviews: list[tuple[str, Object]] = []
        self.allows: bool = False

    def raw(self, method: str, path: str, **parameters: Any) -> str:
        self.asked.append((method, path, parameters))
        fitting = [key for key in self.answers if f"{method} {path}".startswith(key)]
        answer = self.answers[max(fitting, key=len)] if fitting else self.default
        if isinstance(answer, dict):
            return json.dumps(answer)
        status, message = answer if isinstance(answer, tuple) else (answer, "no")
        if status >= 300:
            raise problem(status, message)
        return "{}"

    def post(self, path: str, body: Object, **_: Any) -> Object:
        self.reviews.append((path, body))
        return {"status": {"allowed": self.allows}}

    @property
    def lines(self) -> list[str]:
        return [f"{method} {path}" for method, path, _ in self.asked]


def persona(kube: Kube, *, own: bool = True) -> Persona:
    return Persona(kube, Subject("ServiceAccount", "someone", "ns"), "ns", "made up", own)


class Stage:
    """What tests of personas need, without imports."""

    served = SERVED
    scripted = Scripted
    persona = staticmethod(persona)
    problem = staticmethod(problem)


@pytest.fixture
def stage() -> type[Stage]:
    return Stage
