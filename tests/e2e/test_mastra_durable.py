"""Durable and evented agents of a real Mastra server: streams stay open while a call waits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import APPROVE, CONFIRM, DECLINE, Talk, bridge_before, fresh, ran, suspended
from tests.support.agents import Bench, eventually, outcome
from tests.support.mastra import MastraProcess

AGENTS = pytest.mark.parametrize("agent", ["durable-agent", "evented-agent"])


@AGENTS
@pytest.mark.parametrize(
    ("prompt", "answer", "times"),
    [
        ("delete {n}", APPROVE, 1),
        ("delete {n}", DECLINE, 0),
        ("delete {n}", None, 0),
        ("refund {n}", CONFIRM, 1),
        ("refund {n}", None, 0),
    ],
)
async def test_a_call_that_waits_is_asked_and_runs_once_if_it_may(
    mastra: MastraProcess, bridge: Bridge, agent: str, prompt: str, answer: Any, times: int
) -> None:
    n, talk = fresh(), Talk(bridge, agent)
    ask = await talk.asked(prompt.format(n=n))
    assert ran(mastra, n) == []
    await talk.answer(answer)

    assert talk.ending == "success"
    assert len(ran(mastra, n)) == times
    if answer is DECLINE:
        assert talk.results[0].endswith("it was not executed. Reason: not today")
    if answer is not None:
        assert await talk.resume(ask, answer) == "success"
    assert len(ran(mastra, n)) == times
    assert await talk.say("hello") == "Echo: hello"


@AGENTS
@pytest.mark.parametrize(
    ("prompt", "rounds", "done"),
    [
        ("delete {a} and {b}", [APPROVE, APPROVE], "ab"),
        ("delete {a} and {b}", [DECLINE, APPROVE], "b"),
        ("both {a} {b}", [APPROVE, CONFIRM], "ab"),
        ("all lookup {a}; delete {b}", [APPROVE], "b"),
        ("in turn delete {a}; lookup {a}; delete {b}", [APPROVE, APPROVE], "ab"),
        ("book {a}", [{"date": "2026-12-01"}, CONFIRM], "a"),
    ],
)
async def test_calls_that_wait_one_after_the_other_are_asked_so(
    mastra: MastraProcess, bridge: Bridge, agent: str, prompt: str, rounds: list[Any], done: str
) -> None:
    numbers = {"a": fresh(), "b": fresh()}
    talk = Talk(bridge, agent)
    await talk.say(prompt.format(**numbers))
    for answer in rounds:
        assert talk.ending == "interrupt"
        await talk.answer(answer)

    assert talk.ending == "success"
    assert {name: len(ran(mastra, n)) for name, n in numbers.items()} == {
        name: int(name in done) for name in numbers
    }


@pytest.mark.parametrize(
    ("agent", "prompt", "answers", "done"),
    [
        ("durable-asker", "ask {a} and {b}", [{"answer": "x"}, {"answer": "y"}], "ab"),
        ("durable-asker", "ask {a} and {b}", [None, {"answer": "y"}], "b"),
        ("durable-supervisor", "agents delete {a}; refund {b}", [APPROVE, CONFIRM], "ab"),
        ("durable-supervisor", "agents delete {a}; delete {b}", [DECLINE, APPROVE], "b"),
    ],
)
async def test_calls_that_wait_at_once_are_asked_together(
    mastra: MastraProcess,
    bridge: Bridge,
    agent: str,
    prompt: str,
    answers: list[Any],
    done: str,
) -> None:
    numbers = {"a": fresh(), "b": fresh()}
    talk = Talk(bridge, agent)
    await talk.say(prompt.format(**numbers))
    assert len(talk.asks) == 2
    await talk.answer(*answers)

    assert talk.ending == "success"
    assert {name: len(ran(mastra, n)) for name, n in numbers.items()} == {
        name: int(name in done) for name in numbers
    }


async def test_a_question_waits_until_what_runs_beside_it_has_ended(
    mastra: MastraProcess, bridge: Bridge
) -> None:
    n, talk = fresh(), Talk(bridge, "durable-asker")
    saying = asyncio.create_task(talk.say(f"all ask {n}; slow {n}"))
    await eventually(lambda: [did["what"] for did in ran(mastra, n)] == ["slowRecord began"])
    mastra.release(n)
    await saying
    await talk.answer({"answer": "red"})

    assert talk.ending == "success"
    assert [did["what"] for did in ran(mastra, n)].count("slowRecord") == 1
    assert [did["what"] for did in ran(mastra, n)].count("askUser") == 1


@AGENTS
async def test_four_answers_at_once_execute_once_in_two_processes(
    mastra: MastraProcess, tmp_path: Path, agent: str
) -> None:
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    first, second = bridge_before(mastra, store), bridge_before(mastra, store)
    async with first.lifespan(), second.lifespan():
        n, talk = fresh(), Talk(first, agent)
        ask = await talk.asked(f"delete {n}")
        others = [Talk(bridge, agent, talk.thread) for bridge in (first, second, first, second)]
        ends = await asyncio.gather(*(other.resume(ask, APPROVE) for other in others))

    assert set(ends) == {"success"}
    assert len(ran(mastra, n)) == 1


@AGENTS
@pytest.mark.parametrize("prompt", ["delete {n}", "refund {n}"])
async def test_what_waits_is_declined_once_a_new_message_comes(
    mastra: MastraProcess, agent: str, prompt: str
) -> None:
    bridge = bridge_before(mastra, expires_in=0.0)
    async with bridge.lifespan():
        n, talk = fresh(), Talk(bridge, agent)
        ask = await talk.asked(prompt.format(n=n))
        said = await talk.say("hello")
        late = await talk.resume(ask, APPROVE)

    assert said == "Echo: hello"
    assert late == "INTERRUPT_EXPIRED"
    assert ran(mastra, n) == []
    if prompt.startswith("delete"):
        assert not suspended(mastra, talk)


@AGENTS
@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_while_it_speaks_aborts_the_model(
    mastra: MastraProcess, agent: str, force: bool
) -> None:
    n = fresh()
    adapter = MastraAdapter(mastra.url, agent)
    async with Bench(adapter, thread=f"thread-{fresh()}").open() as bench:
        reader = bench.begin(f"drip {n}")
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await bench.engine.stop(bench.KEY, force=force)
        assert outcome(await reader.rest()) == "cancelled"
        await eventually(lambda: [did["what"] for did in ran(mastra, n)] == ["drip"])
    await adapter.aclose()

    assert stopped.status == "success"
    assert ran(mastra, n)[0]["result"]["aborted"] is True


@AGENTS
async def test_a_stop_while_it_waits_declines_the_call(mastra: MastraProcess, agent: str) -> None:
    n = fresh()
    adapter = MastraAdapter(mastra.url, agent)
    async with Bench(adapter, thread=f"thread-{fresh()}").open() as bench:
        asked = (await bench.say(f"delete {n}"))[-1]["outcome"]["interrupts"]
        stopped = await bench.engine.stop(bench.KEY)
        late = await bench.say(resume=bench.entries(asked))
    await adapter.aclose()

    assert stopped.status == "success"
    assert late[-1]["type"] == "RUN_ERROR"
    assert ran(mastra, n) == []
