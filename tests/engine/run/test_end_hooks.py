"""`on_run_end` is told of every run once, when its end is stored, with the reason."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, EndReason, FunctionRun
from agui_bridge.adapters import Adapter, Pause, Run, RunItem
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.engine.run import end_hooks
from agui_bridge.errors import NotDelivered
from agui_bridge.protocol.threads.records import ThreadStatus
from tests.docs.pages import Conversation
from tests.engine.run.hooked import HookedStore, ends
from tests.support.agents import Answering, Bench, Scripted, approval, eventually, outcome


class Told:
    """A hook that keeps what it was told, and what the store had by then."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, EndReason]] = []
        self.statuses: list[ThreadStatus] = []
        self.bench: Bench | None = None

    async def __call__(self, run: Run, reason: EndReason) -> None:
        assert self.bench is not None
        self.ends.append((run.run_id, reason))
        self.statuses.append((await self.bench.load()).status)

    @property
    def reasons(self) -> list[EndReason]:
        return [reason for _, reason in self.ends]


def told_bench(adapter: Adapter, **options: Any) -> tuple[Bench, Told]:
    told = Told()
    bench = Bench(adapter, on_run_end=[told], **options)
    told.bench = bench
    return bench, told


async def test_each_way_to_end_has_its_reason() -> None:
    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await asyncio.Event().wait()

    agent = Scripted(["x"], [ValueError("broken")], forever, ["x", Pause([approval()])])
    bench, told = told_bench(agent)
    await bench.say("one")
    await bench.say("two")
    reader = bench.begin("three")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY)
    await reader.rest()
    await bench.say("four")

    await eventually(lambda: len(told.ends) == 4)
    assert [(id.rpartition("-")[2], reason) for id, reason in told.ends] == [
        ("1", EndReason.SUCCESS),
        ("2", EndReason.ERROR_OCCURRED),
        ("3", EndReason.USER_INTERRUPTED),
        ("4", EndReason.INTERRUPTED),
    ]
    assert told.statuses == [ThreadStatus.IDLE] * 3 + [ThreadStatus.INTERRUPTED]


@pytest.mark.parametrize(
    "reason",
    [
        EndReason.NO_MORE_TOOL_CALLS,
        EndReason.STOP_TOOL_TRIGGERED,
        EndReason.MAX_ITERATIONS_REACHED,
        EndReason.CONTEXT_TOKEN_LIMIT,
    ],
)
@pytest.mark.parametrize("fails", [False, True], ids=["succeeds", "fails"])
async def test_a_reason_that_only_the_adapter_knows_is_told(reason: EndReason, fails: bool) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        run.end_reason = reason
        yield "x"
        if fails:
            raise ValueError("too long")

    bench, told = told_bench(Scripted(script))
    await bench.say("go")
    await eventually(lambda: told.reasons == [reason])


async def test_a_stop_is_told_as_one_whatever_the_adapter_reports() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        run.end_reason = EndReason.NO_MORE_TOOL_CALLS
        yield "x"
        await run.stop

    bench, told = told_bench(Scripted(script, stop=True))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY)
    await reader.rest()
    await eventually(lambda: told.reasons == [EndReason.USER_INTERRUPTED])


async def test_answers_that_reached_nobody_end_the_run_with_an_error() -> None:
    agent = Scripted([Pause([approval()])], [NotDelivered("refused")])
    bench, told = told_bench(agent)
    asked = await bench.ask()
    await bench.say(resume=bench.entries(asked))
    await eventually(lambda: told.reasons == [EndReason.INTERRUPTED, EndReason.ERROR_OCCURRED])
    assert told.statuses[-1] is ThreadStatus.INTERRUPTED


async def test_a_run_whose_end_can_not_be_stored_is_told_as_failed() -> None:
    store = HookedStore()
    store.fail(ends, times=100, written=False)
    bench, told = told_bench(Scripted(["x"]), store=store, store_retry=0.01)
    await bench.say("go")
    await eventually(lambda: told.reasons == [EndReason.ERROR_OCCURRED])


async def test_what_is_refused_or_replayed_is_no_run_and_is_not_told() -> None:
    bench, told = told_bench(Answering())
    asked = await bench.ask()
    await bench.say("a message on a paused thread")
    answers = bench.entries(asked)
    await bench.say(resume=answers)
    await bench.say(resume=answers)
    await eventually(lambda: len(told.ends) == 2)
    assert told.reasons == [EndReason.INTERRUPTED, EndReason.SUCCESS]


async def test_what_a_hook_raises_is_logged_and_the_others_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[EndReason] = []

    def broken(run: Run, reason: EndReason) -> None:
        raise ValueError("the hook's own")

    def leaving(run: Run, reason: EndReason) -> None:
        sys.exit(3)

    def sound(run: Run, reason: EndReason) -> None:
        seen.append(reason)

    bench = Bench(Scripted(["x"]), on_run_end=[broken, leaving, sound])
    assert outcome(await bench.say("go")) == "success"
    await eventually(lambda: seen == [EndReason.SUCCESS])
    assert "broken failed" in caplog.text
    assert outcome(await bench.say("more")) == "success"


async def test_a_hook_that_hangs_is_cancelled_and_the_next_one_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_hooks, "_PATIENCE", 0.05)
    done: list[str] = []

    async def hanging(run: Run, reason: EndReason) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            done.append("cancelled")

    async def sound(run: Run, reason: EndReason) -> None:
        done.append(reason.name)

    bench = Bench(Scripted(["x"]), on_run_end=[hanging, sound])
    assert outcome(await bench.say("go")) == "success"
    await eventually(lambda: len(done) == 2)
    assert done == ["cancelled", "SUCCESS"]
    assert "hanging was cancelled after 0.05 s" in caplog.text


async def test_function_and_keyword_agents_report_reasons_and_iterations() -> None:
    seen: list[tuple[str, EndReason, int | None]] = []
    bridge = Bridge()

    async def limited(run: FunctionRun) -> AsyncIterator[str]:
        for number in range(1, 4):
            run.iteration = number
            yield f"step {number}. "
        run.end_reason = EndReason.MAX_ITERATIONS_REACHED

    bridge.agent("function")(limited)
    bridge.add("keyword", KeywordAdapter(limited))

    @bridge.on_run_end
    def hook(run: Run, reason: EndReason) -> None:
        seen.append((run.agent, reason, run.iteration))

    async with bridge.lifespan():
        for agent in ("function", "keyword"):
            await Conversation(bridge, agent).say("go")
        await eventually(lambda: len(seen) == 2)
    reason = EndReason.MAX_ITERATIONS_REACHED
    assert seen == [("function", reason, 3), ("keyword", reason, 3)]


def test_the_synchronous_calls_tell_the_hooks_too(tmp_path: Path) -> None:
    seen: list[EndReason] = []
    bridge = Bridge(f"sqlite:///{tmp_path / 'agents.db'}")

    @bridge.agent
    async def asks(run: FunctionRun) -> AsyncIterator[str]:
        if await run.confirm("Sure?"):
            yield "yes"

    @bridge.on_run_end
    async def hook(run: Run, reason: EndReason) -> None:
        seen.append(reason)

    async def begin() -> str:
        async with bridge.lifespan():
            talk = Conversation(bridge, "asks")
            await talk.say("go")
            (ask,) = talk.asks
            return str(ask["id"])

    ask = asyncio.run(begin())
    bridge.resume_sync("asks", "t", {ask: {"confirm": True}})
    assert seen == [EndReason.INTERRUPTED, EndReason.SUCCESS]
