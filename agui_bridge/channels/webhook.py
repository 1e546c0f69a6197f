"""Webhooks after Standard Webhooks: questions that open and end, told to a service of yours.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from agui_bridge.channels.channel import Channel
from agui_bridge.channels.http_sender import HttpSender, check_address
from agui_bridge.channels.notice import Notice, cut
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import Json

__all__ = ["Webhook", "signature"]

_PREFIX: Final = "whsec_"
_MOST_BYTES: Final = 20_000
"""A body stays below 20 KB, whatever the agent says."""

_LONGEST_MESSAGE: Final = 2000
_LONGEST_NAME: Final = 256


def signature(key: bytes, id: str, timestamp: int, body: bytes) -> str:
    """Sign a message, as the header `webhook-signature` has it.

    Args:
        key: the secret's bytes.
        id: of the message.
        timestamp: seconds since the epoch.
        body: as it is sent.
    """
    signed = b".".join((id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


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
        headers = {
            "content-type": "application/json",
            "webhook-id": notice.id,
            "webhook-timestamp": str(now),
            "webhook-signature": " ".join(
                signature(key, notice.id, now, body) for key in self._keys
            ),
        }
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
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_PREFIX) or not 24 <= len(key) <= 64:
        raise ConfigurationError(
            f"channels: a webhook's secret is {_PREFIX} and 24 to 64 bytes in base64: "
            "openssl rand -base64 32 makes what follows the prefix."
        )
    return key
