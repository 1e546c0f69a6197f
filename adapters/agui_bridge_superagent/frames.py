"""A2UI frames that tell of more than text, questions and ends, made into AG-UI's events.

Source: SuperAgent's public source, the package `a2ui` of its backend.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import (
    ActivitySnapshotEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import RunItem
from agui_bridge.protocol.threads.messages.call_ids import CallIds

_FAILED: Final = "The tool failed."
"""In place of the server's own words, which may hold what nobody here should read."""


class FrameEvents:
    """The frames of one stream.

    The original names a call by its tool, so that the next call of a tool has the id of the one
    before. Here each call has an id of its own, and a result belongs to the oldest call of its
    frame's id that has none.

    Args:
        mint: makes ids of messages.
        calls: makes ids of calls.
    """

    def __init__(self, mint: Callable[[], str], calls: CallIds) -> None:
        self._mint = mint
        self._calls = calls
        self._open: dict[str, list[str]] = {}
        self._progress: dict[str, str] = {}
        self._thinking: str | None = None

    def spoke(self) -> None:
        """Text came: what the agent thinks from now on is another thought."""
        self._thinking = None

    def read(self, kind: str, data: Mapping[str, Any]) -> Iterator[RunItem]:
        """The events of a frame; none of one that is unknown, or is not as it should be."""
        if kind == "thinking":
            if isinstance(delta := data.get("delta"), str) and delta:
                self._thinking = self._thinking or self._mint()
                yield ReasoningMessageContentEvent(message_id=self._thinking, delta=delta)
            return
        self._thinking = None
        match kind:
            case "tool_call":
                yield from self._called(data)
            case "tool_result":
                yield from self._returned(data)
            case "code_block":
                code, language = data.get("code"), data.get("language")
                if isinstance(code, str) and code:
                    yield f"\n```{language if isinstance(language, str) else ''}\n{code}\n```\n"
            case "progress":
                agent = str(data.get("agent_name", ""))
                yield ActivitySnapshotEvent(
                    message_id=self._progress.setdefault(agent, self._mint()),
                    activity_type="progress",
                    content=dict(data),
                )
            case "agent_switch":
                yield CustomEvent(name="superagent:agent_switch", value=dict(data))

    def _called(self, data: Mapping[str, Any]) -> Iterator[RunItem]:
        name = data.get("name")
        if not isinstance(name, str) or not name:
            return
        theirs = str(data.get("id") or name)
        call = self._calls.new(theirs)
        self._open.setdefault(theirs, []).append(call)
        yield ToolCallStartEvent(tool_call_id=call, tool_call_name=name)
        arguments = data.get("arguments")
        if isinstance(arguments, Mapping) and arguments:
            shown = json.dumps(arguments, ensure_ascii=False)
            yield ToolCallArgsEvent(tool_call_id=call, delta=shown)
        yield ToolCallEndEvent(tool_call_id=call)

    def _returned(self, data: Mapping[str, Any]) -> Iterator[RunItem]:
        theirs, result = str(data.get("id") or data.get("name")), data.get("result")
        if not self._open.get(theirs):
            yield from self._called(data)
        if not self._open.get(theirs):
            return
        call = self._open[theirs].pop(0)
        said = result if isinstance(result, str) else ""
        told = _FAILED if data.get("is_error") is True else said
        yield ToolCallResultEvent(message_id=self._mint(), tool_call_id=call, content=told)
