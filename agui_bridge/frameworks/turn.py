"""One run of a framework in this process: driven in a task of its own, stopped, and judged.

How a run ends is decided here, for all of them, in this order: the answers were not used at all
(they can be given again); the gate's fault (a lost lease, a failed policy, a tool that was cut
off); a stop; what the framework raised, a cancellation that nobody here asked for among it; its
result.
An adapter says what its framework is given, how its events are read, and what its result means.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from ag_ui.core import BaseEvent

from agui_bridge.adapters import Resume, Run, RunItem
from agui_bridge.emitting import emitting
from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.item_queue import ItemQueue, join_text
from agui_bridge.frameworks.predicted_state import PredictState, predicted
from agui_bridge.frameworks.rounds import Rounds
from agui_bridge.policy import PolicyFailed
from agui_bridge.protocol.answers.decisions import Decision
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.tool_gate import CutOff, ToolGate

__all__ = ["FrameworkTurn"]

GRACE: Final = 1.0
"""Seconds that a cancelled agent has to come to its end; a tool in a thread may take longer."""


@dataclass(frozen=True, slots=True)
class _Emitted:
    """An event that a tool told by `emit`, among those that the framework tells."""

    event: BaseEvent


class FrameworkTurn(ABC):
    """One run of a framework, for an adapter to make its own.

    A subclass sets `_gate` (`_make_gate`) and `_reader`, writes what the framework tells to
    `_queue` in `_work`, and says in `_ending` what its result means. The other methods have a
    default. Names with one underscore are the subclass's, and as stable as those without.

    Args:
        run: the run.
        kept: makes what the adapter kept of the run that this one continues from its JSON; its
            `actor` is who began that one.
        predictions: of the state, from the arguments of calls.
    """

    _gate: ToolGate
    """What each tool call passes before it begins."""
    _reader: Any
    """Has `read(event)`, which gives run items, and ids: of calls `called`, and `answered`."""

    def __init__(
        self,
        run: Run,
        kept: Callable[[Any], Any],
        *,
        predictions: Sequence[PredictState] = (),
    ) -> None:
        waited = run.resume or run.handoff
        self._run = run
        self._kept: Any = kept(waited.continuation) if waited is not None else None
        self._actor: str = self._kept.actor if self._kept else run.principal.actor
        # Of what adapters keep, that has `rounds` whose tools may ask in their middle.
        self._rounds = Rounds(run, getattr(self._kept, "rounds", None))
        self._decisions: Mapping[str, Decision] = self._rounds.decisions(self._actor)
        # The same by tool call id, where the framework asks under other ids.
        self._decided = self._decisions
        self._queue = ItemQueue()
        self._predictions = predictions
        # Whether a tool has told something itself: only then is each event looked at for it.
        self._emits = False
        self._working: asyncio.Task[Any]

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Carry it out.

        Raises:
            NotDelivered: nothing was done with the answers.
            CutOff: it was cancelled from inside.
            Exception: what the framework raised, or what the gate did and it made its own of.
        """
        working = self._working = asyncio.create_task(self._worked())
        stopping = asyncio.create_task(self._stopped())
        stopping.add_done_callback(lambda done: done.cancelled() or working.cancel())
        try:
            while events := await self._queue.take():
                for item in self._told(events):
                    yield item
            await asyncio.wait([working])
            failure = self._failure()
            await self._expect_delivered(failure)
            for item in self._last_items():
                yield item
            self._gate.raise_fault()
            result = None if self._run.stop.requested else self._result(failure)
        finally:
            stopping.cancel()
            if not working.done():
                working.cancel()
                self._queue.abandon()
                await asyncio.wait([working], timeout=GRACE)
            await self._left()
            self._note_not_begun()
        if result is not None:
            async for item in self._ending(result):
                yield item

    # --- the framework's own task ---

    @abstractmethod
    async def _work(self) -> Any:
        """Run the framework, writing its events to the queue; gives its result, None without one.

        Raises:
            NotDelivered: the framework can't go on from what was kept; nothing was done.
        """

    async def _worked(self) -> Any:
        try:
            with emitting(self._emit, is_over=self._is_over):
                return await self._work()
        finally:
            self._queue.close()

    def _is_over(self) -> bool:
        return self._working.done()

    def _emit(self, event: BaseEvent) -> None:
        self._emits = True
        self._queue.write(_Emitted(event))

    async def _stopped(self) -> None:
        """Return when a stop was asked for, and the framework is to be cancelled."""
        await self._gate.stopped()

    def _stop_working(self) -> None:
        """Cancel the framework: `ToolGate.failed` of those that would go on after a fault."""
        self._working.cancel()

    # --- what is told ---

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        """What is told of some events."""
        read = self._read if self._emits else self._reader.read
        items = chain.from_iterable(map(read, events))
        return join_text(predicted(items, self._predictions) if self._predictions else items)

    def _read(self, event: Any) -> Iterable[RunItem]:
        if isinstance(event, _Emitted):
            return (event.event,)
        items: Iterable[RunItem] = self._reader.read(event)
        return items

    def _last_items(self) -> Iterable[RunItem]:
        """What is told once the framework is done, whatever it came to."""
        return ()

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        """What ends a run that nothing went wrong in, and is noted of it."""
        for item in list[RunItem]():
            yield item

    async def _left(self) -> None:  # noqa: B027 (most have nothing to do)
        """End and note what remains, however the run ended."""

    # --- how it ends ---

    def _failure(self) -> BaseException | None:
        """What the framework raised."""
        try:
            # Looked at in any case, so that asyncio does not tell of one that nobody retrieved.
            return self._working.exception()
        except asyncio.CancelledError as error:
            cut_off = CutOff()
            cut_off.__cause__ = error
            return cut_off

    async def _expect_delivered(self, failure: BaseException | None) -> None:
        """Have the answers given again if nothing was done with them.

        Raises:
            NotDelivered: that is so.
        """
        fault = self._gate.fault
        if isinstance(fault, PolicyFailed) and self._is_untouched:
            raise NotDelivered(str(fault)) from fault

    def _result(self, failure: BaseException | None) -> Any:
        """What a run came to that was not stopped; None if there is nothing to add to it.

        Raises:
            Exception: the failure, or what it means.
        """
        if failure is not None:
            raise failure
        return self._working.result()

    # --- its calls ---

    def _make_gate(self, approve: Collection[str] | Callable[[ToolCall], bool] = ()) -> ToolGate:
        run = self._run
        if self._decided is not self._decisions:
            resume = run.resume or Resume(None, {})
            run = replace(run, resume=replace(resume, decisions=self._decided))
        return ToolGate(
            run,
            approve=approve,
            taken=self._queue.taken,
            actor=self._actor,
            going_on=self._rounds.going_on,
        )

    def _note_not_begun(self) -> None:
        touched = self._touched | self._rounds.going_on.keys()
        calls = (*self._asked_calls(), *self._reader.called)
        self._run.not_begun = [
            call for call in calls if call not in touched and not self._is_of_code(call)
        ]

    def _is_of_code(self, call: str) -> bool:
        """Whether the author's code may have carried a call out by itself, past the gate."""
        return False

    def _asked_calls(self) -> Iterable[str]:
        """Ids of the calls that people were asked about."""
        return self._decisions

    @property
    def _touched(self) -> set[str]:
        """Ids of the calls that began, or that the client has a result of."""
        answered: set[str] = self._reader.answered
        return self._gate.begun | answered

    @property
    def _is_untouched(self) -> bool:
        """Whether answers came with this run, and can be given again."""
        return self._kept is not None and not self._touched

    # --- what is said ---

    def _new_messages(self) -> list[dict[str, Any]]:
        """The new messages as JSON, those that came along with answers too."""
        if self._run.resume is not None:
            new = self._run.resume.new_messages
            return [message.model_dump(by_alias=True, mode="json") for message in new]
        return list(map(dict, self._run.raw_new_messages))

    def _new_user_messages(self) -> list[dict[str, Any]]:
        """Those of them that the user said."""
        return [message for message in self._new_messages() if message.get("role") == "user"]
