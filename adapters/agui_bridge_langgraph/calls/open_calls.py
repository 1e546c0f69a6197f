"""The calls that a model proposed and nothing has answered, and which one an interrupt is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.types import Interrupt

from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.checkpoint import levels, messages_of, namespace_of, unanswered


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that a model proposed and nothing has answered yet.

    Attributes:
        call: the call, under its id on the wire.
        native: the model's id.
        within: namespace of the graph that it is a call of.
    """

    call: ToolCall
    native: str
    within: str


class OpenCalls:
    """All of them.

    Args:
        calls: the calls, in order.
        asking: ids of the calls whose tools raised an interrupt, by its id.
        places: namespaces of the graphs or tasks that raised one, by the same.

    Attributes:
        all: the calls.
    """

    def __init__(
        self, calls: Sequence[OpenCall], asking: Mapping[str, str], places: Mapping[str, str]
    ) -> None:
        self.asking = asking
        self.all: list[ToolCall] = [one.call for one in calls]
        self._places = places
        self._calls = list(calls)
        self._left = list(calls)

    def of_model(self, native: Any, found: Interrupt) -> ToolCall | None:
        """The call that an interrupt names by the model's id."""

        def is_meant(one: OpenCall) -> bool:
            return bool(one.native == native)

        return self._take(found, is_meant, self._left) or self._take(found, is_meant, self._calls)

    def like(self, name: Any, args: Any, found: Interrupt) -> ToolCall | None:
        """The next call of a tool with some arguments: batches name no ids, but keep the order."""

        def is_meant(one: OpenCall) -> bool:
            return bool(one.call.name == name and one.call.args == args)

        return self._take(found, is_meant, self._left)

    def _take(
        self, found: Interrupt, is_meant: Callable[[OpenCall], bool], among: Sequence[OpenCall]
    ) -> ToolCall | None:
        place = self._places.get(found.id, "")
        meant = [one for one in among if is_meant(one)]
        # Agents that work at once may have calls of one id, or alike.
        near = [one for one in meant if one.within == place]
        near = near or [one for one in meant if one.within.startswith(place)] or meant
        if not near:
            return None
        self._left = [one for one in self._left if one is not near[0]]
        return near[0].call


def open_calls(state: Any, wire: WireIds) -> list[OpenCall]:
    """The calls that nothing has answered, of a graph and of the subgraphs within it, in order.

    Args:
        state: the graph's, subgraphs included.
        wire: the ids of calls.
    """
    found: list[OpenCall] = []
    for level in levels(state):
        within = namespace_of(level)
        for message, calls in unanswered(messages_of(level.values)):
            natives = [str(call["id"]) for call in calls]
            own = wire.open(message.id, natives, within)
            found += [
                OpenCall(ToolCall(named, str(call["name"]), call["args"]), str(call["id"]), within)
                for named, call in zip(own, calls, strict=True)
            ]
    return found


def places_of(state: Any) -> dict[str, str]:
    """The namespaces of the graphs, as far as they are known, that interrupts were raised in.

    Args:
        state: the graph's, subgraphs included: the innermost come last.
    """
    return {
        found.id: namespace_of(level)
        for level in levels(state)
        for task in level.tasks
        for found in task.interrupts
    }
