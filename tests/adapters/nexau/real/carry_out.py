"""Carries out a case: on a real NexAU, or on a recording of one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import uuid
from collections.abc import AsyncIterator
from typing import Any, Final

import uvicorn

from agui_bridge.stores.memory import MemoryStore
from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.real.model import Model
from tests.adapters.nexau.real.phases import Case, Phase
from tests.adapters.nexau.real.recorder import Recorder
from tests.adapters.nexau.real.replay import Replay
from tests.support.agents import Bench
from tests.support.server import serve
from tests.support.waiting import PATIENCE

__all__ = ["HERE", "on_nexau", "on_recording", "scripted_model"]

URL: Final = os.environ.get("NEXAU_URL", "")
MODEL_PORT: Final = int(os.environ.get("NEXAU_MODEL_PORT", "0"))
HERE: Final = bool(URL and MODEL_PORT)
"""Whether there is a NexAU whose agent `serve.py` serves, with its model at MODEL_PORT."""


@contextlib.asynccontextmanager
async def scripted_model() -> AsyncIterator[Model]:
    """The model, where NexAU looks for it."""
    model = Model()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", MODEL_PORT))
        config = uvicorn.Config(model.app, lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listener])
        try:
            yield model
        finally:
            for script in model.scripts.values():
                script.gate.set()
                script.stopped.set()
            server.should_exit = True
            await server.shutdown(sockets=[listener])


async def on_nexau(
    model: Model, phase: Phase, *, force: bool, other: bool
) -> tuple[list[str], list[dict[str, Any]], str]:
    """Carry a case out on a real NexAU.

    Returns:
        what is wrong, what went over the wire, and the job's name.
    """
    job = f"case-{uuid.uuid4().hex[:8]}"
    script = model.scripts[f"{job} first"] = phase.script(job)

    def on_stop(session: str) -> None:
        if session.startswith(job):
            script.stopped.set()

    recorder = Recorder(URL, on_stop)

    async def come() -> None:
        if phase.name == "before_it_has_begun":
            await recorder.sent.wait()
        if phase.held:
            await script.held.wait()

    try:
        async with serve(recorder.app, lifespan="off") as base, _two(base, other, 0.5) as benches:
            case = Case(model, *benches, job)
            await case.stopped_at(phase, come, script.gate.set, force=force)
            faults = await case.goes_on()
            lines = [*recorder.lines]
    finally:
        script.gate.set()
        script.stopped.set()
        await recorder.aclose()
    for text in (f"{job} next", f"{job} last"):
        lines.append({"told": text, "messages": model.told[text][-1]})
    lines.append({"work": job, "begun": model.begun[job], "done": model.done[job]})
    return faults, lines, job


async def on_recording(replay: Replay, phase: Phase, *, force: bool, other: bool) -> list[str]:
    """Carry a case out on a recording; gives what is wrong."""

    async def come() -> None:
        if phase.held or phase.name == "before_it_has_begun":
            await replay.at_stop.wait()

    # However slow this machine is, what NexAU said in time is heard in time.
    patience = PATIENCE if replay.ended else 0.1
    async with serve(replay.app, lifespan="off") as base, _two(base, other, patience) as benches:
        case = Case(replay, *benches, replay.job)
        await case.stopped_at(phase, come, lambda: None, force=force)
        faults = await case.goes_on()
    unlike = [f"sent {now}, recorded {then}" for now, then in replay.sent if now != then]
    return [*faults, *unlike]


@contextlib.asynccontextmanager
async def _two(base: str, other: bool, settle: float) -> AsyncIterator[tuple[Bench, Bench]]:
    """Two processes on one store, or one twice."""
    store = MemoryStore()
    async with contextlib.AsyncExitStack() as stack:
        benches = []
        for _ in range(2 if other else 1):
            adapter = NexauAdapter(base, settle_timeout=settle, drain_timeout=2 * settle)
            stack.push_async_callback(adapter.aclose)
            bench = Bench(adapter, store=store, cancel_grace=PATIENCE)
            benches.append(await stack.enter_async_context(bench.open()))
        async with asyncio.timeout(6 * PATIENCE):
            yield benches[0], benches[-1]
