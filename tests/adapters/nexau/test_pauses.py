"""Tools of NexAU that end a run to ask somebody."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import EndReason
from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.decisions import Answer, Cancel
from agui_bridge_nexau.pauses import answer_text, ask_of, labels_of
from agui_bridge_nexau.reader import CallSeen
from tests.adapters.nexau.bench import FINISHED, answering, saying
from tests.support.agents import eventually, outcome

ASKING = (
    FINISHED[0],
    '{"type":"TOOL_CALL_START","tool_call_id":"c","tool_call_name":"ask_user"}',
    '{"type":"TOOL_CALL_ARGS","tool_call_id":"c","delta":"{\\"question\\":\\"Name?\\"}"}',
    '{"type":"TOOL_CALL_RESULT","tool_call_id":"c","content":"{\\"_is_stop_tool\\": true}"}',
    FINISHED[1],
)


async def test_another_tool_that_stops_the_run_asks_nobody_and_is_told_as_the_reason() -> None:
    seen: list[EndReason] = []
    frames = [frame.replace("ask_user", "complete_task") for frame in ASKING]

    def hook(run: Run, reason: EndReason) -> None:
        seen.append(reason)

    async with saying(*frames, on_run_end=[hook]) as bench:
        assert outcome(await bench.say("go")) == "success"
        await eventually(lambda: seen == [EndReason.STOP_TOOL_TRIGGERED])


async def test_a_question_whose_answer_reached_nobody_stands_again() -> None:
    async with saying(*ASKING) as bench:
        asked = await bench.ask()
    # The server is gone by now.
    events = await bench.say(resume=bench.entries(asked, {"answer": "Bob"}))
    await bench.adapter.aclose()
    assert [e["type"] for e in events][-2:] == ["RUN_FINISHED", "RUN_ERROR"]
    assert events[-2]["outcome"]["interrupts"][0]["id"] == asked[0]["id"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (500, "RUN_INDETERMINATE"),
        ((), "RUN_INDETERMINATE"),
        (FINISHED[:1], "RUN_INDETERMINATE"),
        ((FINISHED[0], '{"type":"RUN_ERROR","message":"secret"}'), "UPSTREAM_ERROR"),
    ],
    ids=["500", "nothing", "begun", "failed"],
)
async def test_an_answer_that_is_broken_off_is_of_unknown_fate_and_not_sent_again(
    reply: Any, code: str
) -> None:
    async with answering(ASKING, reply, FINISHED) as bench:
        entries = bench.entries(await bench.ask(), {"answer": "Bob"})
        told = [await bench.say(resume=entries) for _ in range(2)]
        assert [outcome(events) for events in told] == [code, code]
        assert "secret" not in str(told)
        assert outcome(await bench.say("go on")) == "success"


def call(arguments: str) -> CallSeen:
    return CallSeen("c", "ask_user", arguments, '{"_is_stop_tool": true}', ended=True)


def test_questions_become_a_form_and_its_answers_a_message() -> None:
    ask = ask_of(
        call(
            '{"questions":[{"question":"Name?","type":"text"},'
            '{"question":"Which?","options":[{"label":"red"},{"label":"blue"}]},'
            '{"question":"Any?","multiSelect":true,"options":[{"label":"a"}]}]}'
        )
    )
    assert ask.reason == "input_required"
    assert ask.message == "Name?\nWhich?\nAny?"
    schema: Any = ask.response_schema
    assert schema["required"] == ["answer", "answer_2", "answer_3"]
    assert schema["properties"]["answer_2"]["enum"] == ["red", "blue"]
    assert "enum" not in schema["properties"]["answer_3"]
    payload = {"answer": "Bob", "answer_2": "red", "answer_3": "b"}
    assert answer_text(Answer(payload), labels_of(ask)) == "Name? Bob\nWhich? red\nAny? b"


@pytest.mark.parametrize("arguments", ["", "broken", "[]", "{}", '{"questions":[]}'])
def test_a_question_without_words_is_still_one(arguments: str) -> None:
    assert ask_of(call(arguments)).message == "The agent asks for input."


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Answer({"answer": "Bob"}), "Bob"),
        (Answer({"answer": 7}), "7"),
        (Answer("Bob"), "Bob"),
        (Cancel("cancelled"), "The user did not answer the question."),
        (Cancel("expired"), "The user did not answer the question in time."),
    ],
)
def test_a_decision_is_said_in_words(decision: Any, text: str) -> None:
    assert answer_text(decision, {}) == text
