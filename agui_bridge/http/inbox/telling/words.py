"""How times and values are written on a page."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.run_events import iso_time

__all__ = ["Moment", "counted", "name_text", "value_text"]

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


def value_text(value: Json) -> str:
    """A JSON value as people read it: a text as it is, else JSON, objects over several lines.

    A text that would be read as another value (`"5"` as 5, `"null"` as null), or not at all, is
    quoted.
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if _misleads(value) else value
    nested = isinstance(value, dict | list | tuple) and len(json.dumps(value)) > 60
    return json.dumps(value, ensure_ascii=False, indent=2 if nested else None)


def name_text(name: str) -> str:
    """An argument's name as people read it: quoted where its spaces would not all be seen."""
    plain = name == " ".join(name.split()) and name and not name.startswith('"')
    return name if plain else json.dumps(name, ensure_ascii=False)


def _misleads(text: str) -> bool:
    """Whether a text that is shown as it is would not be taken for that text."""
    if not text.strip() or "\r" in text or (text != text.strip() and "\n" not in text):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
