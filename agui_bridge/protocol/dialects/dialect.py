"""What a dialect is, and those of AG-UI's own versions.

A client that declares no version gets only shapes that `@ag-ui/client` 0.0.59 accepts (0.0.57 where
it offers surfaces), one that declares an older release what that one does. A downgrade is a pure
transformation: never another outcome, other ids or another order.

Source: AG-UI 1.0, versioning; docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from agui_bridge.errors import Refused
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.answers.decisions import approval_schema
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.versions import (
    CARRIERS,
    FIRST,
    LAST_RELEASE,
    Note,
    altered_for,
    event_for_release,
    first_version_event,
)

STOP_REASON = "USER_INTERRUPTED"

DialectChoice = Literal["auto", "ag-ui", "langgraph", "langgraph-both", "draft"]
"""`auto`: by the answer's shape, else AG-UI's own; `ag-ui`: that one, whatever the shape."""

CallOf = Callable[[str], dict[str, Any] | None]
"""Gives `{"tool": name, "args": arguments}` of a tool call by its id, None if it is unknown."""


def proposal_of(messages: Iterable[Mapping[str, Any]], call_id: str) -> dict[str, Any] | None:
    """Find a tool call among AG-UI messages, in the form that `CallOf` has."""
    for message in messages:
        for call in message.get("toolCalls") or ():
            if call["id"] == call_id:
                function = call["function"]
                try:
                    args = json.loads(function["arguments"])
                except ValueError:
                    args = function["arguments"]
                return {"tool": function["name"], "args": args}
    return None


def _unknown(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire dialect.

    Attributes:
        name: `1.1`, `1.0`, `0.x`, `langgraph`, `langgraph-both`, `draft` or `chat`.
        answers_singly: its clients answer one interrupt at a time.
        finish: makes this dialect's events of a RUN_FINISHED event in the 1.0 shape.
        version: of AG-UI, in which the stream is spoken and which RUN_STARTED declares.
        restates: whether a refusal tells the thread's outcome before its error. Not where
            RUN_FINISHED is the end: it would be read as the answer's success.
        hangs_questions: whether its pages show a question only beside a message of the same run,
            as assistant-ui does when the conversation that it is told ends with the assistant's.
        asks_apart: whether its clients show a question apart, so that the message in which the
            bridge says it would be the same once more.
        release: of `@ag-ui/client` 0.0.x, whose shapes the stream is held to; None: it is that of a
            client of 1.0.
    """

    name: str
    answers_singly: bool
    finish: Callable[[WireEvent, CallOf], Sequence[WireEvent]]
    version: str = FIRST
    restates: bool = True
    hangs_questions: bool = False
    asks_apart: bool = False
    release: int | None = None

    def outgoing(self, event: WireEvent, call_of: CallOf = _unknown) -> Sequence[WireEvent]:
        """The event as this dialect's clients accept it.

        Args:
            event: in the 1.0 shape.
            call_of: knows the thread's tool calls.
        """
        return self.finish(event, call_of) if event["type"] == "RUN_FINISHED" else (event,)

    @property
    def altered(self) -> frozenset[str]:
        """The types of the events that `content` may change or leave out."""
        return _altered(self.version, self.release)

    def content(self, event: WireEvent, note: Note = lambda _: None) -> WireEvent | None:
        """An event within a run as this dialect's clients know it.

        Args:
            event: of any type but the end of a run.
            note: is told what was left out, for the log.

        Returns:
            None when there is nothing that these clients can read.
        """
        if self.version == FIRST:
            event = first_version_event(event)
        return event if self.release is None else event_for_release(event, self.release, note)


@functools.cache
def _altered(version: str, release: int | None) -> frozenset[str]:
    carriers = CARRIERS if version == FIRST else frozenset()
    return carriers if release is None else carriers | altered_for(release)


def _same(event: WireEvent, _: CallOf) -> Sequence[WireEvent]:
    return (event,)


def _before_one(event: WireEvent, _: CallOf) -> Sequence[WireEvent]:
    """RUN_FINISHED without what makes 0.0.59 throw.

    An expired card bricks a 0.x client, which refuses even to cancel it, so that it must not
    know the time: expiry is enforced here.
    """
    outcome = event["outcome"]
    older = dict(event)
    if outcome["type"] == "cancelled":
        del older["outcome"]
        older["result"] = {"stopReason": STOP_REASON}
    elif outcome["type"] == "interrupt":
        interrupts = [
            {key: value for key, value in interrupt.items() if key != "expiresAt"}
            for interrupt in outcome["interrupts"]
        ]
        older["outcome"] = {"type": "interrupt", "interrupts": interrupts}
    else:
        older["outcome"] = {"type": "success"}
    return (older,)


V1 = Dialect("1.0", answers_singly=False, finish=_same)
V1_1 = Dialect("1.1", answers_singly=False, finish=_same, version="1.1")
V0 = Dialect(
    "0.x", answers_singly=False, finish=_before_one, hangs_questions=True, release=LAST_RELEASE
)
CHAT = Dialect("chat", answers_singly=True, finish=_same, asks_apart=True)
"""SuperAgent's chat API, whose surface makes frames of its own of the 1.0 shapes."""


# --- the draft of the interrupt-aware run lifecycle, both ways ---
#
# One `interrupt {id, reason, payload}` at a time beside `outcome: "interrupt" | "success"`, and one
# `resume {interruptId, payload}`. No current client speaks it: it is for what was written to the
# draft itself.
#
# Source: AG-UI's draft "Interrupt-Aware Run Lifecycle Proposal".

_TOOL_CALL: Final = "tool_call"
_HUMAN_APPROVAL: Final = "human_approval"
"""The draft's own reason for what 1.0 calls a `tool_call`."""

_PLAIN_APPROVAL: Final = approval_schema(None, editable=False)
_TOLD: Final = ("message", "responseSchema", "expiresAt")

# --- the server's side ----------------------------------------------------------------------


def draft_dialect(version: Dialect) -> Dialect:
    """Answers in the draft's shapes, the first open question of several.

    Args:
        version: of AG-UI; of it the stream has what a client from before 1.0 can read.
    """
    return replace(_DRAFT, release=version.release)


def read_draft(resume: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The 1.0 form of the draft's `resume`; empty when it names no interrupt.

    The draft can't cancel; `status: "cancelled"` is understood all the same, since to overlook it
    would make an answer of it.

    Raises:
        Refused: INVALID_INPUT, a member is of the wrong shape.
    """
    if resume.keys().isdisjoint({"interruptId", "payload", "status"}):
        raise _malformed("resume", "must be a list of answers, or one with interruptId and payload")
    named, status = resume.get("interruptId"), resume.get("status", "resolved")
    if named is not None and not isinstance(named, str):
        raise _malformed("resume.interruptId", "must be a string")
    if status not in ("resolved", "cancelled"):
        raise _malformed("resume.status", 'must be "resolved" or "cancelled"')
    if not named:
        return []
    entry = {"interruptId": named, "status": status}
    if status == "resolved":
        entry["payload"] = resume.get("payload")
    return [entry]


def _malformed(field: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field})


def _finish(event: WireEvent, call_of: CallOf) -> Sequence[WireEvent]:
    outcome = event["outcome"]
    made = {key: value for key, value in event.items() if key != "outcome"}
    if outcome["type"] == "interrupt":
        interrupt = outcome["interrupts"][0]
        made["outcome"] = "interrupt"
        made.pop("result", None)
        made["interrupt"] = _draft_interrupt(interrupt, call_of)
    elif outcome["type"] == "cancelled":
        # As for clients from before 1.0: it has no word for it, and a stop is no success.
        made["result"] = {"stopReason": STOP_REASON}
    else:
        made["outcome"] = "success"
    return (made,)


def _draft_interrupt(interrupt: Mapping[str, Any], call_of: CallOf) -> dict[str, Any]:
    payload = dict(interrupt.get("metadata") or {})
    payload |= {key: interrupt[key] for key in _TOLD if key in interrupt}
    if payload.get("responseSchema") == _PLAIN_APPROVAL:
        del payload["responseSchema"]  # what every client of the draft answers anyway
    reason, call_id = interrupt["reason"], interrupt.get("toolCallId")
    if call_id is not None:
        reason = _HUMAN_APPROVAL if reason == _TOOL_CALL else reason
        if (call := call_of(call_id)) is not None:
            payload["proposal"] = call
    return {"id": interrupt["id"], "reason": reason, "payload": payload}


_DRAFT: Final = Dialect("draft", answers_singly=True, finish=_finish, restates=False)


# --- the client's side ----------------------------------------------------------------------


def from_draft(event: WireEvent) -> WireEvent:
    """The 1.0 form of a RUN_FINISHED event of the draft; other events as they are.

    An omitted outcome is `interrupt` when there is an interrupt, else `success`. An interrupt
    without an id gets the empty one, which its answer then leaves out.
    """
    if event["type"] != "RUN_FINISHED" or isinstance(event.get("outcome"), dict):
        return event
    made = {key: value for key, value in event.items() if key not in ("outcome", "interrupt")}
    interrupt = event.get("interrupt")
    if event.get("outcome", "interrupt") != "interrupt" or not isinstance(interrupt, dict):
        return made
    payload = interrupt.get("payload")
    members = payload if isinstance(payload, dict) else {"payload": payload}
    asked: dict[str, Any] = {
        "id": interrupt.get("id") or "",
        "reason": interrupt.get("reason") or _HUMAN_APPROVAL,
        "metadata": members,
    }
    asked |= {key: members[key] for key in _TOLD if key in members}
    return {**made, "outcome": {"type": "interrupt", "interrupts": [asked]}}


def draft_resume(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an input that carry one 1.0 resume entry."""
    made = {key: entry[key] for key in ("interruptId", "payload") if entry.get(key, "") != ""}
    if entry["status"] == "cancelled":
        made["status"] = "cancelled"
    return {"resume": made}


# --- the way of LangGraph's AG-UI integration from before 1.0, both ways ---
#
# A pause is a CUSTOM event `on_interrupt` before a plain RUN_FINISHED. The answer comes as
# `forwardedProps.command.resume`, with the event's value, verbatim, as `interruptEvent`: the
# interrupt's id travels in that value. An object that a graph's author gave to `interrupt()` is the
# value itself, as JSON text, with the interrupt under a key of its own beside the author's.
#
# Source: CopilotKit 1.74 (`useInterrupt`, `useLangGraphInterrupt`), as observed; ag-ui-langgraph
# 0.0.47.

_BESIDE: Final = "agui_bridge"
"""Under which the interrupt stands beside what the graph's author gave."""

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


def _value(interrupt: Mapping[str, Any], call_of: CallOf) -> dict[str, Any] | str:
    value = dict(interrupt)
    call = call_of(value["toolCallId"]) if "toolCallId" in value else None
    value = value if call is None else {**value, "proposal": call}
    told = value.get("metadata") or {}
    given = told.get("value")
    if not isinstance(given, Mapping):
        return value
    value["metadata"] = {key: one for key, one in told.items() if key != "value"}
    return json.dumps({**given, _BESIDE: value}, ensure_ascii=False)


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
            self._asked.append(_langgraph_interrupt(event.get("value")))
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


def _langgraph_interrupt(value: Any) -> dict[str, Any]:
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
    members = value if isinstance(value, Mapping) else {}
    beside = members.get(_BESIDE)
    return beside if isinstance(beside, Mapping) else members
