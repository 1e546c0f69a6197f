"""Opening a store: what the operator is told of it, and a server that is not ready yet."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Final, TypeVar

from agui_bridge.errors import StoreUnavailable
from agui_bridge.frozen import dataclass

T = TypeVar("T")

logger: Final = logging.getLogger("agui_bridge")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0


_ADVISED: Final = ContextVar("agui_bridge_advised", default=False)


def advise(text: str, *arguments: object) -> None:
    """Warn the operator of a server that works and may lose what is kept in it.

    Args:
        text: as for a logger.
        *arguments: what its `%s` stand for.
    """
    if not _ADVISED.get():
        logger.warning(text, *arguments)


@contextlib.contextmanager
def advised_before() -> Iterator[None]:
    """Give no advice on a store that is opened within, since it was given before."""
    token = _ADVISED.set(True)
    try:
        yield
    finally:
        _ADVISED.reset(token)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a store was when it was opened, and what it is now.

    Attributes:
        before: its schema; None where there was no store.
        after: its schema now.
    """

    before: str | None
    after: str


_PREPARED: Final[ContextVar[list[Preparation] | None]] = ContextVar(
    "agui_bridge_prepared", default=None
)


def note_preparation(before: str | None, after: str) -> None:
    """Tell who asked for it how a store was found, once it is ready.

    Args:
        before: as in `Preparation`.
        after: as in `Preparation`.
    """
    noted = _PREPARED.get()
    if noted is not None:
        noted.append(Preparation(before, after))


@contextlib.contextmanager
def noting_preparation() -> Iterator[list[Preparation]]:
    """Collect how the stores that are opened within were found."""
    noted: list[Preparation] = []
    token = _PREPARED.set(noted)
    try:
        yield noted
    finally:
        _PREPARED.reset(token)


class ConnectionCut(StoreUnavailable):
    """The server was reached, and was gone again or not ready: the next try may pass."""


async def open_patiently(opening: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Open a store; where its connection is cut, try again.

    Nobody who listens at the address may mean that it is wrong: that fails at once, unless a
    server was there before and may be restarting.

    Args:
        opening: tries once.
        seconds: after which it is not tried again.

    Raises:
        ConfigurationError: as `opening`.
        SchemaMismatch: as `opening`.
        StoreUnavailable: as `opening`, or it was time to give up.
    """
    loop = asyncio.get_running_loop()
    end, pause, cut = loop.time() + seconds, FIRST_PAUSE, False
    while True:
        try:
            return await opening()
        except StoreUnavailable as error:
            cut = cut or isinstance(error, ConnectionCut)
            if not cut or loop.time() + pause > end:
                raise
            logger.warning("the store can't be opened yet, it is tried again: %s", error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
