"""What Mastra does not guard against, one test for each: the tool runs once, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agui_bridge import Bridge, Principal
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import APPROVE, CONFIRM, DECLINE, Talk, bridge_before, fresh, ran, suspended
from tests.support.mastra import MastraProcess


@pytest.mark.parametrize("agent", ["routing-agent", "approval-agent"])
async def test_a_second_approval_executes_nothing(
    mastra: MastraProcess, bridge: Bridge, agent: str
) -> None:
    n, talk = fresh(), Talk(bridge, agent)
    ask = await talk.asked(f"delete {n}")

    assert await talk.resume(ask, APPROVE) == "success"
    assert await talk.resume(ask, APPROVE) == "success"
    assert await talk.resume(ask, DECLINE) == "INTERRUPT_ALREADY_ANSWERED"
    assert len(ran(mastra, n)) == 1


async def test_an_approval_after_a_refusal_executes_nothing(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "routing-agent")
    ask = await talk.asked(f"delete {n}")

    assert await talk.resume(ask, DECLINE) == "success"
    assert await talk.resume(ask, APPROVE) == "INTERRUPT_ALREADY_ANSWERED"
    assert ran(mastra, n) == []


@pytest.mark.parametrize("prompt", ["delete {n}", "agent delete {n}"])
async def test_approvals_of_a_network_at_once_execute_once_in_several_processes(
    mastra: MastraProcess, tmp_path: Path, prompt: str
) -> None:
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    first, second = bridge_before(mastra, store), bridge_before(mastra, store)
    async with first.lifespan(), second.lifespan():
        # A thread of its own: on one where another agent's call waits, Mastra begins nothing.
        n, talk = fresh(), Talk(first, "routing-agent")
        ask = await talk.asked(prompt.format(n=n))
        bridges = (first, second, first, second)
        others = [Talk(bridge, "routing-agent", talk.thread) for bridge in bridges]
        ends = await asyncio.gather(*(other.resume(ask, APPROVE) for other in others))

    assert set(ends) == {"success"}
    assert len(ran(mastra, n)) == 1


async def test_each_answer_goes_to_the_call_that_asked(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    a, b, talk = fresh(), fresh(), Talk(bridge, "ask-agent")
    await talk.say(f"ask {a} and {b}")
    await talk.answer({"answer": f"to {a}"}, {"answer": f"to {b}"})

    assert [done["result"]["answer"] for done in ran(mastra, a)] == [f"to {a}"]
    assert [done["result"]["answer"] for done in ran(mastra, b)] == [f"to {b}"]


async def test_an_answer_that_violates_the_schema_consumes_nothing(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "suspend-agent")
    ask = await talk.asked(f"refund {n}")
    for wrong in ({"confirmed": "banana"}, {}, None, {"confirmed": True, "more": 1}):
        assert await talk.resume(ask, wrong) == "INVALID_RESUME_PAYLOAD"

    assert await talk.resume(ask, CONFIRM) == "success"
    assert len(ran(mastra, n)) == 1


async def test_an_interrupt_is_answered_only_where_it_was_raised(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "approval-agent", "shared-name")
    ask = await talk.asked(f"delete {n}")
    for agent in ("suspend-agent", "mixed-agent", "routing-agent"):
        elsewhere = Talk(bridge, agent, "shared-name")
        assert await elsewhere.resume(ask, APPROVE) == "INTERRUPT_NOT_FOUND"
    assert await Talk(bridge, "approval-agent").resume(ask, APPROVE) == ("INTERRUPT_NOT_FOUND")
    stranger = Talk(bridge, "approval-agent", "shared-name")
    assert await stranger.resume(ask, APPROVE, Principal("other")) == "INTERRUPT_NOT_FOUND"

    assert ran(mastra, n) == []
    await talk.answer(APPROVE)
    assert len(ran(mastra, n)) == 1


async def test_a_pause_is_not_continued_by_another_agent_of_the_server(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "suspend-agent")
    ask = await talk.asked(f"refund {n}")
    adapter = bridge.agents["suspend-agent"].adapter
    assert isinstance(adapter, MastraAdapter)
    adapter.requests.agent = "approval-agent"
    assert await talk.resume(ask, CONFIRM) == "UPSTREAM_ERROR"
    assert "belongs to the Mastra agent 'suspend-agent'" in talk.events[-1]["message"]
    assert ran(mastra, n) == []
    adapter.requests.agent = "suspend-agent"

    assert await talk.resume(ask, CONFIRM) == "success"
    assert len(ran(mastra, n)) == 1


async def test_a_new_message_does_not_pass_by_what_is_pending(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "approval-agent")
    ask = await talk.asked(f"delete {n}")
    await talk.say("hello")
    assert talk.ending == "INTERRUPT_PENDING"

    assert await talk.resume(ask, APPROVE) == "success"
    assert len(ran(mastra, n)) == 1


@pytest.mark.parametrize("agent", ["approval-agent", "routing-agent"])
async def test_a_stale_approval_is_declined_at_mastra_once_a_new_message_comes(
    mastra: MastraProcess, agent: str
) -> None:
    bridge = bridge_before(mastra, expires_in=0.0)
    async with bridge.lifespan():
        n, talk = fresh(), Talk(bridge, agent)
        ask = await talk.asked(f"delete {n}")
        said = await talk.say("hello")
        late = await talk.resume(ask, APPROVE)

    assert said.startswith("Echo: hello")
    assert late == "INTERRUPT_EXPIRED"
    assert ran(mastra, n) == []
    assert not suspended(mastra, talk)


async def test_a_thread_that_was_stopped_while_it_asked_executes_nothing_later(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "approval-agent")
    ask = await talk.asked(f"delete {n}")
    assert len(suspended(mastra, talk)) == 1
    await bridge.stop("approval-agent", talk.thread)
    await talk.resume(ask, APPROVE)
    await talk.say("hello")

    assert ran(mastra, n) == []
    assert suspended(mastra, talk) == []


async def test_of_parallel_calls_the_one_that_was_not_decided_is_never_executed(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    a, b, talk = fresh(), fresh(), Talk(bridge, "approval-agent")
    await talk.say(f"delete {a} and {b}")
    await talk.answer(APPROVE)
    assert talk.ending == "interrupt"
    stopped = await bridge.stop("approval-agent", talk.thread)
    await talk.say("hello")

    # Mastra executes what is approved at once, and tells the result with the last decision.
    assert len(ran(mastra, a)) == 1
    assert ran(mastra, b) == []
    assert suspended(mastra, talk) == []
    told = [m["content"] for m in stopped.messages if m["role"] == "tool"]
    assert "is unknown" in told[0]
    assert "not executed" in told[1]


@pytest.mark.parametrize("agent", ["auto-agent", "auto-routing-agent"])
async def test_mastras_own_auto_resume_stays_off(
    mastra: MastraProcess, bridge: Bridge, agent: str
) -> None:
    n, talk = fresh(), Talk(bridge, agent)
    await talk.say(f"refund {n}")
    await talk.answer(None)
    await talk.say("yes")

    assert ran(mastra, n) == []


@pytest.mark.parametrize("mode", ["on", "request"])
@pytest.mark.parametrize(
    ("agent", "prompt"),
    [
        ("suspend-agent", "refund {n}"),
        ("auto-agent", "refund {n}"),
        ("auto-routing-agent", "refund {n}"),
        ("routing-agent", "workflow {n}"),
        ("supervisor", "agent refund {n}"),
    ],
)
async def test_a_message_answers_the_question_and_nothing_can_answer_it_again(
    mastra: MastraProcess, mode: str, agent: str, prompt: str
) -> None:
    bridge = bridge_before(mastra, auto_resume=mode)
    async with bridge.lifespan():
        n = fresh()
        talk = Talk(bridge, agent, props={"autoResume": True} if mode == "request" else None)
        said = await talk.say(prompt.format(n=n))
        (ask,) = talk.asks
        await talk.say("What for?")
        assert talk.ending == "interrupt"
        assert ran(mastra, n) == []
        await talk.say("Yes, confirmed" if mode == "request" else f"Yes, please refund {n}.")
        again = await talk.resume(ask, CONFIRM)
        other = await talk.resume(ask, {"confirmed": False})
        waiting = suspended(mastra, talk)

    assert said.endswith(f"Refund {n}?")
    assert (again, other) == ("success", "INTERRUPT_ALREADY_ANSWERED")
    assert len(ran(mastra, n)) == 1
    assert waiting == []


async def test_a_message_approves_no_tool_call(mastra: MastraProcess) -> None:
    bridge = bridge_before(mastra, auto_resume="on")
    async with bridge.lifespan():
        for agent in ("auto-agent", "auto-routing-agent", "durable-agent"):
            n, talk = fresh(), Talk(bridge, agent)
            await talk.say(f"delete {n}")
            for said in ("yes", "Yes, please delete it", "Yes, deleteRecord may run"):
                await talk.say(said)
                assert talk.ending == "interrupt"
            assert ran(mastra, n) == []


async def test_a_network_that_can_not_be_continued_over_http_says_so_and_can_still_be(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "routing-agent")
    ask = await talk.asked(f"refund {n}")
    adapter = bridge.agents["routing-agent"].adapter
    assert isinstance(adapter, MastraAdapter)
    for path in (None, "/x/agents/{agent}/missing"):
        known, adapter.requests.resume_network_path = adapter.requests.resume_network_path, path
        assert await talk.resume(ask, CONFIRM) == "UPSTREAM_ERROR"
        assert "resume_network_path" in talk.events[-1]["message"]
        adapter.requests.resume_network_path = known
    assert ran(mastra, n) == []

    assert await talk.resume(ask, CONFIRM) == "success"
    assert len(ran(mastra, n)) == 1
