"""Signatures of webhooks, made and checked: whoever has the secret sent exactly this, and lately.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

_PREFIX: Final = "whsec_"
_LONGEST_AGE: Final = 5 * 60
"""Seconds by which the clocks of both sides, and the way, may differ."""


def key_of(secret: str) -> bytes | None:
    """The key that a secret holds: `whsec_` and 24 to 64 bytes in base64; None if it is none."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if secret.startswith(_PREFIX) and 24 <= len(key) <= 64 else None


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


def signed_headers(keys: Sequence[bytes], id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a signed message.

    Args:
        keys: each signs, while a secret is rotated.
        id: of the message.
        timestamp: seconds since the epoch.
        body: as it is sent.
    """
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(key, id, timestamp, body) for key in keys),
    }


def is_signed(keys: Sequence[bytes], headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Whether somebody who has one of the keys signed a message, in the last five minutes.

    Args:
        keys: any of them counts.
        headers: the message's; names in any case that the mapping takes.
        body: as it came.
        now: seconds since the epoch.
    """
    id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (id and sent.isascii() and sent.isdigit() and len(sent) < 16):
        return False
    if abs(now - int(sent)) > _LONGEST_AGE:
        return False
    given = headers.get("webhook-signature", "").encode("utf-8", "replace").split()
    wanted = [signature(key, id, int(sent), body).encode() for key in keys]
    # Each is compared with each, so that the time does not say which one fits.
    fits = [hmac.compare_digest(one, other) for one in wanted for other in given[:16]]
    return any(fits)
