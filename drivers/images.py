"""Images: which ones objects run, and the names that they have in a mirror registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]


def mirrored(image: str, registry: str) -> str:
    """An image's name under a registry prefix; the own name without one.

    The prefix takes the place of the image's own registry; `busybox:1` is `docker.io/library/busybox:1`.
    """
    if not registry:
        return image
    first, _, rest = image.partition("/")
    if rest and (first == "localhost" or "." in first or ":" in first):
        return f"{registry}/{rest}"
    return f"{registry}/{image if rest else f'library/{image}'}"


def mirror(objects: list[Object], registry: str) -> None:
    """Have all containers of some objects take their images from a registry."""
    for container in containers(objects):
        container["image"] = mirrored(container["image"], registry)


def images_of(objects: list[Object]) -> set[str]:
    """The images of all containers of some objects."""
    return {container["image"] for container in containers(objects)}


def containers(objects: list[Object]) -> Iterator[Object]:
    """All containers, init containers included, of pods and of whatever has a template of pods."""
    for item in objects:
        spec = item.get("spec") or {}
        while "containers" not in spec and ("template" in spec or "jobTemplate" in spec):
            spec = (spec.get("template") or spec["jobTemplate"]).get("spec") or {}
        yield from (*spec.get("initContainers", ()), *spec.get("containers", ()))
