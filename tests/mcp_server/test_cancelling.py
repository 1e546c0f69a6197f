"""A call that is given up stops its run, over each transport and in each version."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest
from mcp import Client

from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey, ThreadStatus
from agui_bridge.stores.open import open_store
from tests.mcp_server.agents import made
from tests.mcp_server.asking import Person, asking, environment, request
from tests.mcp_server.conftest import Asking, either
from tests.support.commands import Command
from tests.support.effects import Effects
from tests.support.server import serve
from tests.support.waiting import eventually, wait_until


async def thread_in(folder: Path, agent: str, thread: str) -> Loaded:
    """A thread as it is stored."""
    store = await open_store(f"sqlite:///{folder / 'agents.db'}")
    try:
        return await store.load(ThreadKey("default", agent, thread), messages=True)
    finally:
        await store.aclose()


async def status_of(client: Client, thread: str) -> str:
    """How a thread of the slow agent stands, as the tool tells it."""
    told = await client.call_tool("thread_status", {"agent": "slow", "thread": thread})
    return str(told.structured_content["status"])


@pytest.mark.soak
@either
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_cancelled_call_stops_its_run_and_keeps_what_was_said(
    ask: Asking, effects: Effects, mode: str
) -> None:
    async with ask(Person(), mode=mode) as client:
        arguments = {"message": "go", "thread": "t"}
        calling = asyncio.ensure_future(client.call_tool("slow", arguments))
        await eventually(lambda: effects.counted)
        assert await status_of(client, "t") == "working"
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

        async def stopped() -> bool:
            return await status_of(client, "t") == "stopped"

        await eventually(stopped)
        told = await client.call_tool("thread_status", {"agent": "slow", "thread": "t"})
        assert told.structured_content["text"].split()[0] == "0"


async def test_a_question_that_was_stopped_is_told_as_stopped(
    tmp_path: Path, effects: Effects
) -> None:
    bridge = made(f"sqlite:///{tmp_path / 'agents.db'}", effects)
    async with serve(bridge.app(anonymous=True)) as base, asking(f"{base}/mcp", Person()) as client:
        await request(client, "ops", message="users", thread="t")
        async with httpx.AsyncClient(base_url=base) as http:
            (await http.post("/agents/ops/threads/t/stop", json={})).raise_for_status()
        told = await client.call_tool("thread_status", {"agent": "ops", "thread": "t"})
    assert (told.structured_content["status"], effects.counted) == ("stopped", {})


async def test_a_call_that_is_given_up_while_it_waits_leaves_the_question(
    ask: Asking, effects: Effects
) -> None:
    async with ask(Person()) as client:
        await request(client, "ops", message="users", thread="t")
    async with ask() as client:
        told = await client.call_tool("thread_status", {"agent": "ops", "thread": "t"})
    assert (told.structured_content["status"], effects.counted) == ("waiting", {})


@pytest.mark.soak
@pytest.mark.parametrize("end", ["input", "SIGTERM"])
def test_the_end_of_the_client_stops_what_runs_and_loses_nothing(
    tmp_path: Path, effects: Effects, end: str
) -> None:
    arguments = ("mcp", "tests.mcp_server.agents:bridge")
    with (tmp_path / "log").open("wb") as log:
        child = Command(
            "agui_bridge",
            *arguments,
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.fileno(),
        )
    try:
        assert child.stdin is not None
        meta = (
            '{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
            '"io.modelcontextprotocol/clientCapabilities":{}}'
        )
        child.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":'
            b'{"message":"go","thread":"t"},"_meta":' + meta.encode() + b"}}\n"
        )
        child.stdin.flush()
        wait_until(lambda: effects.counted)
        if end == "input":
            child.stdin.close()
        else:
            os.kill(child.pid, signal.SIGTERM)
        assert child.wait(30) == 0, (tmp_path / "log").read_text()
    finally:
        child.close()
    loaded = asyncio.run(thread_in(tmp_path, "slow", "t"))
    assert loaded.status is ThreadStatus.IDLE
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "stopped"
    assert str(loaded.messages[-1].message["content"]).startswith("0 ")
