"""Events that a tool tells the page while it works, whatever its agent is made with."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import deepcopy
from typing import Any, Final

from ag_ui.core import BaseEvent, EventType

_THE_ENGINES: Final = (EventType.RUN_STARTED, EventType.RUN_FINISHED, EventType.RUN_ERROR)
_OVER: Final = (
    "emit() was called in a task or thread that belongs to a run which is over: %s is told to "
    "nobody. What works on for later runs, such as a worker that a tool starts, must not begin in "
    "the tool's context: start it in an empty one (contextvars.Context().run)."
)
logger: Final = logging.getLogger("agui_bridge.emitting")
_WRITE: Final[ContextVar[Callable[[BaseEvent], None] | None]] = ContextVar(
    "agui_bridge_emit", default=None
)


def emit(event: BaseEvent) -> None:
    """Tell the page an event, from inside a tool: it goes out at once, before the tool's result.

    A STATE_SNAPSHOT or STATE_DELTA changes the shared state, a CUSTOM event is the application's.
    It works in async tools, in sync ones that run in a thread, and in what these call. What comes
    once the run is over, such as from a task that a tool has left behind, is told to nobody: the
    log says so.

    Args:
        event: one of `ag_ui.core`'s; not one that begins or ends a run. It is told as it is now.

    Raises:
        RuntimeError: no tool of an agent behind the bridge is running here.
        TypeError: it is no event.
        ValueError: it begins or ends a run.
    """
    if not isinstance(event, BaseEvent):
        raise TypeError(f"emit() takes an event of ag_ui.core, not {event!r:.80}.")
    if event.type in _THE_ENGINES:
        raise ValueError(f"emit() can't tell {event.type.value}: the bridge begins and ends runs.")
    write = _WRITE.get()
    if write is None:
        raise RuntimeError(
            "emit() was called outside of a tool: call it while an agent behind the bridge runs "
            "one. The function of a function agent yields its events instead."
        )
    # The tool may go on with the objects in it; what has no copy has no JSON form either.
    with suppress(Exception):
        event = deepcopy(event)
    write(event)


def _never() -> bool:
    return False


@contextmanager
def emitting(
    write: Callable[[BaseEvent], None], *, is_over: Callable[[], bool] = _never
) -> Iterator[None]:
    """Have `emit` write to a run: for adapters, around what carries its tools out.

    Args:
        write: takes an event; called in this event loop's thread, wherever `emit` was.
        is_over: whether the run is over: nothing is written any more.
    """
    loop, thread = asyncio.get_running_loop(), threading.get_ident()

    def here(event: BaseEvent) -> None:
        if is_over():
            logger.warning(_OVER, event.type.value)
        else:
            write(event)

    def from_anywhere(event: BaseEvent) -> None:
        if threading.get_ident() == thread:
            here(event)
            return
        try:
            loop.call_soon_threadsafe(here, event)
        except RuntimeError:
            # A thread that outlives its run, and then its loop.
            logger.warning(_OVER, event.type.value)

    token = _WRITE.set(from_anywhere)
    try:
        yield
    finally:
        _WRITE.reset(token)


def events_in(value: Any) -> list[BaseEvent]:
    """The events among what a tool returned, or gave along with its result.

    Args:
        value: an event, a list or tuple of events and other things, or anything else.
    """
    several = value if isinstance(value, list | tuple) else (value,)
    return [one for one in several if isinstance(one, BaseEvent) and one.type not in _THE_ENGINES]


# --- events that a tool tells the page right after its result, such as a view of what it returned
# ---

Later = Callable[[str], BaseEvent]
"""Makes an event of the id of the call."""

_LATER: Final[ContextVar[list[Later] | None]] = ContextVar("agui_bridge_after", default=None)


def tell_after(event: Later) -> None:
    """Have an event told once the result of the tool that is running here has been told.

    Args:
        event: makes it; called with the call's id.
    """
    later = _LATER.get()
    if later is not None:
        later.append(event)


@contextmanager
def telling_after(later: list[Later]) -> Iterator[None]:
    """Have `tell_after` collect what is told after a tool's result.

    Args:
        later: gets it.
    """
    token = _LATER.set(later)
    try:
        yield
    finally:
        _LATER.reset(token)
