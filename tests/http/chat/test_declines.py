"""A question that may be declined has a box for that in the chat API's form."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agui_bridge.http.chat.frames import payload_of, state_of
from agui_bridge.protocol.answers.decisions import ANSWER, DECLINE, declinable, find_fault
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey

FORM: Final = {
    "type": "object",
    "required": ["city", "nights"],
    "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
    "additionalProperties": False,
}


def asking(message: str) -> Interrupt:
    return Interrupt(
        *("id", "batch", 0, "native", "input_required"),
        message=message,
        response_schema=declinable(FORM),
        allowed=(ANSWER, DECLINE),
    )


@pytest.mark.parametrize(
    ("message", "label"), [("Where to?", "I decline to answer"), ("要去哪里？", "拒绝回答")]
)
def test_its_box_has_words_and_nothing_else_must_be_filled_in(message: str, label: str) -> None:
    fields = state_of(ThreadKey("s", "a", "t"), asking(message))["fields"]

    assert [(f["name"], f["type"]) for f in fields] == [
        ("city", "text"),
        ("nights", "text"),
        ("declined", "confirm"),
    ]
    assert fields[-1]["label"] == label
    assert not any(field["required"] for field in fields)


@pytest.mark.parametrize(
    ("values", "payload"),
    [
        ({"city": "Bonn", "nights": "2", "declined": False}, {"city": "Bonn", "nights": 2}),
        ({"city": "Bonn", "nights": "2"}, {"city": "Bonn", "nights": 2}),
        ({"city": "", "nights": "", "declined": True}, {"declined": True}),
        ({"declined": True, "reason": "private"}, {"declined": True, "reason": "private"}),
    ],
)
def test_what_was_filled_in_is_the_answer_unless_the_box_is_ticked(
    values: dict[str, Any], payload: Any
) -> None:
    asked = asking("Where to?")

    assert payload_of(asked, values) == payload
    assert find_fault(asked, payload) is None


def test_an_empty_form_is_neither() -> None:
    asked = asking("Where to?")
    assert find_fault(asked, payload_of(asked, {"city": "", "nights": "", "declined": False}))
