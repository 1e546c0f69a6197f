"""How a check says that an adapter failed it."""

from __future__ import annotations

__all__ = ["Failed", "expect"]


class Failed(AssertionError):
    """An adapter does not do what a check says; the message tells what was seen."""


def expect(holds: bool, seen: str) -> None:
    """Fail the check unless something holds.

    Raises:
        Failed: it does not; with what was seen instead.
    """
    if not holds:
        raise Failed(seen)
