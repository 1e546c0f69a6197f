"""Addresses as people give them."""

from __future__ import annotations

from urllib.parse import urlsplit

from agui_bridge.errors import ConfigurationError

__all__ = ["read_address"]


def read_address(text: str) -> str:
    """An address of a server, or below it, without a slash at its end.

    Args:
        text: as it was given.

    Raises:
        ConfigurationError: it is none.
    """
    if not text.startswith(("http://", "https://")):
        raise ConfigurationError(f"{text!r} is no address.\nBegin it with http:// or https://.")
    try:
        parts = urlsplit(text)
        # The port is read where it is asked for.
        is_address = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    if not is_address or not text.isprintable() or " " in text:
        raise ConfigurationError(
            f"{text!r} is no address.\nWrite it like http://127.0.0.1:8787 or https://example.com."
        )
    return text.rstrip("/")
