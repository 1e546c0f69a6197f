"""Serves a bridge to a parent process: takes requests, streams runs, winds down at the end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Protocol

from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stdio.json_rpc import (
    FAILED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    WAITING,
    Query,
    Request,
    RpcError,
    agent_named,
    event_line,
    message_line,
    read_query,
    read_request,
    read_stop,
)
from agui_bridge.stdio.lines import Ending, LineReader, LineTooLong, LineWriter, Pipes, Running
from agui_bridge.surfaces.reading import as_text, say_call
from agui_bridge.surfaces.session_stop import stop_session

logger: Final = logging.getLogger("agui_bridge")

_METHODS: Final = ("agent.stream", "agent.query", "agent.stop")


class StdioBridge(Protocol):
    """The bridge, as this transport sees it."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        ...

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    async def open(self) -> Engine:
        """The engine, with its store open."""
        ...

    async def aclose(self) -> None:
        """Stop what still runs, flush it, and close the store."""
        ...


async def serve_stdio(bridge: StdioBridge, pipes: Pipes) -> None:
    """Serve until the end of the input, SIGTERM or SIGINT; a second signal stops by force.

    Args:
        bridge: the bridge; it is closed at the end.
        pipes: where requests come from and answers go to.

    Raises:
        StoreUnavailable: the store can't be reached.
        SchemaMismatch: the database is newer or older than this version.
    """
    try:
        engine = await bridge.open()
        await _Server(bridge, engine, pipes).run()
    finally:
        await bridge.aclose()


class _Server:
    def __init__(self, bridge: StdioBridge, engine: Engine, pipes: Pipes) -> None:
        settings = bridge.settings
        self._bridge = bridge
        self._engine = engine
        self._settings = settings
        self._reader = LineReader(pipes.stdin, settings.max_body_bytes)
        self._writer = LineWriter(pipes.stdout, settings.stall_timeout)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ids: set[str | int] = set()
        self._running: set[Running] = set()
        self._leaving: list[asyncio.Future[None]] = []
        self._end = Ending()

    # --- its life ---

    async def run(self) -> None:
        """Serve to the end."""
        await self._end.wait_for(self._read(), self._writer.gone.wait(), then=self._wind_down)

    async def _wind_down(self) -> None:
        """Stop what runs, and answer every request that was read."""
        self._end.begun.set()
        for running in tuple(self._running):
            self._leave(running)
        limit = self._settings.shutdown_grace + 2 * self._settings.cancel_grace
        while self._tasks:
            _, left = await asyncio.wait(tuple(self._tasks), timeout=limit)
            for task in left:
                task.cancel()
        for leaving in self._leaving:
            leaving.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _leave(self, running: Running) -> None:
        leaving = running.leave(self._settings.shutdown_grace, self._end.forced)
        self._leaving.append(asyncio.ensure_future(leaving))

    # --- requests ---

    async def _read(self) -> None:
        async for line in self._reader.lines():
            try:
                if isinstance(line, LineTooLong):
                    raise RpcError(INVALID_REQUEST, f"The request is too large: {line}.")
                self._begin(read_request(line, self._settings.max_values))
            except RpcError as error:
                # Nothing more is read before it is taken, so that a flood of nonsense waits.
                await self._writer.write(message_line(error))

    def _begin(self, request: Request) -> None:
        if request.id in self._ids:
            raise request.error(INVALID_REQUEST, "id: a request with this id is being answered.")
        if request.method not in _METHODS:
            raise request.error(
                METHOD_NOT_FOUND,
                f"Method not found: {request.method[:100]}",
                {"methods": list(_METHODS)},
            )
        self._ids.add(request.id)
        task = asyncio.ensure_future(self._answer(request, self._work(request)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _work(self, request: Request) -> Coroutine[Any, Any, Any]:
        if request.method == "agent.stop":
            return self._stop(request)
        return self._ask(request)

    async def _answer(self, request: Request, work: Coroutine[Any, Any, Any]) -> None:
        """Carry a request out; whatever happens, it gets one answer."""
        answer: RpcError | dict[str, Any]
        try:
            answer = {"jsonrpc": request.version, "id": request.id, "result": await work}
        except RpcError as error:
            answer = error
        except Refused as error:
            answer = request.refusal(error)
        except StoreUnavailable:
            answer = _failure(request, "STORE_UNAVAILABLE")
        except asyncio.CancelledError:
            answer = _failure(request, "SHUTTING_DOWN")
        except Exception:
            logger.exception("%s failed", request.method)
            answer = _failure(request, "INTERNAL_ERROR")
        self._ids.discard(request.id)
        await self._writer.write(message_line(answer))

    async def _stop(self, request: Request) -> Any:
        principal, stop = read_stop(request.params, self._settings.max_id_bytes)
        for running in tuple(self._running):
            # It was sent before the stop, and may not be begun yet: the stop must not miss it.
            if (running.key.scope, running.key.thread) == (principal.scope, stop.session_id):
                await running.begun.wait()
        answer = await stop_session(self._engine, self._bridge.agents, principal, stop)
        if answer["status"] == "error":
            raise request.error(FAILED, answer["error"], answer)
        return answer

    async def _ask(self, request: Request) -> Any:
        query = read_query(request.params, self._settings.input_limits, mint)
        agent = self._bridge.agents[agent_named(query.agent, self._bridge.agents)]
        words = say_call if query.tells_calls else None
        submission = Submission(agent, query.principal, query.parsed, words=words)
        running = Running(self._engine, submission)
        self._running.add(running)
        try:
            if self._end.begun.is_set():
                self._leave(running)
            if request.method == "agent.stream":
                await self._stream(request, running)
                _check_end(request, running.stream)
                return None
            return await self._query(request, query, running)
        finally:
            running.begun.set()
            running.pipe.detach()
            self._running.discard(running)

    async def _stream(self, request: Request, running: Running) -> None:
        decoder, line = Decoder(), event_line(request)
        while chunk := await running.pipe.read():
            running.begun.set()
            lines = b"".join([line(frame.data) for frame in decoder.feed(chunk)])
            await self._writer.write(lines)
            if self._writer.gone.is_set():
                running.pipe.detach()

    async def _query(self, request: Request, query: Query, running: Running) -> Any:
        decoder, text = Decoder(), _LastText()
        while chunk := await running.pipe.read():
            running.begun.set()
            for frame in decoder.feed(chunk):
                text.take(json.loads(frame.data))
        _check_end(request, running.stream)
        last = running.stream.terminal or {}
        if not query.simple:
            known = {name: last[name] for name in ("threadId", "runId", "outcome")}
            more = {name: last[name] for name in ("result", "usage") if name in last}
            return {**known, "text": text.value, **more}
        if last["outcome"]["type"] == "interrupt":
            raise request.error(
                WAITING,
                "The run waits for answers: send them as `resume`.",
                {"outcome": last["outcome"]},
            )
        return text.value or as_text(last.get("result", ""))


class _LastText:
    """What the agent said last, without what its sub-agents said to it."""

    def __init__(self) -> None:
        self.value = ""
        self._message: str | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        kind = event["type"]
        if kind == "TEXT_MESSAGE_START":
            if event.get("role", "assistant") == "assistant" and "subagentRunId" not in event:
                self._message, self.value = event["messageId"], ""
        elif kind == "TEXT_MESSAGE_CONTENT" and event["messageId"] == self._message:
            self.value += event["delta"]


def _check_end(request: Request, stream: EventStream) -> None:
    """Raise the error of a run that failed or was refused."""
    last = stream.terminal
    if last is None:
        raise _failure(request, "SHUTTING_DOWN")
    if last["type"] == "RUN_ERROR":
        raise request.error(FAILED, last["message"], {"code": last["code"]})


def _failure(request: Request, code: str) -> RpcError:
    entry = CODES[code]
    return request.error(FAILED, f"{entry.cause} {entry.remedy}", {"code": code})
