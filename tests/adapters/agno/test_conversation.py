"""What every agent for e-mails does, of an agent of Agno and of a team; and what is Agno's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agno.agent import Agent
from agno.models.message import Message
from agno.run import RunContext
from agno.tools.function import Function
from pydantic import BaseModel

from agui_bridge import Verdict
from agui_bridge.testing import talk
from examples.agno.offline import OfflineModel
from tests.adapters.agno.mailer import SIGNATURE, Mailer
from tests.adapters.agno.talking import BRIDGES, TEAMS, conversing, serving, talking
from tests.adapters.mails import YES, EditableMails, StatelessMails
from tests.docs.pages import Conversation

pytestmark = pytest.mark.anyio


class TestAnAgent(StatelessMails, EditableMails):
    bridges = BRIDGES
    signature = SIGNATURE

    @pytest.fixture
    def mailer(self) -> Mailer:
        return Mailer()


class TestATeam(TestAnAgent):
    bridges = TEAMS


# --- history ---


async def test_a_history_that_ends_in_a_call_without_a_result_executes_nothing() -> None:
    mailer = Mailer()
    function = {"name": "send_email", "arguments": '{"to": "bob"}'}
    call = {"id": "c1", "type": "function", "function": function}
    async with conversing(serving(mailer)) as one:
        await one._send(
            messages=[
                {"id": "u1", "role": "user", "content": "send bob"},
                {"id": "a1", "role": "assistant", "content": "", "toolCalls": [call]},
            ]
        )
        assert one.events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        await one.say("hello")
    assert mailer.done == []


async def test_the_model_reads_edited_arguments_as_its_own_call_now_and_later() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.answer(await one.say("send bob"), {**YES, "editedArgs": {"to": "ann"}})
        assert mailer.done == [{"to": "ann", "body": "Hi"}]
        await one.say("hello")
    for request in (1, 2):
        calls = [c for m in mailer.requests[request] for c in m.tool_calls or ()]
        assert [call["function"]["arguments"] for call in calls] == ['{"to": "ann"}']


async def test_two_threads_at_once_on_one_agent_hear_nothing_of_each_other() -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    async with bridge.lifespan():
        one, other = (Conversation(bridge, "mailer", thread) for thread in ("one", "other"))
        await asyncio.gather(one.say("think trees"), other.say("think stones"))
        await asyncio.gather(one.say("send ann"), other.say("send bob"))
        await asyncio.gather(one.answer(YES), other.answer(YES))
    assert sorted(done["to"] for done in mailer.done) == ["ann", "bob"]
    assert not any("trees" in mailer.told(i) and "stones" in mailer.told(i) for i in range(6))


async def test_instructions_and_examples_are_told_once_in_each_request_also_after_a_pause() -> None:
    examples = [Message(role="user", content="an example"), {"role": "assistant", "content": "so"}]
    mailer = Mailer(instructions="Be an agent.", additional_input=examples)
    async with talking(mailer) as one:
        await one.answer(await one.say("send bob"), YES)
        await one.say("hello")
        await one.say("hello")
    for request in range(4):
        told = mailer.told(request)
        assert [told.count(text) for text in ("Be an agent.", "an example", "send bob")] == [1] * 3


async def test_a_tool_with_the_name_of_a_teams_own_is_judged_all_the_same() -> None:
    mailer = Mailer()

    async def delegate_task_to_member(member_id: str, task: str) -> str:
        """Do as if it were a team's."""
        mailer.done.append(task)
        return task

    mailer.agent.tools = [delegate_task_to_member]
    bridge = serving(mailer)
    bridge.policy(lambda call: Verdict("deny", "no"))
    async with talk(bridge, "mailer") as one:
        await one.say("inside bob")
    assert mailer.done == []


async def test_a_tool_that_waits_for_two_things_ends_the_run_and_executes_nothing() -> None:
    mailer = Mailer()

    async def send_email(to: str, body: str) -> str:
        mailer.done.append(to)
        return "sent"

    both = Function(
        name="send_email",
        entrypoint=send_email,
        requires_confirmation=True,
        external_execution=True,
    )
    mailer.agent.tools = [both]
    async with talking(mailer) as one:
        assert (await one.say("send bob")).ending == "AGENT_ERROR"
    assert mailer.done == []


async def test_nobody_says_by_the_state_who_they_are() -> None:
    seen: list[Any] = []

    async def look_up(name: str, run_context: RunContext) -> str:
        """Look somebody up."""
        assert run_context.session_state is not None
        seen.append(run_context.session_state.get("current_user_id"))
        return name

    mailer = Mailer()
    mailer.agent.tools = [look_up]
    async with conversing(serving(mailer)) as one:
        await one.say("look bob", state={"current_user_id": "root"})
    assert seen and seen != ["root"]


# --- state, results, dependencies ---


async def test_the_session_state_is_the_threads_and_dependencies_are_given_anew() -> None:
    seen: list[Any] = []

    async def look_up(name: str, run_context: RunContext) -> str:
        """Look somebody up."""
        assert run_context.session_state is not None
        seen.append((run_context.session_state.get("looked"), run_context.dependencies))
        run_context.session_state["looked"] = name
        return name

    mailer = Mailer()
    mailer.agent.tools = [look_up, mailer.tools[0]]
    async with talking(mailer, dependencies=lambda run: {"who": run.principal.actor}) as one:
        await one.say("look ann")
        assert await one.state() == {"looked": "ann"}
        asked = await one.say("lookandsend bob")
        await one.answer(asked, YES)
        assert await one.state() == {"looked": "bob"}
    assert [looked for looked, _ in seen] == [None, "ann"]
    assert all(set(given) == {"who"} for _, given in seen)


class Report(BaseModel):
    sent: int


async def test_a_structured_output_is_the_runs_result_and_no_text() -> None:
    async def reply(messages: Any, named: set[str]) -> Any:
        yield '{"sent"'
        yield ": 1}"

    mailer = Mailer()
    mailer.agent = Agent(model=OfflineModel(reply=reply), output_schema=Report, telemetry=False)
    async with talking(mailer) as one:
        stream = await one.say("report")
    assert stream.events[-1]["result"] == {"sent": 1}
    assert stream.text == ""


async def test_usage_is_told_of_each_reply() -> None:
    async with talking(Mailer()) as one:
        told = (await one.say("look bob")).events[-1]
    assert [usage["totalTokens"] for usage in told["usage"]] == [10, 10]


# --- what goes wrong ---


async def test_a_tool_that_fails_is_told_to_the_model_and_its_neighbour_is_not_lost() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = await one.say("failmixed bob")
        assert stream.ending == "success"
    assert mailer.done == ["failed bob", "looked up bob"]
    assert mailer.results("fail") == ["bob"]
    results = [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]
    assert results == ["bob", "bob is known"]


async def test_a_model_that_fails_ends_the_run_after_what_it_did_and_the_thread_goes_on() -> None:
    mailer, failing = Mailer(), [True]
    plain = mailer.model.reply

    async def reply(messages: Any, named: set[str]) -> Any:
        assert plain is not None
        if failing[0] and messages[-1].role == "tool":
            failing[0] = False
            raise RuntimeError("the provider's own words")
        async for one in plain(messages, named):
            yield one

    mailer.model.reply = reply
    async with talking(mailer) as one:
        stream = await one.answer(await one.say("send bob"), YES)
        assert stream.ending == "AGENT_ERROR"
        assert b"own words" not in stream.raw
        assert (await one.say("hello")).text == "Hello."
    assert mailer.results("send_email") == ["sent to bob"]
    assert len(mailer.done) == 1


async def test_an_agent_that_retries_executes_an_approved_call_once() -> None:
    mailer, failing = Mailer(retries=2), [True]
    plain = mailer.model.reply

    async def reply(messages: Any, named: set[str]) -> Any:
        assert plain is not None
        if failing[0] and messages[-1].role == "tool":
            failing[0] = False
            raise RuntimeError("once")
        async for one in plain(messages, named):
            yield one

    mailer.model.reply = reply
    async with talking(mailer) as one:
        await one.answer(await one.say("send bob"), YES)
    assert len(mailer.done) == 1


@pytest.mark.parametrize("word", ["broken bob", "missing bob"])
async def test_a_call_that_is_none_is_told_to_the_model_and_nobody_is_asked(word: str) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        assert (await one.say(word)).ending == "success"
        assert (await one.say("hello")).ending == "success"
    assert mailer.done == []


async def test_a_tool_that_gives_its_result_bit_by_bit_and_one_that_is_not_async() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("spell ab")
        assert mailer.results("spell") == ["ab"]
        await one.say("greet ann")
    assert mailer.done == ["a", "b", "greeted ann"]
