"""What a graph waits for, as the end of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langgraph.types import Interrupt

from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge_langgraph.calls.frontend import FRONTEND
from agui_bridge_langgraph.calls.guard import POLICY
from agui_bridge_langgraph.calls.open_calls import OpenCalls
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.checkpoint import messages_of, namespace_of, unanswered
from agui_bridge_langgraph.continuation import Waiting
from agui_bridge_langgraph.questions import Schemas, asking

AT_END: Final = ""
"""Stands for an interrupt's id where the graph simply ended with the application's calls."""


class Pausing:
    """Makes the end of a run of what a graph waits for.

    Args:
        schemas: gives the JSON Schema of a tool's arguments.
        wire: the ids of calls.
        policy: the policy's questions, by tool call id.
        amid: what calls ask in their middle, by the same.
        frontend: names of the application's tools.
    """

    def __init__(
        self,
        schemas: Schemas,
        wire: WireIds,
        policy: Mapping[str, Ask],
        amid: Mapping[str, Sequence[Ask]],
        frontend: Collection[str],
    ) -> None:
        self._schemas = schemas
        self._wire = wire
        self._policy = policy
        self._amid = amid
        self._frontend = frontend
        self._asks: list[Ask] = []
        self._calls: dict[str, str] = {}
        self._interrupts: list[str] = []
        self._judged: list[str] = []
        self._handed: dict[str, list[str]] = {}

    def end(self, state: Any, calls: OpenCalls, kept: Waiting) -> Pause | Handoff | None:
        """What the run ends with, None if the graph has come to its end.

        Args:
            state: the graph's state, subgraphs included.
            calls: the calls that may be asked about.
            kept: what to keep, but for what is asked.
        """
        for found in state.interrupts:
            self._add(found, calls)
        at: list[str] = []
        if not state.interrupts and state.next:
            at = list(dict.fromkeys(state.next))
            self._stand_before(at, calls)
        elif not state.interrupts:
            self._hand_over_at_end(state)
        kept = replace(
            kept,
            interrupts=self._interrupts,
            breakpoint=at,
            checkpoint=state.config["configurable"].get("checkpoint_id"),
            calls=self._calls,
            judged=[*kept.judged, *self._judged],
            frontend=self._handed,
        )
        handed = [call for group in self._handed.values() for call in group]
        if self._asks:
            # Those of a batch that waits as a whole can be carried out in the meantime.
            beside = [call.id for call in calls.all if call.name in self._frontend]
            handed += [call for call in beside if call not in handed]
            return Pause(self._asks, kept.to_json(), frontend_calls=handed)
        return Handoff(handed, kept.to_json()) if handed else None

    def _add(self, found: Interrupt, calls: OpenCalls) -> None:
        value = found.value if isinstance(found.value, Mapping) else {}
        if FRONTEND in value:
            self._handed[found.id] = [str(value[FRONTEND])]
            return
        self._interrupts.append(found.id)
        if POLICY in value:
            call_id = str(value[POLICY])
            if call_id in self._amid:
                self._asks += self._amid[call_id]
                return
            self._judged.append(call_id)
            self._asks.append(self._policy[call_id])
            self._calls[self._policy[call_id].native_id] = call_id
            return
        asked = asking(found, calls, self._schemas)
        self._asks += asked.asks
        self._calls |= asked.calls

    def _stand_before(self, nodes: Sequence[str], calls: OpenCalls) -> None:
        """Ask whether the graph goes on from a breakpoint: the approval of each call that waits."""
        named, message = "+".join(nodes), f"Go on with {', '.join(nodes)}?"
        own = [call for call in calls.all if call.name not in self._frontend]
        if not own:
            self._asks.append(Ask(f"next:{named}", "confirmation", message))
            return
        for call in own:
            # Edits would not reach the state, which whatever asks behind it reads.
            ask = Ask(
                f"next:{named}/{call.id}",
                "tool_call",
                message,
                tool_call=call,
                allowed=(APPROVE, DECLINE),
            )
            self._asks.append(ask)
            self._calls[ask.native_id] = call.id

    def _hand_over_at_end(self, state: Any) -> None:
        """Graphs that were made for AG-UI end with the application's calls, unanswered."""
        messages = messages_of(state.values)
        last = next((m for m in reversed(messages) if not isinstance(m, ToolMessage)), None)
        for message, calls in unanswered(messages):
            natives = [str(call["id"]) for call in calls]
            own = self._wire.open(message.id, natives, namespace_of(state))
            named = zip(own, calls, strict=True)
            handed = [one for one, call in named if call["name"] in self._frontend]
            if message is last and handed:
                self._handed[AT_END] = handed
