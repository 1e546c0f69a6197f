"""What every surface reads alike: ids, JSON texts, and what is said of calls."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import Refused
from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.json_values import beyond, check_id, clean_text, find_forbidden
from agui_bridge.protocol.threads.records import Interrupt, Json, ThreadKey
from agui_bridge.text.shown import shown_json, shown_name, shown_preview, shown_word
from agui_bridge.text.visible import visible


def check_text_id(field: str, value: str, max_bytes: int | None) -> None:
    """Check an id that a store is to have as a key.

    Args:
        field: the field that it stands in.
        value: the id.
        max_bytes: how long it may be in UTF-8; None is no limit.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    if find_forbidden(value) is not None:
        reason = "holds what no text may"
        raise Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})
    check_id(field, value, max_bytes)


# --- strict JSON from bytes and from code: what passes here is stored as what it is ---
#
# Of a key that stands twice in an object every reader takes another value: a gateway that judges
# the first `approved` would pass what is executed by the last. Such an object is refused.

_LARGE: Final = 64 * 1024
"""Bytes of a text that takes noticeable time, whatever is in it."""

_MANY: Final = 1_000
"""Values of a text that does, however short they are."""

_LONGEST_KEY = 100
_LONGEST_INTEGER = 1_000


def parse_json(
    text: bytes, max_depth: int, what: str = "The body", *, max_values: int | None = None
) -> Json:
    """Read JSON in UTF-8, without the constants that only Python knows.

    Args:
        text: the JSON.
        max_depth: how deep values may nest, for the message about what is deeper than the reader
            can go; what is less deep is the caller's to check.
        what: names the text in messages.
        max_values: how many values it may hold (see `count_values`), counted before it is read;
            None is no limit.

    Raises:
        Refused: INVALID_INPUT, also for a key that stands twice in an object;
            PAYLOAD_TOO_LARGE, for more values.
    """
    if max_values is not None and (found := count_values(text, max_values)) > max_values:
        raise beyond(
            "PAYLOAD_TOO_LARGE", what[:1].lower() + what[1:], found=found, limit=max_values,
            unit="values", setting="max_values",
        )  # fmt: skip
    if text.startswith(codecs.BOM_UTF8):
        raise Refused("INVALID_INPUT", f"{what} is not valid JSON: it begins with a BOM.")
    try:
        return _STRICT.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Refused("INVALID_INPUT", f"{what} is not UTF-8 (byte {error.start}).") from None
    except RecursionError:
        raise beyond(
            "INVALID_INPUT", what[:1].lower() + what[1:], found=f"over {max_depth}",
            limit=max_depth, unit="levels", setting="max_depth",
        ) from None  # fmt: skip
    except ValueError as error:
        raise Refused("INVALID_INPUT", f"{what} is not valid JSON: {error}.") from None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    # The time for one grows with the square of its length.
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError(f"an integer has over {_LONGEST_INTEGER} digits")
    return int(digits)


def _object(members: list[tuple[str, Json]]) -> Json:
    made = dict(members)
    if len(made) < len(members):
        seen: set[str] = set()
        for key, _ in members:
            if key in seen:
                shown = key if len(key) <= _LONGEST_KEY else key[:_LONGEST_KEY] + "…"
                quoted = clean_text(json.dumps(shown, ensure_ascii=False))
                raise ValueError(f"an object has the key {quoted} more than once")
            seen.add(key)
    return made


_STRICT: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_object
)


def is_heavy(text: bytes) -> bool:
    """Whether reading a JSON text, and what is done with it then, may take noticeable time.

    That is milliseconds. What is less is not worth waiting for a turn.
    """
    return len(text) > _LARGE or (len(text) > 2 * _MANY and count_values(text, _MANY) > _MANY)


def count_values(text: bytes, enough: int) -> int:
    """Count the values of a JSON text, without reading it: its commas and opening brackets.

    That is no less than there are, and more by one for each container that is empty.

    Args:
        text: the JSON, which may be none.
        enough: a count up to which texts within strings may be counted as well.
    """
    found = _marks(text)
    if found <= enough:
        return found
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # An outer value has a key and itself as strings at most.
    if (quotes := text.count(b'"')) > 4 * enough + 4:
        return quotes // 4
    return _marks(b"".join(text.split(b'"')[::2]))


def _marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def as_text(value: Json) -> str:
    """A run's result for readers of text: a text as it is, else its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def seen_last(engine: Engine, agent: Agent, key: ThreadKey) -> list[Json]:
    """What the author of a message saw last, where a message may answer a question.

    Only what follows the question answers it. A client without a list of messages has nothing to
    show that by: its session is one conversation, and what it sends next follows what was said
    last.

    Args:
        engine: where the thread is.
        agent: whose thread.
        key: the thread.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    if agent.settings.auto_resume != "on":
        return []
    loaded = await engine.store.load(key, messages=True)
    said = [m.id for m in loaded.messages if m.message["role"] == "assistant"]
    if not (said and loaded.waiting):
        return []
    return [{"id": said[-1], "role": "assistant", "content": ""}]


def check_json(value: object, path: str) -> None:
    """Check that a value from code is JSON, so that it is stored as what it is.

    Raises:
        Refused: INVALID_INPUT, with the place of what is not.
    """
    found = [(path, value)]
    seen = 0
    while found:
        path, value = found.pop()
        seen += 1
        if len(path) > 2_000 or seen > 1_000_000:
            raise Refused("INVALID_INPUT", f"{path[:100]}: nests too deep, or is too large.")
        if isinstance(value, dict):
            for key, member in value.items():
                if not isinstance(key, str):
                    raise Refused("INVALID_INPUT", f"{path}: the key {key!r:.100} is no string.")
                found.append((f"{path}.{key}", member))
        elif isinstance(value, list):
            found += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise Refused("INVALID_INPUT", f"{path}: {value} is not JSON.")
        elif not (value is None or isinstance(value, str | int | float)):
            kind = type(value).__name__
            raise Refused("INVALID_INPUT", f"{path}: a {kind} is not JSON.")


# --- a question that says in its own words what it would let run, for what shows nothing else of
# it ---
#
# A page or a program that reads a call from the events has to show it whole, with all that hides in
# it. One that asks for `tell=calls` prints the question's message, and has.

TellChoice = Literal["calls"]
"""`calls`: the message of a question says first which call it would let run."""

_EXACT: Final = 2**53
"""Numbers from here on are others once they were doubles, as in a browser's script."""
_ROUNDED: Final = (
    "it holds a number of 2^53 or more, which a browser rounds, and so do many clients: another "
    "one may have been typed. Answer it in the inbox or the terminal"
)
_UNKNOWN: Final = "Which tool would run, and its arguments, are not known here."


def tells_calls(asked: object) -> bool:
    """Whether a request asks for questions that say their calls.

    Args:
        asked: what it asks for; None: nothing.

    Raises:
        Refused: INVALID_INPUT, there is no such choice.
    """
    if asked is None:
        return False
    if asked in get_args(TellChoice):
        return True
    raise Refused("INVALID_INPUT", "tell: there is 'calls'.", {"field": "tell"})


def say_call(question: Mapping[str, Json], ask: Interrupt) -> Mapping[str, Json]:
    """A question whose message says all that it would let run, and then what the agent says.

    Args:
        question: as clients see it.
        ask: the same question, as it is stored.
    """
    said: Any = question.get("message")
    words = visible(said) if said else ""
    if ask.tool_call is not None:
        parts = [shown_name(ask.tool_call.name), shown_json(dict(ask.tool_call.args), 2)]
        parts += [f"What it would do:\n{shown_preview(ask.preview)}"] if ask.preview else []
    else:
        told = {name: it for name, it in (ask.metadata or {}).items() if name != "agui_bridge"}
        parts = [_UNKNOWN] if ask.lets_run else []
        parts += [shown_json(told, 2)] if told else []
    if ask.asked_by:
        parts.append(f"Asked for by: {shown_word(ask.asked_by)}")
    return {**question, "message": "\n\n".join(filter(None, ("\n".join(parts), words)))}


def without_rounded(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Answers of a client that may have rounded numbers: one that has such a number is refused.

    Args:
        entries: as they came.
    """
    return tuple(
        replace(entry, fault=_ROUNDED) if _is_rounded(entry.answer.payload) else entry
        for entry in entries
    )


def _is_rounded(payload: Json) -> bool:
    left: list[Any] = [payload]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, int | float) and abs(value) >= _EXACT:
            return True
    return False
