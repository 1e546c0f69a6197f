"""Variants that break one rule of runs that sleep each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from unittest.mock import patch

from agui_bridge.protocol.contract import admission
from agui_bridge.protocol.contract.requests import Replay, Request, Resume, Ruling
from agui_bridge.protocol.contract.settling import resume_of, settle
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import RecordedAnswer

__all__ = ["BROKEN_SLEEP", "begins_anew", "with_row"]

Row = Callable[[Loaded, Request], Ruling | None]


def with_row(number: str, rule: Row | None) -> Callable[[], AbstractContextManager[object]]:
    """Put another rule in the place of a row; None takes the row out."""
    rows = tuple(
        (own, changed)
        for own, old in admission.ROWS
        if (changed := rule if own == number else old) is not None
    )
    return lambda: patch.object(admission, "ROWS", rows)


def _wakes_too_soon(loaded: Loaded, request: Request) -> Ruling | None:
    if not request.wakes:
        return None
    if not loaded.asks:
        return Replay()
    asks = {ask.id: RecordedAnswer("cancelled") for ask in loaded.asks}
    return Resume(asks, frozenset(asks))


def begins_anew(loaded: Loaded, request: Request) -> Ruling | None:
    """Row 0a without its "Else Replay"."""
    due = request.wakes and loaded.timer_due
    return resume_of(loaded, settle(loaded, request)) if due else None


def _wakes_at_a_message(loaded: Loaded, request: Request) -> Ruling | None:
    asleep = any(ask.is_timer for ask in loaded.waiting)
    if not asleep or request.entries:
        return None
    soon = replace(loaded, now=max(ask.expires_at or 0.0 for ask in loaded.asks))
    return resume_of(soon, settle(soon, request))


BROKEN_SLEEP: tuple[tuple[str, int, Callable[[], AbstractContextManager[object]]], ...] = (
    ("a message closes a run that sleeps", 1, with_row("9a", None)),
    ("time wakes too soon", 1, with_row("0a", _wakes_too_soon)),
    ("time changes nothing", 1, with_row("0a", None)),
    ("a message wakes a run", 1, with_row("9a", _wakes_at_a_message)),
)
"""What is broken, where a search soon meets a schedule that shows it, and how."""
