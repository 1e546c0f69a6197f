"""One run of a graph on a server: how it is begun, followed, stopped, and what it ends with.

The graph is the server's, and so are its calls: nothing here can keep one from beginning. What it
asks people is asked by its own interrupts, and each answer is sent once, after the bridge's claim.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.item_queue import ItemQueue, join_text
from agui_bridge.frameworks.predicted_state import PredictState, predicted
from agui_bridge.protocol.answers.asks import Handoff, Pause
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.beginning import NOTHING, Beginning, Entrance
from agui_bridge_langgraph.calls.open_calls import OpenCalls, open_calls, places_of
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.checkpoint import (
    MESSAGES,
    given_messages,
    levels,
    messages_of,
    said_before,
)
from agui_bridge_langgraph.content import plain
from agui_bridge_langgraph.continuation import Waiting, offered
from agui_bridge_langgraph.pauses import Pausing
from agui_bridge_langgraph.telling.reader import Reader
from agui_bridge_langgraph.telling.subagents import Subagents
from agui_bridge_langgraph.telling.surroundings import Held
from agui_bridge_langgraph.telling.told_and_known import Knowledge
from agui_bridge_langgraph_server.frames import Frames, Part
from agui_bridge_langgraph_server.server import (
    BrokeOff,
    GraphFailed,
    Names,
    Place,
    Server,
    ThreadGone,
)

_STRUCTURED: Final = "structured_response"
_LOOK_SECONDS: Final = 0.25
_REFUSED: Final = "ValidationError"
"""What a graph raises whose interrupt checks its answer: nothing is stored, it waits on."""
_GONE: Final = (
    "The LangGraph server does not know this conversation any more: it has lost its memory, or the "
    "conversation was deleted there. The answer was not sent."
)


@dataclass(frozen=True, slots=True)
class Options:
    """What an application adds to a run.

    Attributes:
        input: what the graph begins with; None for the messages and the state.
        context: the graph's context.
        config: more of its configuration.
        shared: names of the state that clients see; None for all of the output.
        cancelled: what an interrupt of the author's own returns that nobody answered.
        predictions: of the state, from arguments of calls.
        forwarded: which of what clients forward the graph begins with.
        tools: JSON Schemas of tools' arguments, by name.
        patience: seconds for which an earlier run is waited for.
    """

    input: Any
    context: Any
    config: Mapping[str, Any]
    shared: Collection[str] | None
    cancelled: Json
    predictions: Sequence[PredictState]
    forwarded: Forwarded
    tools: Mapping[str, Mapping[str, Json]]
    patience: float


class Turn:
    """One run of a graph.

    Args:
        run: the run.
        server: has the graph.
        place: of the conversation at the server.
        names: of the graph's state.
        options: what the application adds.
    """

    def __init__(
        self, run: Run, server: Server, place: Place, names: Names, options: Options
    ) -> None:
        waited = run.resume or run.handoff
        self._kept = Waiting.from_json(waited.continuation) if waited is not None else None
        self._waiting = kept = self._kept or Waiting(actor=run.principal.actor)
        self._run = run
        self._server = server
        self._place = place
        self._options = options
        self._wire = WireIds(run.call_ids(), kept.told)
        self._frontend = offered(run, kept, options.tools)
        self._owed: list[str] = run.memo.get("owed", []) if isinstance(run.memo, dict) else []
        self._begin = Beginning(
            run,
            Entrance(names.input, _replaced, lambda nodes: False),
            self._owed,
            options.input,
            options.cancelled,
            self._wire,
            told_in_state=True,
            forwarded=options.forwarded,
            a2ui=False,
        )
        shown = names.output if options.shared is None else options.shared
        shared = [name for name in shown if name not in (MESSAGES, _STRUCTURED)]
        answered = {m.get("toolCallId", "") for m in run.raw_messages if m.get("role") == "tool"}
        self._calls = _Calls(self._wire)
        self._subagents = Subagents(run.mint, self._calls.tasks, kept.subagents)
        self._reader = Reader(run, self._wire, answered, shared, self._subagents)
        # Until a run that brings answers has told something, it can give them back.
        self._held = Held(holds=False)

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """What the run yields; see `Adapter.run`.

        Raises:
            NotDelivered, UpstreamError, OutcomeUnknown: see `LangGraphServerAdapter.run`.
        """
        run, kept = self._run, self._kept
        new = [str(message.get("id")) for message in run.raw_new_messages]
        state = await self._ready()
        if state is None:
            run.not_begun = [*kept.calls.values()] if kept is not None else []
            self._owe([*self._owed, *new])
            return
        self._knowledge = Knowledge(run, self._reader, state, lambda: self._touched)
        if kept is None:
            given, along = self._fresh(state), list[BaseMessage]()
        else:
            if not state.config["configurable"]:
                raise ThreadGone(_GONE)
            given, along = self._begin.resumed(state, kept), self._begin.along()
        run.check_lease()
        # Until the graph has them: a run that is cut off does not come back here.
        self._owe([*self._owed, *new])
        if given is NOTHING and kept is not None:
            run.not_begun = [*kept.calls.values()]
        answers = kept is not None
        while given is not NOTHING:
            self._knowledge.give(given_messages(given))
            self._held = Held(holds=answers)
            async with contextlib.aclosing(self._followed(given, answers=answers)) as items:
                async for item in items:
                    yield item
            for before in self._held.rest():
                yield before
            if run.stop.requested:
                for item in await self._known_amid():
                    yield item
                return
            state = await self._settled()
            for item in self._knowledge.news(state):
                yield item
            end = self._end(state)
            for item in self._knowledge.corrected(
                state, kept, stands=True, is_end=not (end or along)
            ):
                yield item
            # What was said along with answers comes after what they were about.
            given = {MESSAGES: along} if along and end is None else NOTHING
            self._owe([str(m.id) for m in along] if end is not None else [])
            along, answers = [], False
            if end is not None:
                for item in self._subagents.ending(end):
                    yield item
                return
        if isinstance(state.values, Mapping) and _STRUCTURED in state.values:
            run.result = plain(state.values[_STRUCTURED])

    # --- before it ---

    def _fresh(self, state: Any) -> Any:
        """What a new message has the graph begin with; all of the thread where it knows nothing."""
        if self._options.input is not None or state.config["configurable"]:
            return self._begin.fresh(state)
        before = said_before(self._run)
        given = self._begin.fresh(state._replace(values={MESSAGES: before}))
        return {**given, MESSAGES: [*before, *given[MESSAGES]]}

    async def _ready(self) -> Any:
        """The graph's state once no run is under way there; None where this one is stopped.

        A run is under way there whose bridge has died: what it does is part of the conversation.

        Raises:
            NotDelivered: the server was not reached, or is at work for too long.
        """
        run, until = self._run, time.monotonic() + self._options.patience
        await run.check_stop()
        while not run.stop.requested:
            if not await self._server.is_busy(self._place):
                return await self._server.state(self._place)
            if time.monotonic() > until:
                raise NotDelivered("The LangGraph server is at work in this conversation.")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await run.stop
        return None

    # --- one stream ---

    async def _followed(self, given: Any, *, answers: bool) -> AsyncGenerator[RunItem, None]:
        """Have the graph go on with something, and tell what it streams.

        Raises:
            NotDelivered: nothing was done with the answers.
            OutcomeUnknown: the graph had them, or may have, and did not come to an end.
            UpstreamError: the graph failed; or the same, where there were none.
        """
        try:
            async with contextlib.aclosing(self._streamed(given)) as items:
                async for item in items:
                    yield item
        except UpstreamError as error:
            if answers and await self._still_waits(error):
                raise NotDelivered(f"The answers were not taken. {error}") from error
            for item in (*self._held.rest(), *await self._known_amid()):
                yield item
            if answers and isinstance(error, BrokeOff):
                raise OutcomeUnknown(f"{error} It had the answers, or may have.") from error
            raise

    async def _streamed(self, given: Any) -> AsyncGenerator[RunItem, None]:
        queue, stop = ItemQueue(), _Stop(self._run.mint())
        working = asyncio.create_task(self._work(given, queue, stop))
        stopping = asyncio.create_task(self._stopped(stop))
        try:
            while parts := await queue.take():
                for item in self._told(parts):
                    yield item
            await working
        finally:
            ended = working.done() and not working.cancelled()
            queue.abandon()
            for task in (stopping, working):
                task.cancel()
            await asyncio.wait([stopping, working])
            if self._run.stop.requested and not ended:
                # The server may have a run whose id it had not told yet.
                begun = stop.run or await self._server.find(self._place, stop.mark)
                if begun is not None:
                    await self._server.cancel(self._place, begun)

    async def _work(self, given: Any, queue: ItemQueue, stop: _Stop) -> None:
        options, frames = self._options, Frames()
        stream = self._server.stream(
            self._place,
            stop.mark,
            stop.begins,
            config=options.config or None,
            context=options.context,
            **_sent(given),
        )
        try:
            async with contextlib.aclosing(stream):
                async for event, data in stream:
                    part = frames.part(event, data)
                    if part is not None:
                        queue.write(part)
                    if queue.full:
                        await queue.drained()
        finally:
            queue.close()

    def _told(self, parts: Sequence[Part]) -> list[RunItem]:
        items = self._reader.items(map(self._calls.noted, parts))
        predictions = self._options.predictions
        told = predicted(items, predictions) if predictions else items
        return list(self._held.told(join_text(told), lambda: bool(self._calls.begun)))

    async def _stopped(self, stop: _Stop) -> None:
        """Cancel the run there once a stop was asked for, and no tool runs any more."""
        await self._run.stop
        await stop.known.wait()
        while self._calls.running and not self._run.stop.force:
            await self._calls.changed()
        assert stop.run is not None
        await self._server.cancel(self._place, stop.run)

    # --- after it ---

    async def _settled(self) -> Any:
        """The graph's state, once a run has ended.

        Raises:
            OutcomeUnknown, UpstreamError: it can't be had, or somebody cancelled the run there.
        """
        unknown = OutcomeUnknown if self._kept is not None else UpstreamError
        try:
            state = await self._server.state(self._place)
        except NotDelivered as error:
            raise unknown(str(error)) from error
        if not state.interrupts and any(task.error for task in state.tasks):
            raise unknown("The run was cancelled at its LangGraph server.")
        return state

    async def _still_waits(self, error: UpstreamError) -> bool:
        """Whether the same answers can be given again, and nothing was done with these."""
        refused = isinstance(error, GraphFailed) and error.error == _REFUSED
        if not refused or self._kept is None or self._calls.begun or self._reader.called:
            return False
        try:
            pending = {found.id for found in (await self._server.state(self._place)).interrupts}
        except (NotDelivered, UpstreamError):
            return False
        return bool(self._kept.interrupts) and pending.issuperset(self._kept.interrupts)

    async def _known_amid(self) -> list[RunItem]:
        """What the state tells besides of a run that did not come to an end by itself."""
        if self._run.stop.force:
            return []
        try:
            state = await self._server.state(self._place)
        except (NotDelivered, UpstreamError):
            return []
        news = [*self._knowledge.news(state)]
        return [*news, *self._knowledge.corrected(state, None, stands=False, is_end=False)]

    def _end(self, state: Any) -> Pause | Handoff | None:
        calls = open_calls(state, self._wire)
        seen = {one.call.id for one in calls}
        stand = {str(m.id) for level in levels(state) for m in messages_of(level.values)}
        finished = self._wire.settled(stand, seen)
        calls += [o for o in self._reader.open_calls() if o.call.id not in seen | finished]
        tasks = {task.id for level in levels(state) for task in level.tasks}
        kept = replace(
            self._waiting,
            offered=[*self._frontend.values()],
            subagents=self._subagents.to_json({one.call.id: one for one in calls}),
            unsettled=self._knowledge.unsettled(self._kept),
        )
        pausing = Pausing(self._options.tools.get, self._wire, {}, {}, self._frontend)
        end = pausing.end(
            state, OpenCalls(calls, self._calls.asking(state), places_of(state)), kept
        )
        if end is None:
            return None
        # What is asked about may have got its id here.
        return replace(end, continuation={**end.continuation, "told": self._wire.to_json(tasks)})

    @property
    def _touched(self) -> set[str]:
        return self._calls.begun | self._reader.answered

    def _owe(self, messages: list[str]) -> None:
        """Note which messages the graph was not given yet, for the next run."""
        self._run.memo = {"owed": list(dict.fromkeys(messages))} if messages else None


class _Stop:
    """What a stop needs to know of the run at the server.

    Args:
        mark: names the run there before its id is known.

    Attributes:
        mark: as given.
        run: its id, None until it is known.
        known: set once it is.
    """

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.run: str | None = None
        self.known = asyncio.Event()

    def begins(self, run: str) -> None:
        """Note the run's id."""
        self.run = run
        self.known.set()


class _Calls:
    """The calls that tasks of the graph carry out, as its stream tells.

    Args:
        wire: the ids of calls.

    Attributes:
        tasks: the calls that a task carries out, by the task's namespace.
        begun: ids of all of them.
        running: namespaces of the tasks that have not ended.
    """

    def __init__(self, wire: WireIds) -> None:
        self.tasks: dict[str, list[str]] = {}
        self.begun: set[str] = set()
        self.running: set[str] = set()
        self._wire = wire
        self._changed = asyncio.Event()

    def noted(self, part: Part) -> Part:
        """A part of the stream; that a task begins or ends is noted."""
        namespace, mode, data = part
        if mode == "tasks":
            self._note(namespace, data)
        return part

    def _note(self, namespace: Sequence[str], data: Mapping[str, Any]) -> None:
        task = "|".join((*namespace, f"{data['name']}:{data['id']}"))
        if "result" in data or "error" in data:
            self.running.discard(task)
            self._changed.set()
            return
        calls = [str(call["id"]) for call in _calls_in(data.get("input"))]
        if calls:
            # Those of a pause that goes on are known by their task.
            own = [
                self._wire.begun_again(native, task) or self._wire.begun(native, task)
                for native in calls
            ]
            self.tasks[task] = own
            self.begun.update(own)
            self.running.add(task)

    def asking(self, state: Any) -> dict[str, str]:
        """Ids of the calls whose tools raised an interrupt, by its id.

        Args:
            state: the graph's.
        """
        of_tasks = {task.rpartition(":")[2]: calls for task, calls in self.tasks.items()}
        return {
            found.id: of_tasks[task.id][0]
            for level in levels(state)
            for task in level.tasks
            for found in task.interrupts
            if len(of_tasks.get(task.id, ())) == 1
        }

    async def changed(self) -> None:
        """Return when a task has ended."""
        self._changed.clear()
        await self._changed.wait()


def _calls_in(given: Any) -> list[Mapping[str, Any]]:
    """The tool calls that a task of its own is given: a list of them, or one with the state."""
    told = given if isinstance(given, list) else [given]
    found = [one.get("tool_call", one) for one in told if isinstance(one, Mapping)]
    return [
        call
        for call in found
        if isinstance(call, Mapping) and call.get("type") == "tool_call" and call.get("id")
    ]


def _replaced(name: str, value: Any) -> Any:
    """What takes the place of what the graph has: of its conversation, which it would add to.

    What else it would add to, its server does not say.
    """
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *value] if name == MESSAGES else value


def _sent(given: Any) -> dict[str, Any]:
    """What a graph is given, as JSON."""
    if isinstance(given, Command):
        told = {"resume": given.resume, "update": given.update}
        return {"command": {name: value for name, value in told.items() if value is not None}}
    return {"input": plain(given)}
