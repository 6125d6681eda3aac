"""Take secrets out of every text that leaves: files, reports, attachments, console.

It removes values and keeps keys, so that a reader still sees that a field was there. It knows: bearer and basic
authorization, JSON web tokens, bootstrap tokens, PEM blocks, kubeconfig certificates and keys, `data` and `stringData`
of Secrets (YAML at any depth, JSON, Python representations, and JSON that is quoted inside either), registry
credentials and users in URLs. Where it cannot tell, it removes rather than keeps. Terminal colours and characters
that no file format takes go as well: they can hide a secret from a pattern, and a single one makes XML unreadable.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "<redacted>"

# JSON that is itself quoted, like the last-applied annotation, has backslashes before each quote: a string ends at a
# quote with exactly as many as it began with.
_QUOTE = r"""(?<!\\)\\*["']"""
_STRING = r"""(?<!\\)(?P<{0}>\\*["'])(?:(?!(?<!\\)(?P={0})).)*(?:(?<!\\)(?P={0})|\Z)"""
_NEW = rf"(?!{MARK})"

_CREDENTIALS = "|".join(
    [
        "certificate-authority-data|client-certificate-data|client-key-data",
        r"[\w.-]*(?:password|passwd|secret[-_]?access[-_]?key|secret[-_]?key|client[-_]?secret|api[-_]?key)",
        r"(?:id|access|refresh|identity|registry|bearer|auth|session)[-_]?token",
        r"\.docker(?:configjson|cfg)",
    ]
)
# Words that plain fields and prose use too: only a long value without spaces is taken for a credential.
_AMBIGUOUS = r"[\w.-]*token|(?:[\w.-]*[-_.])?auth"


def _key(names: str) -> str:
    assigned = rf"(?:--)?(?:{names})(?:\\*[\"'])?[ \t]*[:=][ \t]*"
    return rf"(?i:(?<![\w.-])(?P<key>{assigned}|--(?:{names})[ \t]+))"


_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN (?P<what>[A-Z0-9 ]+)-----"
            r"(?:(?:(?!-----BEGIN ).)*?-----END (?P=what)-----|[A-Za-z0-9+/=\s\\]*)",
            re.DOTALL,
        ),
        MARK,
    ),
    (re.compile(r"\bLS0tLS1CRUdJTi[A-Za-z0-9+/=]+"), MARK),
    (re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*"), MARK),
    (re.compile(r"(?<![\w.-])[a-z0-9]{6}\.(?=[a-z]*[0-9])[a-z0-9]{16}(?![\w.-])"), MARK),
    (re.compile(r"(?<![\w+.-])([a-z][a-z0-9+.-]{0,20}://)(?:(?!<redacted>@)[^\s/@\"'<>]+)@"), rf"\1{MARK}@"),
    (
        re.compile(
            rf"(?i)(\bauthorization(?:\\*[\"'])?[ \t]*[:=][ \t]*(?:\\*[\"']|\[)*+(?:(?:bearer|basic|token)[ \t]+)?+)"
            rf"{_NEW}[^\s\"'\\\]]+"
        ),
        rf"\1{MARK}",
    ),
    (re.compile(rf"(?i)\b(bearer[ \t]+){_NEW}[a-z0-9._~+/=-]{{20,}}"), rf"\1{MARK}"),
    (re.compile(_key(_CREDENTIALS) + rf"(?={_QUOTE}(?!{MARK}))" + _STRING.format("q")), rf"\g<key>\g<q>{MARK}\g<q>"),
    (re.compile(rf"(?m)^(?P<key>\s*(?:- )?(?i:{_CREDENTIALS}):[ \t]+){_NEW}[^\"'{{\[\s\\].*$"), rf"\g<key>{MARK}"),
    (re.compile(_key(_CREDENTIALS) + rf"{_NEW}[^\s\"'{{}}\[\]\\]+"), rf"\g<key>{MARK}"),
    (re.compile(_key(_AMBIGUOUS) + rf"(?P<q>{_QUOTE})?{_NEW}[\w+/=.~-]{{12,}}"), rf"\g<key>\g<q>{MARK}"),
    (re.compile(rf"(?P<key>(?P<k>{_QUOTE})auth(?P=k)\s*:\s*{_QUOTE}){_NEW}[\w+/=-]+"), rf"\g<key>{MARK}"),
)


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def redact(text: str) -> str:
    """The text without secrets and without unwritable characters; running it twice changes nothing more.

    Give it whole texts: a value that is cut in two at the edge of a chunk may not be recognised.
    """
    text = _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", _COLOUR.sub("", text))
    if "Secret" in text:
        text = _redact_yaml_secrets(_redact_json_secrets(text))
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


_JSON_SECRET = re.compile(rf"{_QUOTE}kind\\*[\"']\s*:\s*{_QUOTE}Secret(?:List)?\\*[\"']")
_JSON_DATA = re.compile(rf"{_QUOTE}(?:data|stringData)\\*[\"']\s*:\s*{{")
_JSON_PAIR = re.compile(rf"(?s)(?P<key>\s*,?\s*{_STRING.format('k')}\s*:\s*){_STRING.format('v')}")


def _redact_json_secrets(text: str) -> str:
    """Empty every flat `data` map of a text that holds a Secret: which of its objects is one is not worth a guess."""
    if not _JSON_SECRET.search(text):
        return text
    done, parts = 0, []
    for data in _JSON_DATA.finditer(text):
        at = max(done, data.end())
        parts.append(text[done:at])
        while pair := _JSON_PAIR.match(text, at):
            parts.append(f"{pair['key']}{pair['v']}{MARK}{pair['v']}")
            at = pair.end()
        done = at
    return "".join(parts) + text[done:]


_YAML_KEY = re.compile(r"^(?P<indent>(?:[ ]|- )*)[\"']?(?P<key>[\w./-]+)[\"']?:(?:\s+(?P<value>.*))?$")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of YAML: the column of its key (list dashes count as spaces), and whether it begins a list item."""

    text: str
    column: int
    key: str | None = None
    value: str = ""
    begins_item: bool = False

    @classmethod
    def parse(cls, text: str) -> "_Line":
        if found := _YAML_KEY.match(text):
            indent = found["indent"]
            return cls(text, len(indent), found["key"], (found["value"] or "").strip("\"' "), indent.endswith("- "))
        if not text.strip():
            return cls(text, 10_000)  # an empty line ends no mapping
        return cls(text, -1 if text.startswith("---") else len(text) - len(text.lstrip(" ")))


def _redact_yaml_secrets(text: str) -> str:
    lines = [_Line.parse(line) for line in text.split("\n")]
    output: list[str | None] = [line.text for line in lines]
    settled: set[int] = set()
    for number, line in enumerate(lines):
        if line.key == "kind" and line.value in ("Secret", "SecretList") and number not in settled:
            for at in _mapping_around(lines, number):
                if lines[at].column == line.column and lines[at].value == line.value:
                    settled.add(at)
                own = lines[at].column == line.column or line.value == "SecretList"
                if own and lines[at].key in ("data", "stringData"):
                    _empty_map(lines, output, at)
    return "\n".join(line for line in output if line is not None)


def _mapping_around(lines: list[_Line], number: int) -> Iterator[int]:
    """The numbers of the lines of the mapping that has line `number` as a key, nested lines included."""
    column = lines[number].column
    at = number
    while at > 0 and not (lines[at].begins_item and lines[at].column == column) and lines[at - 1].column >= column:
        at -= 1
    while at < len(lines) and lines[at].column >= column:
        if at > number and lines[at].begins_item and lines[at].column == column:
            return
        yield at
        at += 1


def _empty_map(lines: list[_Line], output: list[str | None], parent: int) -> None:
    at = parent + 1
    column = lines[at].column if at < len(lines) else 0
    if column <= lines[parent].column:
        output[parent] = lines[parent].text.split(":", 1)[0] + f": {MARK}"
    while at < len(lines) and lines[at].column > lines[parent].column:
        entry = lines[at]
        output[at] = f"{' ' * column}{entry.key}: {MARK}" if entry.key and entry.column == column else None
        at += 1
