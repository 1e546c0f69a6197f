"""JSON-RPC 2.0 with an agent, one message a line, whatever carries the lines.

While nobody listens, what the agent tells is passed over and what it asks is refused: a session
that is loaded repeats its history, and an idle one has nothing to ask. While somebody listens and
takes nothing, the agent is held back.

Source: the Agent Client Protocol, version 1, "Transports".
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agui_bridge.protocol.threads.records import Json

logger: Final = logging.getLogger("agui_bridge")

_WAITING: Final = 256
"""Messages that wait to be taken at most."""

_STALL: Final = 30.0
"""Seconds after which an agent that takes nothing counts as gone."""

_METHOD_NOT_FOUND: Final = -32601


class Transport(Protocol):
    """Carries lines: a `Process`, or what a remote agent is reached by."""

    def lines(self) -> AsyncIterator[bytes]:
        """Give what the agent says, to its end."""
        ...

    async def send(self, line: bytes) -> None:
        """Tell the agent something; raises OSError once it is gone."""
        ...

    async def end(self) -> None:
        """Let it end."""
        ...

    async def kill(self) -> None:
        """End it at once."""
        ...

    def strike(self) -> None:
        """End it at once, without waiting."""
        ...


class Gone(Exception):
    """The agent has ended, or speaks another language."""


class RpcError(Exception):
    """The agent answers a request with an error.

    Attributes:
        code: JSON-RPC's.
    """

    def __init__(self, method: str, code: int, said: str) -> None:
        super().__init__(f"the agent refused {method} with the error {code}")
        logger.warning("an agent refused %s: %s %.500s", method, code, said)
        self.code = code


@dataclass(frozen=True, slots=True)
class Told:
    """A notification."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the agent's, to be answered with `Connection.answer`."""

    number: Json
    method: str
    params: Mapping[str, Any]


class Connection:
    """One agent, as long as it lives.

    Args:
        transport: what carries the lines.

    Attributes:
        listening: whether somebody takes what the agent tells and asks.
        changed: set when there is something to take, and when the agent is gone.
        loop: the event loop that it lives in.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._numbers = itertools.count(1)
        self._pending: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._messages: deque[Told | Asked] = deque()
        self._room = asyncio.Event()
        self._lock = asyncio.Lock()
        self.listening: bool = False
        self.changed: asyncio.Event = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._reader = self.loop.create_task(self._read())

    @property
    def alive(self) -> bool:
        """Whether the agent can be spoken to."""
        return not self._reader.done()

    def take(self) -> Told | Asked | None:
        """The next message; None where none has come yet."""
        self._room.set()
        return self._messages.popleft() if self._messages else None

    def listen(self, *, on: bool) -> None:
        """Begin to take messages, or end it: those that nobody took are dropped."""
        self.listening = on
        if not on:
            self._messages.clear()
            self._room.set()

    async def begin(self, method: str, params: Mapping[str, Json]) -> asyncio.Future[Any]:
        """Ask for something, and give what the answer will be: a result, `RpcError` or `Gone`.

        Raises:
            Gone: the agent has ended.
        """
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda _: self.changed.set())
        # Whoever gives it up has no use for its error.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._pending[number] = method, future
        await self._send({"id": number, "method": method, "params": params})
        if not self.alive:
            self._end_pending()
        return future

    async def request(self, method: str, params: Mapping[str, Json], timeout: float) -> Any:
        """Ask for something, and wait for the answer.

        Raises:
            RpcError: it is an error.
            Gone: the agent has ended, or does not answer in time.
        """
        try:
            async with asyncio.timeout(timeout):
                return await (await self.begin(method, params))
        except TimeoutError:
            raise Gone(f"the agent does not answer {method}") from None

    async def notify(self, method: str, params: Mapping[str, Json]) -> None:
        """Tell the agent something.

        Raises:
            Gone: the agent has ended.
        """
        await self._send({"method": method, "params": params})

    async def answer(self, asked: Asked, result: Mapping[str, Json]) -> None:
        """Answer a request of the agent's.

        Raises:
            Gone: the agent has ended.
        """
        await self._send({"id": asked.number, "result": result})

    async def refuse(self, number: Json, method: str) -> None:
        """Refuse a request of the agent's.

        Raises:
            Gone: the agent has ended.
        """
        error = {"code": _METHOD_NOT_FOUND, "message": f"not available here: {method[:100]}"}
        await self._send({"id": number, "error": error})

    async def end(self) -> None:
        """Let the agent end."""
        await self._transport.end()
        await self._stop_reading()

    async def kill(self) -> None:
        """End the agent at once."""
        await self._transport.kill()
        await self._stop_reading()

    def strike(self) -> None:
        """End the agent at once, without waiting."""
        self._transport.strike()

    async def _stop_reading(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _send(self, message: Mapping[str, Json]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        try:
            async with self._lock, asyncio.timeout(_STALL):
                await self._transport.send(line.encode() + b"\n")
        except (OSError, TimeoutError) as error:
            raise Gone("the agent takes nothing any more") from error

    async def _read(self) -> None:
        try:
            async for line in self._transport.lines():
                await self._take(line)
        except (ValueError, RecursionError) as error:
            logger.warning("an agent's output is no JSON-RPC: %.200s", error)
            self._transport.strike()
        except Gone:
            pass
        finally:
            self._end_pending()
            self.changed.set()

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("a message is an object")
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._answered(number, message)
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        while self.listening and len(self._messages) >= _WAITING:
            self._room.clear()
            await self._room.wait()
        if self.listening:
            told = Told(str(method), params)
            self._messages.append(told if number is None else Asked(number, str(method), params))
            self.changed.set()
        elif number is not None:
            await self.refuse(number, str(method))

    def _answered(self, number: Json, message: Mapping[str, Any]) -> None:
        method, future = (
            self._pending.pop(number, ("", None)) if isinstance(number, int) else ("", None)
        )
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
            return
        error = error if isinstance(error, dict) else {}
        code = error.get("code")
        said = json.dumps(error, ensure_ascii=False)
        future.set_exception(RpcError(method, code if isinstance(code, int) else 0, said))

    def _end_pending(self) -> None:
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(Gone("the agent has ended"))
        self._pending.clear()


async def let_go(connection: Connection) -> None:
    """End an agent whatever state it is in."""
    with contextlib.suppress(OSError):
        await connection.kill()
