"""Questions that the model asked, and that a stop or their time ended before anybody answered.

Their calls are shown only once they are answered, so the conversation knows nothing of them. The
next run tells it, model and client alike, before the model speaks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from agui_bridge.agents.chat.calls import result_event
from agui_bridge.agents.chat.messages import ChatMessage, call_message, reply_message
from agui_bridge.agents.function.run_acting import StreamItem
from agui_bridge.agents.replay.continuation import Asked, Value, read_entries
from agui_bridge.protocol.lifecycle.made_events import whole_call
from agui_bridge.protocol.threads.records import ClosedBatch, Json

__all__ = ["told_before", "unanswered_messages", "unanswered_questions"]

_WHY: Final[Mapping[str, str]] = {
    "expired": "The user did not answer in time.",
    "lost": "The run was lost; what the user answered is unknown.",
    "stopped": "The run was stopped before the user answered.",
}


def unanswered_questions(closed: Sequence[ClosedBatch]) -> list[dict[str, Json]]:
    """The calls with which a chat agent asked, and what came of each.

    Args:
        closed: pauses that ended without an answer since the last run.

    Returns:
        `[{"id", "name", "arguments", "result"}, …]`, all of them text.
    """
    return [
        {**{key: call[key] for key in ("id", "name", "arguments")}, "result": _WHY[batch.cause]}
        for batch in closed
        for call in _asked(batch.continuation)
    ]


def unanswered_messages(
    questions: Sequence[Mapping[str, Any]], names: Collection[str]
) -> list[ChatMessage]:
    """Unanswered questions as the model reads them.

    Args:
        questions: see `unanswered_questions`.
        names: the tools that the model is offered.
    """
    if not questions:
        return []
    calls = [call_message(one["id"], one["name"], one["arguments"], names) for one in questions]
    results: list[ChatMessage] = [
        {"role": "tool", "tool_call_id": one["id"], "content": one["result"]} for one in questions
    ]
    return [reply_message("", calls, ""), *results]


async def told_before(
    questions: Sequence[Mapping[str, Any]], items: AsyncGenerator[StreamItem, None]
) -> AsyncGenerator[StreamItem, None]:
    """What a reply streams, with the unanswered questions before it, as the client sees them."""
    for one in questions:
        for event in whole_call(one["id"], one["name"], one["arguments"]):
            yield event
        yield result_event(one["id"], one["result"])
    async with aclosing(items):
        async for item in items:
            yield item


def _asked(continuation: Json) -> list[Mapping[str, Any]]:
    """The calls of a pause that wait for an answer; none of what is no chat agent's."""
    entries = read_entries(continuation)
    asked = {
        key.key
        for key, outcome in entries.items()
        if key.kind == "ask" and isinstance(outcome, Asked)
    }
    return [
        call
        for key, outcome in entries.items()
        if (key.kind, key.name) == ("step", "reply ended") and isinstance(outcome, Value)
        for call in outcome.value["calls"]
        if call["id"] in asked
    ]
