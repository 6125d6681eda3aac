"""Templates of what shows a device: text in which `{device}` and the like stand for facts of an allocation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Formatter

FACTS = ("driver", "pool", "device", "claim")
_ATTRIBUTE = re.compile(r"attributes\[((?:[a-z0-9.-]+/)?[A-Za-z_][A-Za-z0-9_]*)\]")
_KNOWN = ", ".join(f"{{{fact}}}" for fact in FACTS) + ", {attributes[NAME]}"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A fact of the allocation, or an attribute of the device; the other is empty."""

    fact: str = ""
    attribute: str = ""


def parts(template: str) -> Iterator[str | Placeholder]:
    """What a template consists of: texts and what stands in braces.

    Raises:
        ValueError: something else stands in braces.
    """
    wrong = f"{template!r} has a placeholder that is none of {_KNOWN}"
    try:
        for text, name, form, conversion in Formatter().parse(template):
            if text:
                yield text
            if name is None:
                continue
            attribute = _ATTRIBUTE.fullmatch(name)
            if form or conversion or not (attribute or name in FACTS):
                raise ValueError(wrong)
            yield Placeholder(attribute=attribute[1]) if attribute else Placeholder(fact=name)
    except ValueError as error:
        raise ValueError(wrong) from error


def checked(template: str) -> str:
    """The template, if nothing unknown stands in braces; raises ValueError."""
    list(parts(template))
    return template


def filled(template: str, facts: Mapping[str, str], attributes: Mapping[str, str]) -> str:
    """The text for one device.

    Raises:
        KeyError: the device has no such attribute.
    """
    return "".join(
        part if isinstance(part, str) else attributes[part.attribute] if part.attribute else facts[part.fact]
        for part in parts(template)
    )
