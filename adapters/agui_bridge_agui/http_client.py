"""An AG-UI endpoint over HTTP: its streams, its stop, and what its refusals mean."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final
from urllib.parse import quote

import httpx

from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.sse import Decoder, FrameTooLarge

logger: Final = logging.getLogger("agui_bridge")

_THREAD: Final = "{threadId}"
"""Stands for the thread in the address that a stop is posted to."""

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")

_CONNECT_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 3.0
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)
_MEANINGS: Final[Mapping[int, str]] = {
    400: "refuses the request's shape (400)",
    401: "wants other credentials (401): see the adapter's `headers`",
    403: "denies access (403): see the adapter's `headers`",
    404: "has no agent at that path (404): see the adapter's `url`",
    405: "takes no POST at that path (405): see the adapter's `url`",
    413: "refuses the request as too large (413)",
    415: "takes no JSON at that path (415): see the adapter's `url`",
    422: "refuses the request's shape (422): its AG-UI version may be older, see `dialect`",
    429: "has too many requests (429)",
}
"""What a server answers before an agent has seen anything."""

_MOVED: Final = frozenset({301, 302, 307, 308})
"""Redirects of a request that was not carried out; a 303 follows one that was."""

_SHAPES: Final = frozenset({400, 422})


class ShapeRefused(NotDelivered):
    """The server refuses the request's shape: it may take an older one."""


class HttpClient:
    """A client of one endpoint.

    Args:
        url: what runs are posted to.
        headers: sent with every request, such as an Authorization.
        timeout: seconds that it may be silent.
        stop_url: what a stop is posted to; `{threadId}` in it stands for the thread.

    Raises:
        ConfigurationError: one of them makes no sense.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], timeout: float, stop_url: str | None
    ) -> None:
        _check_address("url", url)
        if stop_url is not None:
            _check_address("stop_url", stop_url)
            # Sent as it is, a misspelt one would stop nothing, and nobody would be told.
            if set("{}") & set(stop_url.replace(_THREAD, "")):
                raise ConfigurationError(
                    f"stop_url has {_THREAD} for the thread and no other braces, not {stop_url!r}."
                )
        if not timeout > 0:
            raise ConfigurationError(f"timeout should be a number of seconds, not {timeout!r}.")
        _check_headers(headers)
        self._url = url
        self._stop_url = stop_url
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

    async def events(
        self, body: Mapping[str, Json], trace: Mapping[str, str]
    ) -> AsyncGenerator[WireEvent, None]:
        """Post a run's input, and give the events of the answer as they come.

        Raises:
            NotDelivered: no agent has seen the input.
            UpstreamError: the server failed, or the stream broke.
        """
        headers = {"Accept": "text/event-stream", **trace}
        try:
            async with self._clients.get().stream(
                "POST", self._url, json=body, headers=headers
            ) as response:
                _check(response)
                decoder = Decoder()
                async for part in response.aiter_bytes():
                    for frame in decoder.feed(part):
                        if frame.data.strip() != "[DONE]":
                            yield _event(frame.wire_event())
        except _NOT_SENT as error:
            address = httpx.URL(self._url)
            logger.warning("no upstream agent at %s:%s: %s", address.host, address.port, error)
            raise NotDelivered(
                f"The upstream agent can't be reached ({type(error).__name__}): nothing was sent."
            ) from error
        except FrameTooLarge as error:
            raise UpstreamError("An event of the upstream agent is too large.") from error
        except httpx.TimeoutException as error:
            raise UpstreamError("The upstream agent was silent for too long.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UpstreamError(
                f"The connection to the upstream agent broke ({type(error).__name__})."
            ) from error

    async def stop(self, thread: str, trace: Mapping[str, str], *, force: bool) -> bool:
        """Ask the server to stop what the thread does; gives whether it heard."""
        if self._stop_url is None:
            return False
        url = self._stop_url.replace(_THREAD, quote(thread, safe=""))
        with contextlib.suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS if force else None):
                answer = await self._clients.get().post(
                    url, json={"force": force}, headers=dict(trace)
                )
            if answer.is_success:
                return True
            logger.warning("the upstream agent answers %d to a stop", answer.status_code)
            return False
        logger.warning("the upstream agent can't be asked to stop")
        return False

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()


def _check_address(option: str, text: str) -> None:
    with contextlib.suppress(httpx.InvalidURL):
        address = httpx.URL(text)
        if address.scheme in ("http", "https") and address.host:
            return
    raise ConfigurationError(
        f"{option} should be an address such as http://host:port/path, not {text!r}."
    )


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, text in headers.items():
        # The value may be a secret: it is not repeated.
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(text):
            raise ConfigurationError(
                f"headers can't hold {name!r:.60}: names and values are of printable "
                "ASCII characters, in one line."
            )


def _check(response: httpx.Response) -> None:
    """Make an error of a refusal; the body is never passed on."""
    status = response.status_code
    if status in _MOVED:
        raise NotDelivered(
            f"The upstream agent is at another address ({status}): see the adapter's `url`."
        )
    if status in _MEANINGS:
        refused = ShapeRefused if status in _SHAPES else NotDelivered
        raise refused(f"The upstream agent's server {_MEANINGS[status]}; nothing was run.")
    if not response.is_success:
        raise UpstreamError(f"The upstream agent's server failed ({status}): see its log.")
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "text/event-stream":
        raise UpstreamError(
            f"The upstream agent's server answered {kind!r:.60} and no event stream: is the "
            "adapter's `url` that of an AG-UI endpoint?"
        )


def _event(event: dict[str, Any] | None) -> WireEvent:
    if event is None or not isinstance(event.get("type"), str):
        raise UpstreamError("The upstream agent's stream holds what is no AG-UI event.")
    return event
