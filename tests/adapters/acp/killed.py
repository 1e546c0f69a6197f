"""A process of the bridge that is killed around an answer."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path

from agui_bridge import Bridge, Settings
from tests.adapters.acp.bench import Bench
from tests.docs.pages import Conversation

LEASE = 3.0


def bridge_of(bench: Bench) -> Bridge:
    """A bridge whose store others share, whose lost runs are soon known as such.

    Its agent does not end with its input, as some do not while they are at work.
    """
    store = f"sqlite:///{bench.folder / 'threads.db'}"
    bridge = Bridge(store, settings=Settings(lease_seconds=LEASE), telemetry=False)
    bridge.add("coder", bench.adapter(env={"LINGERS": "1"}))
    return bridge


def have_asked(line: Connection, folder: str) -> None:
    """Have the agent ask, tell what it asks, and answer yes when told to."""
    os.chdir(folder)
    asyncio.run(_have_asked(line, Bench(Path(folder))))


async def _have_asked(line: Connection, bench: Bench) -> None:
    talk = Conversation(bridge_of(bench), "coder")
    await talk.say("deploy")
    line.send(talk.events)
    await asyncio.to_thread(line.recv)
    await talk.answer({"approved": True})
    await asyncio.to_thread(line.recv)
