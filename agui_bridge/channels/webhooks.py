"""Channels that POST what is told to an address: webhooks, and those of Teams."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from agui_bridge.channels.channel import Channel, Undelivered
from agui_bridge.channels.notice import Notice, cut
from agui_bridge.errors import ConfigurationError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.webhook_signatures import key_of, signed_headers

if TYPE_CHECKING:
    import httpx


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


# --- webhooks after Standard Webhooks: questions that open and end, told to a service of yours ---
#
# Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

_MOST_BYTES: Final = 20_000
"""A body stays below 20 KB, whatever the agent says."""

_LONGEST_MESSAGE: Final = 2000
_LONGEST_NAME: Final = 256


@dataclass
class Webhook(Channel):
    """Tells a service of yours what opens and how it ends, signed.

    Attributes:
        url: where to POST; only ever this address, redirects are not followed.
        secret: `whsec_` and 24 to 64 bytes in base64; several while it is rotated, each signs.
        timeout: seconds for an answer.

    Raises:
        ConfigurationError: the address is none, or a secret is none.
    """

    url: str
    secret: str | Sequence[str] = field(repr=False)
    timeout: float = field(default=20.0, kw_only=True)
    tells_end: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        super().__post_init__()
        check_address(self.url)
        secrets = (self.secret,) if isinstance(self.secret, str) else tuple(self.secret)
        self._keys = [_key_of(secret) for secret in secrets]
        if not self._keys:
            raise ConfigurationError("channels: a webhook needs a secret to sign with.")
        self._sender = HttpSender(self.timeout)

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        """POST a notice; anything but a 2xx is a failure, 410 the end of the address."""
        body, now = self._body(notice), int(time.time())
        signed = signed_headers(self._keys, notice.id, now, body)
        headers = {"content-type": "application/json", **signed}
        await self._sender.post(self.url, content=body, headers=headers)
        return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()

    def _body(self, notice: Notice) -> bytes:
        ask = notice.ask
        data: dict[str, Any] = {
            "interruptId": ask.id,
            "threadId": notice.key.thread,
            "agent": cut(notice.key.agent, _LONGEST_NAME),
            "scope": cut(notice.key.scope, _LONGEST_NAME),
            "reason": cut(ask.reason, _LONGEST_NAME),
            "status": ask.status.value,
            "message": cut(notice.message(show_args=self.show_args), _LONGEST_MESSAGE) or None,
            "tool": cut(ask.tool, _LONGEST_NAME) if ask.tool is not None else None,
            "askedBy": ask.asked_by,
            "expiresAt": None if ask.expires_at is None else _iso(ask.expires_at),
            "ref": notice.links.reference,
            "url": notice.links.page,
        }
        if notice.ended:
            data["outcome"] = notice.outcome
        if self.show_args and ask.tool_call is not None:
            data["args"] = dict(ask.tool_call.args)
        whole = {"type": f"interrupt.{notice.event}", "timestamp": _iso(notice.at), "data": data}
        body = _encode(whole)
        for name in ("args", "message", "url", "ref", "askedBy", "threadId"):
            if len(body) < _MOST_BYTES:
                break
            # What is too long is left out, and named.
            data.pop(name, None)
            data.setdefault("leftOut", []).append(name)
            body = _encode(whole)
        return body


def _encode(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _key_of(secret: str) -> bytes:
    key = key_of(secret)
    if key is None:
        raise ConfigurationError(
            "channels: a webhook's secret is whsec_ and 24 to 64 bytes in base64: "
            "openssl rand -base64 32 makes what follows the prefix."
        )
    return key


# --- microsoft Teams: a card with a link to the question, through a Workflows webhook ---
#
# Buttons that answer in place need a registered bot. The decision is made in the inbox.

_LONGEST_TEXT: Final = 2000
_LONGEST_TEAMS_NAME: Final = 300
"""So a card stays below the 28 KB that Teams takes, whatever the agent says."""


@dataclass
class Teams(Channel):
    """Posts a card to a Teams channel or chat.

    Attributes:
        url: the address of a Workflow "When a Teams webhook request is received"; a secret.
        timeout: seconds for an answer.

    Raises:
        ConfigurationError: the address is none.
    """

    url: str = field(repr=False)
    timeout: float = field(default=20.0, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        super().__post_init__()
        check_address(self.url)
        self._sender = HttpSender(self.timeout)

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        """Post the card."""
        shown = card(notice, show_args=self.show_args)
        body = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
        await self._sender.post(
            self.url, content=body, headers={"content-type": "application/json"}
        )
        return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()


def card(notice: Notice, *, show_args: bool = False) -> dict[str, Any]:
    """A notice as the message that Teams takes.

    Args:
        notice: what to tell.
        show_args: whether a tool call's arguments are shown.
    """
    body: list[Json] = [
        {**_text(notice.title, _LONGEST_TEAMS_NAME), "weight": "Bolder", "size": "Medium"}
    ]
    if message := notice.message(show_args=show_args):
        body.append(_text(message))
    facts = [
        {"title": label, "value": _plain(value, _LONGEST_TEAMS_NAME)}
        for label, value in notice.facts
    ]
    body.append({"type": "FactSet", "facts": facts})
    if show_args and notice.args is not None:
        body.append({**_text(notice.args), "fontType": "Monospace"})
        if notice.preview:
            body.append({**_text(notice.preview), "fontType": "Monospace"})
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if notice.links.page is not None:
        content["actions"] = [
            {"type": "Action.OpenUrl", "title": "Decide", "url": notice.links.page}
        ]
    kind = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": kind, "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, most: int = _LONGEST_TEXT) -> dict[str, Json]:
    return {"type": "TextBlock", "text": _plain(text, most), "wrap": True}


def _plain(text: str, most: int) -> str:
    """A visible text whose Markdown is shown, not followed: cards know links and emphasis."""
    shown = cut(text, most)
    return "".join(f"\\{letter}" if letter in "\\`*_[]()#<>~|!" else letter for letter in shown)
