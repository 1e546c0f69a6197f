"""A NexAU server over HTTP: its streams, its stops, and what its refusals mean.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx

from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.sse import Decoder, FrameTooLarge


class HttpClient:
    """A client of one server; nothing is sent before it is asked something.

    Args:
        url: its base address.
        headers: sent with every request.
        client: to use instead of an own one; it is not closed.

    Raises:
        ConfigurationError: the URL is none.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], client: httpx.AsyncClient | None
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"url: {url!r} is no URL, such as http://127.0.0.1:8000.")
        self._url = url.rstrip("/")
        self._headers = dict(headers)
        self._given = client
        # No limit for reading: a model may think for as long as it likes.
        timeout = httpx.Timeout(30.0, read=None)
        # An answer on a connection that the server is closing just now would be of unknown
        # fate: each request has a new one.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._own: PerLoop[httpx.AsyncClient] = PerLoop(
            lambda: httpx.AsyncClient(base_url=self._url, timeout=timeout, limits=limits),
            httpx.AsyncClient.aclose,
        )

    async def events(
        self, path: str, body: Mapping[str, Json], trace: Mapping[str, str]
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Begin a run, and give NexAU's events as they come.

        Raises:
            NotDelivered: nothing reached an agent.
            UpstreamError: the server failed, or the connection broke.
        """
        headers = {**self._headers, **trace}
        try:
            async with self._client().stream("POST", path, json=body, headers=headers) as response:
                _check(response)
                decoder = Decoder()
                async for piece in response.aiter_raw():
                    for frame in decoder.feed(piece):
                        event = frame.wire_event()
                        if event is not None:
                            yield event
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise NotDelivered("The NexAU server can't be reached.") from error
        except (httpx.HTTPError, FrameTooLarge) as error:
            raise UpstreamError("The connection to the NexAU server broke.") from error

    async def stop(
        self, path: str, body: Mapping[str, Json], trace: Mapping[str, str]
    ) -> str | None:
        """Send a stop; gives the status that the server answers, None if it does not."""
        headers = {**self._headers, **trace}
        with contextlib.suppress(httpx.HTTPError, ValueError, AttributeError):
            response = await self._client().post(path, json=body, headers=headers)
            status = response.json().get("status")
            return status if isinstance(status, str) else None
        return None

    async def look(self, path: str, session: Mapping[str, Json]) -> Json:
        """Ask about a session; gives the server's JSON, None if it does not answer with any."""
        params = {name: str(value) for name, value in session.items()}
        with contextlib.suppress(httpx.HTTPError, ValueError):
            response = await self._client().get(path, params=params, headers=self._headers)
            if response.status_code == 200:
                found: Json = response.json()
                return found
        return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._own.aclose()

    def _client(self) -> httpx.AsyncClient:
        return self._given if self._given is not None else self._own.get()


def _check(response: httpx.Response) -> None:
    if response.status_code == 200:
        return
    message = f"The NexAU server answered with HTTP status {response.status_code}."
    # What is refused before it is read has reached no agent.
    refused = 400 <= response.status_code < 500
    raise NotDelivered(message) if refused else UpstreamError(message)
