"""Remembered decisions as JSON text and back, the same text in every backend."""

from __future__ import annotations

from agui_bridge.frozen import replace
from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.stores.codec import decode, encode

__all__ = ["decode_grant", "encode_grant"]

_MEMBERS = (
    *("id", "scope", "agent", "tool", "rule", "holder", "held_by", "args", "matchers"),
    *("granted_by", "created_at", "expires_at", "max_uses"),
)


def encode_grant(grant: Grant) -> str:
    """Write what never changes of a decision."""
    values = {name: getattr(grant, name) for name in _MEMBERS}
    values |= {"args": dict(grant.args), "matchers": dict(grant.matchers)}
    return encode(values)


def decode_grant(
    text: str, uses: int = 0, revoked_at: float | None = None, revoked_by: str | None = None
) -> Grant:
    """Read what `encode_grant` wrote, with what has changed since."""
    data = decode(text)
    grant = Grant(**{name: data[name] for name in _MEMBERS})
    return replace(grant, uses=uses, revoked_at=revoked_at, revoked_by=revoked_by)
