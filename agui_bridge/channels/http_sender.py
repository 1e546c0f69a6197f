"""POST requests to the addresses that operators have set, and what their answers mean."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agui_bridge.channels.channel import Undelivered
from agui_bridge.errors import ConfigurationError
from agui_bridge.event_loops import PerLoop

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpSender", "check_address"]


def check_address(url: str) -> None:
    """Refuse what is no address.

    Args:
        url: an operator's.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        # Not repeated: it may hold a secret.
        raise ConfigurationError(
            "channels: url must be a whole address, such as https://hooks.example/agents."
        )


class HttpSender:
    """Sends requests, one attempt each; redirects are not followed.

    Args:
        timeout: seconds for an answer.
        transport: what httpx sends with; None is the network.
    """

    def __init__(self, timeout: float, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._timeout = timeout
        self._transport = transport
        self._clients: PerLoop[httpx.AsyncClient] = PerLoop(
            self._make, lambda client: client.aclose()
        )

    async def post(self, url: str, **options: Any) -> httpx.Response:
        """POST something.

        Args:
            url: an operator's.
            **options: of httpx: `content`, `json`, `headers`.

        Returns:
            The answer, a 2xx.

        Raises:
            Undelivered: there was none, or another.
        """
        # Takes a while to import, and most bridges have no channels.
        import httpx

        try:
            response = await self._clients.get().post(url, **options)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            # Its text may quote the address, which may hold a secret.
            raise Undelivered(f"no answer ({type(error).__name__})") from None
        if response.is_success:
            return response
        raise Undelivered(
            f"HTTP {response.status_code}",
            retry_after=_seconds(response.headers),
            gone=response.status_code == 410,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    def _make(self) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(
            timeout=self._timeout, follow_redirects=False, transport=self._transport
        )


def _seconds(headers: Mapping[str, str]) -> float | None:
    """What `Retry-After` says, a number of seconds or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0) if text else None
    except (ValueError, OverflowError):
        return None
