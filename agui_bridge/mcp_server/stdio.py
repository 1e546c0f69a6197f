"""The bridge as an MCP server of the process that started this one: JSON-RPC in lines.

Whoever starts the process is trusted: there are no credentials. The end of the input, SIGTERM and
SIGINT stop what runs; everything is stored before the process ends.

Source: Model Context Protocol 2026-07-28 and earlier, "stdio".
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from agui_bridge.mcp_server.server import server_of
from agui_bridge.mcp_server.service import McpService
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.stdio.lines import LineReader, LineTooLong, LineWriter, Pipes, ending_signals


class McpBridge(McpService, Protocol):
    """The bridge, as this transport sees it."""

    async def aclose(self) -> None:
        """Stop what still runs, flush it, and close the store."""
        ...


async def serve_mcp(bridge: McpBridge, pipes: Pipes, version: str) -> None:
    """Serve until the end of the input, SIGTERM or SIGINT.

    Args:
        bridge: the bridge; it is closed at the end.
        pipes: where requests come from and answers go to.
        version: of this package, as clients see it.

    Raises:
        StoreUnavailable: the store can't be reached.
        SchemaMismatch: the database is newer or older than this version.
    """
    try:
        await bridge.open()
        await _serve(bridge, pipes, version)
    finally:
        await bridge.aclose()


async def _serve(bridge: McpBridge, pipes: Pipes, version: str) -> None:
    caller = Principal(), bridge.inbox.url
    server = server_of(bridge, lambda _: caller, version)
    reader = LineReader(pipes.stdin, bridge.settings.max_body_bytes)
    writer = LineWriter(pipes.stdout, bridge.settings.stall_timeout)
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    written, outof = anyio.create_memory_object_stream[SessionMessage](0)
    options = server.create_initialization_options()
    work = [
        asyncio.ensure_future(server.run(read, written, options)),
        asyncio.ensure_future(writer.gone.wait()),
        asyncio.ensure_future(_read(reader, into)),
        asyncio.ensure_future(_write(writer, outof)),
    ]
    with ending_signals(work[0].cancel):
        try:
            await asyncio.wait(work[:2], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            ended = await asyncio.gather(*work, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


async def _read(
    reader: LineReader, into: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    async with into:
        async for line in reader.lines():
            if isinstance(line, LineTooLong):
                await into.send(line)
                continue
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as error:
                await into.send(error)
                continue
            await into.send(SessionMessage(message))


async def _write(writer: LineWriter, outof: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with outof:
        async for message in outof:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await writer.write(text.encode() + b"\n")
