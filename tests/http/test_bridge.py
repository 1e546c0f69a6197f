"""The bridge without HTTP: registering agents, answering and stopping from code."""

import asyncio
import datetime
import decimal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun, Principal, Refused, Settings
from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.input.submission import Submission
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import ThreadKey
from tests.support.agents import Answering, Reader, Scripted, eventually, settle
from tests.support.server import client, post, run_input, serve


def made(adapter: Scripted) -> Bridge:
    bridge = Bridge(settings=Settings(shutdown_grace=0.1, cancel_grace=0.2))
    bridge.add("agent", adapter)
    return bridge


async def begin(bridge: Bridge, text: str = "go") -> Reader:
    engine = await bridge.open()
    call = Submission(bridge.agents["agent"], Principal(), parse_input(run_input(text)), "continue")
    return Reader(*engine.submit(call))


async def interrupts(bridge: Bridge) -> list[str]:
    events = await (await begin(bridge)).rest()
    return [interrupt["id"] for interrupt in events[-1]["outcome"]["interrupts"]]


async def test_resume_answers_and_sees_the_run_through() -> None:
    agent = Answering()
    bridge = made(agent)
    async with bridge.lifespan():
        [ask] = await interrupts(bridge)
        who = Principal(actor="webhook")
        last = await bridge.resume("agent", "t", {ask: {"approved": True}}, principal=who)
        assert last["outcome"] == {"type": "success"}
        assert len(agent.executed) == 1
        engine = await bridge.open()
        [row] = await engine.store.list_interrupts("default")
        assert row.interrupt.audit[-1].actor == "webhook"


async def test_resume_cancels_and_is_refused_with_an_event() -> None:
    agent = Answering()
    bridge = made(agent)
    async with bridge.lifespan():
        [ask] = await interrupts(bridge)
        refused = await bridge.resume("agent", "t", {ask: {"approved": "yes"}})
        assert (refused["type"], refused["code"]) == ("RUN_ERROR", "INVALID_RESUME_PAYLOAD")
        last = await bridge.resume("agent", "t", {}, cancel=[ask])
        assert last["outcome"] == {"type": "success"}
        assert agent.executed == []


async def test_resume_without_an_answer_or_for_an_unknown_agent_is_refused() -> None:
    agent = Answering()
    bridge = made(agent)
    async with bridge.lifespan():
        for name, answers, code in (
            ("agent", {}, "INVALID_INPUT"),
            ("nobody", {"x": 1}, "AGENT_NOT_FOUND"),
            ("agent", {"x": float("nan")}, "INVALID_INPUT"),
        ):
            with pytest.raises(Refused) as refused:
                await bridge.resume(name, "t", answers)
            assert refused.value.code == code
        assert agent.runs == []
        unknown = await bridge.resume("agent", "t", {"x": 1})
        assert unknown["code"] == "INTERRUPT_NOT_FOUND"


async def test_a_cancelled_resume_leaves_the_run_going_on() -> None:
    agent, release = Answering(), asyncio.Event()
    agent.before_tool = release.wait
    bridge = made(agent)
    async with bridge.lifespan():
        [ask] = await interrupts(bridge)
        answering = asyncio.create_task(bridge.resume("agent", "t", {ask: {"approved": True}}))
        await eventually(lambda: len(agent.runs) == 2)
        await settle()
        engine = await bridge.open()
        [execution] = engine.running.values()
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        assert execution.stream.pipe.detached
        release.set()
        await asyncio.wait_for(execution.over.wait(), 5)
        assert len(agent.executed) == 1


async def test_stop_stops() -> None:
    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "partial"
        await asyncio.Event().wait()

    bridge = made(Scripted(forever))
    async with bridge.lifespan():
        reader = await begin(bridge)
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await bridge.stop("agent", "t")
        assert (stopped.status, stopped.partial_response) == ("success", "partial")
        await reader.rest()
        with pytest.raises(Refused):
            await bridge.stop("nobody", "t")


def on_file(path: Path) -> Bridge:
    bridge = Bridge(f"sqlite:///{path}", settings=Settings(shutdown_grace=0.1))

    @bridge.agent("agent")
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        """Ask before sending."""
        answer = await run.approve("send", {"to": "ann"})
        yield "sent" if answer.approved else "not sent"

    return bridge


def test_the_synchronous_twins_work_on_a_shared_store(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"

    async def ask(thread: str) -> str:
        bridge = on_file(path)
        async with bridge.lifespan():
            engine = await bridge.open()
            body = run_input("go", thread=thread)
            call = Submission(bridge.agents["agent"], Principal(), parse_input(body), "continue")
            await Reader(*engine.submit(call)).rest()
            key = ThreadKey("default", "agent", thread)
            [ask] = (await engine.store.load(key)).batch_interrupts()
            return ask.id

    one, two = (asyncio.run(ask(thread)) for thread in ("one", "two"))
    bridge = on_file(path)
    last = bridge.resume_sync("agent", "one", {one: {"approved": True}})
    assert last["outcome"] == {"type": "success"}
    stopped = bridge.stop_sync("agent", "two")
    assert stopped.status == "success"
    late = bridge.resume_sync("agent", "two", {two: {"approved": True}})
    assert late["code"] == "INTERRUPT_ALREADY_ANSWERED"


def test_a_synchronous_call_closes_the_adapters(tmp_path: Path) -> None:
    agent = Answering()
    bridge = Bridge(f"sqlite:///{tmp_path / 'agents.db'}", telemetry=False)
    bridge.add("agent", agent)

    async def begun() -> list[str]:
        async with bridge.lifespan():
            return await interrupts(bridge)

    [ask] = asyncio.run(begun())
    assert agent.closed == 1
    bridge.resume_sync("agent", "t", {ask: {"approved": True}})
    assert (len(agent.executed), agent.closed) == (1, 2)
    bridge.stop_sync("agent", "t")
    assert agent.closed == 3


async def test_a_synchronous_call_beside_an_open_bridge_leaves_its_adapters_open(
    tmp_path: Path,
) -> None:
    agent = Answering()
    bridge = Bridge(f"sqlite:///{tmp_path / 'agents.db'}", telemetry=False)
    bridge.add("agent", agent)
    async with bridge.lifespan():
        [ask] = await interrupts(bridge)
        answers = {ask: {"approved": True}}
        await asyncio.to_thread(bridge.resume_sync, "agent", "t", answers)
        assert (len(agent.executed), agent.closed) == (1, 0)
    assert agent.closed == 1


def test_the_synchronous_twins_refuse_a_store_that_nobody_shares() -> None:
    bridge = made(Answering())
    with pytest.raises(ConfigurationError, match="shared"):
        bridge.resume_sync("agent", "t", {"x": 1})
    with pytest.raises(ConfigurationError, match="shared"):
        bridge.stop_sync("agent", "t")


@pytest.mark.parametrize(
    "name", ["", "a/b", " a", "agent", ".", "..", "a b", "a?b", "é", "a\n", "<l>"]
)
def test_an_unfit_or_taken_name_is_refused(name: str) -> None:
    bridge = made(Answering())
    with pytest.raises(ConfigurationError):
        bridge.add(name, Answering())


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="colour"):
        made(Answering()).add("other", Answering(), colour="red")


def test_an_agents_own_settings_and_description_are_its_own() -> None:
    bridge = made(Answering())

    @bridge.agent(expires_in=5.0)
    async def helper(run: FunctionRun) -> str:
        """Help out.

        At length.
        """
        return "x"

    assert bridge.agents["helper"].description == "Help out."
    assert bridge.agents["helper"].settings.expires_in == 5.0
    assert bridge.agents["agent"].settings.expires_in is None
    assert helper.__name__ == "helper"


def test_the_decorator_works_without_parentheses() -> None:
    bridge = made(Answering())

    @bridge.agent
    async def helper(run: FunctionRun) -> str:
        """Help out."""
        return "x"

    assert bridge.agents["helper"].description == "Help out."
    assert helper.__name__ == "helper"


@pytest.mark.parametrize(
    "setting",
    [
        {"lease_seconds": 5.0},
        {"pipe_events": 5},
        {"pipe_bytes": 5},
        {"store_retry": 5.0},
        {"stop_poll": 5.0},
        {"sweep_interval": 5.0},
        {"shutdown_grace": 5.0},
        {"max_body_bytes": 5},
        {"busy_patience": 5.0},
    ],
)
def test_a_setting_of_the_whole_bridge_is_refused_for_one_agent(setting: dict[str, Any]) -> None:
    bridge = made(Answering())
    with pytest.raises(ConfigurationError, match=f"{next(iter(setting))}.*whole"):
        bridge.add("other", Answering(), **setting)
    assert list(bridge.agents) == ["agent"]


def test_an_agents_own_setting_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="history"):
        made(Answering()).add("other", Answering(), history="both")


def test_an_adapter_whose_run_does_not_yield_is_refused() -> None:
    class Returns(Scripted):
        async def run(self, run: Run) -> str:  # type: ignore[override]
            return "done"

    with pytest.raises(ConfigurationError, match=r"Returns\.run returns .*async generator"):
        Bridge().add("a", Returns([]))


@pytest.mark.parametrize("adapter", [object(), None, Answering])
def test_what_is_no_adapter_is_refused(adapter: Any) -> None:
    with pytest.raises(ConfigurationError, match="no Adapter"):
        made(Answering()).add("other", adapter)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DEEP: list[Any] = []
for _ in range(2500):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"limit": decimal.Decimal("1.5")}, r"answers\.x\.limit: a Decimal"),
        ([1, object()], r"answers\.x\[1\]: a object"),
        ({"at": datetime.datetime(2024, 1, 1)}, r"answers\.x\.at: a datetime"),
        ({"a": {1: "x"}}, r"answers\.x\.a: the key 1"),
        ((1, 2), r"answers\.x: a tuple"),
        (float("inf"), r"answers\.x: inf"),
        (CYCLE, "deep"),
        (DEEP, "deep"),
    ],
)
async def test_resume_with_what_is_no_json_is_refused_and_says_where(
    payload: Any, place: str
) -> None:
    agent = Answering()
    bridge = made(agent)
    async with bridge.lifespan():
        with pytest.raises(Refused, match=place) as refused:
            await bridge.resume("agent", "t", {"x": payload})
        assert refused.value.code == "INVALID_INPUT"
        assert agent.runs == []


async def test_resume_with_a_key_that_is_no_interrupt_id_is_refused() -> None:
    bridge = made(Answering())
    wrong: Any = {1: True}
    async with bridge.lifespan():
        with pytest.raises(Refused, match="the key 1"):
            await bridge.resume("agent", "t", wrong)


async def test_a_drained_bridge_ends_streams_refuses_runs_and_still_reads() -> None:
    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "partial"
        await asyncio.Event().wait()

    bridge = made(Scripted(forever))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        reader = await begin(bridge)
        await reader.until("TEXT_MESSAGE_CONTENT")
        await asyncio.gather(bridge.drain(), bridge.drain())
        assert (await reader.rest())[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        refused = await http.post("/agents/agent", json=run_input("x", thread="t2"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SHUTTING_DOWN")
        messages = (await http.get("/agents/agent/threads/t")).json()["messages"]
        assert messages[-1]["content"] == "partial"


async def test_while_it_closes_it_stays_the_same_and_is_not_ready() -> None:
    finish = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await finish.wait()

    bridge = Bridge(settings=Settings(shutdown_grace=5.0))
    bridge.add("agent", Scripted(slow))
    async with serve(bridge.app(anonymous=True), lifespan="off") as base, client(base) as http:
        reader = await begin(bridge)
        await reader.until("TEXT_MESSAGE_CONTENT")
        closing = asyncio.create_task(bridge.aclose())
        await settle()
        assert (await http.get("/readyz")).status_code == 503
        refused = await http.post("/agents/agent", json=run_input("x", thread="t2"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SHUTTING_DOWN")
        assert (await http.get("/agents/agent/threads/t")).json()["status"] == "running"
        await bridge.aclose()
        finish.set()
        await closing
        assert (await reader.rest())[-1]["outcome"] == {"type": "success"}


async def test_it_can_be_opened_again_after_it_was_closed() -> None:
    bridge = made(Scripted(["x"]))
    for _ in range(2):
        async with serve(bridge.app(anonymous=True)) as base:
            assert (await post(base, **run_input("go"))).kinds[-1] == "RUN_FINISHED"
    await bridge.aclose()
