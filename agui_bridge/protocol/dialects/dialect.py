"""What a dialect is, and those of AG-UI's own versions.

A client that declares no version gets only shapes that `@ag-ui/client` 0.0.59 accepts, one that
declares an older release what that one does. A downgrade is a pure transformation: never another
outcome, other ids or another order.

Source: AG-UI 1.0, versioning; docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.dialects.releases import (
    LAST_RELEASE,
    Note,
    altered_for,
    event_for_release,
)
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.versions import CARRIERS, FIRST, first_version_event

__all__ = [
    "CHAT",
    "STOP_REASON",
    "V0",
    "V1",
    "V1_1",
    "CallOf",
    "Dialect",
    "DialectChoice",
    "proposal_of",
]

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
