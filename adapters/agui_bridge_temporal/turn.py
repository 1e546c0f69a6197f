"""One run: the workflow of a thread is started, answered or only heard, until it asks or ends.

Temporal keeps what became of a workflow, so nothing of it is kept here but how far it was heard. A
note of that is stored before anything is sent: of a run that dies, the next look finds the
workflow, and what it still asks is asked again.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ag_ui.core import (
    ActivitySnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolCallResultEvent,
)

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import AdapterError, NotDelivered, UpstreamError
from agui_bridge.protocol.answers.decisions import Approve, Cancel
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import text_of
from agui_bridge_temporal.answering import Answering
from agui_bridge_temporal.told import (
    Asked,
    Gone,
    Lost,
    Place,
    Refused,
    Standing,
    State,
    Unknown,
    answer_of,
    pause_of,
    workflow_of,
)

if TYPE_CHECKING:
    from agui_bridge_temporal.server import Server

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5
_ASIDE_SECONDS: Final = 5.0
"""Seconds that a cancellation may take where something else is waited for."""

_GOES_ON: Final = "The workflow goes on. What it asks, and how it ends, will be told here."
_APPROVED: Final = "The workflow has the approval, and goes on."
_AT_WORK: Final = (
    "The workflow is still at work on what was said before, and was not given this message. Wait "
    "until it has told its end, or stop this conversation and send the message again."
)
_MAY_HAVE_BEGUN: Final = (
    "Whether the workflow began is unknown: what it tells all the same is told here."
)
_NOT_BEGUN: Final = "The workflow did not begin."
_ASKS_FIRST: Final = (
    "Your message was not given to the workflow, which asks this first. Send it again afterwards. "
)
_NOT_HEARD: Final = "The workflow was not given this message. Send it again."
_ENDED: Final = "The workflow has ended. What it told last is told here once a worker is there."
_UNHEARD: Final = "What the workflow told last can't be had. "
_UNENDED: Final = "The workflow was told to end, and has not ended yet."
_GONE: Final = "Temporal does not know the workflow of this conversation any more."

_ENDS: Final[Mapping[str, str]] = {
    "failed": "The workflow failed.",
    "cancelled": "The workflow was cancelled at Temporal.",
    "terminated": "The workflow was terminated at Temporal.",
    "timed out": "The workflow took longer than it may, and Temporal has ended it.",
}


@dataclass(frozen=True, slots=True)
class Options:
    """Which workflow runs, and how long it is waited for; see `TemporalWorkflow`."""

    workflow: str
    task_queue: str
    input: Callable[[Run], Json | Awaitable[Json]] | None
    limit: float | None
    patience: float
    prefix: str


class Turn:
    """One run.

    Args:
        run: the run.
        server: Temporal.
        options: of the adapter.
    """

    def __init__(self, run: Run, server: Server, options: Options) -> None:
        self._run = run
        self._server = server
        self._options = options
        self._workflow = workflow_of(run.principal.scope, run.agent, run.thread_id, options.prefix)
        self._trace = run.trace_headers
        self._answering = Answering(run, server, self._workflow, options.patience)
        # Where the workflow works, or else where it waits for the next message.
        self._place = None if run.left is None else Place.from_json(run.left["place"])
        self._listens = None if run.memo is None else Place.from_json(run.memo)
        # Calls that were approved, and of which nothing was told yet, by their question.
        self._calls: dict[str, str] = {}
        self._failure: str | None = None

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Carry the run out; where it is stopped, so is the workflow."""
        try:
            async with contextlib.aclosing(self._carry_out()) as items:
                async for item in items:
                    yield item
        finally:
            self._leave()
            run = self._run
            run.memo = None if self._listens is None else self._listens.to_json()
            if run.stop.requested:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_ASIDE_SECONDS):
                        await self._server.cancel(self._workflow, self._trace)
        if self._failure is not None:
            raise UpstreamError(self._failure)

    def _carry_out(self) -> AsyncGenerator[RunItem, None]:
        if self._run.resume is not None:
            return self._answer(Asked.from_json(self._run.resume.continuation))
        return self._look() if self._run.looks else self._begin()

    def _leave(self) -> None:
        """Note what the next run, or a look, finds the workflow by."""
        kept = self._place
        left = {"workflow": self._workflow, "place": kept.to_json()} if kept is not None else None
        self._run.left = left

    async def _look(self) -> AsyncGenerator[RunItem, None]:
        await self._withdraw(await self._server.standing(self._workflow, self._trace))
        async with contextlib.aclosing(self._hear(0.0)) as items:
            async for item in items:
                yield item

    # --- a message ---

    async def _begin(self) -> AsyncGenerator[RunItem, None]:
        standing = await self._server.standing(self._workflow, self._trace)
        told = await self._withdraw(standing)
        moved = await self._has_moved(standing)
        if self._place is not None:
            seconds = self._options.patience if told or moved else 0.0
            async with contextlib.aclosing(self._hear(seconds, amid=True)) as items:
                async for item in items:
                    if isinstance(item, Pause):
                        yield _ASKS_FIRST
                        yield item
                        return
                    yield item
            if self._place is not None:
                raise UpstreamError(self._failure or _AT_WORK)
            if self._failure is not None:
                # It is told, and the message is for the next one.
                yield f"{self._failure} "
                self._failure = None
            standing = await self._server.standing(self._workflow, self._trace)
        if (hears := self._hearer(standing)) is not None:
            said = self._say(hears)
        else:
            said = self._start_after(standing)
        async with contextlib.aclosing(said) as items:
            async for item in items:
                yield item

    def _hearer(self, standing: Standing | None) -> Place | None:
        """Where the workflow waits for the message, if it does."""
        hears = self._listens
        if standing is None or hears is None or not standing.runs:
            return None
        return hears if hears.first == standing.first else None

    async def _has_moved(self, standing: Standing | None) -> bool:
        """Note that a workflow has not waited for the message: it goes on, or continued as new.

        Raises:
            NotDelivered: no worker is there: then nothing was delivered yet.
        """
        if (hears := self._hearer(standing)) is None:
            return False
        state = await self._state(hears)
        if state.listens and state.run == hears.run:
            return False
        self._place, self._listens = hears, None
        return True

    async def _withdraw(self, standing: Standing | None) -> bool:
        """Let a workflow go on whose question expired, and let one go whose question was stopped.

        Returns:
            Whether it was told something.
        """
        told = False
        for batch in self._run.closed:
            asked = Asked.from_json(batch.continuation)
            if batch.cause == "stopped":
                self._place = None
            elif batch.cause == "expired" and standing is not None and standing.runs:
                expired = Cancel("expired")
                nobody = {id: answer_of(expired, shown) for id, shown in asked.shown.items()}
                with contextlib.suppress(AdapterError):
                    await self._answering.send(asked, nobody)
                    told = True
        return told

    async def _start_after(self, standing: Standing | None) -> AsyncGenerator[RunItem, None]:
        """Start a workflow; one that runs still, and is no part of the conversation, ends first."""
        run, options = self._run, self._options
        self._listens = None
        if standing is not None and standing.runs:
            await self._end_it(standing)
        given: Json = _start_of(run)
        if options.input is not None:
            made = options.input(run)
            given = await made if inspect.isawaitable(made) else made
        # Stored before what is yielded is told: of a run that dies after this, a look finds it.
        self._place = Place(before=standing.first if standing is not None else "")
        self._leave()
        yield StepStartedEvent(step_name="start")
        await run.check_stop()
        if run.stop.requested:
            self._place = None
            return
        run.check_lease()
        try:
            await self._server.start(
                options.workflow,
                given,
                queue=options.task_queue,
                workflow=self._workflow,
                limit=options.limit,
                trace=self._trace,
            )
        except Refused:
            self._place = None
            raise
        except Unknown as error:
            self._failure = f"{error} {_MAY_HAVE_BEGUN}"
        yield StepFinishedEvent(step_name="start")
        async with contextlib.aclosing(self._hear(options.patience)) as items:
            async for item in items:
                self._failure = None
                yield item

    async def _end_it(self, standing: Standing) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + self._options.patience
        self._run.check_lease()
        await self._server.cancel(self._workflow, self._trace)
        found: Standing | None = standing
        while found is not None and found.runs:
            if clock() > until:
                raise NotDelivered(_UNENDED)
            await asyncio.sleep(_FIRST_PAUSE)
            found = await self._server.standing(self._workflow, self._trace)

    async def _say(self, place: Place) -> AsyncGenerator[RunItem, None]:
        """Give the next message to a workflow that waits for it."""
        run = self._run
        self._place, self._listens = place, None
        self._leave()
        yield StepStartedEvent(step_name="say")
        await run.check_stop()
        if run.stop.requested:
            self._place, self._listens = None, place
            return
        run.check_lease()
        try:
            await self._server.update(
                "agui_bridge_say",
                _said_in(run),
                workflow=self._workflow,
                run=place.run,
                id=f"say {run.mint()}",
                trace=self._trace,
            )
        except (Gone, Refused) as error:
            # It ended just now, or continued as new: the next message finds which.
            raise NotDelivered(_NOT_HEARD) from error
        except Unknown as error:
            self._failure = f"{error} Whether it has the message is unknown."
        yield StepFinishedEvent(step_name="say")
        async with contextlib.aclosing(self._hear(self._options.patience)) as items:
            async for item in items:
                self._failure = None
                yield item

    # --- an answer ---

    async def _answer(self, asked: Asked) -> AsyncGenerator[RunItem, None]:
        run, place = self._run, asked.place
        assert run.resume is not None
        # The pause has left the same note: of a run that dies, a look finds what became of it.
        self._place = place
        try:
            answers = await self._answering.still_wanted(asked)
        except Lost:
            self._place = None
            raise
        await run.check_stop()
        if run.stop.requested:
            # Nothing begins after a stop.
            return
        run.check_lease()
        decisions = run.resume.decisions
        await self._answering.send(asked, answers)
        for id, call in asked.questions.items():
            if call is not None and isinstance(decisions[id], Approve):
                self._calls[id] = call
        async with contextlib.aclosing(self._hear(self._options.patience)) as items:
            async for item in items:
                yield item

    # --- what the workflow tells ---

    async def _hear(self, seconds: float, *, amid: bool = False) -> AsyncGenerator[RunItem, None]:
        """Hear what it tells, until it asks or ends, or tells nothing for some seconds.

        Args:
            seconds: how long it may be silent.
            amid: whether something else is told after it.
        """
        clock = asyncio.get_running_loop().time
        until, pause, ends = clock() + seconds, _FIRST_PAUSE, False
        while self._place is not None:
            # What Temporal says of its end comes first: then nothing is told after what is read.
            with contextlib.suppress(NotDelivered):
                standing = await self._standing(last=clock() >= until)
                if standing is None:
                    continue
                ends = not standing.runs
                state, failed = None, False
                try:
                    state = await self._state(self._place)
                except (NotDelivered, UpstreamError) as error:
                    # Without a worker this takes long, and it may have ended meanwhile.
                    failed = isinstance(error, UpstreamError)
                    standing = await self._standing(last=False) or standing
                    ends = not standing.runs
                    if failed and not ends:
                        for item in self._untold():
                            yield item
                        self._failure = str(error)
                        return
                if state is not None:
                    place = self._place.at(state.run)
                    self._place = place.having_heard(state)
                    for told in state.told:
                        for item in self._items_of(told):
                            yield item
                    if state.more:
                        continue
                    if state.told:
                        until, pause = clock() + seconds, _FIRST_PAUSE
                    questions = [] if ends else state.open
                    if questions or (state.listens and not ends):
                        for item in self._untold():
                            yield item
                    if questions:
                        yield pause_of(self._place, questions, self._run)
                        return
                    if state.listens and not ends:
                        self._place, self._listens = None, self._place
                        return
                # Until a worker can say what it told last, an end is kept, unless a message comes.
                if ends and (state is not None or failed or (amid and clock() >= until)):
                    for item in self._untold():
                        yield item
                    await self._end(standing)
                    if state is None:
                        yield _UNHEARD
                    return
            if clock() >= until:
                break
            await asyncio.sleep(min(pause, max(until - clock(), 0.0)))
            pause = min(1.5 * pause, _LONGEST_PAUSE)
        for item in self._untold():
            yield item
        if self._place is not None and seconds and not amid and self._failure is None:
            yield _ENDED if ends else _GOES_ON

    async def _standing(self, *, last: bool) -> Standing | None:
        """What Temporal knows of the workflow that is heard; None where it knows it no more.

        Args:
            last: whether one that has not begun by now is not waited for.

        Raises:
            NotDelivered: it can't be asked, or has not begun yet.
        """
        place = self._place
        assert place is not None, "something is heard"
        found = await self._server.standing(self._workflow, self._trace)
        if found is not None and not place.first and found.first != place.before:
            self._place, self._failure = replace(place, first=found.first), None
            return found
        if found is not None and place.first and found.first == place.first:
            return found
        if not place.first and not last:
            raise NotDelivered(_NOT_BEGUN)
        self._place, self._failure = None, _GONE if place.first else _NOT_BEGUN
        return None

    async def _state(self, place: Place) -> State:
        state = await self._server.state(self._workflow, place.offset, place.run, self._trace)
        # It may be a workflow that knows nothing of bridges.
        return State(place.run, [], False, [], {}, False) if state is None else state

    def _items_of(self, told: Mapping[str, Json]) -> list[RunItem]:
        match told:
            case {"type": "text", "text": str(text)}:
                return [text] if text else []
            case {"type": "progress", "content": dict(content)}:
                assert self._place is not None, "it was heard"
                id = f"{self._workflow}-{self._place.run}"
                return [
                    ActivitySnapshotEvent(
                        message_id=id, activity_type="progress", content=content, replace=True
                    )
                ]
            case {"type": "result", "question": str(question), "content": content}:
                text = content if isinstance(content, str) else json.dumps(content)
                call = self._calls.pop(question, None)
                return [text] if call is None else [self._result_of(call, text)]
        # A later version may tell more.
        return []

    def _untold(self) -> list[RunItem]:
        """Results of the calls that were approved, and of which it has told nothing by then."""
        calls, self._calls = self._calls, {}
        return [self._result_of(call, _APPROVED) for call in calls.values()]

    def _result_of(self, call: str, content: str) -> ToolCallResultEvent:
        return ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call, content=content, role="tool"
        )

    async def _end(self, standing: Standing) -> None:
        if standing.status == "completed":
            self._run.result = await self._server.result(self._workflow, standing.run)
        else:
            self._failure = _ENDS[standing.status]
        self._place = None


def _start_of(run: Run) -> dict[str, Json]:
    """What a workflow begins with."""
    said = [
        {"role": message["role"], "content": text}
        for message in run.raw_messages
        if message.get("role") in ("user", "assistant", "system", "developer")
        and (text := text_of(message.get("content") or ""))
    ]
    return {**_said_in(run), "messages": said, "threadId": run.thread_id}


def _said_in(run: Run) -> dict[str, Json]:
    return {
        "message": run.text,
        "actor": run.principal.actor,
        "forwardedProps": run.input.forwarded_props,
    }
