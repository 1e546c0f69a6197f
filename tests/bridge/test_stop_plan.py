"""Stops on a SQLite file, checked past the bridge: phases, races, timeouts, restarts, `kill -9`."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge, EndReason, FunctionRun, Principal, Settings, StopResult
from agui_bridge.adapters import Run
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input
from tests.support.agents import Reader, eventually, outcome, settle

Row = tuple[str, str]


def rows(folder: Path) -> list[Row]:
    """Role and content of what the file holds, by a connection of our own."""
    with sqlite3.connect(folder / "agents.db") as connection:
        found = connection.execute("SELECT data FROM agui_messages ORDER BY position").fetchall()
    messages = [json.loads(data) for (data,) in found]
    return [(m["role"], str(m.get("content") or "")) for m in messages]


def status(folder: Path) -> str:
    """What the file says that the thread is doing."""
    with sqlite3.connect(folder / "agents.db") as connection:
        (found,) = connection.execute("SELECT status FROM agui_threads").fetchone()
    return str(found)


class Model:
    """A model that waits where a test wants it to.

    Attributes:
        at: set when it is at the phase.
        go: lets it go on.
        seen: the conversation that each run began with.
    """

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.at, self.go = asyncio.Event(), asyncio.Event()
        self.seen: list[list[str]] = []

    async def _come_to(self, phase: str) -> None:
        if phase == self.phase:
            self.at.set()
            await self.go.wait()

    async def _words(self) -> AsyncIterator[str]:
        await self._come_to("silent")
        yield "I look "
        await self._come_to("speaking")
        yield "it up. "

    async def _look(self) -> str:
        await self._come_to("tool")
        return "found"

    async def __call__(self, run: FunctionRun) -> AsyncIterator[str]:
        self.seen.append([str(message.content) for message in run.messages])
        if len(self.seen) > 1:
            yield "going on"
            return
        run.iteration = 1
        await run.stream("words", self._words)
        await run.call("look", {}, self._look)
        await self._come_to("between")
        run.iteration = 2
        yield "Done."


KEPT: dict[str, list[Row]] = {
    "silent": [],
    "speaking": [("assistant", "I look ")],
    "tool": [("assistant", "I look it up. "), ("tool", "found")],
    "between": [("assistant", "I look it up. "), ("tool", "found")],
}


class Opened:
    """A bridge on the file, with a model behind it.

    Attributes:
        reasons: what its hook was told.
    """

    def __init__(self, folder: Path, model: Model, **settings: Any) -> None:
        url = f"sqlite:///{folder / 'agents.db'}"
        quick = {"shutdown_grace": 0.1, "cancel_grace": 1.0, **settings}
        self.bridge = Bridge(url, settings=Settings(**quick))
        self.bridge.agent("a")(as_function(model))
        self.reasons: list[EndReason] = []
        self.bridge.on_run_end(self._told)

    def _told(self, run: Run, reason: EndReason) -> None:
        self.reasons.append(reason)

    async def begin(self, text: str) -> Reader:
        engine = await self.bridge.open()
        message = {"id": text, "role": "user", "content": text}
        body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [message]}
        call = Submission(self.bridge.agents["a"], Principal(), parse_input(body), "continue")
        return Reader(*engine.submit(call))

    async def stop(self, **options: Any) -> StopResult:
        return await self.bridge.stop("a", "t", **options)


def as_function(model: Model) -> Any:
    """The model as a function, which an agent is."""

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        async for word in model(run):
            yield word

    return agent


# --- units: each phase, the reason, cancellation ---


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize("phase", KEPT)
async def test_a_stop_in_a_phase_writes_all_of_it_and_tells_the_reason(
    tmp_path: Path, phase: str, force: bool
) -> None:
    model = Model(phase)
    opened = Opened(tmp_path, model)
    async with opened.bridge.lifespan():
        reader = await opened.begin("go")
        await asyncio.wait_for(model.at.wait(), 10)
        stopping = asyncio.create_task(opened.stop(force=force))
        if phase == "tool" and not force:
            [execution] = (await opened.bridge.open()).running.values()
            await eventually(lambda: execution.run.stop.requested)
            assert not stopping.done()
            model.go.set()
        stopped = await stopping
        assert outcome(await reader.rest()) == "cancelled"
        await eventually(lambda: opened.reasons == [EndReason.USER_INTERRUPTED])
    kept = KEPT[phase]
    if phase == "tool" and force:
        cut = "The run was stopped; whether this tool call was executed is unknown."
        kept = [kept[0], ("tool", cut)]
    assert rows(tmp_path) == [("user", "go"), *kept]
    assert (stopped.status, stopped.stop_reason) == ("success", "USER_INTERRUPTED")
    assert (stopped.message_count, stopped.interrupted_at_iteration) == (len(kept) + 1, 1)
    assert status(tmp_path) == "idle"


@pytest.mark.parametrize("phase", KEPT)
async def test_a_cancelled_run_is_written_too(tmp_path: Path, phase: str) -> None:
    model = Model(phase)
    opened = Opened(tmp_path, model)
    async with opened.bridge.lifespan():
        reader = await opened.begin("go")
        await asyncio.wait_for(model.at.wait(), 10)
        await settle()
        for task in set((await opened.bridge.open())._tasks):
            task.cancel()
        await reader.rest()
    said = [row for row in KEPT[phase] if row != ("tool", "found") or phase == "between"]
    assert rows(tmp_path)[: len(said) + 1] == [("user", "go"), *said]
    assert status(tmp_path) == "idle"


# --- integration: stop, look, go on ---


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "after a restart"])
@pytest.mark.parametrize("phase", KEPT)
async def test_the_next_run_has_the_history_of_a_stopped_one(
    tmp_path: Path, phase: str, restarted: bool
) -> None:
    model = Model(phase)
    opened = Opened(tmp_path, model)
    async with opened.bridge.lifespan():
        reader = await opened.begin("go")
        await asyncio.wait_for(model.at.wait(), 10)
        await settle()
        await opened.stop(force=True)
        await reader.rest()
        before = rows(tmp_path)
        if not restarted:
            assert outcome(await (await opened.begin("use quicksort")).rest()) == "success"
    if restarted:
        following = Opened(tmp_path, model)
        async with following.bridge.lifespan():
            assert outcome(await (await following.begin("use quicksort")).rest()) == "success"
    assert model.seen[1] == [
        content if content or role != "assistant" else "None" for role, content in before
    ] + ["use quicksort"]
    assert rows(tmp_path) == [*before, ("user", "use quicksort"), ("assistant", "going on")]


# --- concurrency ---


async def test_runs_and_stops_at_once_agree_with_the_file(tmp_path: Path) -> None:
    for passes in range(0, 60, 4):
        folder = tmp_path / str(passes)
        folder.mkdir()
        model = Model("none")
        opened = Opened(folder, model)
        async with opened.bridge.lifespan():
            reader = await opened.begin("go")
            await settle(passes)
            stopped = await opened.stop()
            told = outcome(await reader.rest())
        assert status(folder) == "idle"
        if stopped.status == "success":
            assert told == "cancelled"
            assert [(m["role"], m.get("content") or "") for m in stopped.messages] == rows(folder)
        else:
            # Before there was a thread, or after the run's end.
            assert told == "success"
            assert rows(folder)[-1] == ("assistant", "Done.")


# --- timeouts ---


async def test_a_tool_that_outlasts_the_timeout_is_cut_off_and_the_rest_is_written(
    tmp_path: Path,
) -> None:
    model = Model("tool")
    opened = Opened(tmp_path, model)
    async with opened.bridge.lifespan():
        reader = await opened.begin("go")
        await asyncio.wait_for(model.at.wait(), 10)
        began = time.monotonic()
        stopped = await opened.stop(timeout=0.2)
        assert 0.2 <= time.monotonic() - began < 10
        assert outcome(await reader.rest()) == "cancelled"
    assert stopped.status == "success"
    assert [role for role, _ in rows(tmp_path)] == ["user", "assistant", "tool"]


# --- other processes ---


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The example's agent in a process of its own; gives the URL of the agent."""
    command = [sys.executable, "-m", "agui_bridge", "serve"]
    command += ["examples.stop_and_continue.agent:bridge", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--store", f"sqlite:///{tmp_path / 'agents.db'}", "--log-level", "warning"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        yield line.split()[-1] + "/agents/coder"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()


def test_the_synchronous_stop_reaches_a_run_of_another_process(tmp_path: Path, server: str) -> None:
    from examples.stop_and_continue.agent import coder

    bridge = Bridge(f"sqlite:///{tmp_path / 'agents.db'}")
    bridge.agent("coder")(coder)
    message = {"id": "m", "role": "user", "content": "write"}
    body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [message]}
    seen: list[str] = []
    stopped: StopResult | None = None
    with httpx.stream("POST", server, json=body, timeout=30) as response:
        for line in response.iter_lines():
            seen.append(line)
            if stopped is None and "TOOL_CALL_RESULT" in line:
                stopped = bridge.stop_sync("coder", "t")
    assert stopped is not None
    assert stopped.status == "success"
    assert '"cancelled"' in "".join(seen)
    assert [(m["role"], m.get("content") or "") for m in stopped.messages] == rows(tmp_path)


def test_after_kill_9_what_was_finished_before_is_in_the_file(tmp_path: Path, server: str) -> None:
    message = {"id": "m", "role": "user", "content": "write"}
    body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [message]}
    finished: list[str] = []
    with httpx.stream("POST", server, json=body, timeout=30) as response:
        for line in response.iter_lines():
            if "TOOL_CALL_RESULT" in line:
                finished.append(json.loads(line.removeprefix("data: "))["content"])
            if len(finished) == 3:
                break
    # The flush interval and one more; the third may be too fresh.
    assert [c for r, c in rows(tmp_path) if r == "tool"][:2] == finished[:2]
    assert rows(tmp_path)[0] == ("user", "write")
