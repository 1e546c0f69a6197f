"""Pauses that would mislead a person or brick a thread are refused before they are stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agui_bridge.adapters import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT
from agui_bridge.protocol.threads.records import ToolCall
from tests.support.agents import Bench, Scripted, call_events, outcome


def pay(amount: int, call: str = "c", native: str = "n", **members: Any) -> Ask:
    return Ask(native, "tool_call", tool_call=ToolCall(call, "pay", {"amount": amount}), **members)


async def test_a_question_that_pins_other_arguments_than_were_shown_is_refused() -> None:
    bench = Bench(Scripted([*call_events("c"), Pause([pay(1_000_000)])]))
    assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"
    assert (await bench.load()).interrupts == {}


async def test_two_questions_about_one_call_are_refused() -> None:
    bench = Bench(Scripted([Pause([pay(1), pay(1, native="m")])]))
    assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"


@pytest.mark.parametrize("continuation", [{1, 2}, object(), float("nan"), {"a": b"x"}])
async def test_a_continuation_that_could_not_come_back_as_it_went_is_refused(
    continuation: Any,
) -> None:
    bench = Bench(Scripted([Pause([Ask("n")], continuation)], ["next"]))
    assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"
    assert outcome(await bench.say("more")) == "success"


@pytest.mark.parametrize("ends", [partial(Pause, [Ask("n")]), partial(Handoff, ["c"])])
async def test_a_continuation_that_is_too_large_is_refused_before_anybody_is_asked(
    ends: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    fits, too_large = [*call_events("c"), ends("x" * 98)], [*call_events("c"), ends("x" * 99)]
    bench = Bench(Scripted(fits), max_continuation_bytes=100)
    assert outcome(await bench.say("go")) in ("interrupt", "success")
    bench = Bench(Scripted(too_large, ["next"]), max_continuation_bytes=100)
    assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"
    assert "takes 101 bytes as JSON; at most 100 are allowed" in caplog.text
    assert (await bench.load()).interrupts == {}
    assert outcome(await bench.say("more")) == "success"


async def test_edits_satisfy_the_tools_schema_whatever_schema_the_adapter_brings() -> None:
    ask = pay(
        1,
        parameters={
            "type": "object",
            "properties": {"amount": {"type": "integer"}},
            "additionalProperties": False,
        },
        response_schema={"type": "object", "required": ["approved"]},
        allowed=(APPROVE, DECLINE, EDIT),
    )
    bench = Bench(Scripted([Pause([ask])], ["done"], edit=True))
    asked = (await bench.say("go"))[-1]["outcome"]["interrupts"]
    answer = {"approved": True, "editedArgs": {"amount": "a million", "evil": 1}}
    entry = {"interruptId": asked[0]["id"], "status": "resolved", "payload": answer}
    assert outcome(await bench.say(resume=[entry])) == "INVALID_RESUME_PAYLOAD"
    answer["editedArgs"] = {"amount": 2}
    assert outcome(await bench.say(resume=[entry])) == "success"


async def test_malformed_usage_is_left_out_and_does_not_spoil_the_end() -> None:
    class Counting(Scripted):
        async def run(self, run: Any) -> Any:
            run.usage += [{"model": None, "inputTokens": 3}, {"inputTokens": "many"}, 7]
            async for item in super().run(run):
                yield item

    events = await Bench(Counting(["hi"])).say("go")
    assert events[-1]["usage"] == [{"inputTokens": 3}]
