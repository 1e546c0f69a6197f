"""Reads an upstream run's events: what is passed on, and what the run ended with.

The engine supplies missing STARTs and ENDs and drops what is told twice. Here is repaired what only
an upstream gets wrong, where nothing is lost or invented by it: no RUN_STARTED, events after the
end, steps that were never begun, older names of events, messages that only a snapshot tells. What
can't be repaired is an error that says what it was.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import BaseEvent, Event, Interrupt, RunFinishedEvent
from pydantic import TypeAdapter, ValidationError

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import RULES
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import Custom
from agui_bridge_agui.pauses.draft import take_question
from agui_bridge_agui.pauses.langgraph import ON_INTERRUPT
from agui_bridge_agui.snapshot_news import news_of
from agui_bridge_agui.told import Told

__all__ = ["Reader"]

logger: Final = logging.getLogger("agui_bridge")

_EVENT: Final[TypeAdapter[Any]] = TypeAdapter(Event)

_OLDER: Final[Mapping[str, str]] = {
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}
"""Events from before 0.1, which had no ids."""

_PRIVATE: Final = frozenset({"RAW", "THINKING_START", "THINKING_END"})
"""What is not passed on: RAW events hold the upstream's own, its interrupt ids among them."""


class Reader:
    """One upstream run, as far as it has been told.

    Args:
        run: the bridge's run.
        approved: calls that this run was told to carry out.

    Attributes:
        told: what the upstream has streamed.
        finished: its RUN_FINISHED.
        error: the code of its RUN_ERROR, "" without one; None if there was none.
        interrupts: what it waits for.
        customs: the same, in LangGraph's CUSTOM events.
        drafted: the same, in the words of the draft.
        sources: how its RAW events are signed.
    """

    def __init__(self, run: Run, approved: Collection[str] = ()) -> None:
        self.told: Told = Told(run.raw_messages)
        self.finished: RunFinishedEvent | None = None
        self.error: str | None = None
        self.interrupts: list[Interrupt] = []
        self.customs: list[Custom] = []
        self.drafted: Mapping[str, Any] | None = None
        self.sources: set[Json] = set()
        self._run = run
        self._frontend = {tool.name for tool in run.input.tools or ()}
        self._approved = set(approved)
        known = set(self.told.calls) - self.told.answered
        self._awaited = known if run.resume is not None else set()
        self._steps: set[tuple[str | None, str]] = set()
        self._thought = ""

    # --- what has happened ---

    @property
    def acting(self) -> bool:
        """Whether a tool of the upstream's may be running: its result has not come."""
        open_calls = [c for c in self.told.unanswered if self.told.name_of(c) not in self._frontend]
        return bool(open_calls) or bool(self._approved - self.told.answered)

    @property
    def pending(self) -> list[str]:
        """Frontend tool calls of this run that wait for the application."""
        return [c for c in self.told.unanswered if self.told.name_of(c) in self._frontend]

    # --- events ---

    def read(self, wire: WireEvent) -> Iterator[BaseEvent]:
        """The events to pass on for one of the upstream's.

        Raises:
            UpstreamError: it is malformed.
        """
        kind = wire["type"]
        if kind in _OLDER:
            wire, kind = self._modern(wire), _OLDER[kind]
        if kind in _PRIVATE:
            self.sources.add(str(wire.get("source")))
            return
        if kind not in RULES:
            logger.debug("an event of the upstream agent is of the unknown type %.60r", kind)
            return
        wire = self._completed(wire)
        if kind == "RUN_FINISHED" and self.finished is None:
            wire, self.drafted = take_question(wire)
        event = _parsed(wire)
        if kind == "RUN_STARTED":
            # Another run on the same stream: the last one is the one that was asked for.
            self.finished = self.error = None
            self.interrupts, self.customs, self.drafted = [], [], None
        elif kind == "RUN_ERROR":
            self.error = str(event.code or "")
            logger.warning("the upstream agent's run failed: %.300r", event.message)
        elif self.finished is not None or self.error is not None:
            logger.warning("the upstream agent sends %s after its run's end: dropped", kind)
        elif kind == "RUN_FINISHED":
            self._finish(event)
        elif kind == "MESSAGES_SNAPSHOT":
            yield from news_of(wire.get("messages") or [], self.told, self._awaited)
        elif kind == "CUSTOM" and event.name == ON_INTERRUPT:
            self.customs.append(Custom(event.value, event.raw_event))
        elif not self._is_stray_step(kind, event):
            self.told.note(event)
            event.raw_event = None
            yield event

    def _finish(self, event: RunFinishedEvent) -> None:
        self.finished = event
        outcome = event.outcome
        if outcome is not None and outcome.type == "interrupt":
            self.interrupts = list(outcome.interrupts)
            for interrupt in self.interrupts:
                if interrupt.tool_call_id and self.told.contradicts(interrupt.tool_call_id):
                    raise UpstreamError(
                        f"The upstream agent asks about tool call {interrupt.tool_call_id:.60}, an "
                        "id that it had used for another call: what would run can't be shown."
                    )
        self._run.result = event.result
        self._run.usage += event.usage or []

    @property
    def cancelled(self) -> bool:
        """Whether the run says that it was stopped."""
        if self.finished is None:
            return False
        outcome, result = self.finished.outcome, self.finished.result
        if outcome is None:
            return isinstance(result, Mapping) and result.get("stopReason") == "USER_INTERRUPTED"
        return outcome.type == "cancelled"

    def _is_stray_step(self, kind: str, event: Any) -> bool:
        """Steps only decorate: one that begins twice, or ends without a beginning, is dropped."""
        if kind not in ("STEP_STARTED", "STEP_FINISHED"):
            return False
        step = (event.subagent_run_id, event.step_name)
        stray = (step in self._steps) == (kind == "STEP_STARTED")
        self._steps ^= set() if stray else {step}
        return stray

    def _completed(self, wire: WireEvent) -> WireEvent:
        """An event with what servers of the draft leave out, or call otherwise."""
        if wire["type"] in ("RUN_STARTED", "RUN_FINISHED"):
            return {"threadId": self._run.thread_id, "runId": self._run.run_id, **wire}
        if wire["type"] == "TOOL_CALL_RESULT" and "content" not in wire and "result" in wire:
            told = {key: value for key, value in wire.items() if key != "result"}
            result = wire["result"]
            content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
            return {"messageId": self._run.mint(), **told, "content": content}
        return wire

    def _modern(self, wire: WireEvent) -> WireEvent:
        if wire["type"].endswith("_START") or not self._thought:
            self._thought = self._run.mint()
        named = {**wire, "type": _OLDER[wire["type"]], "messageId": self._thought}
        return {**named, "role": "reasoning"} if wire["type"].endswith("_START") else named


def _parsed(wire: WireEvent) -> Any:
    try:
        return _EVENT.validate_python(wire)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"][1:]) or "itself"
        raise UpstreamError(
            f"The upstream agent sent a malformed {wire['type']}: {where}: {first['msg']:.120}."
        ) from None
