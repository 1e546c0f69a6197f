"""The author's options and the application's tools hold in a run of a real server that goes on."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import APPROVE, CONFIRM, DECLINE, Talk, fresh, ran
from tests.e2e.test_mastra_application import PAINT, pending
from tests.support.mastra import MastraProcess

TITLE = {
    "schema": {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }
}


@contextlib.asynccontextmanager
async def talk_with(
    mastra: MastraProcess, agent: str, options: Mapping[str, Any]
) -> AsyncIterator[tuple[Talk, list[str]]]:
    """A conversation with an agent under these options, and how its runs ended."""
    ends: list[str] = []
    bridge = Bridge()
    bridge.on_run_end(lambda run, reason: ends.append(reason.value))
    bridge.add("agent", MastraAdapter(mastra.url, agent, options=options))
    async with bridge.lifespan():
        yield Talk(bridge, "agent"), ends


LOOKUPS = "; ".join(f"lookup {i}" for i in range(8))
ANSWERED = pytest.mark.parametrize(
    ("prompt", "answer"),
    [("delete {n}", APPROVE), ("delete {n}", DECLINE), ("refund {n}", CONFIRM)],
    ids=["approved", "declined", "suspended"],
)
AGENTS = pytest.mark.parametrize("agent", ["mixed-agent", "durable-agent", "evented-agent"])


def lookups(talk: Talk) -> int:
    """How many records the last run looked up."""
    return sum(e.get("toolCallName") == "lookupRecord" for e in talk.events)


@AGENTS
@ANSWERED
async def test_an_agent_has_its_steps_after_an_answer_too(
    mastra: MastraProcess, agent: str, prompt: str, answer: Any
) -> None:
    n = fresh()
    async with talk_with(mastra, agent, {"maxSteps": 20}) as (talk, ends):
        await talk.say(f"in turn {prompt.format(n=n)}; {LOOKUPS}")
        said = await talk.answer(answer)
    assert (lookups(talk), said, ends) == (8, "All is done.", ["INTERRUPTED", "SUCCESS"])
    assert len(ran(mastra, n)) == int(answer is not DECLINE)


@AGENTS
@pytest.mark.parametrize(
    ("options", "done"), [({"maxSteps": 3}, 2), ({}, 4)], ids=["named", "Mastra's own"]
)
async def test_a_run_that_is_out_of_steps_says_so(
    mastra: MastraProcess, agent: str, options: dict[str, Any], done: int
) -> None:
    async with talk_with(mastra, agent, options) as (talk, ends):
        await talk.say(f"in turn {LOOKUPS}")
        assert lookups(talk) == done + 1
        await talk.say(f"in turn delete {fresh()}; {LOOKUPS}")
        await talk.answer(APPROVE)
        assert talk.ending == "success"
        assert lookups(talk) == done
    cut = "MAX_ITERATIONS_REACHED"
    assert ends == [cut, "INTERRUPTED", cut]


async def test_a_run_that_its_authors_condition_ended_is_a_success(mastra: MastraProcess) -> None:
    async with talk_with(mastra, "stopping-agent", {"maxSteps": 9}) as (talk, ends):
        await talk.say(f"in turn delete {fresh()}; {LOOKUPS}")
        await talk.answer(APPROVE)
        assert lookups(talk) == 1
    assert ends == ["INTERRUPTED", "SUCCESS"]


@AGENTS
@ANSWERED
async def test_a_structured_output_is_the_result_after_an_answer_too(
    mastra: MastraProcess, agent: str, prompt: str, answer: Any
) -> None:
    async with talk_with(mastra, agent, {"structuredOutput": TITLE}) as (talk, _):
        await talk.say(f'in turn {prompt.format(n=fresh())}; say {{"title":"Dune"}}')
        await talk.answer(answer)
        assert talk.events[-1]["result"] == {"title": "Dune"}


@AGENTS
async def test_every_call_needs_an_approval_after_one_too(
    mastra: MastraProcess, agent: str
) -> None:
    async with talk_with(mastra, agent, {"requireToolApproval": True}) as (talk, _):
        await talk.say("in turn lookup 1; lookup 2; lookup 3")
        for answer in (APPROVE, DECLINE, APPROVE):
            assert talk.ending == "interrupt"
            await talk.answer(answer)
        assert talk.ending == "success"


@pytest.mark.parametrize("options", [{}, {"maxSteps": 3, "requestContext": {"tenant": "acme"}}])
@ANSWERED
async def test_a_network_goes_on_under_its_options(
    mastra: MastraProcess, prompt: str, answer: Any, options: dict[str, Any]
) -> None:
    n, bridge = fresh(), Bridge()
    route = "/x/agents/{agent}/resume-network"
    bridge.add(
        "network",
        MastraAdapter(
            mastra.url, "routing-agent", kind="network", options=options, resume_network_path=route
        ),
    )
    async with bridge.lifespan():
        talk = Talk(bridge, "network")
        ask = await talk.asked(prompt.format(n=n))
        for _ in range(2):
            assert await talk.resume(ask, answer) == "success"
    assert len(ran(mastra, n)) == int(answer is not DECLINE)


async def test_what_the_agent_is_told_and_remembers_holds_too(mastra: MastraProcess) -> None:
    options = {"memory": {"options": {"lastMessages": 1}}, "requestContext": {"tenant": "acme"}}
    async with talk_with(mastra, "work-agent", options) as (talk, _):
        await talk.say("in turn delete 9; recall everything; what was read")
        await talk.answer(APPROVE)
        assert '"tenant": "acme"' in talk.results[-1]
        await talk.say("hello")
        assert "hello" not in await talk.say("what was read")


@AGENTS
@ANSWERED
async def test_the_application_has_its_tools_after_an_answer_too(
    mastra: MastraProcess, agent: str, prompt: str, answer: Any
) -> None:
    n = fresh()
    async with talk_with(mastra, agent, {}) as (talk, _):
        asks = f'in turn {prompt.format(n=n)}; use paint {{"colour":"red"}}'
        await talk.say(asks, tools=[PAINT])
        (ask,) = talk.asks
        await talk.resume(ask, answer, tools=[PAINT])
        (call,) = pending(talk)
        (start,) = [e for e in talk.events if e["type"] == "TOOL_CALL_START"]
        assert (start["toolCallId"], start["toolCallName"]) == (call, "paint")
        await talk.hand_back("it is red now")
        assert talk.ending == "success"
    assert len(ran(mastra, n)) == int(answer is not DECLINE)


@pytest.mark.parametrize("agent", ["mixed-agent", "durable-agent"])
async def test_a_long_turn_ends_as_a_short_one(mastra: MastraProcess, agent: str) -> None:
    """At its end Mastra repeats two megabytes of text nine times."""
    n, long = fresh(), "y" * 2_000_000
    async with talk_with(mastra, agent, {}) as (talk, ends):
        await talk.say(f"in turn delete {n}; say {long}")
        assert await talk.answer(APPROVE) == long
    assert ends == ["INTERRUPTED", "SUCCESS"]
    assert len(ran(mastra, n)) == 1
