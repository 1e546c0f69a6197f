"""A workflow tool over HTTP: what is sent to it, and what its refusals mean.

A request is sent once. What became of it is told by how it failed: one that was not connected, or
that the tool refused before any workflow saw it, was not delivered. After anything else it may
have been.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import httpx

from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.webhook_signatures import signed_headers

_CONNECT_SECONDS: Final = 10.0
_ASIDE_SECONDS: Final = 3.0
"""Seconds that a cancellation or a look at a status may take."""

_PLAIN: Final = re.compile("[A-Za-z0-9._:-]{1,300}")
_LONGEST_ANSWER: Final = 1024 * 1024
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)
_MEANINGS: Final[Mapping[int, str]] = {
    401: "wants other credentials (401): see the adapter's `headers`",
    403: "denies access (403): see the adapter's `headers`",
    405: "takes no POST there (405)",
    413: "refuses the request as too large (413)",
    415: "takes no JSON there (415)",
    429: "has too many requests (429)",
    307: "is at another address (307), and redirects are not followed",
    308: "is at another address (308), and redirects are not followed",
}
"""What a tool answers before a workflow has seen anything."""

_STATUSES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("waiting", "paused", "suspended"), "waiting"),
    **dict.fromkeys(("success", "succeeded", "finished", "completed"), "finished"),
    **dict.fromkeys(("error", "failed", "crashed"), "failed"),
    **dict.fromkeys(("canceled", "cancelled", "stopped"), "cancelled"),
    **dict.fromkeys(("running", "new", "queued"), "running"),
}
"""How tools name what an execution does: n8n's words, Dify's, and plain ones."""


class Gone(UpstreamError):
    """The execution waits for nothing any more, and was told nothing."""

    code = "INTERRUPT_EXPIRED"


class NotYet(NotDelivered):
    """The execution does not wait at this moment: it runs, or has ended. It was told nothing."""


class BrokeOff(UpstreamError):
    """The tool may have had the request, and did not say what came of it."""


class Failed(UpstreamError):
    """The tool says that it failed."""


class HttpClient:
    """A client of one tool.

    Args:
        url: that starts the workflow.
        keys: sign what is sent.
        headers: sent with requests to the origin of `url` and to `asides`.
        hosts: that questions may be answered at, besides that of `url`.
        asides: other addresses of the operator's own.
        timeout: seconds that an answer may be silent; all of it may take twice as long.

    Raises:
        ConfigurationError: an address or a host is none.
    """

    def __init__(
        self,
        url: str,
        *,
        keys: Sequence[bytes],
        headers: Mapping[str, str],
        hosts: Collection[str],
        asides: Collection[str],
        timeout: float,
    ) -> None:
        self._start = address_of("url", url)
        self._keys = keys
        self._headers = dict(headers)
        for host in hosts:
            if not host or host != host.strip() or any(sign in host for sign in "/@*?#"):
                raise ConfigurationError(
                    f"hosts can't hold {host!r}: write a name or an address, such as n8n.example "
                    "or n8n.example:5678."
                )
        self._hosts = frozenset(host.lower() for host in hosts)
        origins = (self._start, *(address_of("an address", aside) for aside in asides))
        self._own = frozenset(map(_origin, origins))
        self._timeout = timeout
        make = functools.partial(
            httpx.AsyncClient,
            follow_redirects=False,
            # An answer on a connection that the server is closing just now would be of unknown
            # fate: each request has a new one.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        self._clients: PerLoop[httpx.AsyncClient] = PerLoop(make, httpx.AsyncClient.aclose)

    def fault_of(self, resume_url: str) -> str | None:
        """Why no answer is sent to an address; None where it may be.

        An address that nobody has named is refused, so no private one is reached by a callback.

        Args:
            resume_url: from a callback.
        """
        try:
            url = httpx.URL(resume_url)
            port = url.port
        except (httpx.InvalidURL, ValueError):
            return "it is no address."
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            return "it must be an address of http or https without a user."
        if _origin(url) == _origin(self._start):
            return None
        if self._start.scheme == "https" and url.scheme != "https":
            return "it must be https, as the start's address is."
        if not {url.host.lower(), f"{url.host.lower()}:{port or _port(url)}"} & self._hosts:
            return f"its host {url.host[:100]!r} is not among the adapter's `hosts`."
        return None

    async def post(
        self,
        url: str,
        body: Mapping[str, Json],
        id: str,
        trace: Mapping[str, str],
        *,
        aside: bool = False,
    ) -> Json:
        """Send something; gives the JSON of the answer, None where it is none.

        Args:
            url: where to.
            body: what.
            id: the same for the same thing; any text.
            trace: headers of the trace.
            aside: whether it may take a moment only.

        Raises:
            NotDelivered: no workflow has seen it.
            NotYet: the execution does not wait at this moment.
            Gone: the execution waits for nothing any more.
            Failed: the tool says that it failed.
            BrokeOff: it may have had it.
        """
        content = json.dumps(body, separators=(",", ":")).encode()
        headers = {
            **self._headers_for(url),
            **trace,
            "content-type": "application/json",
            **signed_headers(self._keys, _header_of(id), int(time.time()), content),
        }
        seconds = _ASIDE_SECONDS if aside else self._timeout
        client = self._clients.get()
        try:
            async with (
                # Those of the client are for each piece of an answer.
                asyncio.timeout(2 * seconds),
                client.stream(
                    "POST", url, content=content, headers=headers, timeout=_times(seconds)
                ) as response,
            ):
                told = await _json(response)
                _check(response.status_code, told)
                return told
        except _NOT_SENT as error:
            kind = type(error).__name__
            raise NotDelivered(f"The workflow tool can't be reached ({kind}).") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            kind = type(error).__name__
            raise BrokeOff(f"The connection to the workflow tool broke ({kind}).") from error
        except TimeoutError as error:
            raise BrokeOff("The workflow tool did not end its answer in time.") from error

    async def status(self, template: str, execution: str) -> tuple[str | None, Json]:
        """What an execution does, and the last that it told where the tool says that too.

        Args:
            template: an address with `{execution}`.
            execution: the tool's id of it.

        Returns:
            `waiting`, `running`, `finished`, `failed` or `cancelled`; None where the tool does not
            say. And the `callback` of its answer.
        """
        url = filled(template, execution)
        try:
            async with (
                asyncio.timeout(2 * _ASIDE_SECONDS),
                self._clients.get().stream(
                    "GET", url, headers=self._headers_for(url), timeout=_ASIDE_SECONDS
                ) as response,
            ):
                found = await _json(response) if response.status_code == 200 else None
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
            return None, None
        if not isinstance(found, Mapping):
            return None, None
        return _STATUSES.get(str(found.get("status")).lower()), found.get("callback")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    def _headers_for(self, url: str) -> dict[str, str]:
        """An operator's credentials go to the operator's own addresses alone."""
        return self._headers if _origin(httpx.URL(url)) in self._own else {}


def _times(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


def _header_of(id: str) -> str:
    """An id as a header may have it: tools name their questions by any text."""
    return id if _PLAIN.fullmatch(id) else hashlib.sha256(id.encode()).hexdigest()


def filled(template: str, execution: str) -> str:
    """An address with the execution in its place."""
    return template.replace("{execution}", quote(execution, safe=""))


def address_of(option: str, url: str) -> httpx.URL:
    """An operator's address.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        found = httpx.URL(filled(url, "1"))
    except httpx.InvalidURL:
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not found.host:
        # Not repeated: it may hold a secret.
        raise ConfigurationError(f"{option} should be an address such as https://host/path.")
    return found


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host.lower(), _port(url)


def _check(status: int, told: Json) -> None:
    """Make an error of a refusal; the tool's own words are never passed on."""
    if 200 <= status < 300:
        return
    if status in _MEANINGS:
        raise NotDelivered(f"The workflow tool {_MEANINGS[status]}; nothing was run.")
    says = told.get("message") if isinstance(told, Mapping) else None
    # n8n says so of what runs and of what is over; tried with 1.123.0.
    over = status == 409 and "finished already" in str(says)
    if status in (404, 410) or over:
        raise Gone(f"The workflow tool has nothing there that waits ({status}).")
    if status == 409:
        raise NotYet("The workflow does not wait for this at the moment (409).")
    if status >= 500:
        raise Failed(f"The workflow tool failed ({status}).")
    raise BrokeOff(f"The workflow tool answered with HTTP status {status}.")


async def _json(response: httpx.Response) -> Json:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _LONGEST_ANSWER:
            return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
