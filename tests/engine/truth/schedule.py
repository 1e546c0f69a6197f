"""A conversation whose tools keep a log of their own, and that something breaks into at random."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import recover_thread
from agui_bridge.errors import Conflict
from agui_bridge.protocol.answers.unexecuted import LOST
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge.stores.base import Store
from tests.support.agents import Bench, Event, Reader, eventually, outcome, settle

__all__ = ["Seen", "carry_out"]

KINDS: Final = ("async", "thread", "stubborn")
BREAKS: Final = ("nothing", "graceful", "forced", "disconnect", "cancelled", "failure", "lost")


@dataclass
class Log:
    """What the tools did, whatever anybody says: numbers of calls that began, and that ended.

    Attributes:
        began: in their order.
        ended: in their order.
        held: those whose approval the function has, and has given to nobody: its own code could
            carry them out, for all that the bridge knows.
        lock: of the lists.
    """

    began: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, number: int) -> None:
        with self.lock:
            self.began.append(number)

    def end(self, number: int) -> str:
        with self.lock:
            self.ended.append(number)
        return f"did {number}"


@dataclass(frozen=True)
class Seen:
    """One schedule's outcome.

    Attributes:
        breaks: what broke in.
        log: what the tools did.
        told: the content of each call's result in the stored conversation, by call number.
        streamed: the contents of results that clients were told, by call number.
        statuses: the final status of each call's interrupt, by call number.
        context: the results that the next run's agent was given, by call number.
    """

    breaks: str
    log: Log
    told: dict[int, str]
    streamed: dict[int, list[str]]
    statuses: dict[int, InterruptStatus]
    context: dict[int, str]


class Threads:
    """The threads of sync tools, which can be waited for."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor()
        asyncio.get_running_loop().set_default_executor(self._pool)

    def renew(self) -> None:
        """Wait for all of them; what comes later has new ones."""
        self._pool.shutdown()
        self.__init__()  # type: ignore[misc]


class _Breaks(Exception):
    """The agent fails."""


async def carry_out(seed: int, store: Store) -> Seen:
    """Carry a schedule out on an empty thread; returns once all is quiet."""
    dice = random.Random(seed)
    breaks = dice.choice(BREAKS)
    log, given, threads = Log(), dict[int, str](), Threads()
    calls = [(number, dice.random() < 0.6, dice.choice(KINDS)) for number in range(3)]
    pauses = {number: dice.random() * 0.004 for number in range(3)}
    lasts = {number: dice.random() * 0.012 for number in range(3)}
    fails_at = dice.randrange(7) if breaks == "failure" else -1
    together = dice.random() < 0.4

    def tool(number: int, kind: str) -> Any:
        async def plain() -> str:
            log.begin(number)
            await asyncio.sleep(lasts[number])
            return log.end(number)

        async def stubborn() -> str:
            log.begin(number)
            until = time.monotonic() + lasts[number]
            while time.monotonic() < until:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.001)
            return log.end(number)

        def in_thread() -> str:
            log.begin(number)
            time.sleep(lasts[number])
            return log.end(number)

        chosen = {"async": plain, "stubborn": stubborn, "thread": in_thread}[kind]
        return (lambda n: chosen()) if kind == "thread" else _taking(chosen)

    async def one(run: FunctionRun, number: int, gated: bool, kind: str) -> None:
        with contextlib.suppress(StepFailed):
            if gated:
                approval = await run.approve("tool", {"n": number})
                log.held.add(number)
                await asyncio.sleep(pauses[number])
                _fail(fails_at == 2 * number)
                log.held.discard(number)
                await run.tool(approval, tool(number, kind))
            else:
                await run.call("tool", {"n": number}, tool(number, kind), key=str(number))
            _fail(fails_at == 2 * number + 1)

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        if run.text == "next":
            given.update(_results([m.model_dump(by_alias=True) for m in run.messages]))
            yield "next"
            return
        if together:
            await asyncio.gather(*(one(run, *call) for call in calls))
        else:
            for call in calls:
                await one(run, *call)
        yield "done"

    bench = Bench(
        FunctionAdapter(agent),
        store=store,
        stop_timeout=0.01,
        cancel_grace=1.0,
        flush_interval=0.2,
        lease_seconds=1.0,
    )
    async with bench.open():
        events: list[Event] = []
        reader = bench.begin("go", disconnect="stop")
        breaking = asyncio.create_task(_break_in(breaks, dice.random() * 0.03, bench, reader))
        for _ in range(4):
            events += await _end_of(reader)
            if not _asks(reader.events):
                break
            asks = reader.events[-1]["outcome"]["interrupts"]
            reader = bench.begin(disconnect="stop", resume=bench.entries(asks))
            if not breaking.done():
                breaking.cancel()
                late = _break_in(breaks, dice.random() * 0.03, bench, reader)
                breaking = asyncio.create_task(late)
        await asyncio.gather(breaking, return_exceptions=True)
        while True:
            loaded = await _once_quiet(bench, log, calls, threads)
            if loaded.run is not None:
                # A claim was stored whose acknowledgement nobody waited for.
                breaks = "lost"
                await _recover(bench, loaded)
            elif loaded.waiting:
                # Who was to answer has left: somebody else does.
                asks = [{"id": ask.id} for ask in loaded.waiting]
                events += await _end_of(bench.begin(resume=bench.entries(asks)))
            elif outcome(await bench.say("next")) == "success":
                break
        rows = await store.list_interrupts("default")
        statuses = {
            row.interrupt.tool_call.args["n"]: row.interrupt.status
            for row in rows
            if row.interrupt.tool_call is not None
        }
        numbers = _numbers([m.message for m in loaded.messages])
        streamed: dict[int, list[str]] = {}
        for event in events:
            if event["type"] == "TOOL_CALL_RESULT" and event["toolCallId"] in numbers:
                streamed.setdefault(numbers[event["toolCallId"]], []).append(event["content"])
        told = _results([m.message for m in loaded.messages])
        if LOST in told.values() or any(e.get("code") == "RUN_INDETERMINATE" for e in events):
            # On a busy machine a lease may end by itself.
            breaks = "lost"
        return Seen(breaks, log, told, streamed, statuses, dict(given))


async def _recover(bench: Bench, loaded: Loaded) -> None:
    """Recover a run as if its lease were over."""
    assert loaded.run is not None
    over = replace(loaded, now=loaded.run.ends_at + 1)
    with contextlib.suppress(Conflict):
        await recover_thread(bench.store, bench.KEY, over, mint)


def _asks(events: list[Event]) -> bool:
    return bool(events) and events[-1]["type"] == "RUN_FINISHED" and outcome(events) == "interrupt"


async def _once_quiet(
    bench: Bench, log: Log, calls: list[tuple[int, bool, str]], threads: Threads
) -> Loaded:
    """The thread, once nothing runs and every result that was to come has come."""
    await eventually(lambda: not bench.engine.running)
    await eventually(lambda: not _unfinished(log, calls))
    # A thread writes its last line of the log before the loop hears that it has ended.
    threads.renew()
    await settle()
    await eventually(lambda: not bench.engine._tasks)
    return await bench.load()


def _taking(function: Any) -> Any:
    async def tool(n: int) -> str:
        result: str = await function()
        return result

    return tool


def _fail(now: bool) -> None:
    if now:
        raise _Breaks("the agent broke")


def _unfinished(log: Log, calls: list[tuple[int, bool, str]]) -> set[int]:
    """Calls that run on whatever becomes of their run."""
    lasting = {number for number, _, kind in calls if kind != "async"}
    return (set(log.began) & lasting) - set(log.ended)


async def _end_of(reader: Reader) -> list[Event]:
    while await reader.step():
        pass
    return reader.events


async def _break_in(breaks: str, after: float, bench: Bench, reader: Reader) -> None:
    await asyncio.sleep(after)
    match breaks:
        case "graceful":
            await bench.engine.stop(bench.KEY, timeout=0.004)
        case "forced":
            await bench.engine.stop(bench.KEY, force=True)
        case "disconnect":
            reader.leave()
        case "cancelled":
            for task in set(bench.engine._tasks):
                task.cancel()
        case "lost":
            loaded = await bench.load()
            if loaded.run is not None:
                await _recover(bench, loaded)


def _numbers(messages: list[Mapping[str, Any]]) -> dict[str, int]:
    return {
        call["id"]: json.loads(call["function"]["arguments"])["n"]
        for message in messages
        for call in message.get("toolCalls") or ()
    }


def _results(messages: list[Any]) -> dict[int, str]:
    numbers = _numbers(messages)
    return {
        numbers[m["toolCallId"]]: m["content"]
        for m in messages
        if m["role"] == "tool" and m["toolCallId"] in numbers
    }
