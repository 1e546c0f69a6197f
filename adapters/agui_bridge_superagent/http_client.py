"""A SuperAgent-compatible server over HTTP: its streams, and what its refusals mean.

What became of an answer is told by how the request failed: a server that was not reached, or that
refused the input and so still asks, has not got it (NotDelivered: the question stands open again);
409 means that the question is gone there. The original drops the question before its agent runs, so
that after anything else what it did is unknown (OutcomeUnknown), and the answer is not sent again.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Final, Literal

import httpx

from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json

_CONNECT_SECONDS: Final = 10.0
_ABORT_SECONDS: Final = 2.0
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)

_LONGEST_REFUSAL: Final = 64 * 1024
_NO_RUNTIME: Final = "agent runtime not available"
"""What the original says while it has not begun."""

_ENDS: Final = "SHUTTING_DOWN"


class InterruptGone(UpstreamError):
    """The remote session asks nothing any more: it expired there, or somebody else answered."""

    code = "INTERRUPT_EXPIRED"


class HttpClient:
    """A client of one server.

    Args:
        url: its base address; `/api/v1/chat/…` is added.
        headers: sent with every request.
        timeout: seconds that it may be silent.

    Raises:
        ConfigurationError: the URL is none.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"{url!r} is no address of a server: write http://host:port.")
        make = functools.partial(
            httpx.AsyncClient,
            base_url=url.rstrip("/"),
            headers=dict(headers),
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            # An answer on a connection that the server is closing just now would be of unknown
            # fate: each request has a new one.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        # A bridge that was closed may be opened again, and used in another event loop.
        self._clients: PerLoop[httpx.AsyncClient] = PerLoop(make, httpx.AsyncClient.aclose)

    async def stream(
        self, call: Literal["stream", "resume"], body: Mapping[str, Json], trace: Mapping[str, str]
    ) -> AsyncGenerator[bytes, None]:
        """POST to one of the two calls, and give the answer as it comes.

        Raises:
            NotDelivered: the server was not reached, or refused the input.
            InterruptGone: it asks nothing any more.
            UpstreamError: it failed, or broke off.
        """
        try:
            async with self._clients.get().stream(
                "POST", f"/api/v1/chat/{call}", json=body, headers=dict(trace)
            ) as response:
                await _check(response, call)
                async for chunk in response.aiter_bytes():
                    yield chunk
        except _NOT_SENT as error:
            kind = type(error).__name__
            raise NotDelivered(f"The remote agent's server can't be reached ({kind}).") from error
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise UpstreamError(f"The remote agent's server broke off ({kind}).") from error

    async def abort(self, body: Mapping[str, Json], trace: Mapping[str, str]) -> None:
        """Tell the server to end what a session does; one that can't is let be."""
        with contextlib.suppress(httpx.HTTPError):
            await self._clients.get().post(
                "/api/v1/chat/abort", json=body, headers=dict(trace), timeout=_ABORT_SECONDS
            )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()


async def _check(response: httpx.Response, call: str) -> None:
    status = response.status_code
    if status == 200:
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "text/event-stream":
            raise UpstreamError(f"The remote agent's server answered with {kind!r:.60}, no stream.")
        return
    if status == 409 and call == "resume":
        raise InterruptGone(
            "The remote session waits for no answer any more: it expired there, or was answered."
        )
    if status == 404:
        raise NotDelivered(
            "The remote server has no such agent, or the agent there takes no answers (404). "
            "Check the adapter's url and agent_id."
        )
    if 400 <= status < 500:
        raise NotDelivered(f"The remote agent's server refused the request ({status}).")
    if status == 503 and _took_nothing(await _error_of(response)):
        raise NotDelivered("The remote agent's server takes nothing now (503).")
    raise UpstreamError(f"The remote agent's server answered {status}.")


async def _error_of(response: httpx.Response) -> Json:
    """The `error` of a refusal, as the original (a text) or a bridge (an object) writes it."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _LONGEST_REFUSAL:
            return None
    try:
        refusal = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return refusal.get("error") if isinstance(refusal, dict) else None


def _took_nothing(error: Json) -> bool:
    """Whether a server that answers 503 says that it has not looked at the request."""
    return error == _NO_RUNTIME or (isinstance(error, dict) and error.get("code") == _ENDS)
