"""The phases of a run that a stop may meet: each comes to a point and stays there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import Adapter
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.protocol.answers.unexecuted import STOPPED, STOPPED_AMID
from tests.support.agents import Scripted, call_events, result, text_events

Item = str | BaseEvent


Phase = Callable[[Any], AsyncIterator[Any]]


async def before_the_first_event(run: Any) -> AsyncIterator[Item]:
    await asyncio.Event().wait()
    yield "never"


async def mid_text(run: Any) -> AsyncIterator[Item]:
    yield TextMessageStartEvent(message_id="m", role="assistant")
    yield TextMessageContentEvent(message_id="m", delta="half a sen")
    await asyncio.Event().wait()


async def mid_reasoning(run: Any) -> AsyncIterator[Item]:
    yield ReasoningStartEvent(message_id="r")
    yield ReasoningMessageStartEvent(message_id="r1", role="reasoning")
    yield ReasoningMessageContentEvent(message_id="r1", delta="half a thou")
    await asyncio.Event().wait()


async def mid_arguments(run: Any) -> AsyncIterator[Item]:
    yield ToolCallStartEvent(tool_call_id="c", tool_call_name="look")
    yield ToolCallArgsEvent(tool_call_id="c", delta='{"at": "the se')
    await asyncio.Event().wait()


async def in_a_tool(run: Any) -> AsyncIterator[Any]:
    for item in call_events("c", args='{"at":"sea"}'):
        yield item
    await asyncio.Event().wait()


async def between_steps(run: Any) -> AsyncIterator[Any]:
    for item in text_events("m", "whole"):
        yield item
    for item in call_events("c"):
        yield item
    yield result("c", "found")
    await asyncio.Event().wait()


PHASES: list[tuple[Phase, str, list[tuple[str, str]]]] = [
    (before_the_first_event, "RUN_STARTED", []),
    (mid_text, "TEXT_MESSAGE_CONTENT", [("assistant", "half a sen")]),
    (mid_reasoning, "REASONING_MESSAGE_CONTENT", [("reasoning", "half a thou")]),
    (
        mid_arguments,
        "TOOL_CALL_ARGS",
        [("assistant", ""), ("tool", STOPPED)],
    ),
    (
        in_a_tool,
        "TOOL_CALL_END",
        [("assistant", ""), ("tool", STOPPED_AMID)],
    ),
    (
        between_steps,
        "TOOL_CALL_RESULT",
        [("assistant", "whole"), ("assistant", ""), ("tool", "found")],
    ),
]


ADAPTERS: dict[str, Callable[[Phase], Adapter]] = {
    "scripted": Scripted,
    "function": FunctionAdapter,
    "keyword of a function": KeywordAdapter,
    "keyword of an adapter": lambda phase: KeywordAdapter(Scripted(phase)),
}
