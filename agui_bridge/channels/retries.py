"""When a notice that did not arrive is sent again: the schedule of Standard Webhooks.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEDULE", "retry_in"]

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0

SCHEDULE: Final = (
    *(5.0, 5 * _MINUTE, 30 * _MINUTE),
    *(2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR),
)
"""Seconds before the second try, the third, …: ten tries in 75.6 hours."""

_JITTER: Final = 0.1


def retry_in(attempts: int, chance: float, retry_after: float | None = None) -> float | None:
    """Seconds until the next try; None when there is none.

    Args:
        attempts: how many there were.
        chance: from 0 to 1: many that failed together don't come back together.
        retry_after: what the receiver asked for, in seconds.
    """
    if attempts > len(SCHEDULE):
        return None
    pause = SCHEDULE[max(attempts, 1) - 1] * (1 + _JITTER * chance)
    return max(pause, min(retry_after or 0.0, SCHEDULE[-1]))
