"""`run.sleep` and `run.sleep_until`: what a function is told, and what its pauses ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from agui_bridge import Answer, Approve, Cancel, FunctionRun
from agui_bridge.adapters import Handoff
from agui_bridge.errors import AgentMistake, ReplayMismatch
from agui_bridge.protocol.answers.decisions import Decision
from agui_bridge.protocol.threads.record_parts import TIMER, WAKE_SCHEMA
from tests.agents.function.harness import Thread, make_run

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
TIME: Decision = Cancel("expired", asked="question")
EARLY: Decision = Answer({})


class Times:
    """The store's time, which each run of a thread is given."""

    def __init__(self) -> None:
        self.now = NOON.timestamp()

    def __call__(self) -> float:
        return self.now


def sleeping(agent: Callable[[FunctionRun], Any]) -> tuple[Thread, Times]:
    return Thread(lambda: agent), Times()


@pytest.mark.parametrize(
    ("ended", "told"),
    [(TIME, "time"), (EARLY, "early"), (Cancel(asked="question"), "cancelled")],
    ids=["its time", "a wake", "a cancel"],
)
async def test_a_sleep_says_what_ended_it(ended: Decision, told: str) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "before "
        yield await run.sleep(60)

    thread, times = sleeping(agent)
    paused = await thread.go(now=times)

    (ask,) = paused.pause.asks
    assert (ask.reason, ask.response_schema) == (TIMER, WAKE_SCHEMA)
    assert (ask.expires_at, ask.expires_in) == (NOON.timestamp() + 60, None)
    assert ask.message == "The run sleeps until 2026-11-27 12:01:00 UTC."
    times.now += 60
    assert (await thread.answer([ended], now=times)).text == told


async def test_what_is_past_does_not_end_the_run() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for seconds in (0, -5, 0.0):
            yield await run.sleep(seconds) + " "
        yield await run.sleep_until(NOON)

    thread, times = sleeping(agent)

    assert (await thread.go(now=times)).text == "time time time time"


async def test_branches_that_sleep_are_woken_one_after_the_other() -> None:
    async def agent(run: FunctionRun) -> str:
        woken: list[str] = []

        async def branch(seconds: int) -> None:
            woken.append(f"{seconds} {await run.sleep(seconds)}")

        await asyncio.gather(*map(branch, (300, 100, 200)))
        return ", ".join(sorted(woken))

    thread, times = sleeping(agent)
    asked = [(await thread.go(now=times)).pause.asks]
    for later in (100, 105):  # the second is woken late
        times.now += later
        asked.append((await thread.answer([TIME], now=times)).pause.asks)
    # The last but for one has its time by now, too.
    assert [[ask.expires_at for ask in asks] for asks in asked] == [
        [NOON.timestamp() + 100], [NOON.timestamp() + 200], [NOON.timestamp() + 300]
    ]  # fmt: skip
    assert (await thread.answer([EARLY], now=times)).text == "100 time, 200 time, 300 early"


async def test_a_branch_whose_time_has_come_meanwhile_goes_on_by_itself() -> None:
    async def agent(run: FunctionRun) -> str:
        first, second = await asyncio.gather(run.sleep(10, key="a"), run.sleep(20, key="b"))
        return f"{first} {second}"

    thread, times = sleeping(agent)
    await thread.go(now=times)
    times.now += 25

    assert (await thread.answer([TIME], now=times)).text == "time time"


async def test_an_answer_to_people_s_question_is_not_kept_waiting_by_a_sleep_beside_it() -> None:
    async def agent(run: FunctionRun) -> str:
        async def ask() -> str:
            approval = await run.approve("send", {"to": "ann"})
            return str(await run.tool(approval, lambda to: f"sent to {to}"))

        sent, slept = await asyncio.gather(ask(), run.sleep(60))
        return f"{sent}, {slept}"

    thread, times = sleeping(agent)
    paused = await thread.go(now=times)
    assert paused.asked == ["send"]

    times.now += 10
    between = await thread.answer([Approve({"to": "ann"})], now=times)
    assert [ask.expires_at for ask in between.pause.asks] == [NOON.timestamp() + 60]
    assert "sent to ann" in str(between.wire)
    times.now += 50
    assert (await thread.answer([TIME], now=times)).text == "sent to ann, time"


async def test_a_sleep_beside_an_application_s_tool_goes_on_with_its_result() -> None:
    async def agent(run: FunctionRun) -> str:
        photo, slept = await asyncio.gather(run.frontend_tool("photo", {}), run.sleep(60))
        return f"{photo} {slept}"

    thread, times = sleeping(agent)

    assert isinstance((await thread.go(now=times)).final, Handoff)


async def test_a_point_in_time_is_kept_through_the_sleep() -> None:
    async def agent(run: FunctionRun) -> str:
        return await run.sleep_until(NOON.replace(hour=13), message="Until lunch.")

    thread, times = sleeping(agent)
    (ask,) = (await thread.go(now=times)).pause.asks

    assert (ask.message, ask.expires_at) == ("Until lunch.", NOON.timestamp() + 3600)


async def test_a_time_that_is_made_anew_each_time_is_told_as_another_path() -> None:
    thread: Thread

    async def agent(run: FunctionRun) -> str:
        return await run.sleep_until(NOON.replace(minute=30 + (run._run.resume is not None)))

    thread, times = sleeping(agent)
    await thread.go(now=times)

    with pytest.raises(ReplayMismatch, match=r"run\.sleep_until\('2026-11-27T12:30"):
        await thread.answer([TIME], now=times)


NEVER = 101 * 365 * 86400
WRONG: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "run.sleep(seconds=…) must be a number, not str '60'": lambda run: run.sleep("60"),
    "run.sleep(seconds=…) must be a number, not bool True": lambda run: run.sleep(True),
    "run.sleep: a run sleeps 3153600000 seconds at most": lambda run: run.sleep(NEVER),
    "run.sleep: a run sleeps": lambda run: run.sleep(float("nan")),
    "run.sleep_until: a run sleeps": lambda run: run.sleep_until(datetime.max.replace(tzinfo=UTC)),
    "run.sleep_until(time=…) says no offset from UTC": lambda run: run.sleep_until(
        NOON.replace(tzinfo=None)
    ),
    "run.sleep_until(time=…) must be a datetime, not": lambda run: run.sleep_until(5.0),
}


@pytest.mark.parametrize("said", WRONG)
async def test_what_is_no_time_is_refused_at_its_line(said: str) -> None:
    async def agent(run: FunctionRun) -> None:
        await WRONG[said](run)

    thread = Thread(lambda: agent)
    with pytest.raises(AgentMistake) as caught:
        await thread.go()
    assert str(caught.value).startswith(said)


def test_a_run_without_a_store_has_the_time_of_its_process() -> None:
    before = time.time()
    assert before <= make_run().now() <= time.time()
