"""What a graph is given to begin with, or to go on with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.calls.frontend import offered_in_state, result_text
from agui_bridge_langgraph.calls.guard import POLICY, are_hooked
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.checkpoint import (
    MESSAGES,
    conversation,
    messages_of,
    new_messages,
    replaced,
    state_changes,
)
from agui_bridge_langgraph.continuation import Waiting
from agui_bridge_langgraph.pauses import AT_END
from agui_bridge_langgraph.questions import resume_value
from agui_bridge_langgraph.tools import input_names

__all__ = ["NOTHING", "Beginning"]

NOTHING: Final = object()
"""Stands for an answer after which the graph has nothing to do; None has a meaning of its own."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a run of a graph begins.

    Attributes:
        run: the run.
        graph: the compiled graph.
        owed: ids of the messages that the graph was not given yet.
        own: what the application has the graph begin with, None for the messages and the state.
        cancelled: what an interrupt of the author's own returns that nobody answered.
        wire: the ids of calls.
    """

    run: Run
    graph: Any
    owed: Collection[str]
    own: Any
    cancelled: Json
    wire: WireIds

    def fresh(self, state: Any) -> Any:
        """What a new message has the graph begin with.

        Args:
            state: the graph's state.
        """
        if self.own is not None:
            return self.own
        known = input_names(self.graph)
        given = {
            **self._changes(state),
            **offered_in_state(self.run, known),
        }
        messages, whole = conversation(self.run, messages_of(state.values), self._new())
        given[MESSAGES] = replaced(self.graph, MESSAGES, messages) if whole else messages
        return given

    def resumed(self, state: Any, kept: Waiting) -> Any:
        """What answers have the graph go on with.

        Args:
            state: the graph's state.
            kept: what was kept while it waited.

        Raises:
            UpstreamError: it does not wait any more.
        """
        pending = {found.id: found for found in state.interrupts}
        handed = [own for own in kept.frontend if own != AT_END]
        at = state.config["configurable"].get("checkpoint_id")
        elsewhere = bool(kept.breakpoint or AT_END in kept.frontend) and at != kept.checkpoint
        if elsewhere or {*kept.interrupts, *handed} - pending.keys():
            raise UpstreamError("The graph does not wait for these answers any more.")
        decisions = self.run.resume.decisions if self.run.resume is not None else {}
        if kept.breakpoint:
            # The guard refuses what was not approved, and the model reads why.
            goes_on = kept.calls and are_hooked(self.graph, kept.breakpoint)
            return None if goes_on or all(map(_confirmed, decisions.values())) else NOTHING
        results = self.run.results()
        if AT_END in kept.frontend:
            names = {c["id"]: c["name"] for m in messages_of(state.values) for c in _calls(m)}
            natives = {own: call.native for own in results if (call := self.wire.call(own))}
            return {
                MESSAGES: [
                    _result(results, own, natives.get(own, own), names)
                    for own in kept.frontend[AT_END]
                ]
            }
        values: dict[str, Json] = {
            own: result_text(results.get(kept.frontend[own][0], UNREPORTED)) for own in handed
        }
        for own in kept.interrupts:
            found = pending[own]
            ours = isinstance(found.value, Mapping) and POLICY in found.value
            # The gate knows what was decided about its own questions.
            values[own] = True if ours else resume_value(found, decisions, self.cancelled)
        return Command(resume=values, update=self._changes(state) or None)

    def along(self) -> list[BaseMessage]:
        """What people said while the graph waited, or with their answers."""
        if self.run.resume is None:
            return self._new()
        new = [m.model_dump(by_alias=True, mode="json") for m in self.run.resume.new_messages]
        return new_messages([*self._owed(), *new])

    def _new(self) -> list[BaseMessage]:
        return new_messages([*self._owed(), *self.run.raw_new_messages])

    def _owed(self) -> list[Mapping[str, Any]]:
        new = {message.get("id") for message in self.run.raw_new_messages}
        owed = set(self.owed) - new
        return [message for message in self.run.raw_messages if message.get("id") in owed]

    def _changes(self, state: Any) -> dict[str, Any]:
        names = [name for name in input_names(self.graph) if name != MESSAGES]
        return state_changes(self.graph, self.run.state, state.values, names)


def _confirmed(decision: Decision) -> bool:
    payload = decision.payload if isinstance(decision, Answer) else None
    confirmed = isinstance(payload, Mapping) and payload.get("confirm") is True
    return confirmed or isinstance(decision, Approve)


def _calls(message: BaseMessage) -> Sequence[Mapping[str, Any]]:
    return getattr(message, "tool_calls", ())


def _result(
    results: Mapping[str, Json], own: str, native: str, names: Mapping[str, str]
) -> ToolMessage:
    text = result_text(results.get(own, UNREPORTED))
    return ToolMessage(text, tool_call_id=native, name=names.get(native))
