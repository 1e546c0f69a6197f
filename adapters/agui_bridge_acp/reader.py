"""What an agent tells during a turn, as AG-UI events.

Source: the Agent Client Protocol, version 1, "Prompt Turn", "Agent Plan", "Tool Calls".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ag_ui.core import (
    ActivitySnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import RunItem
from agui_bridge_acp.calls import AgentCall, Shape


class Reader:
    """Reads one turn.

    Args:
        mint: makes ids.
        new_call: gives a new call its id, of the agent's own.
        awaited: whether a call that looks so was decided already, and is to be proposed again.

    Attributes:
        calls: the calls of the turn, by the agent's ids.
        mode: the mode that the agent says it has changed to.
        quiet: whether the turn is being ended, so that nothing but results is told.
    """

    def __init__(
        self,
        mint: Callable[[], str],
        new_call: Callable[[str | None], str],
        awaited: Callable[[Shape], bool],
    ) -> None:
        self._mint = mint
        self._new_call = new_call
        self._awaited = awaited
        self._thought: str | None = None
        self._plan: str | None = None
        self.calls: dict[str, AgentCall] = {}
        self.mode: str | None = None
        self.quiet: bool = False

    def serve(self, mint: Callable[[], str], new_call: Callable[[str | None], str]) -> None:
        """Make ids as another run does, which the turn goes on in."""
        self._mint, self._new_call = mint, new_call

    def take(self, update: Mapping[str, Any]) -> Iterator[RunItem]:
        """Read one update of the session."""
        match update.get("sessionUpdate"):
            case "tool_call" | "tool_call_update":
                call = self.call_of(update)
                yield from self._tell(call)
            case "current_mode_update":
                self.mode = str(update.get("currentModeId"))
            case kind if not self.quiet:
                yield from self._say(kind, update)

    def call_of(self, told: Mapping[str, Any]) -> AgentCall:
        """The call that an update or a question is about, with what that says of it."""
        native = str(told.get("toolCallId"))
        call = self.calls.get(native)
        if call is None:
            call = self.calls[native] = AgentCall(self._new_call(native))
        call.take({name: value for name, value in told.items() if name != "sessionUpdate"})
        return call

    def show(self, call: AgentCall) -> Iterator[RunItem]:
        """Show a call, unless clients have it."""
        if call.shown:
            return
        call.shown = True
        shape = call.settle()
        arguments = json.dumps(shape.args, ensure_ascii=False)
        yield from self.close()
        yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=shape.name)
        yield ToolCallArgsEvent(tool_call_id=call.id, delta=arguments)
        yield ToolCallEndEvent(tool_call_id=call.id)

    def close(self) -> Iterator[RunItem]:
        """End a thought that goes on."""
        thought, self._thought = self._thought, None
        if thought is not None:
            yield ReasoningMessageEndEvent(message_id=thought)
            yield ReasoningEndEvent(message_id=thought)

    def _tell(self, call: AgentCall) -> Iterator[RunItem]:
        if not call.due or call.refused or (self.quiet and not call.shown):
            return
        # Of a call that was decided, and is proposed again: it has its place in the conversation.
        if not call.over and not call.shown and self._awaited(call.settle()):
            return
        yield from self.show(call)
        if call.over and not call.answered:
            call.answered = True
            yield ToolCallResultEvent(
                message_id=self._mint(), tool_call_id=call.id, content=call.result, role="tool"
            )

    def _say(self, kind: Any, update: Mapping[str, Any]) -> Iterator[RunItem]:
        content = update.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        if kind == "agent_message_chunk" and isinstance(text, str) and text:
            yield from self.close()
            yield text
        elif kind == "agent_thought_chunk" and isinstance(text, str) and text:
            if self._thought is None:
                thought = self._thought = self._mint()
                yield ReasoningStartEvent(message_id=thought)
                yield ReasoningMessageStartEvent(message_id=thought, role="reasoning")
            yield ReasoningMessageContentEvent(message_id=self._thought, delta=text)
        elif kind == "plan" and isinstance(update.get("entries"), list):
            self._plan = self._plan or self._mint()
            yield ActivitySnapshotEvent(
                message_id=self._plan,
                activity_type="PLAN",
                content={"entries": update["entries"]},
                replace=True,
            )
