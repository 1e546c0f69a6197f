"""What a check works with: bridges around new adapters on one SQLite file, threads, the count."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agui_bridge.adapters import Adapter, Run
from agui_bridge.engine.runner import Engine
from agui_bridge.engine.settings import Settings
from agui_bridge.engine.stopping import StopResult
from agui_bridge.http.app import Bridge
from agui_bridge.policy import Policy
from agui_bridge.protocol.records import Json
from agui_bridge.testing.conversation import Conversation, Stream
from agui_bridge.testing.scenario import AdapterScenario
from agui_bridge.testing.verdicts import expect
from agui_bridge.testing.watched import Watched

__all__ = ["Case", "Process"]

AGENT = "agent"


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

    def talk(self, thread: str | None = None) -> Conversation:
        """A conversation, on a new thread unless one is named."""
        agent = self.bridge.agents[AGENT]
        return Conversation(self._engine, agent, thread or self._threads(), self._patience)

    async def stop(self, talk: Conversation, *, force: bool = False) -> StopResult:
        """Stop what a thread does."""
        timeout = self._patience / 2
        return await self.bridge.stop(AGENT, talk.thread, force=force, timeout=timeout)

    def expect_ending(self, stream: Stream, *endings: str, of: str) -> Stream:
        """Fail unless a stream ended in one of some ways."""
        error = self.watched.runs[-1].error if self.watched.runs else None
        why = f"{type(error).__name__}: {error}" if error else stream.fault
        expect(
            stream.ending in endings,
            f"{of} ended with {stream.ending}, not {' or '.join(endings)}"
            + (f": {why}" if why else ""),
        )
        return stream


class Case:
    """One check of one scenario.

    Args:
        scenario: what the author says.
        folder: an empty folder.
        name: unique among the cases on one framework: threads are named by it.
    """

    def __init__(self, scenario: AdapterScenario, folder: Path, name: str) -> None:
        self.scenario = scenario
        self._store = f"sqlite:///{folder / 'threads.db'}"
        numbers = itertools.count(1)
        self._threads = lambda: f"{name}-{next(numbers)}"

    @contextlib.asynccontextmanager
    async def site(
        self,
        make: Callable[[], Adapter] | None = None,
        *,
        before: Callable[[Run], None] | None = None,
        beyond: bool = False,
        policy: Policy | None = None,
    ) -> AsyncIterator[Process]:
        """A bridge around a new adapter; all of a case share one store.

        Args:
            make: makes the adapter, instead of the scenario's own.
            before: as for `Watched`.
            beyond: as for `Watched`.
            policy: of the bridge.
        """
        patience = self.scenario.patience
        watched = Watched((make or self.scenario.adapter)(), before=before, beyond=beyond)
        # What a check leaves running has failed it: nothing is waited for at the end.
        settings = Settings(
            cancel_grace=patience / 4, stop_poll=0.05, sweep_interval=0, shutdown_grace=0
        )
        bridge = Bridge(self._store, settings=settings, telemetry=False)
        bridge.add(AGENT, watched)
        if policy is not None:
            bridge.policy(policy)
        engine = await bridge.open()
        try:
            yield Process(watched, bridge, engine, patience, self._threads)
        finally:
            await bridge.aclose()

    async def paused(self, site: Process, talk: Conversation, message: str | None = None) -> Stream:
        """Make the adapter pause.

        Raises:
            Failed: it does not.
        """
        message = message or self.scenario.pause
        assert message is not None, "the check needs a message that makes it pause"
        stream = await talk.say(message)
        return site.expect_ending(stream, "interrupt", of=f"the run of {message!r}")

    async def count(self) -> int:
        """How much has been carried out so far."""
        return len(await self.scenario.executions())

    async def executed_since(self, count: int) -> Sequence[Json]:
        """What has been carried out since a count."""
        return (await self.scenario.executions())[count:]
