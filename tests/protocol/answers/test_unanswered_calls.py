"""No history ends in a call that nothing answered, and every answer says what is known."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from agui_bridge.protocol.answers.decisions import Cancel, Decision, Decline
from agui_bridge.protocol.answers.unexecuted import EXPIRED, answer_calls
from agui_bridge.protocol.threads.history import History, StoredMessage


def assistant(id: str, *calls: str) -> dict[str, Any]:
    function = {"name": "tool", "arguments": "{}"}
    listed = [{"id": call, "type": "function", "function": function} for call in calls]
    return {"id": id, "role": "assistant", "toolCalls": listed}


def history_of(*messages: dict[str, Any]) -> History:
    stored = [StoredMessage(m["id"], i, m) for i, m in enumerate(messages)]
    return History(stored, None)


TALK = (
    {"id": "u", "role": "user", "content": "go"},
    assistant("a", "c", "d", "e"),
    {"id": "t", "role": "tool", "toolCallId": "d", "content": "done"},
    assistant("b", "f"),
)


@pytest.mark.parametrize(
    ("only", "but", "answered"),
    [
        (None, (), ["c", "e", "f"]),
        (None, ("e",), ["c", "f"]),
        (("e", "d"), (), ["e"]),
        ((), (), []),
    ],
)
def test_calls_without_a_result_are_answered_but_those_that_wait(
    only: tuple[str, ...] | None, but: tuple[str, ...], answered: list[str]
) -> None:
    numbers = itertools.count(1)
    history = history_of(*TALK)

    events = answer_calls(
        history, "not executed", mint=lambda: f"m{next(numbers)}", only=only, but=but
    )

    assert events == [
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": f"m{number}",
            "toolCallId": call,
            "content": "not executed",
            "role": "tool",
        }
        for number, call in enumerate(answered, 1)
    ]
    results = [m for m in history.messages if m["role"] == "tool" and m["id"] != "t"]
    assert [m["toolCallId"] for m in results] == answered
    assert answer_calls(history, "again", mint=lambda: "m", only=only, but=but) == []


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (Decline(None, {}), "The user declined this tool call; it was not executed."),
        (
            Decline("too many", {}),
            "The user declined this tool call; it was not executed. Reason: too many",
        ),
        (Cancel("cancelled"), "The approval was cancelled; this tool call was not executed."),
        (Cancel("expired"), EXPIRED),
    ],
)
def test_a_refused_call_says_who_refused_it(decision: Decision, sentence: str) -> None:
    assert decision.text == sentence
