"""An address that people are asked to open: which may be shown, and where it leads."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from agui_bridge.protocol.json_values import clean_text

_LONGEST: Final = 4_000
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class Misleading(ValueError):
    """An address that people can't be shown safely; the text says why."""


def host_of(url: str) -> str:
    """The host that people are shown, as ASCII: letters that look alike are told apart so.

    Args:
        url: the address.

    Raises:
        Misleading: it is not of https, or not what it looks like.
    """
    if len(url) > _LONGEST or clean_text(url) != url or any(ord(c) <= 32 for c in url):
        raise Misleading("its address is no proper one")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        ascii_host = host.encode("idna").decode() if host else ""
        _ = parts.port
    except ValueError:
        raise Misleading("its address is no proper one") from None
    schemes = ("https", "http") if ascii_host in _LOCAL else ("https",)
    if not ascii_host or parts.scheme not in schemes:
        raise Misleading("its address is not one of https")
    if parts.username is not None or parts.password is not None:
        raise Misleading("its address has a name in front of the host, which could mislead")
    return ascii_host
