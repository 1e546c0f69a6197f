"""One request to an AG-UI endpoint: its status, its headers, and its stream at three depths.

This is the lower layer: it judges nothing but the connection. `Client` keeps a conversation on
top of it; a proxy or a checker uses it alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx

from agui_bridge.errors import BridgeError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.wire.sse import Decoder, Frame, FrameTooLarge

# --- what can go wrong between a client and an AG-UI endpoint ---
#
# ::
#
#     ClientError
#     ├── NotReached      no connection: the server has seen nothing of it
#     ├── HttpError       an answer that is no stream of events
#     ├── BrokenStream    the stream broke off, or holds what is no AG-UI
#     ├── RunFailed       the run ended with RUN_ERROR
#     └── AnswerFault     an answer that the questions do not allow; nothing was sent


class ClientError(BridgeError):
    """Base of what a client raises."""


class NotReached(ClientError):
    """There was no connection: the server has seen nothing, so that it can be sent again."""


class HttpError(ClientError):
    """The endpoint answered with something else than a stream of events.

    Args:
        message: what it answered, for people.

    Attributes:
        status: the HTTP status.
        code: the error's code where the body has one, as agui-bridge's bodies do, else None.
    """

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class BrokenStream(ClientError):
    """The stream broke off before the end of the run, or holds what is no AG-UI event.

    Whether the run goes on is unknown: what it did can be read from the next one's snapshots.
    """


class RunFailed(ClientError):
    """The run ended with RUN_ERROR.

    Attributes:
        code: the producer's, or None; agui-bridge's are in docs/errors.md.
        message: the producer's.
    """

    def __init__(self, code: str | None, message: str) -> None:
        super().__init__(message if code is None else f"{code}: {message}")
        self.code = code
        self.message = message


class AnswerFault(ClientError):
    """Answers do not fit the open questions. Nothing was sent and nothing changed.

    Args:
        message: what is wrong with them, for people.

    Attributes:
        code: the code that agui-bridge would refuse them with, a key of `errors.CODES`.
        interrupt_ids: the interrupts concerned.
    """

    def __init__(self, code: str, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.interrupt_ids = interrupt_ids


# --- one exchange ---

EVENT_STREAM: Final = "text/event-stream"

_NOT_CONNECTED: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_LONGEST_ERROR: Final = 64 * 1024
_LONGEST_TEXT: Final = 300


class Exchange:
    """An answer whose head has come and whose body is read by one of three iterators.

    `chunks` gives bytes as they come, `frames` server-sent events, `events` AG-UI events; each
    reads on where the body stands, so that only one of them is to be used.

    Args:
        response: its body has not been read.

    Attributes:
        status: HTTP status.
        headers: of the answer.
        stopped: whether `stop` was called.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.status: int = response.status_code
        self.headers: httpx.Headers = response.headers
        self._response = response
        self._body: AsyncIterator[bytes] | None = None
        self._read: asyncio.Timeout | None = None
        self.stopped: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of events by status and content type."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return self.status == httpx.codes.OK and kind == EVENT_STREAM

    def stop(self) -> None:
        """Stop reading: the iterator that reads ends, and the connection closes with the block.

        May be called from another task of the same loop, which is how a run is aborted.
        """
        self.stopped = True
        if self._read is not None:
            self._read.reschedule(asyncio.get_running_loop().time())

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive, decompressed.

        Raises:
            BrokenStream: the connection broke, or was silent for longer than the timeout.
        """
        if self._body is None:
            self._body = self._response.aiter_bytes()
        while not self.stopped:
            try:
                # Around each read alone, so that `stop` never cancels whoever takes the bytes.
                async with asyncio.timeout(None) as self._read:
                    chunk = await anext(self._body, None)
            except TimeoutError:
                return
            except httpx.TransportError as error:
                raise BrokenStream(
                    f"The connection broke while the stream was read ({_name(error)})."
                ) from error
            finally:
                self._read = None
            if chunk is None:
                return
            yield chunk

    async def frames(self) -> AsyncIterator[Frame]:
        """The body's server-sent events, comments left out.

        Raises:
            BrokenStream: as `chunks`; or the body ends within a frame, or one is too large.
        """
        decoder = Decoder()
        async for chunk in self.chunks():
            try:
                frames = decoder.feed(chunk)
            except FrameTooLarge as error:
                raise BrokenStream(f"The stream can't be read: {error}.") from None
            for frame in frames:
                yield frame
        if not self.stopped and decoder.close():
            raise BrokenStream("The stream broke off in the middle of an event.")

    async def events(self) -> AsyncIterator[WireEvent]:
        """The body's AG-UI events: JSON objects with a type, unchecked otherwise.

        A last `data: [DONE]`, which some servers send, is passed over.

        Raises:
            BrokenStream: as `frames`; or a frame is no JSON object with a `type`.
        """
        async for frame in self.frames():
            if frame.data == "[DONE]":
                continue
            event = frame.wire_event()
            if event is None or not isinstance(event.get("type"), str):
                raise BrokenStream(
                    f"The stream holds what is no AG-UI event: {frame.data[:_LONGEST_TEXT]!r}"
                )
            yield event

    async def error(self) -> HttpError:
        """Make an error of an answer that is no stream; reads the body, of bounded length."""
        seen = b""
        async for chunk in self.chunks():
            seen += chunk
            if len(seen) > _LONGEST_ERROR:
                break
        code, message = _told(seen)
        if self.status == httpx.codes.OK:
            kind = self.headers.get("content-type", "nothing said")
            message = f"not a stream of events ({EVENT_STREAM}) but {kind}"
        return HttpError(self.status, f"HTTP {self.status}: {message}", code)


@contextlib.asynccontextmanager
async def open_exchange(
    http: httpx.AsyncClient,
    url: str,
    body: Any,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> AsyncIterator[Exchange]:
    """POST a body as JSON and give the answer once its head is there.

    Leaving the block closes the connection if the body was not read to its end, which AG-UI
    servers take for an abort.

    Args:
        http: whose connections, timeouts and own headers are used.
        url: of the endpoint.
        body: a JSON value, or bytes to be sent as they are.
        headers: of this request.
        method: with `GET` no body is sent.

    Raises:
        NotReached: no connection; nothing was sent.
        BrokenStream: the connection broke before the answer's head came: whether the server
            acts is unknown.
    """
    content, sent = None, {"accept": EVENT_STREAM}
    if method != "GET":
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent["content-type"] = "application/json"
    sent |= headers or {}
    try:
        request = http.build_request(method, url, content=content, headers=sent)
        response = await http.send(request, stream=True)
    except (*_NOT_CONNECTED, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise NotReached(f"{url} can't be reached: {str(error) or _name(error)}") from error
    except httpx.TransportError as error:
        raise BrokenStream(
            f"{url} did not answer ({_name(error)}); whether it acted is unknown."
        ) from error
    try:
        yield Exchange(response)
    finally:
        await response.aclose()


def _name(error: BaseException) -> str:
    return type(error).__name__


def _detail(detail: Any) -> Any:
    """FastAPI's `detail`: a text, or a list of what is wrong with which field, made one text."""
    if not isinstance(detail, list):
        return detail
    faults = [
        f"{'.'.join(map(str, fault.get('loc') or ['input']))}: {fault['msg']}"
        for fault in detail
        if isinstance(fault, dict) and isinstance(fault.get("msg"), str)
    ]
    return "; ".join(faults) or None


def _told(body: bytes) -> tuple[str | None, str]:
    """The code and the message of an error's body, in the shapes that servers use."""
    try:
        found = json.loads(body)
    except ValueError:
        return None, body.decode(errors="replace").strip()[:_LONGEST_TEXT] or "no reason given"
    if isinstance(found, dict):
        inner = found.get("error", found)
        if isinstance(inner, dict):
            told = inner.get("message") or _detail(inner.get("detail"))
            code = inner.get("code")
            if isinstance(told, str):
                return (code if isinstance(code, str) else None), told[:_LONGEST_TEXT]
    return None, body.decode(errors="replace")[:_LONGEST_TEXT]


Outcome = Literal["success", "interrupt", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended.

    Attributes:
        outcome: `error` for RUN_ERROR; `cancelled` also when this client aborted it.
        result: RUN_FINISHED's, if any.
        usage: the token usage entries of the terminal event.
        error: what RUN_ERROR says.
        pending_tool_call_ids: the calls that wait for the client to carry them out, as RUN_FINISHED
            says; None where it says nothing of them.
    """

    outcome: Outcome
    result: Any = None
    usage: Sequence[Mapping[str, Any]] = ()
    error: RunFailed | None = None
    pending_tool_call_ids: Sequence[str] | None = None
