"""What Mastra's background tasks ask: in the run that began them, and on the idle thread."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.engine.input.settings import Settings
from agui_bridge.inbox.pending import Listed
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import APPROVE, CONFIRM, DECLINE, Talk, fresh, ran
from tests.support.forks import fork
from tests.support.mastra import MastraProcess
from tests.support.waiting import eventually

QUICK = Settings(sweep_interval=0.2, lease_seconds=2.0)
ROUTE = "/x/tasks/{task}/resume"


def bridge_on(mastra: MastraProcess, store: str = "memory:", **options: Any) -> Bridge:
    """A bridge before a supervisor whose sub-agents go on in the background."""
    bridge = Bridge(store, settings=QUICK)
    options = {"resume_task_path": ROUTE, **options}
    bridge.add("work", MastraAdapter(mastra.url, "background-supervisor", **options))
    idle = {**options, "options": {"untilIdle": True}}
    bridge.add("idle", MastraAdapter(mastra.url, "background-supervisor", **idle))
    return bridge


@contextlib.asynccontextmanager
async def opened(mastra: MastraProcess, store: str = "memory:") -> AsyncIterator[Bridge]:
    bridge = bridge_on(mastra, store)
    async with bridge.lifespan():
        yield bridge


async def waiting(bridge: Bridge, talk: Talk) -> Listed:
    """The question of a thread, once there is one."""

    async def found() -> list[Listed]:
        return list((await bridge.pending(thread=talk.thread)).rows)

    await eventually(found, 30.0)
    (question,) = await found()
    return question


async def history(bridge: Bridge, talk: Talk) -> list[Any]:
    engine = await bridge.open()
    key = (await engine.store.list_threads("default", talk.agent))[0].record.key
    return [m.message for m in await engine.store.history(key)]


CASES: dict[str, tuple[str, str, Any, str]] = {
    "an approval": ("work", "to approvalAgent delete {n}", APPROVE, "deleteRecord"),
    "an approval, until idle": ("idle", "to approvalAgent delete {n}", APPROVE, "deleteRecord"),
    "two levels below": ("work", "to supervisor agent delete {n}", APPROVE, "deleteRecord"),
    "a sub-agent's tool suspends": ("work", "to suspendAgent refund {n}", CONFIRM, "issueRefund"),
    "a tool of its own suspends": ("work", "defer {n}", CONFIRM, "deferRecord"),
    "a step": ("work", "to supervisor workflow {n}", CONFIRM, "refundWorkflow"),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_a_task_asks_is_asked_and_carried_out_once(
    mastra: MastraProcess, name: str
) -> None:
    agent, prompt, answer, tool = CASES[name]
    n = fresh()
    async with opened(mastra) as bridge:
        talk = Talk(bridge, agent)
        await talk.say(prompt.format(n=n))
        question = await waiting(bridge, talk)
        assert ran(mastra, n) == []

        told = await asyncio.gather(*(bridge.answer(question.ref, answer) for _ in range(4)))

        assert {one.status for one in told} == {"resolved"}
        assert [done["what"] for done in ran(mastra, n)] == [tool]
        activities = [m for m in await history(bridge, talk) if m["role"] == "activity"]
        assert [m["content"]["status"] for m in activities] == ["completed"]
        if question.row.interrupt.tool_call is not None:
            assert question.row.interrupt.tool_call.args == {"id": str(n)}
            results = [m["content"] for m in await history(bridge, talk) if m["role"] == "tool"]
            assert f'"id": "{n}"' in results[-1]


@pytest.mark.parametrize("how", ["declined", "cancelled", "stopped"])
async def test_what_nobody_approves_is_not_carried_out(mastra: MastraProcess, how: str) -> None:
    n = fresh()
    async with opened(mastra) as bridge:
        talk = Talk(bridge, "work")
        await talk.say(f"to approvalAgent delete {n}")
        question = await waiting(bridge, talk)
        if how == "stopped":
            assert (await bridge.stop("work", talk.thread)).status == "success"
        else:
            payload = None if how == "cancelled" else DECLINE
            await bridge.answer(question.ref, payload, cancel=how == "cancelled")

        assert (await bridge.answer(question.ref, APPROVE)).refused
        await talk.say("hello")
        await asyncio.sleep(1.0)
        assert ran(mastra, n) == []
        assert not (await bridge.pending(thread=talk.thread)).rows


async def test_what_comes_after_the_run_is_asked_on_the_idle_thread(mastra: MastraProcess) -> None:
    n, gate = fresh(), fresh()
    async with opened(mastra) as bridge:
        talk = Talk(bridge, "work")
        await talk.say(f"to laterAgent later {gate} delete {n}")
        assert talk.ending == "success"
        await asyncio.sleep(1.0)
        assert not (await bridge.pending(thread=talk.thread)).rows
        # A conversation goes on beside it, and keeps what was left.
        assert await talk.say("hello") == "Echo: hello"
        mastra.release(gate)
        question = await waiting(bridge, talk)
        assert ran(mastra, n) == []
        await talk.say("and now?")
        assert talk.ending == "INTERRUPT_PENDING"

        told = await asyncio.gather(*(bridge.answer(question.ref, APPROVE) for _ in range(4)))

        assert {one.status for one in told} == {"resolved"}
        assert len(ran(mastra, n)) == 1
        assert await talk.say("hello again") == "Echo: hello again"


async def test_one_task_asks_one_thing_after_the_other(mastra: MastraProcess) -> None:
    first, second = fresh(), fresh()
    async with opened(mastra) as bridge:
        talk = Talk(bridge, "work")
        await talk.say(f"to approvalAgent delete {first} and {second}")
        one = await waiting(bridge, talk)
        await bridge.answer(one.ref, APPROVE)
        another = await waiting(bridge, talk)
        assert another.row.interrupt.id != one.row.interrupt.id
        assert (len(ran(mastra, first)), len(ran(mastra, second))) == (1, 0)

        await bridge.answer(another.ref, DECLINE)

        assert (len(ran(mastra, first)), len(ran(mastra, second))) == (1, 0)


async def test_without_a_route_nobody_is_asked_and_the_activity_says_so(
    mastra: MastraProcess,
) -> None:
    n = fresh()
    bridge = bridge_on(mastra, resume_task_path=None)
    async with bridge.lifespan():
        talk = Talk(bridge, "work")
        await talk.say(f"to approvalAgent delete {n}")

        async def said() -> bool:
            activity = [m for m in await history(bridge, talk) if m["role"] == "activity"]
            return "nobody can be asked" in activity[0]["content"].get("message", "")

        await eventually(said, 30.0)
        await asyncio.sleep(1.0)
        assert not (await bridge.pending(thread=talk.thread)).rows
        assert ran(mastra, n) == []


async def test_a_route_that_is_not_there_leaves_the_question_open(mastra: MastraProcess) -> None:
    n = fresh()
    bridge = bridge_on(mastra, resume_task_path="/x/nothing/{task}")
    async with bridge.lifespan():
        talk = Talk(bridge, "work")
        await talk.say(f"to approvalAgent delete {n}")
        question = await waiting(bridge, talk)
        outcome = await bridge.answer(question.ref, APPROVE)

        assert (outcome.code, ran(mastra, n)) == ("UPSTREAM_ERROR", [])
        assert "resume_task_path" in str(outcome.message)
        assert (await waiting(bridge, talk)).row.interrupt.id == question.row.interrupt.id


@pytest.mark.timeout(180)
async def test_restarts_of_both_approve_nothing_and_execute_nothing_twice(tmp_path: Path) -> None:
    mastra = MastraProcess(tmp_path)
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    late, gate, asked = fresh(), fresh(), fresh()
    with mastra.running():
        async with opened(mastra, store) as bridge:
            talk = Talk(bridge, "work")
            await talk.say(f"to laterAgent later {gate} delete {late}")
            assert talk.ending == "success"
        # The bridge is gone when the task comes to its question; the next one finds it.
        mastra.release(gate)
        await asyncio.sleep(1.0)
        async with opened(mastra, store) as bridge:
            question = await waiting(bridge, talk)
            assert ran(mastra, late) == []
            assert (await bridge.answer(question.ref, APPROVE)).status == "resolved"
            assert len(ran(mastra, late)) == 1
            other = Talk(bridge, "work")
            await other.say(f"to approvalAgent delete {asked}")
            question = await waiting(bridge, other)
    # Mastra forgets what carries its tasks on: it can't continue one, and executes nothing.
    with mastra.running():
        async with opened(mastra, store) as bridge:
            outcome = await bridge.answer(question.ref, APPROVE)

            assert (outcome.status, outcome.code) == ("indeterminate", "RUN_INDETERMINATE")
            assert (await bridge.answer(question.ref, APPROVE)).status == "indeterminate"
            assert ran(mastra, asked) == []
            assert await other.say("hello") == "Echo: hello"


async def test_a_task_whose_run_was_killed_with_its_bridge_is_asked_and_carried_out_once(
    mastra: MastraProcess, tmp_path: Path
) -> None:
    n, gate = fresh(), fresh()
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    thread, text = f"thread-{fresh()}", f"to laterAgent later {gate} delete {n}"
    died = fork("tests.e2e.mastra_dying", [mastra.url, store, thread, text], tmp_path / "log")
    await asyncio.to_thread(died.join, 60.0)
    assert died.exitcode == -signal.SIGKILL, (tmp_path / "log").read_text()

    mastra.release(gate)
    async with opened(mastra, store) as bridge:
        talk = Talk(bridge, "work", thread)
        question = await waiting(bridge, talk)
        assert ran(mastra, n) == []

        told = await asyncio.gather(*(bridge.answer(question.ref, APPROVE) for _ in range(4)))

        assert {one.status for one in told} == {"resolved"}
        assert [done["what"] for done in ran(mastra, n)] == ["deleteRecord"]
