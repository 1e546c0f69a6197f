"""Agents that are tools of another one: nobody can be asked for them, and policies judge them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import Agent

from agui_bridge import ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.agent_framework.approving import Approving
from tests.adapters.agent_framework.mailer import Mailer
from tests.adapters.agent_framework.talking import serving, talking
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio


def delegating(*, propagate_session: bool = False, **agent: Any) -> tuple[Mailer, Mailer]:
    """A mailer whose tool `helper` is another one."""
    inner = Mailer(**agent)
    outer = Mailer()
    helper = inner.agent.as_tool(
        name="helper", description="Helps.", propagate_session=propagate_session
    )
    outer.agent = Agent(outer.client, name="mailer", tools=[*outer.tools, helper])
    return outer, inner


async def test_an_approval_is_none_of_a_call_of_the_same_id_by_an_agent_in_a_tool() -> None:
    outer, inner = delegating()
    inner.tools[0].approval_mode = "never_require"
    is_other_done = asyncio.Event()

    async def policy(call: ProposedCall) -> str:
        if call.name == "helper":
            return "allow"
        if call.approved and not is_other_done.is_set():
            # The agent in the tool comes to its call meanwhile.
            await asyncio.wait([asyncio.ensure_future(is_other_done.wait())], timeout=2)
        if call.args["to"] == "eve-bob":
            is_other_done.set()
        return "allow" if call.approved else "ask"

    bridge = serving(outer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("samedelegate bob")
        assert (await one.answer(asked, *[YES for _ in asked.asks])).ending == "success"
    assert (outer.done, inner.done) == ([{"to": "bob", "body": "original"}], [])


async def test_an_agent_in_a_tool_can_wait_for_nobody_and_executes_nothing() -> None:
    outer, inner = delegating()
    async with talking(outer) as one:
        assert (await one.say("delegate bob")).ending == "success"
    assert (inner.done, outer.results("helper")) == ([], ["Error: Function failed."])


async def test_middleware_approves_nothing_for_an_agent_in_a_tool() -> None:
    outer, inner = delegating(middleware=[Approving()], propagate_session=True)
    async with talking(outer) as one:
        assert (await one.say("delegate bob")).ending == "success"
    (told,) = inner.results("send_email")
    assert "nobody can be asked while its agent is a tool" in told
    assert inner.done == []


@pytest.mark.parametrize("action", ["deny", "ask", "allow"])
async def test_a_policy_judges_what_an_agent_in_a_tool_does(action: Any) -> None:
    outer, inner = delegating()
    bridge = serving(outer)
    bridge.policy(lambda call: Verdict(action if call.name == "look_up" else "allow", "not him"))
    async with talk(bridge, "mailer") as one:
        assert (await one.say("delegatelook bob")).ending == "success"
    assert inner.done == (["looked up bob"] if action == "allow" else [])
    if action != "allow":
        (told,) = inner.results("look_up")
        assert told.startswith("The policy denied this tool call; it was not executed.")
    await inner.agent.run("look ann")
    assert inner.done[-1] == "looked up ann", "outside of a run nothing stands before it"


async def test_an_agent_that_is_a_tool_elsewhere_has_its_own_runs_judged_once() -> None:
    outer, inner = delegating()
    async with talking(outer) as one:
        await one.say("delegatelook bob")
    seen: list[str] = []

    def policy(call: ProposedCall) -> Verdict:
        seen.append(str(call.args["name"]))
        return Verdict("ask", "Look him up?")

    bridge = serving(inner)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        assert (await one.answer(await one.say("look ann"), YES)).ending == "success"
    assert inner.done == ["looked up bob", "looked up ann"]
    assert seen == ["ann", "ann"], "when it is asked about, and when it is approved"
