"""How often what a run is saying is kept for other processes, and how much of it.

A message reaches the store when it has finished. Until then whoever comes back through another
process would see nothing of it, and a run that is lost would take it along.
"""

from __future__ import annotations

from typing import Final

from agui_bridge.protocol.threads.history import History, StoredMessage

__all__ = ["MOST_CHARACTERS", "TextPace"]

MOST_CHARACTERS: Final = 65_536
"""Of a message that are kept on the way: it is written whole each time."""


class TextPace:
    """When one run's text is to be kept: once an interval at most, and only what has grown.

    Args:
        interval: seconds between two writes, and before the first; None or 0 is never.

    Attributes:
        behind: whether something may have been said that is to be kept later on.
    """

    __slots__ = ("_interval", "_kept", "_next", "behind")

    def __init__(self, interval: float | None) -> None:
        self._interval = interval or 0.0
        self._next: float | None = None
        self._kept: tuple[str, int] | None = None
        self.behind: bool = False

    def take(self, history: History, now: float) -> StoredMessage | None:
        """What is to be kept now, if anything is.

        Args:
            history: what has been said.
            now: monotonic time.
        """
        if not self._interval:
            return None
        if self._next is None:
            self._next = now + self._interval
        self.behind = now < self._next
        if self.behind or (said := history.said_so_far(MOST_CHARACTERS)) is None:
            return None
        kept = (said.id, len(said.message["content"]))
        if kept == self._kept:
            return None
        self._kept, self._next = kept, now + self._interval
        return said

    def failed(self) -> None:
        """Take note that what was taken last is not kept."""
        self._kept, self.behind = None, True
