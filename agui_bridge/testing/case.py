"""What a check works with: processes around new adapters on one SQLite file, and pauses."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agui_bridge.adapters import Adapter, Pause, Run
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.input.settings import Settings
from agui_bridge.policy import Policy
from agui_bridge.protocol.threads.records import Json
from agui_bridge.testing.conversation import Conversation, Stream, expect
from agui_bridge.testing.process import AGENT, Process, Watched
from agui_bridge.testing.scenario import AdapterScenario

_LOOK = 0.1


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
        holds: bool = False,
    ) -> AsyncIterator[Process]:
        """A bridge around a new adapter; all of a case share one store.

        Args:
            make: makes the adapter, instead of the scenario's own.
            before: as for `Watched`.
            beyond: as for `Watched`.
            policy: of the bridge.
            holds: whether questions are held, by adapters that can.
        """
        patience = self.scenario.patience
        watched = Watched((make or self.scenario.adapter)(), before=before, beyond=beyond)
        # What a check leaves running has failed it: nothing is waited for at the end.
        settings = Settings(
            cancel_grace=patience / 4,
            stop_poll=0.05,
            sweep_interval=0,
            shutdown_grace=0,
            hold_seconds=900.0 if holds else 0.0,
        )
        bridge = Bridge(self._store, settings=settings, telemetry=False)
        bridge.add(AGENT, watched)
        if policy is not None:
            bridge.policy(policy)
        engine = await bridge.open()
        try:
            async with contextlib.AsyncExitStack() as served:
                if self.scenario.reached is not None:
                    await served.enter_async_context(self.scenario.reached(bridge))
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
        holds: bool = False,
    ) -> AsyncIterator[Paused]:
        """A process with a new conversation that waits for people.

        Args:
            needed: as for `pause`.
            before: as for `Watched`.
            beyond: as for `Watched`.
            holds: as for `process`.

        Raises:
            Failed: the adapter does not pause.
        """
        async with self.process(before=before, beyond=beyond, holds=holds) as process:
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

    async def asked_later(self, thread: str, *processes: Process) -> Paused:
        """Have processes look after a thread until what was left there asks.

        Args:
            thread: which one.
            *processes: those that look, at once.

        Raises:
            Failed: it does not ask.
        """
        loop = asyncio.get_running_loop()
        before, until = len(await self.scenario.executions()), loop.time() + self.scenario.patience
        while True:
            await asyncio.gather(*(process.look_around() for process in processes))
            for process in processes:
                for noted in process.watched.runs:
                    if noted.pause is None:
                        continue
                    await noted.ended.wait()
                    conversation = process.conversation(thread)
                    # An input that answers nothing is refused, and told what waits.
                    asked = await conversation.begin().rest()
                    return Paused(process, conversation, asked, noted.pause, self.scenario, before)
            expect(loop.time() < until, "nobody was asked what the work asks")
            await asyncio.sleep(_LOOK)


@dataclass(frozen=True, eq=False)
class Paused:
    """A conversation that waits for people.

    Attributes:
        process: where it is held.
        conversation: by which it is answered.
        asked: the stream that ended with the questions.
        pause: what the adapter yielded.
        scenario: of the check.
        before: how much had been carried out when it paused.
    """

    process: Process
    conversation: Conversation
    asked: Stream
    pause: Pause
    scenario: AdapterScenario
    before: int

    async def within(self, process: Process) -> Paused:
        """The same in another process, as from now."""
        before = len(await self.scenario.executions())
        conversation = process.conversation(self.conversation.thread)
        return replace(self, process=process, conversation=conversation, before=before)

    @property
    def shown(self) -> list[dict[str, Json]]:
        """The arguments that people are shown, of each call."""
        return [dict(ask.tool_call.args) for ask in self.pause.asks if ask.tool_call is not None]

    async def answer(self, *payloads: Json, of: str = "") -> Stream:
        """Answer the questions, in their order; with `of`, the run must go well.

        Raises:
            Failed: there are not so many questions, or the run, which is called `of`, ends
                neither with success nor with new questions.
        """
        return self._heard(await self.conversation.answer(self.asked, *payloads), of)

    async def agree(self, of: str = "") -> Stream:
        """Answer so that the adapter goes on; `of` and errors as for `answer`."""
        return await self.answer(self.scenario.yes, of=of)

    async def cancel(self, of: str = "") -> Stream:
        """Cancel the questions; `of` and errors as for `answer`."""
        return self._heard(await self.conversation.cancel(self.asked), of)

    async def done(self) -> Sequence[Json]:
        """What has been carried out since."""
        return (await self.scenario.executions())[self.before :]

    async def expect_nothing_done(self, though: str) -> None:
        """Fail the check if something has been carried out since.

        Raises:
            Failed: it has; `though` says why it must not have.
        """
        done = await self.done()
        expect(not done, f"{though}, and still it carried out {done}")

    def _heard(self, stream: Stream, of: str) -> Stream:
        if of:
            self.process.expect_ending(stream, "success", "interrupt", of=of)
        return stream
