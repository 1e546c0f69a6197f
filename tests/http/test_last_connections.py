"""Who has connected before a server's end gets an answer, whenever its request comes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import uvicorn

from agui_bridge import Bridge
from agui_bridge.http import server as serving
from agui_bridge.http.server import LastRequests, begin_no_more, listen, take_connections
from tests.support.waiting import PATIENCE

REQUEST = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
HALF = len(REQUEST) // 2
Address = tuple[str, int]


@dataclass
class Ending:
    """A server, and the socket that it listens on."""

    server: serving._Server
    listening: socket.socket

    @property
    def address(self) -> Address:
        """Where it is reached."""
        found: Address = self.listening.getsockname()
        return found

    async def serve(self) -> None:
        """Take connections."""
        await self.server.startup([self.listening])

    async def end(self) -> asyncio.Task[None]:
        """Begin to end; gives the end, once only connections are waited for."""
        ending = asyncio.create_task(self.server.shutdown([self.listening]))
        async with asyncio.timeout(PATIENCE):
            while self.listening.fileno() != -1:
                await asyncio.sleep(0.01)
        # What closes idle connections at once has done so in this time.
        await asyncio.wait([ending], timeout=0.5)
        return ending


@pytest.fixture
async def ending() -> AsyncIterator[Ending]:
    """A server of a bridge, not yet begun."""
    bridge = Bridge("memory:")
    config = uvicorn.Config(
        bridge.app(anonymous=True), lifespan="off", http=LastRequests, log_config=None
    )
    config.load()
    server = serving._Server(config, bridge, None)
    server.lifespan = config.lifespan_class(config)
    server.servers = []
    [listening] = listen("127.0.0.1", 0)
    yield Ending(server, listening)
    listening.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle connections are kept for as long as a test takes."""
    monkeypatch.setattr(LastRequests, "last_request_seconds", PATIENCE)


@contextlib.asynccontextmanager
async def connected(
    address: Address,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client's connection."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, str]:
    """Read one: its body, and what becomes of the connection."""
    async with asyncio.timeout(PATIENCE):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 "), head
        headers = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
    return body, headers.get("connection", "keep-alive")


async def test_a_connection_that_only_the_system_has_accepted_is_answered(ending: Ending) -> None:
    address = ending.address
    async with connected(address) as (reader, writer):
        writer.write(REQUEST)
        await ending.server.shutdown([ending.listening])
        _, then = await answer(reader)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    assert then == "close"


@pytest.mark.usefixtures("patient")
async def test_a_request_that_comes_long_after_its_connection_is_answered(ending: Ending) -> None:
    await ending.serve()
    async with connected(ending.address) as (reader, writer):
        over = await ending.end()
        writer.write(REQUEST)
        _, then = await answer(reader)
        assert then == "close"
        assert await reader.read() == b""
        await over


@pytest.mark.usefixtures("patient")
async def test_an_idle_connection_has_one_more_request_when_its_server_ends(ending: Ending) -> None:
    await ending.serve()
    async with connected(ending.address) as (reader, writer):
        writer.write(REQUEST)
        assert (await answer(reader))[1] == "keep-alive"
        over = await ending.end()
        writer.write(REQUEST)
        assert (await answer(reader))[1] == "close"
        assert await reader.read() == b""
        await over


async def test_a_head_that_has_begun_to_come_is_waited_for(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LastRequests, "last_request_seconds", 0.01)
    await ending.serve()
    async with connected(ending.address) as (reader, writer):
        writer.write(REQUEST)
        await answer(reader)
        writer.write(REQUEST[:HALF])
        over = await ending.end()
        writer.write(REQUEST[HALF:])
        assert (await answer(reader))[1] == "close"
        await over


async def test_idle_connections_do_not_hold_the_end_up_for_long(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LastRequests, "last_request_seconds", 0.01)
    await ending.serve()
    async with connected(ending.address) as (new, _), connected(ending.address) as (used, writer):
        writer.write(REQUEST)
        await answer(used)
        async with asyncio.timeout(PATIENCE):
            await (await ending.end())
        # Closed in order, not reset.
        assert await new.read() == await used.read() == b""


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux can a socket hold SYNs back")
async def test_who_connects_at_the_very_end_is_refused_and_not_reset(ending: Ending) -> None:
    with socket.create_connection(ending.address):
        begin_no_more(ending.listening)
        late = asyncio.ensure_future(asyncio.open_connection(*ending.address))
        await asyncio.wait([late], timeout=0.1)
        assert not late.done(), "it is connected, and would be reset"
        taken = take_connections(ending.listening)
        assert len(taken) == 1, "who was connected before"
        ending.listening.close()
        with pytest.raises(ConnectionRefusedError):
            async with asyncio.timeout(PATIENCE):
                await late
        for connection in taken:
            connection.close()
