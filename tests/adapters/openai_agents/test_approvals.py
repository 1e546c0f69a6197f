"""Approvals, stops and policies, of an agent's own tools and of those of agents within tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import RunContextWrapper, Runner, function_tool

from agui_bridge import Principal, ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.mails import YES, StatelessMails
from tests.adapters.openai_agents.mailer import SIGNATURE, Mailer
from tests.adapters.openai_agents.talking import BRIDGES, serving, talking

pytestmark = pytest.mark.anyio


class TestMails(StatelessMails):
    bridges = BRIDGES
    signature = SIGNATURE

    @pytest.fixture
    def mailer(self) -> Mailer:
        return Mailer()


# --- approvals ---


async def test_an_approval_offers_no_edit_since_the_sdk_has_none() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        (ask,) = asked.asks
        assert "editedArgs" not in ask["responseSchema"]["properties"]
        await one.answer(asked, YES)
    assert mailer.done == [{"to": "bob", "body": "original"}]


@pytest.mark.parametrize("word", ["send", "inside"])
async def test_a_text_stands_in_place_of_the_result_and_the_tool_does_not_run(word: str) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say(f"{word} bob")
        answered = await one.answer(asked, {"approved": False, "respond": "I phoned him."})
    assert (answered.ending, mailer.done) == ("success", [])
    told = [e["content"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
    assert told[0] == "I phoned him."
    assert "I phoned him." in "".join(map(str, mailer.requests))


async def test_nobody_is_asked_about_arguments_that_nobody_can_read() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        assert (await one.say("broken")).ending == "success"
    assert mailer.done == []
    assert mailer.results("send_email") == [
        "The arguments of this tool call are no JSON object; it was not executed."
    ]


async def test_an_authors_own_rule_says_which_calls_are_asked_about() -> None:
    mailer = Mailer()

    async def rule(context: RunContextWrapper[Any], args: dict[str, Any], call: str) -> bool:
        return bool(args["name"] == "bob")

    mailer.agent.tools[1] = function_tool(mailer.look_up, needs_approval=rule)
    async with talking(mailer) as one:
        asked = await one.say("look bob")
        assert (len(asked.asks), mailer.done) == (1, [])
        await one.answer(asked, YES)
        assert (await one.say("look ann")).ending == "success"
    assert mailer.done == ["looked up bob", "looked up ann"]


async def test_a_rule_counts_for_what_validation_changes_as_without_a_bridge() -> None:
    mailer = Mailer()

    async def look_up(name: str, again: bool = False) -> str:
        """Look somebody up."""
        return await mailer.look_up(name)

    async def rule(context: RunContextWrapper[Any], args: dict[str, Any], call: str) -> bool:
        return False

    mailer.agent.tools[1] = function_tool(
        look_up, name_override="look_up", needs_approval=rule, strict_mode=False
    )
    alone = await Runner.run(mailer.agent, "look bob")
    async with talking(mailer) as one:
        asked = await one.say("look bob")
    assert len(asked.asks) == len(alone.interruptions)


# --- stops and policies ---


@pytest.mark.parametrize("word", ["wait", "waitinside"])
async def test_a_forced_stop_waits_for_no_tool_and_says_that_its_outcome_is_unknown(
    word: str,
) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin(f"{word} a")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        await one.stop(force=True)
        assert (await stream.rest()).ending == "cancelled"
        results = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert results and all("whether" in text and "is unknown" in text for text in results)
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == []


@pytest.mark.parametrize("word", ["look", "lookinside"])
async def test_a_policy_denies_a_tool_that_needs_no_approval(word: str) -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    bridge.policy(lambda call: Verdict("deny", "not him") if call.name == "look_up" else "allow")
    async with talk(bridge, "mailer") as one:
        stream = await one.say(f"{word} bob")
    denied = "The policy denied this tool call; it was not executed. Reason: not him"
    assert mailer.done == []
    told = [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]
    assert told[0] == denied
    assert denied in "".join(map(str, mailer.requests))


@pytest.mark.parametrize(("word", "done"), [("look", "looked up bob"), ("greet", "greeted you")])
async def test_a_policy_has_people_asked_and_learns_who_approved_what(word: str, done: str) -> None:
    mailer, seen = Mailer(), list[tuple[Any, ...]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((call.name, call.approved, call.approved_by))
        return Verdict("ask", "Do it?", editable=True)

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        asked = await one.say(f"{word} bob")
        assert asked.asks[0]["message"] == "Do it?"
        assert "editedArgs" not in asked.asks[0]["responseSchema"]["properties"]
        assert mailer.done == []
        await one.answer(asked, YES)
    assert mailer.done == [done]
    assert [one[1:] for one in seen] == [(False, None), (True, "ann")]


@pytest.mark.parametrize("word", ["look", "greet", "lookinside"])
async def test_a_policy_judges_once_what_it_allows(word: str) -> None:
    mailer, seen = Mailer(), list[str]()

    def policy(call: ProposedCall) -> str:
        seen.append(call.name)
        return "allow"

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        await one.say(f"{word} bob")
    first = {"look": "look_up", "greet": "greet", "lookinside": "look_up"}[word]
    assert seen.count(first) == 1
    assert len(mailer.done) == 1


async def test_the_result_of_a_tool_is_kept_when_the_one_beside_it_fails() -> None:
    mailer = Mailer()

    @function_tool(name_override="send_email", failure_error_function=None)
    async def failing(to: str, body: str) -> str:
        raise RuntimeError("no network")

    mailer.agent.tools[0] = failing
    async with talking(mailer) as one:
        assert (await one.say("mixed bob")).ending == "AGENT_ERROR"
        told = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert (await one.say("hello")).ending == "success"
    assert told[0] == "bob is known"
    assert "whether this tool call was executed is unknown" in told[1]
