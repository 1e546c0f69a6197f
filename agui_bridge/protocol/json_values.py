"""The JSON that may enter and leave: what input is refused, what output is replaced.

NaN, Infinity, NUL characters and lone surrogates are refused in input and replaced in
output (contract.md, C13): JSON has no NaN, PostgreSQL stores no NUL, and UTF-8
encodes no lone surrogate, so each of them would break a client or a store later on.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ag_ui.core import RunAgentInput
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

from agui_bridge.errors import AgentMistake, Refused

WireEvent: TypeAlias = dict[str, Any]
"""One AG-UI event as it travels: camelCase keys, JSON values, no key without a value."""

MAX_DEPTH: Final = 100
"""How deep a value may nest; a scalar has depth 0, ``[]`` depth 1."""

MAX_OUTPUT_DEPTH: Final = 88
"""Less than may enter, so that what goes out can come back inside a request."""

DEEPEST: Final = 80
"""How deep what is kept of an agent may nest: a continuation adds levels of its own."""

_ANYTHING: Final[TypeAdapter[Any]] = TypeAdapter(Any)
_LONGEST_INT: Final = 14_000
"""Bits of an integer that Python still writes as decimal digits."""

_BELOW_THREADS: Final = ("/connect", "/interrupts", "/stop")
"""What stands below a thread in the paths of `http.app.routes.ROUTES`."""

NUL: Final = "\x00"
REPLACEMENT: Final = "\ufffd"

_FORBIDDEN_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_JSON_SCALARS = frozenset({bool, int, type(None)})


def find_forbidden(value: Any, *, max_depth: int = MAX_DEPTH) -> str | None:
    """Say where and why a parsed JSON value may not enter, or None when it may.

    Args:
        value: What ``json.loads`` returned: dicts with string keys, lists, scalars.
        max_depth: The deepest nesting that is let in.

    Returns:
        The path of the first offence in document order and its reason, such as
        ``"$.rows[2].name: NUL character"``; None when there is no offence.
    """
    if _is_clean(value, max_depth):
        return None
    for path, node in _walk(value):
        if isinstance(node, str):
            if found := _FORBIDDEN_CHARACTER.search(node):
                reason = "NUL character" if found[0] == NUL else "lone surrogate"
                return f"{_path(path)}: {reason}"
        elif isinstance(node, float):
            if not math.isfinite(node):
                return f"{_path(path)}: {node} is not a JSON number"
        elif isinstance(node, dict | list) and len(path) >= max_depth:
            return f"{_path(path)}: nested deeper than {max_depth} levels"
    return None


class _Key(str):
    """The step to a key itself, not to what stands under it."""

    __slots__ = ()


def _walk(root: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Every value in document order, an object's keys among them, and the steps to it.

    The list of steps is one and the same, changed from one value to the next: a path of its own
    for each would exhaust the memory, and most of the time.
    """
    path: list[str | int] = []
    yield path, root
    levels = [_members(root)]
    while levels:
        for step, node in levels[-1]:
            path.append(step)
            yield path, node
            if isinstance(node, dict | list):
                levels.append(_members(node))
                break
            path.pop()
        else:
            levels.pop()
            if path:
                path.pop()


def _members(node: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(node, list):
        yield from enumerate(node)
    elif isinstance(node, dict):
        for key, item in node.items():
            yield _Key(key), key
            yield key, item


def _path(path: list[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{clean_text(step)}" for step in path)
    is_key = bool(path) and isinstance(path[-1], _Key)
    return ("key " if is_key else "") + "$" + "".join(steps)


def _is_clean(value: Any, max_depth: int) -> bool:
    """Whether nothing offends, found out level by level without remembering where."""
    level = [value]
    for depth in range(max_depth + 1):
        # Texts are most of it, and one look at all of a level costs less than one at each.
        texts = "".join([node for node in level if type(node) is str])
        if not (texts.isascii() and NUL not in texts) and _FORBIDDEN_CHARACTER.search(texts):
            return False
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is str:
                continue
            if kind is float:
                if not math.isfinite(node):
                    return False
            elif kind is dict or kind is list:
                if depth >= max_depth:
                    return False
                if kind is dict:
                    below.extend(node)
                    below.extend(node.values())
                else:
                    below.extend(node)
        if not below:
            return True
        level = below
    return False


def clean_text(text: str) -> str:
    """Replace NUL characters and lone surrogates by U+FFFD; return clean text as it is."""
    if text.isascii() and NUL not in text:
        return text
    return _FORBIDDEN_CHARACTER.sub(REPLACEMENT, text)


def clean(value: Any) -> Any:
    """Turn any Python value into JSON that every client and store accepts.

    NaN and infinities become None, NUL characters and lone surrogates U+FFFD. Models and
    dataclasses become objects, tuples and sets arrays (sets in canonical order), bytes
    text or base64, everything else what pydantic makes of it, or at the last its ``str``.
    A reference back to an enclosing container, what is nested deeper than may come back
    in a request, and integers of thousands of digits become None.

    Returns:
        The same object when nothing needs changing; the input is never mutated.
    """
    return _clean(value, ())


def _clean(value: Any, enclosing: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind in _JSON_SCALARS:
        return None if kind is int and value.bit_length() > _LONGEST_INT else value
    if kind is str:
        return clean_text(value)
    if kind is float:
        return value if math.isfinite(value) else None
    # Nearly all are of the first two kinds, and to ask for the others goes through their bases.
    if (
        kind is dict
        or kind is list
        or isinstance(value, Mapping | list | tuple | Set | deque | BaseModel)
        or (dataclasses.is_dataclass(value) and not isinstance(value, type))
    ):
        if len(enclosing) >= MAX_OUTPUT_DEPTH or id(value) in enclosing:
            return None
        return _clean_container(value, (*enclosing, id(value)))
    return _clean_scalar(value)


def _clean_container(value: Any, enclosing: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind is not dict and kind is not list and isinstance(value, BaseModel):
        return _clean(_attributes(value), enclosing)
    if kind is dict or isinstance(value, Mapping):
        cleaned = {_clean_key(key): _clean(item, enclosing) for key, item in value.items()}
        same_keys = type(value) is dict and all(map(_is, cleaned, value))
        return value if same_keys and all(map(_is, cleaned.values(), value.values())) else cleaned
    if isinstance(value, list | tuple | Set | deque):
        items = [_clean(item, enclosing) for item in value]
        if type(value) is list and all(map(_is, items, value)):
            return value
        return sorted(items, key=canonical) if isinstance(value, Set) else items
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return _clean(fields, enclosing)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _attributes(model: BaseModel) -> dict[str, Any]:
    try:
        return model.model_dump(by_alias=True)
    except Exception:  # a serializer written by a user may raise anything
        return dict(model)


def _clean_key(key: Any) -> str:
    if type(key) is str:
        return clean_text(key)
    try:
        (converted,) = to_jsonable_python({key: None})
    except (ValueError, TypeError):
        converted = str(key)
    return clean_text(str.__str__(converted))


def _clean_scalar(value: Any) -> Any:
    try:
        converted = to_jsonable_python(value, by_alias=True, bytes_mode="utf8")
    except UnicodeDecodeError:
        converted = to_jsonable_python(value, bytes_mode="base64")
    except (ValueError, TypeError):
        converted = str(value)
    # A scalar's own type (an enum of strings, say) may survive the conversion.
    if isinstance(converted, str):
        return clean_text(str.__str__(converted))
    if isinstance(converted, float):
        return float(converted) if math.isfinite(converted) else None
    return _clean(converted, ()) if type(converted) is not type(value) else str(value)


def copied(value: Any) -> Any:
    """A copy of a JSON value that shares no object or array with it."""
    if isinstance(value, dict):
        return {key: v if type(v) is str else copied(v) for key, v in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def jsonable(what: str, value: Any) -> Any:
    """Turn a value of an agent's into the JSON that is kept of it.

    Args:
        what: its name, for who reads the error.
        value: the value.

    Raises:
        AgentMistake: the value, or a part of it, has no JSON form, or it nests deeper than
            DEEPEST levels.
    """
    if value is None or type(value) in (str, int, bool):
        return clean(value)
    try:
        _ANYTHING.dump_python(value, mode="json")
    except ValueError as error:
        raise AgentMistake(
            f"{what} has no JSON form: {error} Pass plain data, and what it needs besides "
            "(clients, connections) through a closure or functools.partial."
        ) from None
    # What `clean` cuts off lies deeper still, so that nothing is cut off silently.
    cleaned = clean(value)
    if depth_of(cleaned) > DEEPEST:
        raise AgentMistake(
            f"{what} nests deeper than {DEEPEST} levels, which is more than is kept. Pass a "
            "flatter value, or its JSON text."
        )
    return copied(cleaned)


def canonical(value: Any) -> str:
    """Write a value as canonical JSON: sorted keys, compact, ASCII, cleaned.

    Equal text means the same JSON; the text is stable across processes and versions, so
    that it can be a journal key or part of a digest.
    """
    return json.dumps(clean(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def same_json(a: Any, b: Any) -> bool:
    """Tell whether two values are the same JSON, type-exactly.

    The order of keys does not matter, everything else does. A boolean equals no number.
    An int never equals a float, nor ``0.0`` ``-0.0``, because their texts differ; a
    JavaScript client writes 1.0 as ``1`` both times, so its retries stay the same.
    """
    try:
        # As they are: what `clean` would prune or replace must still tell them apart.
        return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return canonical(a) == canonical(b)


@dataclass(frozen=True, slots=True)
class InputLimits:
    """The limits of `Settings` that hold for an input's content; None is no limit.

    Attributes:
        max_messages: messages.
        max_members: tools, context items, resume entries, and the content parts and the tool
            calls of all messages together, of each.
        max_id_bytes: bytes of an id in UTF-8.
        max_depth: nesting of the whole input.
    """

    max_messages: int | None
    max_members: int | None
    max_id_bytes: int | None
    max_depth: int = MAX_DEPTH


NOT_IN_IDS: Final = r"[\u0000-\u001f\u007f-\u009f\u2028\u2029]"
"""What no line of a log, and no path, may hold: control characters and line ends, as a pattern."""

_CONTROL: Final = re.compile(NOT_IN_IDS)

UNLIMITED: Final = InputLimits(None, None, None)
"""For inputs that code makes, not a client."""


def beyond(
    code: str, what: str, *, found: object, limit: float, unit: str, setting: str
) -> Refused:
    """What is said of anything beyond a limit: the limit, what was found, and the setting.

    Args:
        code: a key of `CODES`.
        what: the field, or what else is too large.
        found: how much there is (or a word for it).
        limit: how much there may be.
        unit: of both.
        setting: the field of `Settings` that holds the limit.
    """
    details = {"field": what, "found": found, "limit": limit, "setting": setting}
    return Refused(
        code, f"{what}: {found} {unit}; at most {limit} are allowed ({setting}).", details
    )


def check_members(body: Mapping[str, Any], limits: InputLimits) -> None:
    """Check how many members an input's lists have, before each of them is looked at.

    Raises:
        Refused: PAYLOAD_TOO_LARGE.
    """
    within: dict[str, int] = {}
    for field, members in _lists(body):
        setting = "max_messages" if field == "messages" else "max_members"
        limit = limits.max_messages if field == "messages" else limits.max_members
        found = len(members)
        if field.startswith("messages."):
            kind = "content" if field.endswith(".content") else "calls"
            found = within[kind] = within.get(kind, 0) + found
        if limit is not None and found > limit:
            raise beyond(
                "PAYLOAD_TOO_LARGE", field, found=found, limit=limit, unit="members",
                setting=setting,
            )  # fmt: skip


def _lists(body: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists whose members are validated, the outer ones first, with their fields."""
    for field in ("messages", "tools", "context", "resume"):
        if isinstance(members := body.get(field), list):
            yield field, members
    messages = body.get("messages")
    for i, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            # Both spellings of the tool calls are read.
            for field in ("content", "toolCalls", "tool_calls"):
                if isinstance(members := message.get(field), list):
                    yield f"messages.{i}.{field}", members


def check_ids(parsed: RunAgentInput, limits: InputLimits) -> None:
    """Check the ids that stores have as keys, and people read in paths and logs.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    ids = [
        ("threadId", parsed.thread_id),
        ("runId", parsed.run_id),
        ("parentRunId", parsed.parent_run_id or ""),
    ]
    ids += [(f"messages.{i}.id", message.id) for i, message in enumerate(parsed.messages)]
    ids += [(f"resume.{i}.interruptId", e.interrupt_id) for i, e in enumerate(parsed.resume or ())]
    for field, value in ids:
        check_id(field, value, limits.max_id_bytes)
    check_addressable("threadId", parsed.thread_id)


def check_addressable(field: str, thread: str) -> None:
    """Check that a thread can have paths of its own.

    `a/stop` would be the stop of `a`; `.` and `..` are removed from a path by every client, also
    where they are escaped.

    Raises:
        Refused: INVALID_INPUT.
    """
    if thread in (".", ".."):
        raise Refused(
            "INVALID_INPUT",
            f"{field}: {thread!r} can't be an id: paths have another meaning for it.",
            {"field": field},
        )
    for ending in _BELOW_THREADS:
        if thread.endswith(ending):
            raise Refused(
                "INVALID_INPUT",
                f"{field}: an id may not end in {ending!r}, a path below another thread's.",
                {"field": field},
            )


def check_id(field: str, value: str, limit: int | None) -> None:
    """Check one id: its length, and that it is one line of text.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    if limit is not None and (size := len(value.encode())) > limit:
        raise beyond(
            "INVALID_INPUT", field, found=size, limit=limit, unit="bytes", setting="max_id_bytes"
        )
    if found := _CONTROL.search(value):
        reason = f"an id may not hold the control character U+{ord(found[0]):04X}"
        raise Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})


def depth_of(value: Any) -> int:
    """How deep a value nests, found without recursion; a scalar has depth 0, ``[]`` depth 1."""
    depth, level = 0, [value]
    while containers := [node for node in level if isinstance(node, dict | list)]:
        depth += 1
        level = []
        for node in containers:
            level.extend(node.values() if isinstance(node, dict) else node)
    return depth
