"""What is open when a reader comes late: told as empty, and then by events."""

from typing import Any

import pytest

from agui_bridge.engine.streaming.event_stream import Openings
from tests.support.folds import (
    call,
    call_args,
    call_end,
    call_start,
    fold,
    text,
    text_end,
    text_start,
)

Wire = dict[str, Any]

STEP: Wire = {"type": "STEP_STARTED", "stepName": "think"}
STEP_END: Wire = {"type": "STEP_FINISHED", "stepName": "think"}


def late(*events: Wire) -> tuple[list[Any], list[Wire]]:
    """What a reader is told that comes after these events."""
    openings = Openings()
    for event in events:
        openings.note(event)
    return openings.catch_up(fold(*events).messages)


def test_where_nothing_is_open_the_messages_are_all() -> None:
    events = [STEP, text_start(), text("hi"), text_end(), STEP_END]

    assert late(*events) == (fold(*events).messages, [])


def test_an_open_text_is_empty_in_the_messages_and_whole_in_the_events() -> None:
    [message], events = late(STEP, text_start(name="ann"), text("I "), text("say"))

    assert message["content"] == ""
    assert events == [STEP, text_start(name="ann"), text("I say")]


def test_a_text_without_a_word_yet_is_only_opened() -> None:
    assert late(text_start())[1] == [text_start()]


def test_of_several_calls_only_the_open_one_is_emptied() -> None:
    closed = [call_start("c", "m"), call_args("{}", "c"), call_end("c")]
    [message], events = late(
        text_start(), text("hi"), text_end(), *closed, call_start("d", "m"), call_args('{"a', "d")
    )

    assert message["content"] == "hi"
    assert message["toolCalls"] == [call("c", "{}"), call("d", "")]
    assert events == [call_start("d", "m"), call_args('{"a', "d")]


def test_steps_of_the_same_name_are_told_apart_by_their_subagent() -> None:
    def of(event: Wire, owner: str) -> Wire:
        return {**event, "subagentRunId": owner}

    _, events = late(of(STEP, "a"), of(STEP, "b"), of(STEP_END, "a"))

    assert events == [of(STEP, "b")]


@pytest.mark.parametrize("cut", range(8))
def test_who_comes_late_ends_with_the_same_conversation(cut: int) -> None:
    events = [
        STEP,
        text_start(),
        text("I "),
        text("look"),
        text_end(),
        call_start("c", "m"),
        call_args("{}", "c"),
        call_end("c"),
    ]
    messages, opened = late(*events[:cut])
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}

    assert fold(snapshot, *opened, *events[cut:]).messages == fold(*events).messages
