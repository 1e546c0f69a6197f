"""The way of LangGraph's AG-UI integration from before 1.0, both ways.

A pause is a CUSTOM event `on_interrupt` before a plain RUN_FINISHED. The answer comes as
`forwardedProps.command.resume`, with the event's value, verbatim, as `interruptEvent`: the
interrupt's id travels in that value.

Source: CopilotKit 1.74 (`useInterrupt`, `useLangGraphInterrupt`), as observed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge.protocol.dialects.dialect import CallOf, Dialect
from agui_bridge.protocol.json_values import WireEvent

__all__ = [
    "INTERRUPT_EVENT",
    "CommandReader",
    "command_resume",
    "langgraph_dialect",
    "read_command",
]

INTERRUPT_EVENT: Final = "on_interrupt"
"""The name of the CUSTOM event, and where its value stands in the metadata of what is read."""

# --- the server's side ----------------------------------------------------------------------


def langgraph_dialect(version: Dialect, *, outcome: bool) -> Dialect:
    """Says each pause as a CUSTOM event, the first open question of several.

    Args:
        version: of AG-UI, for all else.
        outcome: whether the 1.0 outcome comes too. Clients that know it then answer by `resume`.
    """

    def finish(event: WireEvent, call_of: CallOf) -> Sequence[WireEvent]:
        finished = version.outgoing(event, call_of)
        if event["outcome"]["type"] != "interrupt":
            return finished
        custom = {
            "type": "CUSTOM",
            "name": INTERRUPT_EVENT,
            "value": _value(event["outcome"]["interrupts"][0], call_of),
        }
        if outcome:
            return (custom, *finished)
        plain = {key: event[key] for key in event if key not in ("outcome", "result")}
        return (custom, plain)

    name = "langgraph-both" if outcome else "langgraph"
    return Dialect(name, not outcome, finish, version.version, release=version.release)


def _value(interrupt: Mapping[str, Any], call_of: CallOf) -> dict[str, Any]:
    value = dict(interrupt)
    call = call_of(value["toolCallId"]) if "toolCallId" in value else None
    return value if call is None else {**value, "proposal": call}


def read_command(body: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The 1.0 form of a command's answer: one entry, none if it names no interrupt.

    Returns:
        None when the input has no such command.
    """
    props = body.get("forwardedProps")
    command = props.get("command") if isinstance(props, Mapping) else None
    if not isinstance(command, Mapping) or "resume" not in command:
        return None
    named = _asked(command.get("interruptEvent")).get("id")
    if not isinstance(named, str) or not named:
        return []
    return [{"interruptId": named, "status": "resolved", "payload": command["resume"]}]


# --- the client's side ----------------------------------------------------------------------


class CommandReader:
    """Reads one stream: turns `on_interrupt` events into the outcome of RUN_FINISHED.

    The events themselves are given too: applications may listen to them.
    """

    def __init__(self) -> None:
        self._asked: list[dict[str, Any]] = []

    def read(self, event: WireEvent) -> WireEvent:
        """The event in its 1.0 form; to be called in order."""
        if event["type"] == "RUN_STARTED":
            self._asked.clear()
        elif event["type"] == "CUSTOM" and event.get("name") == INTERRUPT_EVENT:
            self._asked.append(_interrupt(event.get("value")))
        elif event["type"] == "RUN_FINISHED" and not event.get("outcome") and self._asked:
            return {**event, "outcome": {"type": "interrupt", "interrupts": list(self._asked)}}
        return event


def command_resume(entry: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The members of an input that carry one 1.0 resume entry.

    Args:
        entry: what was decided; this dialect can't cancel.
        value: of the CUSTOM event that asked.
    """
    command = {"resume": entry.get("payload"), "interruptEvent": value}
    return {"forwardedProps": {"command": command}}


def _interrupt(value: Any) -> dict[str, Any]:
    members = _asked(value)
    asked: dict[str, Any] = {
        "id": "",
        "reason": "langgraph:interrupt",
        "metadata": {INTERRUPT_EVENT: value},
    }
    for key in ("id", "reason", "message", "toolCallId", "expiresAt"):
        if isinstance(members.get(key), str):
            asked[key] = members[key]
    if isinstance(members.get("responseSchema"), dict):
        asked["responseSchema"] = members["responseSchema"]
    if isinstance(members.get("proposal"), dict):
        asked["metadata"]["proposal"] = members["proposal"]
    if not members:
        asked["message"] = value if isinstance(value, str) else json.dumps(value)
    return asked


def _asked(value: Any) -> Mapping[str, Any]:
    """The members of a value, which some producers send as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}
