"""What a task asks, as a question of the bridge; and answers, as the task takes them.

A2A has no schema of an answer. One that an agent puts beside its words counts: a data part that
is a JSON Schema, or has one as `schema`, `responseSchema` or `requestedSchema`. Else people write
text.

A bridge at the other end says it all, by its extension: each interrupt becomes a question with its
own schema, and an approval names its call, so that rules for the tool count here, too.

A task that needs somebody to sign in asks with the address alone. The answer says that it was done
and nothing else: credentials never travel through the conversation.

Source: the A2A specification 1.0, sections 4.1.3 ("TaskState") and 7.6 ("In-Task Authorization").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agui_bridge.a2a.wire import (
    AUTH_REQUIRED,
    INPUT_REQUIRED,
    as_object,
    as_objects,
    as_text,
    interrupts_of,
    resume_part,
)
from agui_bridge.adapters import Ask, Pause
from agui_bridge.protocol.answers.decisions import Answer, Decision
from agui_bridge.protocol.json_values import clean_text
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema
from agui_bridge.protocol.shown_address import Misleading, host_of
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_a2a.continuation import Continuation
from agui_bridge_a2a.reader import Reader, others_of, text_of
from agui_bridge_a2a.versions import Version

ASK: Final = "task"
AUTH: Final = "a2a:auth_required"
"""Reason of a question that is answered by signing in elsewhere."""

_TEXT: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1, "title": "Your answer"}},
}
_DONE: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["done"],
    "properties": {"done": {"const": True, "title": "I have signed in there"}},
    "additionalProperties": False,
}
_SCHEMAS: Final = ("schema", "responseSchema", "requestedSchema")
_LONGEST: Final = 4_000
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'\])}]+")
_TYPES: Final = frozenset({"object", "string", "number", "integer", "boolean", "array"})


def pause_of(reader: Reader, later: tuple[Mapping[str, Json], ...]) -> Pause:
    """The pause of a run whose task asks.

    Args:
        reader: what was read of it.
        later: parts of messages that are said once the task is over.
    """
    asked = as_object(reader.status.get("message"))
    if interrupts := interrupts_of(asked) if reader.state == INPUT_REQUIRED else []:
        return _all_asked(interrupts, reader, later)
    parts = as_objects(asked.get("parts"))
    said = clean_text(text_of(parts)[:_LONGEST]).strip()
    auth, schema = reader.state == AUTH_REQUIRED, None
    if auth:
        ask = _sign_in(said, parts)
    else:
        schema = _schema_in(parts)
        shown = [part for part in others_of(parts) if _schema_of(part.get("data")) is None]
        ask = Ask(
            ASK,
            reason="input_required",
            message=said or "The agent waits for an answer.",
            response_schema=schema or _TEXT,
            metadata={"a2a": {"parts": shown}} if shown else None,
        )
    kept = Continuation(
        reader.task,
        reader.context,
        reader.question,
        auth,
        schema is not None,
        reader.told,
        later,
    )
    return Pause([ask], kept.to_json())


def _all_asked(
    interrupts: Sequence[Mapping[str, Any]], reader: Reader, later: tuple[Mapping[str, Json], ...]
) -> Pause:
    """The pause of a task that asks by the extension, a question for each interrupt."""
    asks = [_question(each) for each in interrupts]
    names = tuple(ask.native_id for ask in asks)
    kept = Continuation(
        reader.task, reader.context, reader.question, False, True, reader.told, later, names
    )
    return Pause(asks, kept.to_json())


def _question(interrupt: Mapping[str, Any]) -> Ask:
    call, schema = as_object(interrupt.get("toolCall")), interrupt.get("responseSchema")
    about = None
    if call.get("id") and call.get("name"):
        about = ToolCall(str(call["id"]), str(call["name"]), as_object(call.get("args")))
    return Ask(
        as_text(interrupt.get("id")),
        reason="input_required",
        message=clean_text(as_text(interrupt.get("message"))) or "The agent waits for an answer.",
        about=about,
        # What may run there is not always named.
        permits=about is not None or interrupt.get("reason") == "tool_call",
        response_schema=schema if isinstance(schema, Mapping) else None,
        metadata={"a2a": {"reason": as_text(interrupt.get("reason"))}},
    )


def parts_of(
    kept: Continuation, decisions: Mapping[str, Decision], version: Version
) -> list[Mapping[str, Json]]:
    """The parts of the message that answers; none where nobody answered."""
    if kept.interrupts:
        return [resume_part([_entry(name, decisions[name]) for name in kept.interrupts])]
    decision = decisions[ASK]
    if not isinstance(decision, Answer):
        return []
    payload = decision.payload
    if not kept.form:
        return [{"text": as_object(payload).get("text", decision.text)}]
    if version == "0.3" and not isinstance(payload, Mapping):
        # Data is an object there.
        return [{"text": json.dumps(payload, ensure_ascii=False)}]
    return [{"data": payload}]


def _entry(name: str, decision: Decision) -> Mapping[str, Json]:
    if not isinstance(decision, Answer):
        return {"interruptId": name, "status": "cancelled"}
    return {"interruptId": name, "status": "resolved", "payload": decision.payload}


def _sign_in(said: str, parts: list[Mapping[str, Any]]) -> Ask:
    address = next(_addresses(parts), None)
    try:
        host = None if address is None else host_of(address)
    except Misleading as error:
        # The words may hold it as well.
        host, said = None, f"The agent wants somebody to sign in, but {error}."
    about: dict[str, Json] = {} if host is None else {"url": address, "host": host}
    if address is not None and host is not None and address not in said:
        said = f"{said}\n\nSign in at {host}: {address}".strip()
    return Ask(
        ASK,
        reason=AUTH,
        message=said or "The agent waits for somebody to sign in.",
        response_schema=_DONE,
        metadata={"a2a": about} if about else None,
        permits=True,
    )


def _addresses(parts: list[Mapping[str, Any]]) -> Iterator[str]:
    for part in parts:
        if isinstance(url := part.get("url"), str):
            yield url
        for text in _texts(part.get("data"), 4):
            yield from _ADDRESS.findall(text)
    yield from (found.rstrip(".,;:!?") for found in _ADDRESS.findall(text_of(parts)))


def _texts(value: Json, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each, depth - 1)


def _schema_in(parts: list[Mapping[str, Any]]) -> Mapping[str, Json] | None:
    """The first schema of the parts that answers can be checked against."""
    for part in parts:
        schema = _schema_of(part.get("data"))
        if schema is None:
            continue
        try:
            check_schema(schema)
        except UnsafeSchema:
            continue
        return schema
    return None


def _schema_of(data: Json) -> Mapping[str, Json] | None:
    if not isinstance(data, Mapping):
        return None
    for name in _SCHEMAS:
        schema = data.get(name)
        if isinstance(schema, Mapping):
            return schema
    typed = data.get("type") in _TYPES and {"properties", "enum", "items"} & data.keys()
    return data if "$schema" in data or typed else None
