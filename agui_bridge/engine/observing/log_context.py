"""Which run the present task carries out, for log records that are made meanwhile.

A context variable, because it reaches what a run begins by itself: its tasks, and the threads of
`asyncio.to_thread`. So the author's own records carry the ids too.
"""

from __future__ import annotations

from contextvars import ContextVar

from agui_bridge.frozen import dataclass

__all__ = ["RunIds", "enter_run", "present_run"]


@dataclass(frozen=True, slots=True)
class RunIds:
    """What a log record tells of its run: the client's ids, and the agent's name."""

    agent: str
    thread: str
    run: str


_PRESENT: ContextVar[RunIds | None] = ContextVar("agui_bridge_run", default=None)


def enter_run(ids: RunIds) -> None:
    """Say what the present task carries out, from now to its end."""
    _PRESENT.set(ids)


def present_run() -> RunIds | None:
    """The run that the caller is part of, None outside of all runs."""
    return _PRESENT.get()
