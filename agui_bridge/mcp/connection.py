"""One connection to one MCP server: opened for what is to be done, bounded, and closed again.

Nothing is kept between two of them: a run may go on in another process, and what a server knows of
one person's call is none of another's.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolResult,
    InputRequiredResult,
    InputResponses,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agui_bridge.agents.replay.journal import ToolNotReached, ToolOutcomeUnknown
from agui_bridge.errors import AgentMistake
from agui_bridge.mcp.apps import EXTENSION, MIME
from agui_bridge.mcp.stdio import process_transport

# --- HTTP to a server, of which no more is read than a limit ---


class TooMuch(Exception):
    """A server has sent more than it may."""


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, count: Callable[[int], None]) -> None:
        self._inner = inner
        self._count = count

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._count(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Counts what comes over all requests together, as it is on the wire.

    Args:
        most: bytes.
        exceeded: called once there is more.
    """

    def __init__(self, most: int, exceeded: Callable[[], None]) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._left = most
        self._exceeded = exceeded

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; what comes back is counted as it is read."""
        # What is packed small may unpack without end.
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            self._exceeded()
            raise TooMuch("the server compresses what it was asked to send as it is")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._count)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            self._exceeded()
            raise TooMuch("the server sent too much")


def http_client(
    headers: Mapping[str, str], timeout: float, transport: BoundedTransport
) -> httpx2.AsyncClient:
    """Make the client for one connection.

    Redirects are not followed: headers with credentials go where the author said, and nowhere else.

    Args:
        headers: sent with each request.
        timeout: seconds that the server may be silent.
        transport: what it sends with.
    """
    return httpx2.AsyncClient(
        headers=dict(headers), timeout=timeout, transport=transport, trust_env=False
    )


# --- the connection ---

MOST_TOOLS: Final = 1_000
_MOST_PAGES: Final = 50


class MCPFault(AgentMistake):
    """An MCP server can't be used as it is: it lists tools without end, or not the one wanted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may take.

    Attributes:
        timeout: seconds of silence: each progress that the server tells begins them anew.
        longest: seconds in all.
        most: bytes that the server may send in all.
    """

    timeout: float
    longest: float
    most: int


@dataclass(frozen=True, slots=True)
class Server:
    """One server, as the agent's author gave it.

    Attributes:
        name: the author's.
        target: its address, or the command that starts it.
        headers: for an address, sent with each request.
        trusted: whether what it says of its tools counts.
        repeatable: tools that may be called twice, as the author knows.
    """

    name: str
    target: str | StdioServerParameters
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trusted: bool = False
    repeatable: frozenset[str] = frozenset()


class Connection:
    """What can be done over one connection.

    Args:
        server: the server.
        client: of the SDK, connected.
        alarm: its deadline.
        limits: for it.
    """

    def __init__(
        self, server: Server, client: Client, alarm: asyncio.Timeout, limits: Limits
    ) -> None:
        self._server = server
        self._client = client
        self._alarm = alarm
        self._limits = limits
        self._ends = asyncio.get_running_loop().time() + limits.longest
        self.sent: bool = False

    @property
    def version(self) -> str:
        """The protocol's revision that both speak."""
        return self._client.protocol_version

    @property
    def modern(self) -> bool:
        """Whether its calls can ask and be called again (2026-07-28 and later)."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    async def tools(self) -> list[Tool]:
        """Its tools, of all pages."""
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return found
            if len(found) > MOST_TOOLS:
                break
        raise MCPFault(f"The MCP server {self._server.name!r} lists tools without end.")

    async def read(self, uri: str) -> dict[str, Any]:
        """Read a resource, as the server sends it.

        Args:
            uri: its address.
        """
        found = await self._client.read_resource(uri)
        return {
            "contents": [
                one.model_dump(mode="json", by_alias=True, exclude_none=True)
                for one in found.contents
            ]
        }

    async def call(
        self,
        name: str,
        args: Mapping[str, Any],
        told_of: Any,
        responses: InputResponses | None = None,
        state: str | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool, once.

        Args:
            name: the tool's own.
            args: its arguments.
            told_of: async, told what the server tells of its work: `(done, total, message)`.
            responses: to what the server asked before.
            state: what it gave then.
        """

        async def told(progress: float, total: float | None, message: str | None) -> None:
            loop = asyncio.get_running_loop()
            _set(self._alarm, min(loop.time() + self._limits.timeout, self._ends))
            await told_of(progress, total, message)

        self.sent = True
        try:
            return await self._client.session.call_tool(
                name,
                dict(args),
                progress_callback=told,
                allow_input_required=True,
                input_responses=responses,
                request_state=state,
            )
        except MCPError as error:
            if error.code in _BROKEN:
                raise _broken(self._server, self, False, error) from error
            raise
        except RuntimeError as error:
            # Of the SDK, once the result is there: it does not fit the schema that is listed.
            raise ToolOutcomeUnknown(
                f"The MCP server {self._server.name!r} carried {name!r} out, and its result is not "
                f"what it says it would be: {str(error)[:300]}"
            ) from error


@contextlib.asynccontextmanager
async def connected(
    server: Server, limits: Limits, elicited: Any = None
) -> AsyncIterator[Connection]:
    """Connect to a server, and let nothing go on when it is done.

    Args:
        server: which.
        limits: what it may take.
        elicited: answers what an older server asks within a call; a newer one is told by it that
            it may ask.

    Raises:
        ToolNotReached: nothing was done: it can't be started or reached, or speaks no MCP.
        ToolOutcomeUnknown: it broke off, took too long or sent too much after a call was sent.
        MCPError: it refused what it was sent.
    """
    over = False
    made: Connection | None = None

    alarm = asyncio.timeout(limits.timeout)

    def exceeded() -> None:
        nonlocal over
        over = True
        _set(alarm, 0)  # now: nobody has to wait for an answer that is not read

    try:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(alarm)
            client = Client(
                _transport(server, limits, exceeded, stack),
                mode="auto",
                elicitation_callback=elicited,
                extensions=[advertise(EXTENSION, {"mimeTypes": [MIME]})],
                cache=None,
            )
            await stack.enter_async_context(client)
            made = Connection(server, client, alarm, limits)
            yield made
    except AgentMistake:
        raise
    except MCPError as error:
        if made is not None and not over and error.code not in _BROKEN:
            raise
        raise _broken(server, made, over, error) from error
    except _FAILURES as error:
        raise _broken(server, made, over, error) from error
    except BaseExceptionGroup as group:
        cause = _first(group)
        if cause is None:
            raise
        if isinstance(cause, AgentMistake):
            raise cause from group
        raise _broken(server, made, over, cause) from group


def _set(alarm: asyncio.Timeout, at: float) -> None:
    """Have it ring then; one that rings already can't be set any more."""
    with contextlib.suppress(RuntimeError):
        alarm.reschedule(at)


_BROKEN: Final = (CONNECTION_CLOSED, REQUEST_TIMEOUT)
"""Codes that the SDK gives what a server never said."""

_FAILURES: Final = (
    OSError,
    TimeoutError,
    TooMuch,
    httpx2.HTTPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
)


def _transport(server: Server, limits: Limits, exceeded: Any, stack: Any) -> Any:
    if isinstance(server.target, StdioServerParameters):
        return process_transport(server.target, limits.most, exceeded)
    http = http_client(server.headers, limits.longest, BoundedTransport(limits.most, exceeded))
    stack.push_async_callback(http.aclose)
    return streamable_http_client(server.target, http_client=http)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """The failure that a group of them comes down to; None where there is another kind in it."""
    ours, others = group.split((AgentMistake, MCPError, *_FAILURES))
    if ours is None or others is not None:
        return None
    found: BaseException = ours
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _broken(
    server: Server, made: Connection | None, over: bool, error: BaseException
) -> AgentMistake:
    sent = made is not None and made.sent
    if over:
        what = "sent more than it may"
    elif isinstance(error, TimeoutError):
        what = "took too long"
    elif made is None:
        what = "could not be reached, or speaks no MCP"
    else:
        what = "broke off"
    ends = "nobody knows what the call did" if sent else "nothing was executed"
    kind = ToolOutcomeUnknown if sent else ToolNotReached
    return kind(f"The MCP server {server.name!r} {what} ({type(error).__name__}): {ends}.")
