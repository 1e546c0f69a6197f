"""What a check works with: processes around new adapters on one SQLite file, and pauses."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from agui_bridge.adapters import Adapter, Run
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.input.settings import Settings
from agui_bridge.policy import Policy
from agui_bridge.testing.conversation import Conversation
from agui_bridge.testing.paused import Paused
from agui_bridge.testing.process import AGENT, Process
from agui_bridge.testing.scenario import AdapterScenario
from agui_bridge.testing.watched import Watched

__all__ = ["Case"]


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
    async def process(
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

    @contextlib.asynccontextmanager
    async def paused(
        self,
        needed: str = "pause",
        *,
        before: Callable[[Run], None] | None = None,
        beyond: bool = False,
    ) -> AsyncIterator[Paused]:
        """A process with a new conversation that waits for people.

        Args:
            needed: as for `pause`.
            before: as for `Watched`.
            beyond: as for `Watched`.

        Raises:
            Failed: the adapter does not pause.
        """
        async with self.process(before=before, beyond=beyond) as process:
            yield await self.pause(process, process.conversation(), needed)

    async def pause(self, process: Process, conversation: Conversation, needed: str) -> Paused:
        """Make the adapter pause.

        Args:
            process: where the conversation is held.
            conversation: which one.
            needed: the attribute of the scenario whose message makes it.

        Raises:
            Failed: it does not.
        """
        message = getattr(self.scenario, needed)
        asked = await conversation.say(message)
        process.expect_ending(asked, "interrupt", of=f"the run of {message!r}")
        pause = process.watched.runs[-1].pause
        assert pause is not None, "only a pause ends so"
        before = len(await self.scenario.executions())
        return Paused(process, conversation, asked, pause, self.scenario, before)
