"""How times and values are written on a page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from agui_bridge.protocol.wire.run_events import iso_time

__all__ = ["Moment", "counted"]

_UNITS: Final = (("day", 86400), ("hour", 3600), ("minute", 60))


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, as people read it.

    Attributes:
        at: seconds since the epoch.
    """

    at: float

    @property
    def iso(self) -> str:
        """For machines: ISO 8601."""
        return iso_time(self.at)

    @property
    def exact(self) -> str:
        """As the calendar and the clock have it, in UTC: a page without a script knows no zone."""
        then = datetime.fromtimestamp(self.at, UTC)
        return f"{then.day} {then:%b %Y, %H:%M} UTC"

    @property
    def relative(self) -> str:
        """How long ago, or in how long."""
        away = self.at - time.time()
        for unit, seconds in _UNITS:
            if abs(away) >= seconds:
                told = counted(int(abs(away) // seconds), unit)
                return f"in {told}" if away > 0 else f"{told} ago"
        return "in less than a minute" if away > 0 else "just now"


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 vote` or `3 votes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
