"""Reads an upstream run's events: what is passed on, and what the run ended with.

What breaks a rule is mended as `protocol.verifier.shapes` says, where nothing is lost or
invented by it, and the log says what was mended; messages that only a snapshot tells become events.
What can't be mended is an error that says what it was. What AG-UI allows is passed on, known here
or not.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import BaseEvent, Interrupt, RunFinishedEvent

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.verifier.shapes import Fault, model_of, without_unknown
from agui_bridge.protocol.verifier.verifier import Verifier
from agui_bridge_agui.client_view import ClientView, news_of
from agui_bridge_agui.pauses.answers import Custom
from agui_bridge_agui.pauses.draft import completed, take_question
from agui_bridge_agui.pauses.langgraph import ON_INTERRUPT

logger: Final = logging.getLogger("agui_bridge")

_PRIVATE: Final = frozenset({"RAW"})
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
        self.told: ClientView = ClientView(run.raw_messages)
        self.finished: RunFinishedEvent | None = None
        self.error: str | None = None
        self.interrupts: list[Interrupt] = []
        self.customs: list[Custom] = []
        self.drafted: Mapping[str, Any] | None = None
        self.sources: set[Json] = set()
        self._run = run
        self._frontend = {tool.name for tool in run.tools}
        self._approved = set(approved)
        self._brought = {message["id"] for message in run.raw_new_messages}
        self._verifier = Verifier("repair", run.mint)
        self._noted: set[str] = set()

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
        wire = completed(wire, self._run)
        if wire["type"] == "RUN_FINISHED" and self.finished is None:
            wire, self.drafted = take_question(wire)
        events, notes, faults = self._verifier.take(wire)
        self._note(notes)
        for event in events:
            yield from self._read(event)
        for fault in faults:
            raise _error(fault)

    def _note(self, notes: Iterable[str]) -> None:
        """Say what was mended or not understood, once."""
        for note in notes:
            if note not in self._noted:
                self._noted.add(note)
                logger.warning("the upstream agent's stream: %.300s", note)

    def _read(self, wire: WireEvent) -> Iterator[BaseEvent]:
        kind = wire["type"]
        if kind in _PRIVATE:
            self.sources.add(str(wire.get("source")))
            return
        if kind == "RUN_STARTED":
            # Another run on the same stream: the last one is the one that was asked for.
            self.finished = self.error = None
            self.interrupts, self.customs, self.drafted = [], [], None
        elif kind == "RUN_ERROR":
            self.error = str(wire.get("code") or "")
            logger.warning("the upstream agent's run failed: %.300r", wire["message"])
        elif kind == "RUN_FINISHED":
            # An outcome that nobody knows is read as none, as every client reads it.
            self._finish(model_of(without_unknown(wire, members=False)[0]))
        elif kind == "MESSAGES_SNAPSHOT":
            yield from news_of(wire["messages"], self.told, self._brought)
        elif kind == "CUSTOM" and wire["name"] == ON_INTERRUPT:
            self.customs.append(Custom(wire["value"], wire.get("rawEvent")))
        else:
            event: Any = model_of(wire)
            self.told.note(event)
            if event.raw_event is not None:
                event.raw_event = None
            yield event

    def _finish(self, event: Any) -> None:
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


def _error(fault: Fault) -> UpstreamError:
    if fault.rule == "shape":
        return UpstreamError(f"The upstream agent sent a malformed {fault.message:.200}.")
    return UpstreamError(f"The upstream agent's stream can't be understood: {fault.message:.200}.")
