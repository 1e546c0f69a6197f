"""One message to an agent, and its task followed until it ends or asks.

A stream that breaks is taken up again: the task is looked at, and subscribed to. So is a task that
does not stream: it is looked at now and then. Whatever comes is read by what the task tells of
itself; nothing is sent a second time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Final

from agui_bridge.a2a.wire import ASKS, AUTH_REQUIRED, ENDS
from agui_bridge.adapters import RunItem
from agui_bridge.errors import AdapterError, NotDelivered, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_a2a.card import Interface
from agui_bridge_a2a.http_client import BrokeOff, HttpClient, Operation, TaskGone
from agui_bridge_a2a.reader import Reader
from agui_bridge_a2a.versions import event_of, task_event

_FIRST_LOOK: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_CANCEL_SECONDS: Final = 3.0


class Lost(UpstreamError):
    """The task was begun, or may have been, and can't be followed to its end."""


class Exchange:
    """Requests about one task.

    Args:
        server: the client.
        to: how the agent is reached.
        reader: reads what comes.
        trace: headers of the trace.
        patience: seconds for which a server is looked for that went away, and a task that asks
            what it asked before.

    Attributes:
        to: how the agent is reached.
        reader: reads what comes.
    """

    def __init__(
        self,
        server: HttpClient,
        to: Interface,
        reader: Reader,
        trace: Mapping[str, str],
        patience: float,
    ) -> None:
        self._server = server
        self.to: Interface = to
        self.reader: Reader = reader
        self._trace = trace
        self._patience = patience
        self._sent = False

    async def say(self, params: Mapping[str, Json]) -> AsyncGenerator[RunItem, None]:
        """Send a message, and follow its task until it has ended, or asks.

        Raises:
            NotDelivered: no agent has seen the message.
            TaskGone: its task takes nothing any more.
            Lost: it can't be told what became of it.
            Refused: the agent refused it.
        """
        streams = self.to.streaming
        broken, self._sent = not streams, True
        try:
            events = self._events("stream" if streams else "send", params)
            async with contextlib.aclosing(events) as items:
                async for item in items:
                    yield item
        except BrokeOff as error:
            if not self.reader.task:
                raise Lost(f"{error} It may have had the message.") from error
            broken = True
        if self.reader.settled:
            return
        if not broken and self.reader.state in ASKS:
            # The server has ended the stream with it: it asks the same again.
            return
        if not self.reader.task:
            raise Lost("The A2A agent's stream broke off before it told of a task.")
        async with contextlib.aclosing(self.follow()) as items:
            async for item in items:
                yield item

    async def follow(self) -> AsyncGenerator[RunItem, None]:
        """Look at the task until it has ended, or asks something new; or asks for too long.

        Raises:
            NotDelivered: nothing was sent, and the server can't be reached.
            TaskGone: nothing was sent, and it is forgotten there.
            Lost: it can't be told what became of it.
        """
        clock = asyncio.get_running_loop().time
        deadline, pause = clock() + self._patience, _FIRST_LOOK
        while True:
            told = self.reader.state
            try:
                async with contextlib.aclosing(self._look()) as items:
                    async for item in items:
                        yield item
                        deadline, pause = clock() + self._patience, _FIRST_LOOK
                fault: Exception | None = None
            except TaskGone as error:
                if not self._sent:
                    raise
                raise Lost(f"{error} What became of it can't be told.") from error
            except (NotDelivered, BrokeOff) as error:
                fault = error
            if self.reader.settled:
                return
            stands_still = fault is not None or self.reader.state in ASKS
            if not stands_still or told != self.reader.state:
                deadline = clock() + self._patience
            elif clock() > deadline:
                if fault is not None:
                    if isinstance(fault, NotDelivered) and not self._sent:
                        raise fault
                    raise Lost(f"{fault} What became of the task can't be told.") from fault
                if self.reader.state == AUTH_REQUIRED:
                    return
                raise Lost("The A2A agent still asks what it was told.")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def cancel(self) -> None:
        """Have the task cancelled.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or it is over.
        """
        task = {"id": self.reader.task}
        await self._server.call(self.to, "cancel", task, self._trace, seconds=_CANCEL_SECONDS)

    async def still_asks(self, message: str) -> bool:
        """Whether the task certainly has not had a message, and asks what it asked before.

        Args:
            message: its id.
        """
        with contextlib.suppress(AdapterError):
            told = await self._server.call(
                self.to, "get", {"id": self.reader.task}, self._trace, seconds=_CANCEL_SECONDS
            )
            for _ in self.reader.take(task_event(told, self.to.version)):
                pass
            reader = self.reader
            asks = reader.state in ASKS and not reader.settled
            return asks and message not in reader.sent
        return False

    async def _look(self) -> AsyncGenerator[RunItem, None]:
        task: dict[str, Json] = {"id": self.reader.task}
        told = await self._server.call(self.to, "get", task, self._trace)
        for item in self.reader.take(task_event(told, self.to.version)):
            yield item
        if self.reader.state not in ENDS | ASKS and self.to.streaming:
            # A server that can't be subscribed to is looked at again. One that still asks may have
            # nothing to tell for ever.
            with contextlib.suppress(UpstreamError):
                async with contextlib.aclosing(self._events("subscribe", task)) as items:
                    async for item in items:
                        yield item

    async def _events(
        self, operation: Operation, params: Mapping[str, Json]
    ) -> AsyncGenerator[RunItem, None]:
        if operation == "send":
            told = await self._server.call(self.to, operation, params, self._trace)
            if (event := event_of(told, self.to.version)) is None:
                raise BrokeOff("The A2A agent's server answered with what is no task or message.")
            for item in self.reader.take(event):
                yield item
            return
        frames = self._server.stream(self.to, operation, params, self._trace)
        async with contextlib.aclosing(frames):
            async for frame in frames:
                if (event := event_of(frame, self.to.version)) is None:
                    continue
                for item in self.reader.take(event):
                    yield item
                if self.reader.settled:
                    return
