"""Complete JSON text that broke off.

When a run is stopped in the middle of a tool call's arguments, what was streamed can't be
taken back, but it can be continued: a last delta closes what is open, so that no history
holds arguments that the next model call would choke on.
"""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_UNIT = r'[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TOKEN: Final = re.compile(
    rf'(?P<mark>[{{}}\[\],:])|(?P<string>"(?:{_UNIT})*")'
    rf"|(?P<scalar>true|false|null|{_NUMBER}(?![0-9.eE+-]))"
)
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_LITERALS: Final = ("true", "false", "null")

_CUT_NUMBER: Final = re.compile(r"-|-?(?:0|[1-9][0-9]*)(?:\.|(?:\.[0-9]+)?[eE][+-]?)")
_CUT_STRING: Final = re.compile(rf'"(?P<last>{_UNIT})*(?P<escape>\\(?:u[0-9a-fA-F]{{0,3}})?)?')
_HIGH_SURROGATE: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")

_OPENERS: Final = {"first key": "}", "first item": "]"}

_STATES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    # state: what may come next -> the state after it. "after" is left by "," or a closer
    # alone, which the stack of open containers decides.
    {
        "value": {"{": "first key", "[": "first item", "string": "after", "scalar": "after"},
        "first item": {
            "{": "first key",
            "[": "first item",
            "string": "after",
            "scalar": "after",
            "]": "after",
        },
        "first key": {"string": "colon", "}": "after"},
        "key": {"string": "colon"},
        "colon": {":": "value"},
    }
)
_AFTER_IN: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {"": {}, "}": {",": "key", "}": "after"}, "]": {",": "value", "]": "after"}}
)
_MISSING: Final[Mapping[str, str]] = MappingProxyType(
    # state: what is missing before the open containers can be closed.
    {
        "value": "null",
        "first item": "",
        "first key": "",
        "key": '"":null',
        "colon": ":null",
        "after": "",
    }
)


def completion(text: str) -> str | None:
    """Return the suffix that makes a prefix of a JSON document valid JSON.

    It is as short as it can be without inventing a value: one that is missing altogether
    becomes ``null``, a number that was cut gets a ``0``, the first half of a surrogate
    pair a second one.

    Args:
        text: The document so far, such as the arguments of a tool call.

    Returns:
        The suffix; ``""`` when the text is valid or empty (a call without arguments);
        ``"{}"`` when it is nothing but space; None when no suffix can make it valid.
    """
    if _is_whole(text):
        return ""
    stack: list[str] = []
    state, position = "value", _skip_space(text, 0)
    if position == len(text):
        return "{}" if text else ""
    while position < len(text):
        token = _TOKEN.match(text, position)
        kind = (token["mark"] or token.lastgroup) if token else None
        allowed = _AFTER_IN[stack[-1] if stack else ""] if state == "after" else _STATES[state]
        if token is None or kind is None:
            cut = _complete_token(text[position:])
            if cut is None or (following := allowed.get(cut[0])) is None:
                return None
            return cut[1] + _MISSING[following] + "".join(reversed(stack))
        if kind not in allowed:
            return None
        state = allowed[kind]
        if state in _OPENERS:
            stack.append(_OPENERS[state])
        elif kind in "]}":
            stack.pop()
        position = _skip_space(text, token.end())
    return _MISSING[state] + "".join(reversed(stack))


def _is_whole(text: str) -> bool:
    """Whether a text is JSON already, as nearly all are."""
    try:
        _WHOLE.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_WHOLE: Final = json.JSONDecoder(parse_constant=_refuse_constant)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _complete_token(rest: str) -> tuple[str, str] | None:
    """Return the kind of a token that was cut and what completes it."""
    if _CUT_NUMBER.fullmatch(rest):
        return "scalar", "0"
    for literal in _LITERALS:
        if literal.startswith(rest):
            return "scalar", literal.removeprefix(rest)
    string = _CUT_STRING.fullmatch(rest)
    if string is None:
        return None
    after_high = _HIGH_SURROGATE.fullmatch(string["last"] or "") is not None
    return "string", _complete_escape(string["escape"], after_high=after_high) + '"'


def _complete_escape(escape: str | None, *, after_high: bool) -> str:
    r"""Complete a backslash escape that was cut, leaving no half of a surrogate pair.

    Args:
        escape: None, or a backslash with what followed it: ``\``, ``\u``, ``\u0``.
        after_high: A high surrogate stands before it and waits for its low one.
    """
    low = r"\udc00"
    if escape is None:
        return low if after_high else ""
    if after_high:
        if low.startswith(escape.lower()):
            return low[len(escape) :]
        if re.match(r"\\u[dD][c-fC-F]", escape):
            return "0" * (6 - len(escape))
    if escape == "\\":
        return "\\"
    digits = escape[2:].lower()
    # Neither NUL nor half a pair, where there is a choice.
    for filler in ("fffd", "0020", "0009"):
        if filler.startswith(digits):
            return filler[len(digits) :]
    filled = "0" * (4 - len(digits))
    return filled + low if re.match("d[89ab]", digits) else filled
