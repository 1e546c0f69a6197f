"""The adapter under test, with what it does noted down between it and the engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from agui_bridge.adapters import Adapter, AdapterCapabilities, Pause, Run, RunItem
from agui_bridge.protocol.json_values import canonical

__all__ = ["Watched", "WatchedRun"]


@dataclass(eq=False)
class WatchedRun:
    """One run of the adapter.

    Attributes:
        run: what the adapter got.
        items: what it yielded, in order.
        minted: the ids that it had made.
        error: what it raised.
        ended: set once it has ended, however.
        given: the continuation as JSON text, before the adapter had it.
        cancelled: whether it was made to end, by a cancellation or by closing it.
    """

    run: Run
    items: list[RunItem] = field(default_factory=list)
    minted: list[str] = field(default_factory=list)
    error: BaseException | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    given: str = ""
    cancelled: bool = False

    @property
    def pause(self) -> Pause | None:
        """The pause that it ended with."""
        return next((item for item in self.items if isinstance(item, Pause)), None)


class Watched:
    """Passes everything on, and notes it.

    Args:
        inner: the adapter under test.
        before: changes a run before the adapter gets it.
        beyond: whether the adapter is asked for more after a pause.

    Attributes:
        capabilities: those of the adapter.
        runs: every run that was begun.
        begun: set once there is one.
    """

    def __init__(
        self,
        inner: Adapter,
        *,
        before: Callable[[Run], None] | None = None,
        beyond: bool = False,
    ) -> None:
        self.inner = inner
        self.capabilities: AdapterCapabilities = inner.capabilities
        self.runs: list[WatchedRun] = []
        self.begun: asyncio.Event = asyncio.Event()
        self._before = before
        self._beyond = beyond

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Have the adapter carry out a run."""
        if self._before is not None:
            self._before(run)
        noted = WatchedRun(run)
        if run.resume is not None:
            noted.given = canonical(run.resume.continuation)
        run.mint = _noting(run.mint, noted.minted)
        self.runs.append(noted)
        self.begun.set()
        items: Any = self.inner.run(run)
        try:
            async for item in items:
                noted.items.append(item)
                if not self._beyond or not isinstance(item, Pause):
                    yield item
            if self._beyond and noted.pause is not None:
                yield noted.pause
        except (asyncio.CancelledError, GeneratorExit):
            noted.cancelled = noted.pause is None
            raise
        except BaseException as error:
            noted.error = error
            raise
        finally:
            try:
                if hasattr(items, "aclose"):
                    with contextlib.suppress(StopAsyncIteration):
                        await items.aclose()
            finally:
                noted.ended.set()

    async def aclose(self) -> None:
        """Close the adapter."""
        await self.inner.aclose()


def _noting(mint: Callable[[], str], minted: list[str]) -> Callable[[], str]:
    def noting() -> str:
        minted.append(mint())
        return minted[-1]

    return noting
