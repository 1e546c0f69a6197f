"""Answers at once, at two processes and after a kill; executions are counted outside the stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.a2a.asking import Client, Refused, said, state
from tests.a2a.processes import Served
from tests.processes.conftest import STORES
from tests.support.effects import Effects
from tests.support.server import client
from tests.support.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

YES, NO = {"approved": True}, {"approved": False}


@pytest.fixture(params=STORES)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Begins processes on one store."""
    store = STORES[request.param](tmp_path)
    with contextlib.ExitStack() as ended:

        def begin(**variables: str) -> Served:
            one = Served(tmp_path, A2A_STORE=store, **variables)
            ended.callback(one.kill)
            return one

        yield begin


RACES = {"sqlite": 6, "redis": 6, "postgres": 100}
"""How many questions are raced for, by store."""

by_store = pytest.mark.parametrize(("served", "rounds"), RACES.items(), indirect=["served"])
on_a_file = pytest.mark.parametrize("served", ["sqlite"], indirect=True)


@by_store
async def test_of_answers_at_once_in_two_processes_one_is_carried_out_and_all_are_told_it(
    served: Callable[..., Served], effects: Effects, rounds: int
) -> None:
    both = [await asyncio.to_thread(served) for _ in range(2)]
    async with contextlib.AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(client(one.base)) for one in both]
        ops = [
            Client(session, binding, "ops")
            for session in sessions
            for binding in ("JSONRPC", "HTTP+JSON")
        ]

        async def race(number: int) -> None:
            table = f"table-{number}"
            task = await ops[number % 4].say(table)
            given, other = (YES, NO) if number % 3 else (NO, YES)
            told = await asyncio.gather(*(each.answer(task, given) for each in ops))
            late = await ops[0].call("GetTask", id=task["id"])
            reply = f"rows of {table} deleted" if number % 3 else "Kept: refused."
            for each in (*told, late):
                assert (state(each), said(each)) == ("COMPLETED", f"I will delete. {reply}")
            with pytest.raises(Refused) as refused:
                await ops[1].answer(task, other)
            assert refused.value.code == "INTERRUPT_ALREADY_ANSWERED"

        for begin in range(0, rounds, 5):
            await asyncio.gather(*(race(n) for n in range(begin, min(begin + 5, rounds))))
    assert effects.counted == {f"deleted table-{n}": 1 for n in range(rounds) if n % 3}


@on_a_file
async def test_of_two_different_answers_at_once_one_counts_and_the_other_hears_so(
    served: Callable[..., Served], effects: Effects
) -> None:
    both = [await asyncio.to_thread(served) for _ in range(2)]
    async with client(both[0].base) as one, client(both[1].base) as other:
        first, second = Client(one, "JSONRPC", "ops"), Client(other, "HTTP+JSON", "ops")
        for number in range(10):
            task = await first.say(f"table-{number}")
            told = await asyncio.gather(
                first.answer(task, YES), second.answer(task, NO), return_exceptions=True
            )
            assert [isinstance(each, Refused) for each in told].count(True) == 1
            done = await second.call("GetTask", id=task["id"])
            approved = not isinstance(told[0], Refused)
            assert ("deleted" in said(done)) is approved
            assert effects.counted[f"deleted table-{number}"] == approved


async def test_a_question_outlives_the_bridge_and_its_answer_is_carried_out_once(
    served: Callable[..., Served], effects: Effects
) -> None:
    for number in range(2):
        table, first = f"table-{number}", await asyncio.to_thread(served)
        async with client(first.base) as session:
            task = await Client(session, "JSONRPC", "ops").say(table)
        await asyncio.to_thread(first.kill)
        second = await asyncio.to_thread(served)
        async with client(second.base) as session:
            ops = Client(session, "HTTP+JSON", "ops")
            assert await ops.call("GetTask", id=task["id"]) == task
            done = await ops.answer(task, YES)
            assert said(done) == f"I will delete. rows of {table} deleted"
            assert await ops.answer(task, YES) == done
        await asyncio.to_thread(second.kill)
    assert effects.counted == {f"deleted table-{n}": 1 for n in range(2)}


@on_a_file
async def test_a_task_whose_bridge_died_at_work_has_failed_and_is_never_run_again(
    served: Callable[..., Served], effects: Effects, tmp_path: Path
) -> None:
    first = await asyncio.to_thread(served, A2A_LEASE="2")
    async with client(first.base) as session:
        steps = Client(session, "JSONRPC", "steps")
        task = await steps.say("go", configuration={"returnImmediately": True})
        await eventually(lambda: effects.counted)
    await asyncio.to_thread(first.kill)
    second = await asyncio.to_thread(served, A2A_LEASE="2")
    async with client(second.base) as session:
        steps = Client(session, "HTTP+JSON", "steps")
        assert state(await steps.call("GetTask", id=task["id"])) == "WORKING"
        events = await steps.stream("SubscribeToTask", id=task["id"])
        # It may have been found lost by the time that the stream begins.
        (last,) = events[-1].values()
        status = last["status"]
        assert status["state"] == "TASK_STATE_FAILED"
        assert "RUN_INDETERMINATE" in status["message"]["parts"][0]["text"]
    assert effects.counted == {"began": 1}


@on_a_file
async def test_a_task_of_another_process_is_followed_and_cancelled_from_here(
    served: Callable[..., Served], effects: Effects
) -> None:
    both = [await asyncio.to_thread(served) for _ in range(2)]
    async with client(both[0].base) as one, client(both[1].base) as other:
        there, here = Client(one, "JSONRPC", "steps"), Client(other, "HTTP+JSON", "steps")
        task = await there.say("go", configuration={"returnImmediately": True})
        await eventually(lambda: effects.counted)
        following = asyncio.ensure_future(here.stream("SubscribeToTask", id=task["id"]))
        await asyncio.sleep(0.2)
        ended = await here.call("CancelTask", id=task["id"])
        events = await following
        assert state(ended) == "CANCELED"
        assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"
        assert await there.call("GetTask", id=task["id"]) == ended
    assert effects.counted == {"began": 1}
