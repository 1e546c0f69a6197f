"""Settings of the inbox: its address, its keys, how long links hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.reference import References
from agui_bridge.protocol.argument_types import check_field_types

_WEEK: Final = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Inbox:
    """How people reach their questions.

    Attributes:
        url: where people reach the bridge, such as `https://agents.example`; what stands in
            messages to them begins with it. None: they get no addresses.
        keys: secrets that sign references and links; see `References`.
        link_ttl: seconds for which a link is good.
        login_url: where a page sends those whom `authenticate` does not know, `{next}` in it
            being the address of the page; None: nowhere.

    Raises:
        ConfigurationError: the URL is none, a key is too short, or the time is not above 0.
    """

    url: str | None = None
    keys: Sequence[str] = field(default=(), repr=False)
    link_ttl: float = _WEEK
    login_url: str | None = None

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        check_field_types(self)
        if self.url is not None and not _is_address(self.url):
            raise ConfigurationError(
                f"inbox: url must be a whole address, such as https://agents.example, "
                f"not {self.url!r:.200}."
            )
        if not 0 < self.link_ttl < float("inf"):
            raise ConfigurationError("inbox: link_ttl must be seconds, more than 0.")
        _ = self.references

    @property
    def references(self) -> References:
        """Writes and reads references with these keys."""
        return References(self.keys)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
