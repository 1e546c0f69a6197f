"""One run of a workflow: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from ag_ui.core import StateSnapshotEvent
from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow
from llama_index.core.memory import ChatMemoryBuffer
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from workflows import Context, Workflow
from workflows.errors import WorkflowRuntimeError
from workflows.events import InputRequiredEvent, StartEvent, WorkflowIdleEvent
from workflows.handler import WorkflowHandler

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.application import Application
from agui_bridge.frameworks.forwarded import FORWARDED, Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import text_of
from agui_bridge_llama_index.guard import Guard, Mark, NotAnswered
from agui_bridge_llama_index.held import WORKFLOWS, held, is_agent
from agui_bridge_llama_index.history import (
    dumped,
    loaded,
    memo_of,
    messages_of,
    read_conversation,
    speaker_of,
)
from agui_bridge_llama_index.pauses import (
    Continuation,
    answering,
    asked_by,
    fields_of,
    question_of,
    resting,
)
from agui_bridge_llama_index.reader import Reader, Told

_LIMIT: Final = "Max iterations of"
"""How the error begins of an agent that came to its limit; it has no type of its own."""

_PAUSED: Final = object()


@dataclass(frozen=True, slots=True)
class Settings:
    """What an adapter's author set.

    Attributes:
        approve: names of tools that people have to approve.
        start: makes of the run what a workflow begins with.
        tell: says what is told of its events.
        max_iterations: how many times a model is asked in one run.
        application: what the models are told of the page.
        forwarded: what of the client's is told to tools.
        predictions: of the state.
    """

    approve: frozenset[str]
    start: Callable[[Run], Mapping[str, Any] | StartEvent] | None
    tell: Callable[[Any], Told] | None
    max_iterations: int | None
    application: Application
    forwarded: Forwarded
    predictions: Sequence[PredictState]


class Turn(FrameworkTurn):
    """One run of a workflow.

    Args:
        run: the run.
        workflow: the author's.
        settings: see `Settings`.
    """

    def __init__(self, run: Run, workflow: Workflow, settings: Settings) -> None:
        super().__init__(run, Continuation.from_json, predictions=settings.predictions)
        self._settings = settings
        self._workflow = held(workflow)
        self._is_agent = is_agent(workflow)
        self._shared = _shared_keys(workflow)
        kept: Continuation | None = self._kept
        known = kept.known() if kept else {}
        self._gate = self._make_gate(settings.approve)
        self._gate.failed = self._stop_working
        returned = run.results()
        self._guard = Guard(
            run,
            self._gate,
            self._queue.write,
            calls=run.call_ids(known),
            words=settings.application.words(run),
            known=known,
            entered=kept.entered if kept else {},
            decisions=self._decisions,
            answered=kept.answered if kept else {},
            returned={call: _text(told) for call, told in returned.items()},
            rounds=self._rounds,
            handed=[known[call][1].name for call in (kept.frontend if kept else ())],
        )
        told = {str(m.get("toolCallId")) for m in run.raw_messages if m.get("role") == "tool"}
        self._reader = Reader(run, told, settings.tell)
        self._asked: dict[str, Any] = {}
        self._late: list[Any] = []
        self._pausing: Continuation | None = None
        self._messages: list[Any] = []
        self._speaker: Any = None

    def _last_items(self) -> Iterator[RunItem]:
        yield from self._reader.end()

    async def _left(self) -> None:
        if self._guard.replies:
            self._run.iteration = self._guard.replies
        self._run.usage.extend(self._reader.usage)

    # --- the workflow's own task ---

    async def _work(self) -> Any:
        self._guard.begin()
        kept: Continuation | None = self._kept
        if kept is None:
            return await self._driven(self._begun(await self._fresh_context()))
        if self._is_left_alone(kept):
            return None
        self._late = [*kept.late, *self._new_user_messages()]
        self._run.check_lease()
        handler = await self._continued(kept)
        for event in kept.events(self._decisions, answering(self._workflow)):
            await handler.send_event(event)
        result = await self._driven(handler)
        if result is _PAUSED or not (self._late and self._is_agent):
            return result
        late, self._late = self._late, []
        history = [*self._messages, *messages_of(late)]
        context = await self._fresh_context(self._speaker)
        return await self._driven(self._begun(context, history))

    async def _fresh_context(self, speaker: str | None = None) -> Context:
        context: Context = Context(self._workflow)
        if not self._is_agent:
            return context
        workflow: Any = self._workflow
        state = {**deepcopy(workflow.initial_state), **self._state_in()}
        await context.store.set("state", state)
        if isinstance(workflow, AgentWorkflow):
            speaker = speaker or speaker_of(self._run)
            if speaker in workflow.agents:
                await context.store.set("current_agent_name", speaker)
        if forwarded := self._settings.forwarded.of(self._run):
            await context.store.set(FORWARDED, forwarded)
        return context

    def _begun(self, context: Context, history: list[Any] | None = None) -> WorkflowHandler:
        run, settings = self._run, self._settings
        if self._is_agent:
            return self._workflow.run(
                ctx=context,
                chat_history=history or read_conversation(run),
                max_iterations=settings.max_iterations,
            )
        if settings.start is None:
            given: Any = {"user_msg": run.text, "chat_history": read_conversation(run)}
            given |= settings.forwarded.beside({}, run)
            return self._workflow.run(ctx=context, **given)
        start = settings.start(run)
        if isinstance(start, StartEvent):
            return self._workflow.run(ctx=context, start_event=start)
        return self._workflow.run(ctx=context, **start)

    async def _continued(self, kept: Continuation) -> WorkflowHandler:
        """The workflow where it paused.

        Raises:
            NotDelivered: the installed LlamaIndex, or the workflow as it is now, can't go on from
                there. Nothing was done, and the answers can be given again.
        """
        try:
            await self._expect_tools(kept)
            context: Context = Context.from_dict(self._workflow, deepcopy(kept.context))
            store = context.store
            if self._is_agent:
                if state := self._state_in():
                    await store.set("state", {**(await store.get("state") or {}), **state})
                await store.set(FORWARDED, self._settings.forwarded.of(self._run))
        except NotDelivered:
            raise
        except Exception as error:
            raise kept.refused(error) from error
        handler = self._workflow.run(ctx=context)
        if kept.memory is not None:
            # LlamaIndex leaves it out of what it keeps, and its steps want it.
            memory = ChatMemoryBuffer.from_defaults(
                llm=_model_of(self._workflow), chat_history=loaded(kept.memory)
            )
            await handler.ctx.store.set("memory", memory)
        return handler

    async def _expect_tools(self, kept: Continuation) -> None:
        """Refuse to go on where a call is to begin whose tool is gone.

        Raises:
            NotDelivered: there is no such tool.
        """
        workflow: Any = self._workflow
        agents = workflow.agents if isinstance(workflow, AgentWorkflow) else {None: workflow}
        for own, one in kept.calls.items():
            if own in kept.frontend:
                continue
            given = [(name, one["tool"]) if name else (one["tool"],) for name in agents]
            found = [
                tool.metadata.name for each in given for tool in await workflow.get_tools(*each)
            ]
            if one["tool"] not in found:
                raise kept.refused(f"there is no tool {one['tool']!r}.")

    async def _driven(self, handler: WorkflowHandler) -> Any:
        """What the workflow came to; `_PAUSED` where people are to be asked."""
        queue, guard = self._queue, self._guard
        try:
            async for event in handler.stream_events(expose_internal=True):
                if isinstance(event, Mark):
                    guard.passed(event)
                elif isinstance(event, WorkflowIdleEvent):
                    if self._waits and not self._gate.running_tools:
                        self._pausing = await self._rest(handler)
                        return _PAUSED
                elif isinstance(event, InputRequiredEvent):
                    if not any(one.asked is event for one in guard.questions.values()):
                        self._asked[self._run.mint()] = fields_of(event)
                else:
                    queue.write(event)
                    if queue.full:
                        await queue.drained()
            result = await handler
            if self._is_agent:
                memory = await handler.ctx.store.get("memory", default=None)
                self._messages = await memory.aget_all() if memory is not None else []
                self._speaker = await handler.ctx.store.get("current_agent_name", default=None)
                await self._tell_state(handler)
            return result
        finally:
            if not handler.is_done():
                await self._ended(handler)

    async def _ended(self, handler: WorkflowHandler) -> None:
        """End a workflow that is not over."""
        ending = asyncio.ensure_future(handler.cancel_run(timeout=GRACE))
        # Also where this task is cancelled meanwhile, by a stop that is forced.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(ending)

    @property
    def _waits(self) -> bool:
        guard = self._guard
        asked = guard.asks or guard.questions or self._rounds.asks or self._asked
        return bool(asked or guard.frontend)

    async def _rest(self, handler: WorkflowHandler) -> Continuation:
        """What is kept of the workflow while people are asked."""
        store, guard = handler.ctx.store, self._guard
        kept = None
        if self._is_agent:
            await self._tell_state(handler)
            memory = await store.get("memory", default=None)
            if memory is not None:
                kept = dumped(await memory.aget_all())
                await store.set("memory", None)
            await store.set(FORWARDED, {})
        for output in guard.outputs:
            # What a tool returned may be no JSON; the model has been told its text.
            output.raw_output = to_jsonable_python(output.raw_output, fallback=str)
        waiting = {*guard.asks, *guard.frontend, *guard.entered, *self._rounds.asks}
        waiting |= {one.call for one in guard.questions.values() if one.call is not None}
        return Continuation(
            context=resting(handler.ctx.to_dict()),
            memory=kept,
            calls={
                own: {"native": native, "tool": call.name, "args": call.args}
                for own, (native, call) in guard.known.items()
                if own in waiting
            },
            entered=guard.entered,
            frontend=guard.frontend,
            answered=guard.answered,
            steps=self._asked,
            version=installed_version(WORKFLOWS),
            actor=self._actor,
            late=self._late,
            rounds=self._rounds.to_json(),
        )

    # --- the state ---

    def _state_in(self) -> dict[str, Any]:
        """What the page shares of the state that the agent has."""
        state = self._run.state if isinstance(self._run.state, dict) else {}
        return {key: deepcopy(value) for key, value in state.items() if key in self._shared}

    async def _tell_state(self, handler: WorkflowHandler) -> None:
        """Tell the page what has changed of it."""
        state = await handler.ctx.store.get("state", default=None)
        if not self._shared or not isinstance(state, dict):
            return
        now: Any = to_jsonable_python(state, fallback=str)
        page = self._run.state if isinstance(self._run.state, dict) else {}
        told = {**page, **{key: now[key] for key in self._shared if key in now}}
        if told != page:
            self._emit(StateSnapshotEvent(snapshot=told))

    # --- what comes of it ---

    def _is_left_alone(self, kept: Continuation) -> bool:
        """Whether nobody answered an event that asks: nothing can go on from there."""
        return any(not isinstance(self._decisions.get(own), Answer) for own in kept.steps)

    def _asked_calls(self) -> Collection[str]:
        kept: Continuation | None = self._kept
        return kept.calls.keys() if kept else ()

    @property
    def _touched(self) -> set[str]:
        kept: Continuation | None = self._kept
        return super()._touched | set(kept.entered if kept else ())

    @property
    def _is_untouched(self) -> bool:
        told = self._reader.answered
        return self._kept is not None and not self._gate.begun and not told - self._known_results

    @property
    def _known_results(self) -> set[str]:
        messages = self._run.raw_messages
        return {str(m.get("toolCallId")) for m in messages if m.get("role") == "tool"}

    def _result(self, failure: BaseException | None) -> Any:
        if isinstance(failure, WorkflowRuntimeError) and str(failure).startswith(_LIMIT):
            self._run.end_reason = EndReason.MAX_ITERATIONS_REACHED
            return None
        if isinstance(failure, NotAnswered):
            return None
        return super()._result(failure)

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        if result is _PAUSED and self._pausing is not None:
            yield self._pause(self._pausing)
            return
        if isinstance(result, AgentOutput):
            text = result.response.content or ""
            if text and text.strip() != self._reader.last.strip():
                # A tool said it in the place of the model.
                for item in self._reader.say(text):
                    yield item
            if result.structured_response is not None:
                self._run.result = to_jsonable_python(result.structured_response, fallback=str)
            said, messages = self._reader.said, self._messages
            self._run.memo = memo_of(self._run, said, messages, self._speaker)
        elif isinstance(result, str):
            if result and result != self._reader.last:
                for item in self._reader.say(result):
                    yield item
        else:
            value = result.model_dump() if isinstance(result, BaseModel) else result
            self._run.result = to_jsonable_python(value, fallback=str)

    def _pause(self, kept: Continuation) -> Pause | Handoff:
        for call in (one.call for one in self._guard.questions.values()):
            self._rounds.expect_one_way(call, self._guard.known[call][1].name if call else "")
        asks = list[Ask](self._guard.asks.values())
        asks += chain.from_iterable(self._rounds.asks.values())
        asks += map(question_of, self._guard.questions.values())
        kind = answering(self._workflow)
        asks += [asked_by(own, fields, kind) for own, fields in self._asked.items()]
        handed = kept.frontend
        told = kept.to_json()
        return Pause(asks, told, frontend_calls=handed) if asks else Handoff(handed, told)


def _shared_keys(workflow: Workflow) -> frozenset[str]:
    """The keys of the state that an agent has and the page may see: what it begins with."""
    initial: Any = getattr(workflow, "initial_state", None) if is_agent(workflow) else None
    return frozenset(initial or ())


def _model_of(workflow: Any) -> Any:
    agent = (
        workflow.agents[workflow.root_agent] if isinstance(workflow, AgentWorkflow) else workflow
    )
    return agent.llm


def _text(told: Any) -> str:
    """What the application returned, as a model reads it."""
    if isinstance(told, list):
        return text_of(told)
    return told if isinstance(told, str) else str(told)
