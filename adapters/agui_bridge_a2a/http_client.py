"""An A2A server over HTTP: its operations in both bindings, and what its refusals mean.

What became of a message is told by how the request failed. One that was not connected, or that the
server refused before any agent saw it, was not delivered. After anything else it may have been.
"""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

import httpx

from agui_bridge.a2a.wire import as_object, as_objects
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.sse import Decoder, FrameTooLarge
from agui_bridge_a2a.card import Interface, card_addresses

Operation = Literal["send", "stream", "get", "subscribe", "cancel"]


@dataclass(frozen=True, slots=True)
class _Names:
    """An operation's method in JSON-RPC of both versions, and its request in HTTP+JSON."""

    rpc: str
    old_rpc: str
    method: str
    path: str


_OPERATIONS: Final[Mapping[Operation, _Names]] = {
    "send": _Names("SendMessage", "message/send", "POST", "/message:send"),
    "stream": _Names("SendStreamingMessage", "message/stream", "POST", "/message:stream"),
    "get": _Names("GetTask", "tasks/get", "GET", "/tasks/{id}"),
    "subscribe": _Names("SubscribeToTask", "tasks/resubscribe", "POST", "/tasks/{id}:subscribe"),
    "cancel": _Names("CancelTask", "tasks/cancel", "POST", "/tasks/{id}:cancel"),
}

_CONNECT_SECONDS: Final = 10.0
_LONGEST_CARD: Final = 1024 * 1024
_LONGEST_ANSWER: Final = 16 * 1024 * 1024
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)
_MEANINGS: Final[Mapping[int, str]] = {
    401: "wants other credentials (401): see the adapter's `headers` and `credentials`",
    403: "denies access (403): see the adapter's `headers` and `credentials`",
    404: "has nothing at the address of its card (404)",
    405: "takes no such request at the address of its card (405)",
    413: "refuses the request as too large (413)",
    415: "takes no JSON at the address of its card (415)",
    429: "has too many requests (429)",
}
"""What a server answers before an agent has seen anything."""

_REFUSED: Final = frozenset({-32700, -32600, -32601, -32008, -32009})
"""Errors of JSON-RPC that come before an agent: shape, method, extension, version."""

_GONE: Final = frozenset({-32001, -32004})
"""There is no such task, or it is over."""

_REASONS: Final[Mapping[str, int]] = {
    "TASK_NOT_FOUND": -32001,
    "UNSUPPORTED_OPERATION": -32004,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005,
    "EXTENSION_SUPPORT_REQUIRED": -32008,
    "VERSION_NOT_SUPPORTED": -32009,
    "INVALID_REQUEST": -32600,
    "METHOD_NOT_FOUND": -32601,
    "INVALID_PARAMS": -32602,
    "JSON_PARSE_ERROR": -32700,
}
"""The errors of HTTP+JSON, by their reason, as JSON-RPC numbers them."""


class TaskGone(UpstreamError):
    """The task is over there, or unknown: it takes nothing any more, and was told nothing."""

    code = "INTERRUPT_EXPIRED"


class Refused(UpstreamError):
    """The server refuses the message; an agent may have seen it, and have said so itself."""


class BrokeOff(UpstreamError):
    """The server may have taken the request, and did not tell to its end what came of it."""


class HttpClient:
    """A client of one agent's server.

    Args:
        headers: sent with every request, the card's too.
        timeout: seconds that it may be silent.
    """

    def __init__(self, *, headers: Mapping[str, str], timeout: float) -> None:
        make = functools.partial(
            httpx.AsyncClient,
            headers=dict(headers),
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            # An answer on a connection that the server is closing just now would be of unknown
            # fate: each request has a new one.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        # A bridge that was closed may be opened again, and used in another event loop.
        self._clients: PerLoop[httpx.AsyncClient] = PerLoop(make, httpx.AsyncClient.aclose)

    async def card(self, url: str, trace: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
        """Read the agent's card; gives its address, and the card.

        Args:
            url: of the card, or of the server that has it at the well-known place.
            trace: headers of the trace.

        Raises:
            NotDelivered: there is none, or the server was not reached.
        """
        for address in card_addresses(url):
            try:
                async with self._clients.get().stream(
                    "GET", address, headers=dict(trace)
                ) as response:
                    if response.status_code == 404:
                        continue
                    if response.status_code != 200:
                        raise NotDelivered(
                            f"The A2A agent's card can't be read ({response.status_code})."
                        )
                    card = json.loads(await _body(response, _LONGEST_CARD))
            except httpx.HTTPError as error:
                kind = type(error).__name__
                raise NotDelivered(f"The A2A agent can't be reached ({kind}).") from error
            except (ValueError, RecursionError, FrameTooLarge) as error:
                raise NotDelivered("The A2A agent's card is no JSON, or too large.") from error
            return address, as_object(card)
        raise NotDelivered("The A2A agent has no card there (404): see the adapter's `url`.")

    async def call(
        self,
        to: Interface,
        operation: Operation,
        params: Mapping[str, Json],
        trace: Mapping[str, str],
        *,
        seconds: float | None = None,
    ) -> Json:
        """Carry one operation out that is answered at once.

        Raises:
            NotDelivered: no agent has seen it.
            TaskGone: the task takes nothing any more.
            BrokeOff: it is not known what became of it.
            Refused: the server refused it.
        """
        async with self._open(to, operation, params, trace, seconds) as response:
            return _result(to, await _json(response), response.status_code)

    async def stream(
        self,
        to: Interface,
        operation: Operation,
        params: Mapping[str, Json],
        trace: Mapping[str, str],
    ) -> AsyncGenerator[Json, None]:
        """Carry one operation out that is answered with a stream; gives what each frame tells.

        Raises:
            NotDelivered: no agent has seen it.
            TaskGone: the task takes nothing any more.
            BrokeOff: it is not known what became of it.
            Refused: the server refused it.
        """
        async with self._open(to, operation, params, trace, None) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip()
            if kind != "text/event-stream":
                yield _result(to, await _json(response), response.status_code)
                return
            decoder = Decoder()
            async for chunk in response.aiter_bytes():
                for frame in decoder.feed(chunk):
                    try:
                        told = json.loads(frame.data)
                    except (ValueError, RecursionError):
                        raise BrokeOff("The A2A agent's stream holds what is no JSON.") from None
                    yield _result(to, told, 200, begun=True)

    @asynccontextmanager
    async def _open(
        self,
        to: Interface,
        operation: Operation,
        params: Mapping[str, Json],
        trace: Mapping[str, str],
        seconds: float | None,
    ) -> AsyncGenerator[httpx.Response, None]:
        headers = {"A2A-Version": to.version, **to.headers, **trace}
        if operation in ("stream", "subscribe"):
            headers["Accept"] = "text/event-stream"
        more: dict[str, Any] = {} if seconds is None else {"timeout": seconds}
        method, url, body, query = _written(to, operation, params)
        try:
            async with self._clients.get().stream(
                method, url, json=body, params={**query, **to.query}, headers=headers, **more
            ) as response:
                await _check(response)
                yield response
        except _NOT_SENT as error:
            kind = type(error).__name__
            raise NotDelivered(
                f"The A2A agent can't be reached ({kind}): nothing was sent."
            ) from error
        except FrameTooLarge as error:
            raise BrokeOff("What the A2A agent sent is too large.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            kind = type(error).__name__
            raise BrokeOff(f"The connection to the A2A agent broke ({kind}).") from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()


def _written(
    to: Interface, operation: Operation, params: Mapping[str, Json]
) -> tuple[str, str, Json, dict[str, str]]:
    """An operation as its binding has it: method, address, body, query."""
    names = _OPERATIONS[operation]
    if to.binding == "JSONRPC":
        method = names.rpc if to.version == "1.0" else names.old_rpc
        tenant = {"tenant": to.tenant} if to.tenant else {}
        body = {"jsonrpc": "2.0", "id": uuid.uuid4().hex, "method": method}
        return "POST", to.url, {**body, "params": {**tenant, **params}}, {}
    path = names.path.replace("{id}", quote(str(params.get("id", "")), safe=""))
    prefix = f"/{quote(to.tenant, safe='')}" if to.tenant else ""
    given = {name: value for name, value in params.items() if name != "id"}
    if names.method == "GET":
        query = {name: str(value) for name, value in given.items()}
        return "GET", to.url + prefix + path, None, query
    return "POST", to.url + prefix + path, given, {}


async def _check(response: httpx.Response) -> None:
    """Make an error of a refusal; the server's own words are never passed on."""
    status = response.status_code
    if status == 200:
        return
    if 300 <= status < 400 and status != 303:
        raise NotDelivered(f"The A2A agent is at another address ({status}): see its card.")
    if status < 500:
        told = as_object(await _json(response, _LONGEST_CARD)).get("error")
        for detail in as_objects(as_object(told).get("details")):
            if (code := _REASONS.get(str(detail.get("reason")))) is not None:
                raise _error(code, begun=False)
        if isinstance(code := as_object(told).get("code"), int) and code < 0:
            raise _error(code, begun=False)
        if status in _MEANINGS:
            raise NotDelivered(f"The A2A agent's server {_MEANINGS[status]}; nothing was run.")
        raise Refused(f"The A2A agent's server refused the request ({status}).")
    raise BrokeOff(f"The A2A agent's server failed ({status}).")


async def _body(response: httpx.Response, most: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            raise FrameTooLarge(f"a body exceeds {most} bytes")
    return bytes(body)


async def _json(response: httpx.Response, most: int = _LONGEST_ANSWER) -> Json:
    try:
        return json.loads(await _body(response, most))
    except (ValueError, RecursionError):
        if response.status_code != 200:
            return None
        raise BrokeOff("The A2A agent's server answered with what is no JSON.") from None


def _result(to: Interface, told: Json, status: int, *, begun: bool = False) -> Json:
    """What an answer holds; in JSON-RPC the `result` of it."""
    answer = as_object(told)
    if isinstance(answer.get("error"), Mapping):
        code = answer["error"].get("code")
        raise _error(code if isinstance(code, int) else 0, begun=begun)
    return answer.get("result") if to.binding == "JSONRPC" else answer


def _error(code: int, *, begun: bool) -> Exception:
    """The error of a code; within a stream, which an agent has begun, none says that it is not."""
    if code in _REFUSED and not begun:
        return NotDelivered(
            f"The A2A agent's server refuses the request ({code}): its version or its card may not "
            "fit this adapter."
        )
    if code in _GONE and not begun:
        return TaskGone(
            "The A2A agent's task waits for nothing any more: it is over there, or was forgotten."
        )
    if code in (-32602, -32005) and not begun:
        return Refused(f"The A2A agent refuses the message ({code}).")
    return BrokeOff(f"The A2A agent's server failed ({code}).")
