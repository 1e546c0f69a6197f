"""What a graph is given to begin with, or to go on with."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command

from agui_bridge.adapters import Run
from agui_bridge.errors import ConfigurationError, UpstreamError
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.import_object import import_object
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.calls.frontend import offered_in_state, result_text
from agui_bridge_langgraph.calls.guard import POLICY
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.checkpoint import (
    MESSAGES,
    conversation,
    messages_of,
    new_messages,
    state_changes,
)
from agui_bridge_langgraph.continuation import Waiting
from agui_bridge_langgraph.pauses import AT_END
from agui_bridge_langgraph.questions import resume_value

NOTHING: Final = object()
"""Stands for an answer after which the graph has nothing to do; None has a meaning of its own."""


FromRun = Callable[[Run], Any | Awaitable[Any]]


def function_from(name: str, found: Any) -> Any:
    """An option that is a function from the `Run`, or `module:attribute` of one.

    Args:
        name: the option's.
        found: its value; None stays None.

    Raises:
        ConfigurationError: it is none.
    """
    function = import_object(found) if isinstance(found, str) else found
    if function is not None and not callable(function):
        raise ConfigurationError(f"{name} should be a function from the Run, not {function!r:.80}.")
    return function


async def made_for(run: Run, function: Any) -> Any:
    """What such a function makes for a run; None without one."""
    made = function(run) if function is not None else None
    return await made if inspect.isawaitable(made) else made


@dataclass(frozen=True, slots=True)
class Entrance:
    """What is known of a graph, here or on a server, before it is given anything.

    Attributes:
        names: of the state that it takes when it begins.
        replaced: makes what takes the place of what it has of a name, where it would add to that.
        refuses: whether a call that was not approved is refused behind a breakpoint at some nodes.
    """

    names: Collection[str]
    replaced: Callable[[str, Any], Any]
    refuses: Callable[[Sequence[str]], bool]


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a run of a graph begins.

    Attributes:
        run: the run.
        graph: what is known of the graph.
        owed: ids of the messages that the graph was not given yet.
        own: what the application has the graph begin with, None for the messages and the state.
        cancelled: what an interrupt of the author's own returns that nobody answered.
        wire: the ids of calls.
        told_in_state: whether the context is for a graph's state that has a place for it.
        forwarded: which of what clients forward the graph begins with.
        a2ui: whether such a state has what surfaces are made by.
    """

    run: Run
    graph: Entrance
    owed: Collection[str]
    own: Any
    cancelled: Json
    wire: WireIds
    told_in_state: bool
    forwarded: Forwarded
    a2ui: bool

    def fresh(self, state: Any) -> Any:
        """What a new message has the graph begin with.

        Args:
            state: the graph's state.
        """
        if self.own is not None:
            return self.own
        known = self.graph.names
        given = {
            **self._forwarded(known),
            **self._changes(state),
            **offered_in_state(self.run, known, told=self.told_in_state, a2ui=self.a2ui),
        }
        messages, whole = conversation(self.run, messages_of(state.values), self._new())
        given[MESSAGES] = self.graph.replaced(MESSAGES, messages) if whole else messages
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
            goes_on = kept.calls and self.graph.refuses(kept.breakpoint)
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
        # A call whose result is not here yet waits on.
        values: dict[str, Json] = {
            own: result_text(results[kept.frontend[own][0]])
            for own in handed
            if kept.frontend[own][0] in results
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

    def _forwarded(self, known: Collection[str]) -> dict[str, Any]:
        """What the client forwards, as far as the graph begins with it."""
        props = self.forwarded.of(self.run)
        return {name: props[name] for name in known if name in props and name != MESSAGES}

    def _changes(self, state: Any) -> dict[str, Any]:
        names = [name for name in self.graph.names if name != MESSAGES]
        return state_changes(self.graph.replaced, self.run.state, state.values, names)


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
