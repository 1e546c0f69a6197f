"""An MCP server as a process: started for one connection, read within a limit, ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import anyio
from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

GRACE: Final = 0.5
"""Seconds that a server has to end once its input is closed; then it is killed."""


@contextlib.asynccontextmanager
async def process_transport(
    server: StdioServerParameters, most: int, exceeded: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server, and end it with all that it has started.

    Args:
        server: the command. Of our environment it gets what the SDK thinks safe, and its own.
        most: bytes that it may write in all.
        exceeded: called once it writes more.

    Yields:
        The streams of messages from it and to it.

    Raises:
        OSError: it can't be started.
    """
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=get_default_environment() | (server.env or {}),
        cwd=server.cwd,
        limit=most,
        # A group of its own: what it starts is ended with it.
        start_new_session=sys.platform != "win32",
    )
    received, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    reading = asyncio.create_task(_read(process, received, most, exceeded))
    writing = asyncio.create_task(_write(process, to_send, received))
    try:
        yield inbox, outbox
    finally:
        for stream in (inbox, outbox):
            stream.close()
        for task in (reading, writing):
            task.cancel()
        await asyncio.wait([reading, writing])
        for end in (received, to_send):
            end.close()
        await _end(process)


async def _read(
    process: asyncio.subprocess.Process, received: Any, most: int, exceeded: Callable[[], None]
) -> None:
    assert process.stdout is not None
    left = most
    async with received:
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # longer than all that it may write
                exceeded()
                return
            left -= len(line)
            if left < 0:
                exceeded()
                return
            if not line:
                return
            message: SessionMessage | Exception
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                message = error
            try:
                await received.send(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return


async def _write(process: asyncio.subprocess.Process, to_send: Any, received: Any) -> None:
    assert process.stdin is not None
    try:
        async for sent in to_send:
            line = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
    except OSError:
        # Whoever waits for an answer is told that none will come.
        await received.aclose()


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
    finally:
        _kill(process)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            await process.wait()
    # What it has started and let go may hold its pipes open: nobody reads them any more. There is
    # no public way to close them.
    process._transport.close()  # type: ignore[attr-defined]


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
