"""What the reference agent puts on the wire: events, their dialect of the draft, their bytes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.conformance.reference_thread import APPROVAL, CONFIRMATION, FORM, Ask, Process, Thread

__all__ = [
    "Event", "drafted", "encoded", "shown", "snapshots", "snapshots_of_pause", "text_content",
    "tool_call",
]  # fmt: skip

Event = dict[str, Any]


def text_content(message: str, delta: str) -> Event:
    """One piece of text."""
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta}


def tool_call(thread: Thread, call: str, name: str, args: Mapping[str, str]) -> list[Event]:
    """The events of a tool call, which is kept in the thread."""
    arguments = json.dumps(args)
    function = {"name": name, "arguments": arguments}
    thread.messages.append(
        {
            "id": f"message-{call}",
            "role": "assistant",
            "toolCalls": [{"id": call, "type": "function", "function": function}],
        }
    )
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": arguments},
        {"type": "TOOL_CALL_END", "toolCallId": call},
    ]


def snapshots(thread: Thread) -> list[Event]:
    """The state and the messages of a thread."""
    return [
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        {"type": "MESSAGES_SNAPSHOT", "messages": list(thread.messages)},
    ]


def snapshots_of_pause(process: Process, thread: Thread) -> list[Event]:
    """The same before a question, with what is broken about them."""
    state, told = snapshots(thread)
    if process.has("empty-snapshot"):
        told["messages"] = []
    messages = json.dumps(told["messages"])
    if process.has("renamed-in-snapshot"):
        messages = messages.replace("send_email", "read_email")
    if process.has("other-arguments-in-snapshot"):
        messages = messages.replace("original", "another")
    told["messages"] = json.loads(messages)
    if process.has("no-user-in-snapshot"):
        told["messages"] = [m for m in told["messages"] if m["role"] != "user"]
    return [state, told]


def shown(process: Process, ask: Ask, old: bool) -> Event:
    """A question as it is shown; clients that declare no version get no expiry."""
    event: Event = {"id": ask.id, "reason": "input_required", "message": "May it?"}
    if ask.kind == "approval":
        reason = "confirmation" if process.has("wrong-reason") else "tool_call"
        event |= {"reason": reason, "toolCallId": ask.call}
        if process.has("flow") or process.has("unbound"):
            event["reason"] = "flow:feedback"
            del event["toolCallId"]
    if ask.kind == "amid":
        event["toolCallId"] = ask.call
    if ask.kind == "confirmation":
        event["reason"] = "confirmation"
    if not process.has("no-schema"):
        schemas = {
            "approval": APPROVAL,
            "confirmation": CONFIRMATION,
            "form": FORM,
            "amid": FORM,
            "falsy": {"type": "boolean"},
        }
        event["responseSchema"] = dict(schemas.get(ask.kind, {"type": "object"}))
    if ask.expires is not None and not old:
        at = datetime.fromtimestamp(ask.expires, UTC).isoformat()
        event["expiresAt"] = "soon" if process.has("odd-expires-at") else at
        if process.has("naive-expires-at"):
            event["expiresAt"] = at.removesuffix("+00:00")
    if ask.subagent is not None and not process.has("anonymous-interrupt"):
        event["subagentRunId"] = ask.subagent
    return event


async def drafted(process: Process, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """The same events in the dialect of the draft."""
    async for event in events:
        outcome = event.get("outcome", {})
        if outcome.get("type") != "interrupt" or process.has("draft-as-1.0"):
            yield event
            continue
        first = outcome["interrupts"][0]
        shown = {"id": first["id"], "reason": first["reason"], "payload": {}}
        yield {**event, "outcome": "interrupt", "interrupt": shown}


async def encoded(process: Process, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Server-sent events."""
    end = "\r\n\r\n" if process.has("crlf") else "\n\n"
    async for event in events:
        yield f"data: {json.dumps(event)}{end}".encode()
