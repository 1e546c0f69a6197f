"""Members of a team: shown as sub-agents, asked about, stopped, and taken up again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.agno.mailer import Mailer
from tests.adapters.agno.talking import TEAMS
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio

MAIL = {"to": "bob", "body": "original"}
serving, talking, conversing = TEAMS.serving, TEAMS.talking, TEAMS.conversing


def of(events: list[Any], kind: str) -> list[Any]:
    return [event for event in events if event["type"] == kind]


async def test_a_member_is_a_sub_agent_of_the_call_that_asked_it() -> None:
    async with talking(Mailer()) as one:
        stream = await one.say("knowninside bob")
        (started,) = of(stream.events, "SUBAGENT_STARTED")
        calls = {e["toolCallName"]: e for e in of(stream.events, "TOOL_CALL_START")}
        delegated = calls["delegate_task_to_member"]
        assert started["name"] == "clerk"
        assert started["parentToolCallId"] == delegated["toolCallId"]
        assert calls["look_up"]["subagentRunId"] == started["subagentRunId"]
        assert len(of(stream.events, "SUBAGENT_FINISHED")) == 1
        texts = [e for e in of(stream.events, "TEXT_MESSAGE_CONTENT") if e.get("subagentRunId")]
        assert "".join(e["delta"] for e in texts) == "I will do it. Done with 1 calls."
        assert stream.text.endswith("Done with 1 calls.")


@pytest.mark.parametrize(
    ("say", "sent"),
    [("inside bob", ["bob"]), ("twoinside bob", ["bob", "other-bob"])],
)
async def test_what_members_ask_outlives_the_process_and_runs_once(
    say: str, sent: list[str], tmp_path: Path
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        asked = await one.say(say)
        assert len(asked.asks) == len(sent)
    mailer = Mailer(done.append)
    async with talk(serving(mailer), "mailer", store=store) as one:
        stream = await one.answer(asked, *[YES for _ in sent])
        assert stream.ending == "success"
        await one.answer(asked, *[YES for _ in sent])
        assert (await one.say("hello")).text == "Hello."
        results = [m for m in await one.messages() if m["role"] == "tool"]
    assert sorted(mail["to"] for mail in done) == sent
    assert all("requires human input" not in str(m["content"]) for m in results)
    assert len(results) == 2 * len(sent)


async def test_a_member_pauses_again_in_the_run_that_goes_on() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        first = await one.say("twiceinside bob")
        second = await one.answer(first, YES)
        assert second.ending == "interrupt"
        assert [mail["to"] for mail in mailer.done] == ["bob"]
        assert (await one.answer(second, YES)).ending == "success"
    assert [mail["to"] for mail in mailer.done] == ["bob", "second-bob"]


async def test_of_two_calls_of_a_member_one_is_declined_and_the_other_edited() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("bothinside bob")
        no = {"approved": False, "reason": "not him"}
        await one.answer(asked, no, {**YES, "editedArgs": {"to": "ann"}})
        results = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert mailer.done == [{"to": "ann", "body": "Hi"}]
    declined = "The user declined this tool call; it was not executed. Reason: not him"
    assert results.count(declined) == 1
    assert any(declined in mailer.told(request) for request in range(len(mailer.requests)))


async def test_a_leader_and_its_member_ask_at_once() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("besideinside bob")
        assert len(asked.asks) == 3
        stream = await one.answer(asked, YES, YES, YES)
        assert stream.ending == "success"
    assert sorted(mail["to"] for mail in mailer.done) == ["bob", "bob", "second-bob"]


async def test_a_member_asks_for_the_arguments_of_its_tool() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("bookinside friday")
        assert asked.asks[0]["reason"] == "input_required"
        await one.answer(asked, {"hour": 5, "note": "-"})
    assert mailer.done == [{"hour": 5, "note": "-"}]


@pytest.mark.parametrize(("action", "done"), [("deny", []), ("ask", ["looked up bob"])])
async def test_a_policy_judges_what_members_do(action: Any, done: list[str]) -> None:
    mailer, judged = Mailer(), list[str]()

    def policy(call: ProposedCall) -> Verdict:
        judged.append(call.name)
        return Verdict(action, "hm")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("knowninside bob")
        if action == "ask":
            assert mailer.done == []
            (ask,) = asked.asks
            assert ask["message"] == "hm"
            await one.answer(asked, YES)
    assert mailer.done == done
    assert set(judged) == {"look_up"}


async def test_a_stop_lets_a_members_tool_finish_and_begins_nothing_more() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("waitinside")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        assert (await stream.rest()).ending == "cancelled"
        assert mailer.done == ["waited"]
        kept = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert "it is done" in kept
        assert (await one.say("hello")).ending == "success"
    assert len(mailer.requests) == 3


@pytest.mark.parametrize("say", ["waitinside", "slowinside"])
async def test_a_forced_stop_leaves_nothing_of_a_member_behind(say: str) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin(say)
        assert await stream.until("SUBAGENT_STARTED")
        if say == "waitinside":
            await asyncio.wait_for(mailer.begun.wait(), 10)
        await one.stop(force=True)
        assert (await stream.rest()).ending == "cancelled"
        mailer.finish.set()
        names = [str(task.get_coro()) for task in asyncio.all_tasks()]
        assert not any("process_async_generator" in name for name in names)
    assert mailer.done == []


async def test_a_members_call_that_nobody_answered_is_never_executed() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("inside bob")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == []


async def test_a_team_within_a_team_asks_as_deep_as_it_is() -> None:
    mailer = Mailer()
    inner = mailer.make_team()
    inner.name = inner.id = "clerk"
    mailer.team.members = [inner]
    async with talking(mailer) as one:
        asked = await one.say("inside bob")
        assert asked.ending == "interrupt"
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == [MAIL]


@pytest.mark.parametrize("is_member", [True, False])
async def test_an_answer_can_be_given_again_once_a_member_or_its_tool_is_back(
    is_member: bool,
) -> None:
    mailer = Mailer()
    members: Any = mailer.team.members
    held = members if is_member else members[0].tools
    async with talking(mailer) as one:
        asked = await one.say("twoinside bob")
        gone = held.pop(0)
        no = {"approved": False, "reason": "not him"}
        assert (await one.answer(asked, YES, no)).ending not in ("success", "interrupt")
        assert mailer.done == []
        held.insert(0, gone)
        assert (await one.answer(asked, YES, no)).ending == "success"
    assert mailer.done == [MAIL]


async def test_an_answer_can_be_given_again_once_the_policy_is_back() -> None:
    mailer, is_broken = Mailer(), True

    def policy(call: ProposedCall) -> str:
        if call.approved and is_broken:
            raise RuntimeError("no policy")
        return "allow"

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("inside bob")
        assert (await one.answer(asked, YES)).ending not in ("success", "interrupt")
        is_broken = False
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == [MAIL]


async def test_nobody_is_told_that_a_member_never_began_which_a_stop_cut_off() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("waitinside bob")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        await stream.rest()
        await one.say("hello")
    assert mailer.done == ["waited"]
    (told,) = mailer.results("delegate_task_to_member")
    assert told.endswith("whether this tool call was executed is unknown.")
