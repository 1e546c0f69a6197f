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
from functools import lru_cache
from typing import Any, Final, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.schemas.check_work import spend
from agui_bridge.protocol.schemas.formats import FORMATS

__all__ = ["PATTERN_KEYWORDS", "HasPatterns", "Pattern", "compile_pattern"]

_CHARACTERS: Final = 250
"""Of a text, what takes as long to search as a step of the check."""

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
