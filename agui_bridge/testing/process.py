"""One process with the adapter under test: its bridge, and the conversations that it holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from agui_bridge.adapters import (
    Adapter,
    AdapterCapabilities,
    HoldEnd,
    Holds,
    Looks,
    Pause,
    Run,
    RunItem,
)
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.protocol.callbacks import Callback, CalledBack, Standing
from agui_bridge.protocol.json_values import canonical
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.testing.conversation import Conversation, Stream, expect


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
        not_closed: what the adapter raised when it was to end what waited.
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
        self.not_closed: list[Exception] = []
        self._before = before
        self._beyond = beyond

    async def look(self, left: Json) -> bool:
        """Ask the adapter whether it has found something of the work that a run has left."""
        return isinstance(self.inner, Looks) and await self.inner.look(left)

    def read_callback(
        self, agent: str, token: str, headers: Mapping[str, str], body: bytes, now: float
    ) -> Callback:
        """Have the adapter read a request of its framework's."""
        inner = cast("CalledBack", self.inner)
        return inner.read_callback(agent, token, headers, body, now)

    def judge_callback(self, left: Json, callback: Callback) -> Standing:
        """Ask the adapter whether work that a run has left waits for a callback."""
        return cast("CalledBack", self.inner).judge_callback(left, callback)

    async def closed(self, continuation: Json, end: HoldEnd) -> None:
        """Have the adapter end what waits for answers."""
        assert isinstance(self.inner, Holds), "an adapter that declares `holds` has `closed`"
        try:
            await self.inner.closed(continuation, end)
        except Exception as error:
            self.not_closed.append(error)
            raise

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


AGENT: Final = "agent"


@dataclass(eq=False)
class Process:
    """One process: a bridge whose only agent is the adapter under test.

    Attributes:
        watched: the adapter, and what it did.
        bridge: the bridge.
    """

    watched: Watched
    bridge: Bridge
    _engine: Engine
    _patience: float
    _threads: Callable[[], str]

    def conversation(self, thread: str | None = None) -> Conversation:
        """A conversation, on a new thread unless one is named."""
        agent = self.bridge.agents[AGENT]
        return Conversation(self._engine, agent, thread or self._threads(), self._patience)

    async def stop(self, conversation: Conversation, *, force: bool = False) -> StopResult:
        """Stop what a thread does, for which it has half of the scenario's patience."""
        timeout = self._patience / 2
        return await self.bridge.stop(AGENT, conversation.thread, force=force, timeout=timeout)

    async def let_go(self) -> None:
        """Hold no question any more."""
        await self._engine.holds.let_go_all()

    async def look_around(self) -> None:
        """Take the looks that are due, and let what they find be asked."""
        engine = self._engine
        await sweep(engine.store, mint, engine.looks.take)

    def expect_ending(self, stream: Stream, *endings: str, of: str) -> None:
        """Fail the check unless a stream ended in one of some ways.

        Raises:
            Failed: it did not; `of` says what run it is of.
        """
        error = self.watched.runs[-1].error if self.watched.runs else None
        why = f"{type(error).__name__}: {error}" if error else stream.fault
        expect(
            stream.ending in endings,
            f"{of} ended with {stream.ending}, not {' or '.join(endings)}"
            + (f": {why}" if why else ""),
        )

    async def expect_success(
        self, conversation: Conversation, message: str, *, of: str = "the next message's run"
    ) -> Stream:
        """Send a message, and fail the check unless its run succeeds.

        Raises:
            Failed: it does not; `of` says what run it is.
        """
        stream = await conversation.say(message)
        self.expect_ending(stream, "success", of=of)
        return stream
