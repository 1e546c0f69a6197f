"""One run on a NexAU server: its stream, read to the end whatever becomes of the bridge's run.

NexAU runs on when its client goes away: unstoppable, with the session locked. So a stop is sent
before the stream is closed, and the stream is read until the server ends it. That is why it is read
by a task of its own: a run that is cancelled does not cancel it.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_nexau.http_client import HttpClient

logger: Final = logging.getLogger("agui_bridge")

_WAITING: Final = 64
"""Events that wait for the run at most; a slow client holds NexAU back."""

LEADER: Final = "leader"
"""The id of a team's leader."""

Take = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Session:
    """NexAU's name for a conversation."""

    user_id: str
    session_id: str

    def body(self, **more: Json) -> dict[str, Json]:
        """The body of a request about it."""
        return {"user_id": self.user_id, "session_id": self.session_id, **more}


@dataclass(frozen=True, slots=True)
class Paths:
    """Where a server takes runs.

    Attributes:
        stream: begins one.
        stop: stops one.
        retry: seconds after which a stop that may have been lost is sent again.
    """

    stream: str
    stop: str
    retry: float


AGENT: Final = Paths("/stream", "/stop", 0.1)
TEAM: Final = Paths("/team/stream", "/team/stop", 1.0)
"""A team's stop never says whether anything was there to stop: only the stream's end tells."""


class Exchange:
    """A request for a run and the stops that belong to it.

    Args:
        server: where to.
        session: the conversation.
        body: of the request.
        trace: headers of the trace.
        paths: where to.

    Attributes:
        ended: whether the server has ended the stream, or it broke.
    """

    def __init__(
        self,
        server: HttpClient,
        session: Session,
        body: Mapping[str, Json],
        trace: Mapping[str, str],
        paths: Paths = AGENT,
    ) -> None:
        self._paths = paths
        self._server = server
        self._session = session
        self._body = session.body(**body)
        self._trace = trace
        self.ended: bool = False
        self._events: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue(_WAITING)
        self._heard = asyncio.Event()
        self._failure: Exception | None = None
        self._left_to: Take | None = None
        self._reader = asyncio.create_task(self._read())

    # --- the run's side ---

    async def events(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """Give NexAU's events to the end of the stream.

        Raises:
            NotDelivered: nothing reached the server.
            UpstreamError: it refused, or the connection broke.
        """
        while (event := await self._events.get()) is not None:
            yield event
        if self._failure is not None:
            raise self._failure

    async def stop(self, *, force: bool, timeout: float) -> None:
        """Stop the run once it can be stopped, and try again as long as the stream is open.

        A stop before RUN_STARTED is lost though the server says success; one right after may find
        no running agent yet.
        """
        await self._heard.wait()
        body = self._session.body(agent_id=None, force=force, timeout=timeout)
        while not self.ended:
            if await self._server.stop(self._paths.stop, body, self._trace) == "success":
                return
            # Not in time with the server's clock, and the reader may be done meanwhile.
            await asyncio.wait({self._reader}, timeout=self._paths.retry)

    async def look(self, path: str) -> Json:
        """Ask the server about the session; None if it does not answer."""
        return await self._server.look(path, self._session.body())

    @property
    def heard_out(self) -> bool:
        """Whether everything that came was given."""
        return self._events.empty()

    async def abandon(self) -> None:
        """Close the stream, and leave its run alone."""
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def give_up(self, patience: float) -> None:
        """Send a stop to a run whose stream broke.

        Args:
            patience: seconds.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._server.stop(self._paths.stop, self._session.body(), self._trace)

    async def leave(self, patience: float, take: Take) -> None:
        """Stop it by force, and read what is left until the server ends it, or time is up.

        Args:
            patience: seconds.
            take: called with every event that `events` has not given.
        """
        self._left_to = take
        self._hand_over(take)
        stopping = asyncio.create_task(self.stop(force=True, timeout=patience))
        try:
            await asyncio.wait({self._reader}, timeout=patience)
        finally:
            stopping.cancel()
            if not self._reader.done():
                logger.warning("NexAU does not end a run that was stopped; its stream is closed")
            self._reader.cancel()
            await asyncio.gather(stopping, self._reader, return_exceptions=True)

    def _hand_over(self, take: Take) -> None:
        while not self._events.empty():
            if (event := self._events.get_nowait()) is not None:
                take(event)

    # --- the connection ---

    async def _read(self) -> None:
        try:
            events = self._server.events(self._paths.stream, self._body, self._trace)
            async with contextlib.aclosing(events):
                async for event in events:
                    await self._put(event)
        except (NotDelivered, UpstreamError) as error:
            self._failure = error
        finally:
            self.ended = True
            self._heard.set()
            self._put_last()

    async def _put(self, event: Mapping[str, Any]) -> None:
        if _begins(event):
            self._heard.set()
        await self._events.put(event)
        if self._left_to is not None:
            self._hand_over(self._left_to)

    def _put_last(self) -> None:
        if self._events.full():
            # Nobody takes anything any more: else the reader would have waited for room.
            self._events.get_nowait()
        self._events.put_nowait(None)


def _begins(event: Mapping[str, Any]) -> bool:
    envelope = event.get("envelope")
    if isinstance(envelope, dict):
        inner = envelope.get("event")
        return envelope.get("agent_id") == LEADER and isinstance(inner, dict) and _begins(inner)
    return event.get("type") == "RUN_STARTED"
