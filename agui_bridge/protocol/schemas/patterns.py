r"""Patterns of JSON Schema, run in linear time: as they are, taken apart, or weakened.

Schemas are written for JavaScript's engine, whose look-around and back-references no linear-time
engine has. A pattern that RE2 doesn't take is

- written as RE2 writes it, where only the spelling differs (`\u4e00`);
- taken apart, where it begins with look-aheads: `^(?=A)(?!B)C` matches what `^A` and `^C` match and
  `^B` doesn't. So are the patterns of e-mail addresses of zod 3 and zod 4, and rules for passwords;
- known: zod's pattern of a duration, which has look-aheads within, is checked as the format;
- weakened: look-around within it is left out, a back-reference stands for any text. What matched
  before still matches, and much of what is wrong is still refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.schemas.check_work import spend

# --- what the formats of JSON Schema ask of a text, each checked in linear time ---
#
# A text that one of the libraries which write the schemas (pydantic, zod, valibot) takes is taken
# here: a time may lack its zone and its seconds, an address may have letters of any script. Whoever
# wants more says so in a `pattern`. A format that is not listed says what a text is for, not what
# it must be.
#
# Source: JSON Schema 2020-12, "Vocabularies for Semantic Content With format".

_CHARACTERS: Final = 250
"""Of a text, what takes as long to look at as a step of the check."""

_LONGEST: Final = 320
"""Characters of the longest address of e-mail; of all else but a URI no proper text is as long."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:\.[0-9]+)?)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"
)
_NUMBER: Final = r"[0-9]+(?:[.,][0-9]+)?"
_DURATION: Final = re.compile(
    rf"[+-]?P(?=[0-9]|T[0-9])(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20\x7f<>\"{}|\\^`]+")
_NEEDS_HOST: Final = re.compile(r"(?:https?|wss?|ftp):(?!//[^/?#])", re.IGNORECASE)
_LOCAL: Final = re.compile(r"[^\s\x00-\x20\x7f()<>\[\]\\.,:;@\"]+")
_QUOTED: Final = re.compile(r"\"[^\x00-\x1f\x7f\"]+\"")
_LABEL: Final = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None


def _is_moment(text: str) -> bool:
    return text[10:11] in ("T", "t", " ") and _is_date(text[:10]) and _is_time(text[11:])


def _is_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64:
        return False
    if not _QUOTED.fullmatch(local) and not all(map(_LOCAL.fullmatch, local.split("."))):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        inner = domain[1:-1]
        return _is_ipv6(inner[5:]) if inner.startswith("IPv6:") else _is_ipv4(inner)
    return all(map(_LABEL.fullmatch, domain.split(".")))


def _is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None and not _NEEDS_HOST.match(text)


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone means something on one machine only


def _short(fits: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: len(text) <= _LONGEST and fits(text)


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": _short(_is_date),
    "date-time": _short(_is_moment),
    "duration": _short(lambda text: _DURATION.fullmatch(text) is not None),
    "email": _short(_is_email),
    "ipv4": _short(_is_ipv4),
    "ipv6": _short(_is_ipv6),
    "time": _short(_is_time),
    "uri": _is_uri,
    "uuid": _short(lambda text: _UUID.fullmatch(text) is not None),
}
"""By the name of a format whether a text is one."""


def check_format(_: Any, name: str, instance: Any, __: Any) -> Iterator[Any]:
    """The keyword `format`, for a validator of jsonschema."""
    from jsonschema import ValidationError

    fits = FORMATS.get(name)
    if fits is None or not isinstance(instance, str):
        return
    spend(len(instance) // _CHARACTERS)
    if not fits(instance):
        yield ValidationError(f"{instance!r} is not a {name!r}")


# --- patterns ---

_MOST_PARTS: Final = 16
"""Parts that one pattern is taken apart into; each is a search of its own."""

_LONGEST_DISSECTED: Final = 4096
"""Characters of a pattern that is read here; zod's longest have 500."""

_KNOWN: Final[Mapping[str, str]] = {
    r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?"
    r"(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$": "duration",
}
"""Patterns that zod writes for a format and that can't be taken apart, and the format."""

_TOKEN: Final = re.compile(
    r"""
    (?P<pair> \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2} )
  | (?P<code> \\u[0-9a-fA-F]{4} | \\u\{[0-9a-fA-F]{1,6}\} )
  | (?P<script> \\[pP]\{(?:Script|sc)=\w+\} )
  | (?P<back> \\[1-9][0-9]* | \\k<\w+> )
  | (?P<escape> \\[\s\S] )
  | (?P<around> \(\?<?[=!] )
  | (?P<name> \(\?<\w+> )
  | (?P<open> \( )
  | (?P<close> \) )
  | (?P<any> \[\^\] )
  | (?P<class> \[ )
  | (?P<end> \] )
  | (?P<other> [\s\S] )
    """,
    re.VERBOSE,
)
_ANYTHING: Final = r"(?s:.)"


class _NotReadable(Exception):
    """A pattern whose parts can't be told: its parentheses don't match."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is checked of a pattern.

    Attributes:
        wanted: each must find something in the text.
        unwanted: none may.
        exact: whether a text passes if and only if the pattern as it was written matches it;
            else others may pass too, but whatever it matches does.
    """

    wanted: tuple[Callable[[str], Any], ...]
    unwanted: tuple[Callable[[str], Any], ...] = ()
    exact: bool = True

    def matches(self, text: str) -> bool:
        """Tell whether a text passes; within `counting_work`, which counts what it takes."""
        extra = max(0, len(self.wanted) + len(self.unwanted) - 1)
        spend(extra * (1 + len(text) // _CHARACTERS))
        return all(find(text) for find in self.wanted) and not any(
            find(text) for find in self.unwanted
        )


@lru_cache(maxsize=256)
def compile_pattern(source: str) -> Pattern:
    """Make what is checked of a pattern; all of it where that is possible, maybe nothing.

    Args:
        source: a regular expression as JSON Schema has them.
    """
    if whole := _search(source):
        return Pattern((whole,))
    if source in _KNOWN:
        return Pattern((FORMATS[_KNOWN[source]],))
    if len(source) <= _LONGEST_DISSECTED:
        try:
            return _dissected(list(_tokens(source)))
        except _NotReadable:
            pass
    return Pattern((), exact=False)


def _search(source: str) -> Callable[[str], Any] | None:
    """A search for what a pattern says, None where RE2 does not take it."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        search: Callable[[str], Any] = re2.compile(source, options).search
    except re2.error:
        return None
    return search


_Token = tuple[str, str]
"""Its kind, a group of `_TOKEN`, and its text as RE2 has it."""


def _tokens(source: str) -> Iterator[_Token]:
    in_class = False
    for found in _TOKEN.finditer(source):
        kind, text = str(found.lastgroup), found[0]
        if kind == "pair":
            high, low = int(text[2:6], 16), int(text[8:12], 16)
            yield "code", rf"\x{{{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):x}}}"
        elif kind == "code":
            yield "code", rf"\x{{{text.strip(chr(92) + 'u{}')}}}"
        elif kind == "script":
            yield "escape", rf"{text[:2]}{{{text.partition('=')[2]}"
        elif in_class:
            in_class = kind != "end"
            yield ("end" if kind == "end" else "inner"), (r"\[" if text == "[" else text)
        elif kind == "name":
            yield "open", "("
        elif kind == "any":
            yield "other", _ANYTHING
        else:
            in_class = kind == "class"
            yield kind, text


def _dissected(tokens: list[_Token]) -> Pattern:
    """What begins with look-aheads as a search for each, the rest without its look-around."""
    wanted: list[Callable[[str], Any]] = []
    unwanted: list[Callable[[str], Any]] = []
    exact = True
    start = 0
    if tokens[:1] == [("other", "^")] and not _has_alternatives(tokens):
        start = 1
        while start < len(tokens) and tokens[start][1] in ("(?=", "(?!"):
            end = _end_of_group(tokens, start)
            if tokens[end + 1 : end + 2] and tokens[end + 1][1] in "*+?{":
                break  # repeated, which may mean not at all
            inner, same = _weakened(tokens[start + 1 : end])
            full = len(wanted) + len(unwanted) == _MOST_PARTS
            find = None if full else _search(f"^(?:{inner})")
            exact = exact and same and find is not None
            if find is not None and tokens[start][1] == "(?=":
                wanted.append(find)
            elif find is not None and same:
                unwanted.append(find)
            start = end + 1
        tokens = [tokens[0], *tokens[start:]]
    rest, same = _weakened(tokens)
    find = _search(rest)
    if find is not None:
        wanted.append(find)
    return Pattern(tuple(wanted), tuple(unwanted), exact and same and find is not None)


def _has_alternatives(tokens: list[_Token]) -> bool:
    """Whether `|` stands outside all groups: what begins the pattern then begins a part of it."""
    depth = 0
    for kind, text in tokens:
        depth += (kind in ("open", "around")) - (kind == "close")
        if depth == 0 and (kind, text) == ("other", "|"):
            return True
    return False


def _end_of_group(tokens: list[_Token], start: int) -> int:
    depth = 0
    for place in range(start, len(tokens)):
        kind = tokens[place][0]
        depth += (kind in ("open", "around")) - (kind == "close")
        if depth == 0:
            return place
    raise _NotReadable


def _weakened(tokens: list[_Token]) -> tuple[str, bool]:
    """The pattern without look-around and back-references, and whether it had none."""
    parts: list[str] = []
    same = True
    place = 0
    while place < len(tokens):
        kind, text = tokens[place]
        if kind == "around":
            place, text, same = _end_of_group(tokens, place), "(?:)", False
        elif kind == "back":
            text, same = f"{_ANYTHING}*", False
        parts.append(text)
        place += 1
    return "".join(parts), same


# --- the keywords that have patterns, for a validator of jsonschema ------------------------------


class HasPatterns(Protocol):
    """A part of a schema, with what is checked of its patterns at hand.

    A cache that is shared with other schemas would lose them while one is checked, and to compile
    one takes as long as a hundred steps.
    """

    patterns: Mapping[str, Pattern]

    def get(self, keyword: str, default: Any) -> Any:
        """The value of a keyword."""


def _pattern(_: Any, pattern: str, instance: Any, schema: HasPatterns) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not schema.patterns[pattern].matches(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, properties: Mapping[str, Any], instance: Any, schema: HasPatterns
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in properties.items():
        compiled = schema.patterns[pattern]
        for name, value in instance.items():
            if compiled.matches(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, subschema: Any, instance: Any, schema: HasPatterns
) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = [schema.patterns[pattern] for pattern in schema.get("patternProperties", ())]
    for name, value in instance.items():
        if name in known or any(pattern.matches(name) for pattern in patterns):
            continue
        if subschema is False:
            yield ValidationError(f"{name!r} is not among the properties that are allowed")
        else:
            yield from validator.descend(value, subschema, path=name)


PATTERN_KEYWORDS: Final[Mapping[str, Any]] = {
    "additionalProperties": _additional_properties,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
}
"""Keywords with patterns by their names, for a validator of jsonschema."""
