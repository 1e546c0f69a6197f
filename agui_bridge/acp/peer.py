"""JSON-RPC 2.0 in lines, both ways: the client's requests, and requests to the client.

Source: JSON-RPC 2.0; the Agent Client Protocol, "Transports" and "Cancellation".
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.protocol.json_values import MAX_DEPTH
from agui_bridge.protocol.threads.records import Json
from agui_bridge.stdio.lines import LineReader, LineTooLong, LineWriter
from agui_bridge.surfaces.reading import parse_json

logger: Final = logging.getLogger("agui_bridge")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_FOUND: Final = -32002
"""There is no such session."""


class RpcError(Exception):
    """A request that is answered with an error, by either side.

    Attributes:
        code: JSON-RPC's.
        message: what was wrong.
        data: JSON-ready particulars, or None.
    """

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def of(cls, code: str, message: str | None = None) -> RpcError:
        """The error of one of the bridge's own codes."""
        known = CODES.get(code)
        told = message or (f"{known.cause} {known.remedy}" if known is not None else code)
        return cls(INTERNAL_ERROR, told, {"code": code})


@dataclass(frozen=True, slots=True)
class Result:
    """What a request came to.

    Attributes:
        value: JSON-ready.
        then: is called once the client has been told.
    """

    value: Mapping[str, Json]
    then: Callable[[], None] | None = None


Method = Callable[[Mapping[str, Json]], Coroutine[Any, Any, Result]]
"""Takes a request's params at once, in the order of the lines; the work is what it gives."""

Told = Callable[[Mapping[str, Json]], None]
"""Takes a notification's params."""


class Peer:
    """The client, as the other end of two pipes.

    Args:
        reader: where its lines come from.
        writer: where lines to it go.
        max_values: values that a line may hold.
    """

    def __init__(self, reader: LineReader, writer: LineWriter, max_values: int) -> None:
        self._reader = reader
        self._writer = writer
        self._max_values = max_values
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Json]] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, methods: Mapping[str, Method], notifications: Mapping[str, Told]) -> None:
        """Take what comes, to the end of the input.

        Args:
            methods: by name.
            notifications: by name; others are ignored.
        """
        async for line in self._reader.lines():
            try:
                self._take(line, methods, notifications)
            except _Nonsense as nonsense:
                # Nothing more is read before it is taken, so that a flood of nonsense waits.
                await self._write({"id": nonsense.request_id, "error": nonsense.told})

    # --- what goes out ---

    async def notify(self, method: str, params: Mapping[str, Json]) -> None:
        """Tell the client something."""
        await self._write({"method": method, "params": params})

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        """Ask the client; one that is cancelled meanwhile is told so.

        Raises:
            RpcError: it answers with an error.
        """
        number = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            await self._write({"id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            if answer.cancelled() or not answer.done():
                await self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            del self._asked[number]

    async def _write(self, message: Mapping[str, Any]) -> None:
        # In ASCII: half of a surrogate pair has no bytes in UTF-8.
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        await self._writer.write(line.encode() + b"\n")

    # --- what comes in ---

    def _take(
        self,
        line: bytes | LineTooLong,
        methods: Mapping[str, Method],
        notifications: Mapping[str, Told],
    ) -> None:
        message = self._read(line)
        number, method = message.get("id"), message.get("method")
        if method is None:
            self._answered(message)
            return
        params = message.get("params") or {}
        if "id" not in message:
            if isinstance(params, dict) and (told := notifications.get(str(method))) is not None:
                told(params)
            return
        if not isinstance(method, str) or not isinstance(params, dict):
            raise _Nonsense(INVALID_REQUEST, "A request has a method, and params by name.", number)
        if method not in methods:
            raise _Nonsense(METHOD_NOT_FOUND, f"Method not found: {method[:100]}", number)
        task = asyncio.ensure_future(self._answer(number, method, methods[method], params))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _read(self, line: bytes | LineTooLong) -> dict[str, Any]:
        if isinstance(line, LineTooLong):
            raise _Nonsense(INVALID_REQUEST, f"The message is too large: {line}.")
        try:
            message = parse_json(line, MAX_DEPTH, "The line", max_values=self._max_values)
        except Refused as error:
            large = error.code == "PAYLOAD_TOO_LARGE"
            raise _Nonsense(INVALID_REQUEST if large else PARSE_ERROR, error.message) from None
        if not isinstance(message, dict):
            raise _Nonsense(INVALID_REQUEST, "A message is one JSON object in a line.")
        return message

    def _answered(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        asked = self._asked.get(number) if isinstance(number, int) else None
        if asked is None or asked.done():
            return
        error = message.get("error")
        if error is None:
            asked.set_result(message.get("result"))
            return
        error = error if isinstance(error, dict) else {}
        code, told = error.get("code"), str(error.get("message"))
        asked.set_exception(RpcError(code if isinstance(code, int) else INTERNAL_ERROR, told))

    async def _answer(
        self, number: Json, name: str, method: Method, params: Mapping[str, Json]
    ) -> None:
        """Carry a request out; whatever happens, it gets one answer."""
        result: Result | None = None
        try:
            result = await method(params)
        except RpcError as error:
            failed = error
        except Refused as error:
            wrong = error.code == "INVALID_INPUT"
            failed = RpcError.of(error.code, error.message)
            failed.code = INVALID_PARAMS if wrong else INTERNAL_ERROR
        except StoreUnavailable:
            failed = RpcError.of("STORE_UNAVAILABLE")
        except asyncio.CancelledError:
            failed = RpcError.of("SHUTTING_DOWN")
        except Exception:
            logger.exception("%s failed", name)
            failed = RpcError.of("INTERNAL_ERROR")
        if result is None:
            await self._write({"id": number, "error": _error(failed)})
            return
        await self._write({"id": number, "result": result.value})
        if result.then is not None:
            result.then()


class _Nonsense(Exception):
    """A line that is no message, or none that is known."""

    def __init__(self, code: int, message: str, request_id: Json = None) -> None:
        super().__init__(message)
        self.told = _error(RpcError(code, message))
        self.request_id = request_id


def _error(error: RpcError) -> dict[str, Json]:
    told: dict[str, Json] = {"code": error.code, "message": error.message}
    return told if error.data is None else {**told, "data": error.data}
