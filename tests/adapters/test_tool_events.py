"""What a tool tells the page while it works: state and events, in every framework."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import pytest
from ag_ui.core import CustomEvent, RunFinishedEvent, StateDeltaEvent, StateSnapshotEvent

from agui_bridge import Bridge, FunctionRun, PredictState, emit
from agui_bridge.emitting import emitting
from agui_bridge.testing import talk
from tests.adapters.cashiers import CASHIERS, Cashier, by_place

pytestmark = pytest.mark.timeout(120)


cashiers = pytest.mark.parametrize("kind", CASHIERS.values(), ids=CASHIERS)


def bridge_of(cashier: Cashier) -> Bridge:
    bridge = Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    return bridge


@cashiers
async def test_a_tool_tells_state_and_events_before_its_result(kind: type[Cashier]) -> None:
    patch: Any = [{"op": "add", "path": "/seen", "value": ["bob"]}]
    cashier = kind(
        by_place,
        tells=(
            StateSnapshotEvent(snapshot={"step": 1}),
            CustomEvent(name="looking", value={"at": "bob"}),
            StateDeltaEvent(delta=patch),
        ),
    )
    async with talk(bridge_of(cashier), "cashier") as one:
        ended = await one.say("look bob", state={"step": 0})
        assert ended.ending == "success"
        kinds = [event["type"] for event in ended.events]
        result = kinds.index("TOOL_CALL_RESULT")
        assert "STATE_SNAPSHOT" in kinds[:result]
        assert "STATE_DELTA" in kinds[:result]
        (custom,) = [e for e in ended.events[:result] if e["type"] == "CUSTOM"]
        assert (custom["name"], custom["value"]) == ("looking", {"at": "bob"})
        assert await one.state() == {"step": 1, "seen": ["bob"]}
    assert cashier.done == ["look bob"]


@cashiers
async def test_arguments_that_predict_state_are_announced_before_their_call(
    kind: type[Cashier],
) -> None:
    cashier = kind(by_place, options={"predict_state": [PredictState("payee", "look", "to")]})
    async with talk(bridge_of(cashier), "cashier") as one:
        ended = await one.say("look bob")
        kinds = [event["type"] for event in ended.events]
        at = kinds.index("CUSTOM")
        assert kinds.index("TOOL_CALL_START") > at
        assert ended.events[at]["name"] == "PredictState"
        assert ended.events[at]["value"] == [
            {"state_key": "payee", "tool": "look", "tool_argument": "to"}
        ]


@cashiers
async def test_a_worker_that_a_tool_started_tells_nothing_once_its_run_is_over(
    kind: type[Cashier], caplog: pytest.LogCaptureFixture
) -> None:
    jobs, workers = asyncio.Queue[Any](), list[asyncio.Task[None]]()
    heard: list[str] = []

    async def work() -> None:
        while (job := await jobs.get()) is not None:
            with suppress(RuntimeError):
                emit(CustomEvent(name="job", value=job))
            heard.append(job)
            jobs.task_done()

    class Starting(kind):  # type: ignore[misc, valid-type]
        def look(self, to: str) -> str:
            if not workers:
                context = copy_context()
                loop.call_soon_threadsafe(
                    lambda: workers.append(loop.create_task(work(), context=context))
                )
            return str(super().look(to))

    loop = asyncio.get_running_loop()
    async with talk(bridge_of(Starting(by_place)), "cashier") as one:
        assert (await one.say("look bob")).ending == "success"
        stream = one.begin("look eve")
        jobs.put_nowait("of nobody")
        await jobs.join()
        ended = await stream.rest()
        assert ended.ending == "success"
        assert not [event for event in ended.events if event["type"] == "CUSTOM"]
    jobs.put_nowait(None)
    await workers[0]
    assert heard == ["of nobody"]
    (record,) = [one for one in caplog.records if one.name == "agui_bridge.emitting"]
    assert "a run which is over: CUSTOM is told to nobody" in record.getMessage()


@pytest.mark.parametrize("way", ["task", "thread"])
async def test_what_outlives_a_run_of_a_function_agent_tells_nobody_and_the_log_says_so(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    goes_on, is_held = threading.Event(), asyncio.Event()
    left: list[Any] = []

    def tell() -> None:
        emit(CustomEvent(name="late", value=1))

    async def tell_later() -> None:
        await asyncio.to_thread(goes_on.wait)
        tell()

    def tell_later_in_a_thread() -> None:
        goes_on.wait()
        tell()

    async def leave() -> str:
        emit(CustomEvent(name="now", value=1))
        if way == "task":
            left.append(asyncio.create_task(tell_later()))
        else:
            run = copy_context().run
            left.append(threading.Thread(target=run, args=(tell_later_in_a_thread,)))
            left[0].start()
        return "left"

    async def hold() -> str:
        await is_held.wait()
        return "held"

    bridge = Bridge("memory:")

    @bridge.agent("worker")
    async def worker(run: FunctionRun) -> AsyncIterator[str]:
        yield str(await run.call("work", {}, leave if run.text == "leave" else hold))

    async with talk(bridge, "worker") as one:
        first = await one.say("leave")
        assert [e["name"] for e in first.events if e["type"] == "CUSTOM"] == ["now"]
        stream = one.begin("hold")
        await stream.until("TOOL_CALL_END")
        goes_on.set()
        await (left[0] if way == "task" else asyncio.to_thread(left[0].join))
        is_held.set()
        second = await stream.rest()
        assert (second.ending, second.text) == ("success", "held")
        assert not [e for e in second.events if e["type"] == "CUSTOM"]
    (record,) = [one for one in caplog.records if one.name == "agui_bridge.emitting"]
    assert "a run which is over: CUSTOM is told to nobody" in record.getMessage()


async def test_what_was_told_stays_when_the_tool_goes_on_with_its_objects() -> None:
    told = list[Any]()
    state: dict[str, Any] = {"seen": []}
    with emitting(told.append):
        for who in ("bob", "eve"):
            state["seen"].append(who)
            emit(StateSnapshotEvent(snapshot=state))
    state["seen"].clear()
    assert [event.snapshot for event in told] == [{"seen": ["bob"]}, {"seen": ["bob", "eve"]}]


def test_outside_of_a_tool_there_is_nobody_to_tell() -> None:
    with pytest.raises(RuntimeError, match="outside of a tool"):
        emit(CustomEvent(name="a", value=1))
    words: Any = "a text"
    with pytest.raises(TypeError, match="takes an event"):
        emit(words)
    with pytest.raises(ValueError, match="begins and ends runs"):
        emit(RunFinishedEvent(thread_id="t", run_id="r"))
