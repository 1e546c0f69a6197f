"""The adapter of a remote NexAU server: HTTP, server-sent events, one run for each session.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx
from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import AdapterCapabilities, Pause, Run, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge_nexau.exchange import Exchange, Session
from agui_bridge_nexau.http_client import HttpClient
from agui_bridge_nexau.pauses import ASK_USER, ask_of, labels_of
from agui_bridge_nexau.reader import Reader
from agui_bridge_nexau.requests import Request

__all__ = ["NexauAdapter"]

_BUSY: Final = "is already locked"
_PERMISSION: Final = "pending permission request"
_PENDING: Final = "This tool call waits for a permission in NexAU; it was not executed."
_REMEMBERED: Final = 10_000
_PAUSE: Final = 0.25

_NEEDS_PERMISSION: Final = (
    "NexAU waits for a permission that none of its transports can give{what}. Decide it in the "
    "process that runs NexAU, or allow the tool there; until then it takes no message of this "
    "conversation."
)


@dataclass
class _Gate:
    """Lets one run of a session through at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class NexauAdapter:
    """Runs the agent of a NexAU server.

    NexAU keeps the conversation itself, under a user id and a session id; only new messages are
    sent. The scope is the user and the thread the session, so that agents of one scope need a
    server each, or a prefix.

    Args:
        url: of the server, such as `http://127.0.0.1:8000`.
        headers: to send with every request, for instance to a gateway before it.
        session_prefix: put before the thread's id.
        stop_timeout: seconds after which NexAU cancels a model that stays silent (it takes 5
            more); less than the agent's own stop_timeout.
        busy_patience: seconds for which a session is tried again that another run has locked.
        drain_timeout: seconds for which a stream is read on after its run was cancelled.
        client: to use instead of an own one; it is not closed.

    Raises:
        ConfigurationError: the URL is none.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        approve=False, decline=False, edit=False, answer=True, cancel=True, stop=True,
        own_history=True,
    )  # fmt: skip

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        session_prefix: str = "",
        stop_timeout: float = 20.0,
        busy_patience: float = 10.0,
        drain_timeout: float = 30.0,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """Remember where the server is; nothing is sent yet."""
        self._server = HttpClient(url, headers=headers or {}, client=client)
        self._prefix = session_prefix
        self._stop_timeout = stop_timeout
        self._busy_patience = busy_patience
        self._drain_timeout = drain_timeout
        self._gates: dict[Session, _Gate] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        # Messages that never reached the server; best effort, as it lives no longer than this.
        self._undelivered: OrderedDict[Session, frozenset[str]] = OrderedDict()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: nothing reached the server.
            UpstreamError: it failed, refused, or waits for a permission.
        """
        session = Session(run.principal.scope, self._prefix + run.thread_id)
        request = Request.of(run, self._undelivered.get(session, frozenset()))
        self._remember(session, request.ids)
        if run.stop.requested:
            return
        async with contextlib.AsyncExitStack() as held:
            await self._hold(session, held)
            reader = Reader(run.mint)
            until = asyncio.get_running_loop().time() + self._busy_patience
            while True:
                # The session may have kept it waiting for long.
                run.check_lease()
                exchange = self._begin(session, request, run)
                try:
                    async with contextlib.aclosing(self._read(exchange, reader, run)) as items:
                        async for item in items:
                            yield item
                finally:
                    if not exchange.ended:
                        # The session goes with it: the next run begins only after the end.
                        self._leave(exchange, held.pop_all())
                if not _is_busy(reader) or run.stop.requested:
                    break
                if asyncio.get_running_loop().time() >= until:
                    raise NotDelivered("The NexAU session is busy with another run.")
                reader = Reader(run.mint)
                await asyncio.sleep(_PAUSE)
        for last in self._end(reader, run):
            yield last

    async def aclose(self) -> None:
        """Wait for streams that are still read, and close the connections."""
        if self._leaving:
            await asyncio.wait(set(self._leaving), timeout=self._drain_timeout)
        await self._server.aclose()

    # --- one exchange ---

    def _begin(self, session: Session, request: Request, run: Run) -> Exchange:
        return Exchange(
            self._server,
            session,
            session.body(**request.body),
            run.trace_headers,
            on_started=lambda: self._remember(session, frozenset()),
        )

    async def _read(
        self, exchange: Exchange, reader: Reader, run: Run
    ) -> AsyncGenerator[RunItem, None]:
        stopping = asyncio.create_task(self._stop_with(run, exchange))
        try:
            async with contextlib.aclosing(exchange.events()) as events:
                async for event in events:
                    items = reader.take(event)
                    run.iteration = reader.iterations or None
                    for item in items:
                        yield item
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
        if not run.stop.requested:
            for item in reader.close():
                yield item

    async def _stop_with(self, run: Run, exchange: Exchange) -> None:
        await run.stop
        await exchange.stop(force=run.stop.force, timeout=self._stop_timeout)

    def _leave(self, exchange: Exchange, held: contextlib.AsyncExitStack) -> None:
        async def leave() -> None:
            async with held:
                await exchange.leave(self._drain_timeout)

        task = asyncio.create_task(leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    # --- how it ends ---

    def _end(self, reader: Reader, run: Run) -> Iterator[RunItem]:
        """What follows the stream.

        Raises:
            UpstreamError: NexAU failed, or waits for a permission.
        """
        run.usage.extend(reader.usage_entries())
        if run.stop.requested:
            return
        _check_end(reader)
        calls = reader.calls.values()
        if asked := [call for call in calls if call.name == ASK_USER and call.stops]:
            asks = [ask_of(call) for call in asked]
            yield Pause(asks, {"labels": {ask.native_id: labels_of(ask) for ask in asks}})
            return
        if pending := reader.pending:
            for call in pending:
                yield ToolCallResultEvent(
                    message_id=run.mint(), tool_call_id=call.id, content=_PENDING, role="tool"
                )
            names = ", ".join(sorted({call.name for call in pending}))
            raise UpstreamError(_NEEDS_PERMISSION.format(what=f" (tool {names})"))
        if any(call.stops for call in calls):
            run.end_reason = EndReason.STOP_TOOL_TRIGGERED
        run.result = reader.result

    # --- sessions ---

    async def _hold(self, session: Session, held: contextlib.AsyncExitStack) -> None:
        """Wait for the session's last run, whose stream may still be read.

        Raises:
            NotDelivered: it does not end.
        """
        gate = self._gates.setdefault(session, _Gate())
        gate.users += 1
        held.callback(self._give_up, session, gate)
        try:
            async with asyncio.timeout(self._drain_timeout):
                await gate.lock.acquire()
        except TimeoutError:
            raise NotDelivered("The NexAU session is busy with its last run.") from None
        held.callback(gate.lock.release)

    def _give_up(self, session: Session, gate: _Gate) -> None:
        gate.users -= 1
        if not gate.users:
            del self._gates[session]

    def _remember(self, session: Session, ids: frozenset[str]) -> None:
        self._undelivered.pop(session, None)
        if ids:
            self._undelivered[session] = ids
        if len(self._undelivered) > _REMEMBERED:
            self._undelivered.popitem(last=False)


def _is_busy(reader: Reader) -> bool:
    return not reader.started and _BUSY in (reader.error or "")


def _check_end(reader: Reader) -> None:
    """Raise what NexAU said when it failed, or that it said no end."""
    if reader.error is not None:
        if _PERMISSION in reader.error:
            raise UpstreamError(_NEEDS_PERMISSION.format(what=""))
        raise UpstreamError("The NexAU server reported that its run failed; its log says why.")
    if not reader.finished:
        raise UpstreamError("The NexAU server ended the stream before the run's end.")
