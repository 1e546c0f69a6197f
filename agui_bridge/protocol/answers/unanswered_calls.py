"""Answering the tool calls that nothing has answered, so that no history ends dangling.

Source: docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded

__all__ = ["answer_batch", "answer_calls"]


def answer_calls(
    history: History,
    content: str,
    *,
    mint: Callable[[], str],
    only: Collection[str] | None = None,
    but: Collection[str] = (),
) -> list[WireEvent]:
    """Answer calls without a result, and fold the answers in.

    Args:
        history: the conversation.
        content: of each result, such as a sentence of `answers.unexecuted`.
        mint: makes message ids.
        only: ids of the calls to look at; None is all.
        but: ids of those to leave alone: calls that wait for an answer.

    Returns:
        The TOOL_CALL_RESULT events to send, in the order of the calls.
    """
    settled = history.calls.answered
    events: list[WireEvent] = [
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": mint(),
            "toolCallId": call,
            "content": content,
            "role": "tool",
        }
        for call in history.calls.ids
        if call not in settled and call not in but and (only is None or call in only)
    ]
    for event in events:
        history.apply(event)
    return events


def answer_batch(
    history: History, loaded: Loaded, content: str, mint: Callable[[], str]
) -> list[WireEvent]:
    """Answer the calls that a batch asked about, and which its questions held back.

    Another call without a result may have been approved in an earlier run, and its framework not
    have told the result yet.
    """
    pending, asked = loaded.pending_calls, loaded.asked_calls
    untold = answer_calls(history, UNTOLD, mint=mint, but=(*pending, *asked))
    return [*untold, *answer_calls(history, content, mint=mint, but=pending)]
