"""The adapter of a remote NexAU server: HTTP, server-sent events, one run for each session.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Final

import httpx

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge_nexau.endings import broken_off, end_of, is_busy, waits_for_permission
from agui_bridge_nexau.exchange import Exchange, Session
from agui_bridge_nexau.http_client import HttpClient
from agui_bridge_nexau.requests import Request
from agui_bridge_nexau.standing import Standing
from agui_bridge_nexau.turn import Turn

__all__ = ["NexauAdapter"]

_PAUSE: Final = 0.25
_LAST_WORDS: Final = 5.0
"""Seconds for which the bridge's own end waits for runs that were stopped."""


class NexauAdapter:
    """Runs the agent of a NexAU server.

    NexAU keeps the conversation itself, under a user id and a session id, and is sent what its
    session lacks. The scope is the user and the thread the session, so that agents of one scope
    need a server each, or a prefix. A session of which it is not certain what it has, or that
    stays locked, is left behind: the thread goes on in a new one, `THREAD~ID`, that is sent the
    whole conversation.

    Args:
        url: of the server, such as `http://127.0.0.1:8000`.
        headers: to send with every request, for instance to a gateway before it.
        session_prefix: put before the thread's id.
        stop_timeout: seconds after which NexAU cancels a model or a tool that goes on after a
            graceful stop, at most; None leaves it to the timeout of the stop.
        busy_patience: seconds for which a session is tried again that somebody else has locked.
        settle_timeout: seconds for which a run that is cancelled waits to hear what NexAU keeps of
            it; less than `cancel_grace`.
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
        stop_timeout: float | None = None,
        busy_patience: float = 2.0,
        settle_timeout: float = 0.5,
        drain_timeout: float = 30.0,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """Remember where the server is; nothing is sent yet."""
        self._server = HttpClient(url, headers=headers or {}, client=client)
        self._prefix = session_prefix
        self._stop_timeout = stop_timeout
        self._busy_patience = busy_patience
        self._settle_timeout = settle_timeout
        self._drain_timeout = drain_timeout
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: nothing reached the agent.
            UpstreamError: it failed, refused, or waits for a permission.
            OutcomeUnknown: it has an answer, or may have, and broke off.
        """
        thread = self._prefix + run.thread_id
        standing = Standing.of(run.memo) if run.memo is not None else _first(run, thread)
        before = run.memo = standing and standing.memo
        if run.stop.requested:
            return
        until = asyncio.get_running_loop().time() + self._busy_patience
        while True:
            # The session may have kept it waiting for long.
            run.check_lease()
            request = Request.of(run, standing, thread)
            # Until it is known what became of it, nothing is.
            run.memo = None
            turn = self._begin(request, run)
            try:
                async with contextlib.aclosing(turn.items()) as items:
                    async for item in items:
                        yield item
            except NotDelivered:
                run.memo = before
                raise
            except UpstreamError as error:
                raise broken_off(error, run) from error
            finally:
                if turn.left is not None:
                    run.memo = turn.left.memo
                if turn.leaving is not None:
                    self._leaving.add(turn.leaving)
                    turn.leaving.add_done_callback(self._leaving.discard)
            if not is_busy(turn.reader):
                break
            run.memo = before
            if run.stop.requested:
                return
            if request.fresh:
                raise NotDelivered("The NexAU server takes no new session.")
            if asyncio.get_running_loop().time() >= until:
                standing = None
            else:
                await asyncio.sleep(_PAUSE)
        run.usage.extend(turn.reader.usage_entries())
        if waits_for_permission(turn.reader):
            run.memo = before
        if not run.stop.requested:
            for last in end_of(turn.reader, run):
                yield last

    async def aclose(self) -> None:
        """Let runs that were stopped end for a moment, and close the connections."""
        if leaving := set(self._leaving):
            await asyncio.wait(leaving, timeout=min(_LAST_WORDS, self._drain_timeout))
            for task in leaving:
                task.cancel()
            await asyncio.gather(*leaving, return_exceptions=True)
        await self._server.aclose()

    def _begin(self, request: Request, run: Run) -> Turn:
        session = Session(run.principal.scope, request.session)
        exchange = Exchange(self._server, session, request.body, run.trace_headers)
        return Turn(
            request,
            exchange,
            run,
            stop_timeout=self._stop_timeout,
            settle_timeout=self._settle_timeout,
            drain_timeout=self._drain_timeout,
        )


def _first(run: Run, thread: str) -> Standing | None:
    """A thread's first session, if NexAU can have heard nothing of it yet."""
    new = {message["id"] for message in run.raw_new_messages}
    known = run.resume is not None or any(message["id"] not in new for message in run.raw_messages)
    return None if known else Standing(thread)
