"""Approvals: held back neighbours, failures amid them, policies, hard cases."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    FunctionInvocationContext,
    FunctionMiddleware,
)

from agui_bridge import ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.agent_framework.approving import Approving
from tests.adapters.agent_framework.mailer import Mailer
from tests.adapters.agent_framework.talking import conversing, serving, talking
from tests.adapters.mails import COLOUR_TOOL, YES

pytestmark = pytest.mark.anyio

NO = {"approved": False, "reason": "not him"}
FAILED = "Error: Function failed."
NO_SUCH_TOOL = 'Error: Requested function "fly" not found.'


def results(run: Any) -> list[str]:
    """What a run told of calls."""
    return [event["content"] for event in run.events if event["type"] == "TOOL_CALL_RESULT"]


async def test_what_was_edited_is_what_the_model_reads_as_its_call() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("both bob")
        one_of_them = {**YES, "editedArgs": {"to": "ann", "body": "edited"}}
        await one.answer(asked, one_of_them, NO)
        await one.say("hello")
    assert mailer.done == [{"to": "ann", "body": "edited"}]
    calls = [c for m in mailer.heard for c in m["contents"] if c["type"] == "function_call"]
    assert [str(call["arguments"]) for call in calls] == [
        "{'to': 'ann', 'body': 'edited'}",
        '{"to": "second-bob", "body": "original"}',
    ]
    assert mailer.results("send_email")[0] == "sent to ann"
    assert "Reason: not him" in mailer.results("send_email")[1]


@pytest.mark.parametrize("edited", [False, True])
async def test_arguments_of_other_types_than_json_has_arrive_as_these(edited: bool) -> None:
    mailer = Mailer()
    when = datetime.datetime(2026, 11, 23, 9, tzinfo=datetime.UTC)
    async with talking(mailer) as one:
        asked = await one.say("meet 2026-11-24")
        args = {"when": "2026-11-23T09:00:00Z", "day": "2026-12-24"}
        answer = {**YES, "editedArgs": args} if edited else YES
        assert (await one.answer(asked, answer)).ending == "success"
    assert mailer.done == [(when, datetime.date(2026, 12 if edited else 11, 24))]


async def test_a_result_that_a_person_gives_stands_for_the_tools() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        answered = await one.answer(asked, {"approved": False, "respond": "sent it by hand"})
        assert results(answered) in ([], ["sent it by hand"])
        await one.say("hello")
    assert (mailer.done, mailer.results("send_email")) == ([], ["sent it by hand"])


async def test_what_ran_before_the_model_broke_is_in_the_history_and_runs_no_more() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("break bob")
        assert (await one.answer(asked, YES)).ending != "success"
        assert (await one.say("hello")).ending == "success"
        assert mailer.results("send_email") == ["sent to bob"]
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_a_tool_that_fails_after_it_acted_is_told_and_not_repeated() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        assert (await one.say("fail")).ending == "success"
        await one.say("hello")
    assert (mailer.done, mailer.results("fail")) == (["failed"], ["Error: Function failed."])


async def test_a_pause_that_was_stopped_never_runs_its_neighbour() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("mixed bob")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == []
    assert len(mailer.results("look_up")) == len(mailer.results("send_email")) == 1


async def test_a_policy_may_ask_about_a_neighbour_that_was_held_back() -> None:
    mailer = Mailer()
    bridge = serving(mailer)

    def policy(call: ProposedCall) -> Verdict:
        return Verdict("ask" if call.name == "look_up" else "allow", "Look him up?")

    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("mixed bob")
        again = await one.answer(asked, YES)
        assert [ask["message"] for ask in again.asks] == ["Look him up?"]
        assert mailer.done == [{"to": "bob", "body": "original"}]
        assert (await one.answer(again, YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}, "looked up bob"]
    assert mailer.results("look_up") == ["bob is known"]


async def test_of_two_calls_that_a_policy_asks_about_each_has_its_own_answer() -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    bridge.policy(lambda call: Verdict("ask", "Look him up?"))
    async with talk(bridge, "mailer") as one:
        asked = await one.say("bothlook bob")
        assert (len(asked.asks), mailer.done) == (2, [])
        assert (await one.answer(asked, NO, YES)).ending == "success"
    assert mailer.done == ["looked up second-bob"]


async def test_a_policy_that_fails_leaves_the_answer_to_be_given_again() -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    broken = [False]

    def policy(call: ProposedCall) -> Verdict:
        if broken[0]:
            raise RuntimeError("no database")
        return Verdict("allow")

    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("send bob")
        broken[0] = True
        assert (await one.answer(asked, YES)).ending != "success"
        assert mailer.done == []
        broken[0] = False
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_an_approved_tool_that_is_gone_leaves_the_answer_to_be_given_again(
    tmp_path: Path,
) -> None:
    store = f"sqlite:///{tmp_path}/agents.db"
    mailer = Mailer()
    without = Mailer(mailer.done.append)
    without.agent = Agent(without.client, name="mailer", tools=without.tools[1:])
    async with talk(serving(mailer), "mailer", store=store) as one:
        asked = await one.say("send bob")
    async with talk(serving(without), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending != "success"
        assert (mailer.done, without.requests) == ([], [])
    async with talk(serving(mailer), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_middleware_that_changes_what_was_approved_changes_nothing() -> None:
    class Meddler(FunctionMiddleware):
        async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
            context.arguments = {"to": "eve", "body": "stolen"}
            await call_next()

    mailer = Mailer(middleware=[Meddler()])
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        await one.answer(asked, YES)
    assert mailer.done == [{"to": "bob", "body": "original"}]


@pytest.mark.parametrize("action", ["allow", "ask"])
@pytest.mark.parametrize(("say", "told"), [("send bob", "sent to bob"), ("fail", FAILED)])
async def test_middleware_that_tries_again_repeats_no_approved_call(
    say: str, told: str, action: Any
) -> None:
    class Again(FunctionMiddleware):
        async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
            with contextlib.suppress(RuntimeError):
                await call_next()
            await call_next()

    mailer = Mailer(middleware=[Again()])
    for one_of in mailer.tools:
        one_of.approval_mode = "always_require"
    bridge = serving(mailer)
    bridge.policy(lambda call: "allow" if call.approved else action)
    async with talk(bridge, "mailer") as one:
        ended = await one.answer(await one.say(say), YES)
        assert (ended.ending, results(ended)) == ("success", [told])
    assert len(mailer.done) == 1
    assert mailer.results("fail" if say == "fail" else "send_email") == [told]


async def test_middleware_that_approves_a_call_without_end_ends_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mailer = Mailer(middleware=[Approving()])
    async with talking(mailer) as one:
        ended = await one.say("send bob")
        assert (ended.ending, mailer.done) == ("AGENT_ERROR", [])
        assert results(ended) == ["The run failed; this tool call was not executed."]
        assert "Middleware of the agent approves 'send_email'" in caplog.text
        assert (await one.say("hello")).ending == "success"
    assert mailer.done == []
    assert len(mailer.results("send_email")) == 1


async def test_a_neighbour_whose_tool_is_to_be_approved_by_now_is_asked_about() -> None:
    mailer = Mailer()
    (look,) = [one for one in mailer.tools if one.name == "look_up"]
    async with talking(mailer) as one:
        asked = await one.say("mixed bob")
        look.approval_mode = "always_require"
        asked = await one.answer(asked, YES)
        assert (len(asked.asks), mailer.done) == (1, [{"to": "bob", "body": "original"}])
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}, "looked up bob"]


@pytest.mark.parametrize("answer", [YES, NO])
async def test_nobody_is_asked_about_a_tool_that_there_is_not(answer: Any) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("invent bob")
        assert len(asked.asks) == 1
        assert mailer.done == []
        ended = await one.answer(asked, answer)
        assert (ended.ending, ended.text) == ("success", "Done with 2 calls.")
        assert NO_SUCH_TOOL in results(ended)
    assert mailer.results("fly") == [NO_SUCH_TOOL]
    assert mailer.done == ([{"to": "bob", "body": "original"}] if answer is YES else [])


async def test_nobody_gives_the_result_of_a_tool_that_there_is_not() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("inventcolour red", tools=[COLOUR_TOOL])
        assert await one.hand_back("it is red") == "Done with 2 calls."
    assert mailer.results("fly") == [NO_SUCH_TOOL]
    assert mailer.results("set_colour") == ["it is red"]


# --- calls that clients give one id ---


@pytest.mark.parametrize("say", ["same bob", "sametwice bob"])
async def test_calls_of_one_id_are_asked_about_and_answered_one_by_one(say: str) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked, answers, told = await one.say(say), [YES, NO], list[str]()
        calls = [ask["toolCallId"] for ask in asked.asks]
        while asked.asks:
            given = [answers.pop(0) for _ in asked.asks]
            asked = await one.answer(asked, *given)
            calls += [ask["toolCallId"] for ask in asked.asks]
            told += results(asked)
        assert asked.ending == "success"
        await one.say("hello")
    assert (len(set(calls)), answers) == (2, [])
    assert mailer.done == [{"to": "bob", "body": "original"}]
    assert sorted(mailer.results("send_email")) == sorted(told)
    assert ["Reason: not him" in text for text in sorted(told)] == [True, False]


# --- the application's tools, and tools without a function ---


async def test_a_neighbour_of_the_applications_tool_runs_once() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("colourandlook red", tools=[COLOUR_TOOL])
        assert await one.hand_back("it is red") == "Done with 2 calls."
    assert mailer.done == ["looked up red"]
    assert mailer.results("set_colour") == ["it is red"]


async def test_a_question_beside_an_approval_takes_both_answers() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("askandsend bob")
        assert sorted(ask["reason"] for ask in asked.asks) == ["agent_framework:call", "tool_call"]
        payloads = [YES if a["reason"] == "tool_call" else {"answer": 1} for a in asked.asks]
        assert (await one.answer(asked, *payloads)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]
    assert mailer.results("ask_user") == ['{"answer":1}']


# --- stops ---


async def test_a_stop_lets_one_of_two_calls_finish_and_tells_what_came_of_it() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("waitlook bob")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        ended = await stream.rest()
        assert "it is done" in results(ended)
        await one.say("hello")
    assert mailer.results("wait") == ["it is done"]


# --- history ---


async def test_a_history_that_ends_in_a_call_executes_nothing() -> None:
    mailer = Mailer()
    call = {"id": "c1", "type": "function"}
    said = {
        "id": "a1",
        "role": "assistant",
        "toolCalls": [{**call, "function": {"name": "look_up", "arguments": '{"name": "eve"}'}}],
    }
    async with conversing(serving(mailer)) as one:
        await one._send(messages=[{"id": "u1", "role": "user", "content": "hello"}, said])
    assert mailer.done == []
