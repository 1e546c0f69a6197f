"""One run of a graph: how it is driven, read, stopped, and what it ends with."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from ag_ui.core import BaseEvent
from langgraph.runtime import RunControl
from langgraph.types import StreamWriter
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Resume, Run, RunItem
from agui_bridge.errors import Fenced, NotDelivered
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.item_queue import ItemQueue, join_text
from agui_bridge.frameworks.predicted_state import PredictState, predicted
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.policy import PolicyFailed
from agui_bridge.protocol.answers.asks import Handoff, Pause
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.tool_gate import ToolGate
from agui_bridge_langgraph.beginning import NOTHING, Beginning, Entrance
from agui_bridge_langgraph.calls.callbacks import callbacks_of
from agui_bridge_langgraph.calls.carriers import Carriers
from agui_bridge_langgraph.calls.frontend import OFFERED, Offered
from agui_bridge_langgraph.calls.guard import GUARD, Guard, are_hooked
from agui_bridge_langgraph.calls.journal import Journal
from agui_bridge_langgraph.calls.open_calls import OpenCalls, open_calls, places_of
from agui_bridge_langgraph.calls.wire_ids import Mark, WireIds
from agui_bridge_langgraph.checkpoint import (
    MESSAGES,
    given_messages,
    levels,
    messages_of,
    replaced,
)
from agui_bridge_langgraph.continuation import Approval, Waiting, offered
from agui_bridge_langgraph.pauses import Pausing
from agui_bridge_langgraph.surface_tool import SurfaceTool
from agui_bridge_langgraph.telling.reader import Reader
from agui_bridge_langgraph.telling.subagents import Subagents
from agui_bridge_langgraph.telling.surroundings import Held
from agui_bridge_langgraph.telling.told_and_known import Knowledge
from agui_bridge_langgraph.tools import input_names, output_names, parameters_of, tools_of
from agui_bridge_langgraph.words import WORDS, Words

logger: Final = logging.getLogger("agui_bridge.langgraph")

_MODES: Final = ["messages", "values", "tasks", "custom"]
_STRUCTURED: Final = "structured_response"


@dataclass(frozen=True, slots=True)
class Options:
    """What an application adds to a run.

    Attributes:
        input: what the graph begins with; None for the messages and the state.
        context: the graph's context.
        config: more of its configuration.
        shared: names of the state that clients see; None for all of the output.
        cancelled: what an interrupt of the author's own returns that nobody answered.
        words: what the models read of the application.
        tool_words: what those read that have its tools, "" for the same.
        told_in_state: whether a graph that has a place for it gets the context in its state.
        predictions: of the state, from arguments of calls.
        forwarded: which of what clients forward the graph begins with.
        a2ui: whether surfaces may be made of a page that offers A2UI.
        surface: makes them; None where it offers none.
    """

    input: Any
    context: Any
    config: Mapping[str, Any]
    shared: Collection[str] | None
    cancelled: Json
    words: str
    tool_words: str
    told_in_state: bool
    predictions: Sequence[PredictState]
    forwarded: Forwarded
    a2ui: bool
    surface: SurfaceTool | None


class Turn(FrameworkTurn):
    """One run of a graph.

    Args:
        run: the run.
        graph: the compiled graph.
        options: what the application adds.
    """

    def __init__(self, run: Run, graph: Any, options: Options) -> None:
        super().__init__(run, Waiting.from_json, predictions=options.predictions)
        self._graph = graph
        self._context = options.context
        self._words = Words.of(run, options.words)
        self._tool_words = Words.of(run, options.tool_words)
        self._is_left = False
        kept: Waiting = self._kept or Waiting(actor=run.principal.actor)
        self._approved = {**kept.approved, **_approvals(run, kept)}
        self._waiting = kept
        decided = _decisions(run, kept)
        # The gate knows calls by their ids, and of earlier approvals that still count.
        known = replace(run, resume=Resume(None, decided)) if decided else run
        self._gate = ToolGate(
            known,
            taken=self._queue_taken,
            actor=kept.actor,
            going_on=self._rounds.going_on,
        )
        self._wire = WireIds(run.call_ids(), kept.told)
        self._journal = Journal(graph.checkpointer.serde, kept.results, kept.asked)
        self._guard = Guard(
            self._gate,
            self._wire,
            self._journal,
            kept.judged,
            kept.interrupting,
            self._rounds,
            decided,
            at_breakpoint=bool(kept.breakpoint),
            told=self._tell,
            begins=self._begins,
            caught_up=self._caught_up,
        )
        self._tools = tools_of(graph)
        self._carriers = Carriers(graph)
        self._stands: Any = None
        self._frontend = offered(run, kept, self._tools)
        self._config = _config(
            run, options.config, callbacks_of(run, self._gate, self._guard, self._tell)
        )
        self._owed: list[str] = run.memo.get("owed", []) if isinstance(run.memo, dict) else []
        self._begin = Beginning(
            run,
            Entrance(input_names(graph), partial(replaced, graph), partial(are_hooked, graph)),
            self._owed,
            options.input,
            options.cancelled,
            self._wire,
            told_in_state=options.told_in_state,
            forwarded=options.forwarded,
            a2ui=options.a2ui,
        )
        self._surface = options.surface
        names = output_names(graph) if options.shared is None else options.shared
        shared = [name for name in names if name not in (MESSAGES, _STRUCTURED)]
        answered = {m.get("toolCallId", "") for m in run.raw_messages if m.get("role") == "tool"}
        self._subagents = Subagents(run.mint, self._guard.tasks, kept.subagents)
        self._reader = Reader(run, self._wire, answered, shared, self._subagents)
        # What the graph is given, and what has it begin no further step.
        self._given: Any = NOTHING
        self._control = RunControl()
        # Until a run that brings answers has told something, it can give them back.
        self._held = Held(holds=False)

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """What the run yields; see `Adapter.run`.

        Raises:
            NotDelivered, UpstreamError, Fenced, PolicyFailed: see `LangGraphAdapter.run`.
        """
        try:
            async with contextlib.aclosing(self._items()) as items:
                async for item in items:
                    yield item
        finally:
            self._is_left = True
            for words in (self._words, self._tool_words):
                if words is not None:
                    words.is_over = True

    async def _items(self) -> AsyncGenerator[RunItem, None]:
        run, kept = self._run, self._kept
        new = [str(message.get("id")) for message in run.raw_new_messages]
        if run.stop.requested:
            run.not_begun = [*kept.calls.values()] if kept is not None else []
            self._owe([*self._owed, *new])
            return
        if kept is not None:
            self._expect_tools(kept)
        state = await self._state()
        self._knowledge = Knowledge(run, self._reader, state, lambda: self._touched)
        run.check_lease()
        if kept is None:
            given, along = self._begin.fresh(state), []
        else:
            given, along = self._begin.resumed(state, kept), self._begin.along()
        # Until the graph has them: a run that is cut off does not come back here.
        self._owe([*self._owed, *new])
        if given is NOTHING and kept is not None:
            run.not_begun = [*kept.calls.values()]
        while given is not NOTHING:
            self._knowledge.give(given_messages(given))
            self._given, self._control, self._queue = given, RunControl(), ItemQueue()
            self._held = Held(holds=kept is not None)
            try:
                async with contextlib.aclosing(super().items()) as items:
                    async for item in items:
                        yield item
            except (NotDelivered, Fenced):
                raise
            except Exception:
                for item in await self._known_amid():
                    yield item
                raise
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
            along = []
            if end is not None:
                for item in self._subagents.ending(end):
                    yield item
                return
        if _STRUCTURED in state.values:
            run.result = to_jsonable_python(state.values[_STRUCTURED], fallback=str)

    # --- one stream ---

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        items = self._reader.items(events)
        told = predicted(items, self._predictions) if self._predictions else items
        yield from self._held.told(join_text(told), lambda: bool(self._gate.begun))

    async def _work(self) -> None:
        GUARD.set(self._guard)
        WORDS.set(self._words)
        handed = [call for calls in self._waiting.frontend.values() for call in calls]
        results = self._run.results()
        OFFERED.set(Offered(self._frontend, handed, results, self._surface, self._tool_words))
        stream = self._graph.astream(
            self._given,
            self._config,
            context=self._context,
            stream_mode=_MODES,
            subgraphs=True,
            # A pause is announced once it is stored.
            durability="sync",
            control=self._control,
        )
        queue = self._queue
        async with contextlib.aclosing(stream) as parts:
            async for part in parts:
                queue.write(part)
                if queue.full:
                    await queue.drained()
        await self._guard.settled()

    async def _stopped(self) -> None:
        await self._run.stop
        # No further step begins.
        self._control.request_drain("stopped")
        busy = self._gate.running_tools
        await super()._stopped()
        if busy and not self._run.stop.force:
            # What its tools gave is stored first.
            await asyncio.wait([self._working], timeout=GRACE)

    async def _left(self) -> None:
        self._guard.cancel()

    def _is_over(self) -> bool:
        # Between its streams, too, it goes on.
        return self._is_left

    async def _expect_delivered(self, failure: BaseException | None) -> None:
        fault = self._gate.fault or failure
        if isinstance(fault, PolicyFailed | ValidationError) and await self._still_waits():
            raise NotDelivered(f"The answers were not taken: {fault}") from fault

    def _is_of_code(self, call: str) -> bool:
        return not self._carriers.spare(self._wire.call(call), self._stands)

    def _asked_calls(self) -> list[str]:
        return [*self._waiting.calls.values()]

    @property
    def _touched(self) -> set[str]:
        # A tool that code calls by its arguments alone may have been any call's of its name.
        perhaps: set[str] = self._reader.calls_of(self._guard.unnamed)
        return super()._touched | perhaps

    async def _still_waits(self) -> bool:
        """Whether the same answers can be given again, and nothing was done with these."""
        if self._kept is None or self._gate.begun or self._reader.called:
            return False
        pending = {found.id for found in (await self._state()).interrupts}
        return bool(self._kept.interrupts) and pending.issuperset(self._kept.interrupts)

    def _emit(self, event: BaseEvent) -> None:
        self._queue.write(((), "custom", event))

    def _begins(self) -> None:
        """Have the consumer look up: a tool begins."""
        self._queue.write(((), "begins", None))

    async def _queue_taken(self) -> None:
        await self._queue.taken()

    async def _caught_up(self, writer: StreamWriter) -> None:
        mark = Mark()
        writer(mark)
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    await mark.seen.wait()
                return
            # A slow client holds it up; else it is a graph that streams to nobody here.
            await self._queue.taken()

    async def _tell(self, mode: str, data: Any) -> None:
        await self._queue.drained()
        self._queue.write(((), mode, data))

    async def _known_amid(self) -> list[RunItem]:
        """What the checkpoint tells besides of a run that did not come to an end by itself."""
        if self._run.stop.force:
            return []
        try:
            state = await self._settled()
        except Exception as error:
            logger.warning("The checkpoint can't be read after a run that broke off: %r", error)
            return []
        news = [*self._knowledge.news(state)]
        return [*news, *self._knowledge.corrected(state, None, stands=False, is_end=False)]

    # --- before and after it ---

    async def _state(self) -> Any:
        return await self._graph.aget_state(self._config, subgraphs=True)

    async def _settled(self) -> Any:
        """What a stream has left, which tells what of its calls nothing can have begun."""
        self._stands = await self._state()
        self._note_not_begun()
        return self._stands

    def _end(self, state: Any) -> Pause | Handoff | None:
        calls = open_calls(state, self._wire)
        seen = {one.call.id for one in calls}
        stand = {str(m.id) for level in levels(state) for m in messages_of(level.values)}
        finished = self._wire.settled(stand, seen)
        calls += [o for o in self._reader.open_calls() if o.call.id not in seen | finished]
        tasks = {task.id for level in levels(state) for task in level.tasks}
        kept = replace(
            self._waiting,
            approved={c: one for c, one in self._approved.items() if c not in finished},
            judged=[call for call in self._waiting.judged if call not in finished],
            asked=self._journal.asked,
            results=self._journal.dumped(finished),
            offered=[*self._frontend.values()],
            subagents=self._subagents.to_json({one.call.id: one for one in calls}),
            unsettled=self._knowledge.unsettled(self._kept),
            rounds=self._rounds.to_json(),
            interrupting=sorted(self._guard.interrupting - finished),
        )
        pausing = Pausing(
            self._schema, self._wire, self._guard.asks, self._rounds.asks, self._frontend
        )
        places = {**places_of(state), **self._guard.places}
        end = pausing.end(state, OpenCalls(calls, self._guard.asking, places), kept)
        if end is None:
            return None
        asked = end.asks if isinstance(end, Pause) else ()
        named = {one.call.id: one.call.name for one in calls}
        about = [call for ask in asked for call in ask.calls]
        names = {one.name if isinstance(one, ToolCall) else named.get(one, "") for one in about}
        more = {
            # What is asked about may have got its id here.
            "told": self._wire.to_json(tasks),
            "tools": sorted(names & self._tools.keys()),
        }
        return replace(end, continuation={**end.continuation, **more})

    def _expect_tools(self, kept: Waiting) -> None:
        """Have answers given again whose tool is gone: a deploy may bring it back.

        Raises:
            NotDelivered: that is so.
        """
        gone = [name for name in kept.tools if name not in self._tools]
        if gone and any(isinstance(one, Approve | Answer) for one in self._decisions.values()):
            raise NotDelivered(f"The agent has no tool {gone[0]!r} any more.")

    def _schema(self, name: str) -> Mapping[str, Json] | None:
        return parameters_of(self._tools.get(name))

    def _owe(self, messages: list[str]) -> None:
        """Note which messages the graph was not given yet, for the next run."""
        self._run.memo = {"owed": list(dict.fromkeys(messages))} if messages else None


def _approvals(run: Run, kept: Waiting) -> Mapping[str, Approval]:
    """The approvals that came with this run, by tool call id."""
    if run.resume is None:
        return {}
    return {
        kept.calls[native]: Approval(
            dict(decision.args), decision.edited, decision.actor or run.principal.actor
        )
        for native, decision in run.resume.decisions.items()
        if isinstance(decision, Approve) and native in kept.calls
    }


def _decisions(run: Run, kept: Waiting) -> dict[str, Decision]:
    """What was decided, in earlier runs too, by tool call id."""
    given = run.resume.decisions if run.resume is not None else {}
    earlier: dict[str, Decision] = {call: one.decision() for call, one in kept.approved.items()}
    return {**earlier, **{kept.calls[n]: d for n, d in given.items() if n in kept.calls}}


def _config(run: Run, more: Mapping[str, Any], own_callbacks: list[Any]) -> dict[str, Any]:
    own = {"thread_id": f"{run.principal.scope}/{run.agent}/{run.thread_id}"}
    callbacks = more.get("callbacks") or []
    handlers = callbacks if isinstance(callbacks, list) else callbacks.handlers
    return {
        **more,
        "configurable": {**own, **more.get("configurable", {})},
        "callbacks": [*handlers, *own_callbacks],
    }
