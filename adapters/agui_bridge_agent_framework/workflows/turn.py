"""One run of a workflow: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args, get_origin

from ag_ui.core import BaseEvent, StepFinishedEvent, StepStartedEvent
from agent_framework import (
    AgentExecutor,
    AgentResponse,
    AgentResponseUpdate,
    HistoryProvider,
    Message,
    Workflow,
    WorkflowAgent,
    WorkflowCheckpoint,
    WorkflowEvent,
    WorkflowExecutor,
)
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import BridgeError, NotDelivered, UpstreamError
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.media import NO_HANDLES
from agui_bridge.protocol.answers.asks import Ask, Pause
from agui_bridge.protocol.answers.decisions import Answer, Approve
from agui_bridge.protocol.turns import turns_of
from agui_bridge_agent_framework.approval_rules import put_rules
from agui_bridge_agent_framework.arguments import names_of, with_stand_ins
from agui_bridge_agent_framework.guard import Guard, agents_in, guard_tools_in, no_such_tool
from agui_bridge_agent_framework.history import messages_of
from agui_bridge_agent_framework.reader import Reader
from agui_bridge_agent_framework.shared_state import SharedState
from agui_bridge_agent_framework.unique_calls import UniqueCalls
from agui_bridge_agent_framework.workflows.checkpoints import Checkpoints
from agui_bridge_agent_framework.workflows.requests import (
    Continuation,
    Requested,
    ask_of,
    response_of,
)
from agui_bridge_agent_framework.workflows.response_types import checkpoint_within

_OVER: Final = ("executor_completed", "executor_failed", "executor_bypassed")


class WorkflowTurn(FrameworkTurn):
    """One run of a workflow.

    Args:
        run: the run.
        workflow: one that nobody else runs: it holds its state.
        checkpoints: where it waits.
        kwargs: what tools of its agents find in their context.
        words: what the application says.
        keys: of the state that it shares with the page.
        predictions: of the state.
    """

    def __init__(
        self,
        run: Run,
        workflow: Workflow,
        checkpoints: Checkpoints,
        kwargs: Mapping[str, Any],
        words: str,
        keys: Mapping[str, Any],
        predictions: Sequence[PredictState],
    ) -> None:
        super().__init__(run, Continuation.from_json, predictions=predictions)
        self._state = SharedState(run.state, keys, predictions, super()._emit, self._is_over)
        self._workflow = workflow
        kept: Continuation | None = self._kept
        self._checkpoints = checkpoints
        self._kwargs = kwargs
        calls = UniqueCalls(run, kept.named if kept else None)
        self._guard = Guard(self._make_gate, self._decisions, calls, words, self._state)
        self._gate = self._guard.gate
        self._reader = Reader(run, structured=False)
        for one in kept.requests if kept else ():
            if one.content is not None:
                self._reader.called.append(one.call)
            if one.content is not None and one.kind == "unknown":
                name = str(one.content["function_call"].get("name"))
                self._guard.unknown[one.call] = no_such_tool(name)
        self._asked: list[tuple[Requested, Ask | None]] = []
        self._steps: list[str] = []
        # Not the reader's events, but the workflow's: each is looked at here.
        self._emits = True
        self._responded: set[str] = set()
        # Executors act by themselves: once one may have, no answer can be given again.
        self._has_begun = False

    # --- the workflow's own task ---

    def _emit(self, event: BaseEvent) -> None:
        self._state.tell(event)

    async def _work(self) -> bool:
        self._guard.watch()
        approved = self._kept.approved(self._decisions) if self._kept is not None else ()
        for agent in agents_in(self._workflow):
            put_rules(agent, None)
            ready = with_stand_ins(agent, approved)
            if ready is not agent:
                # A workflow can't be given another agent.
                agent.default_options, agent.middleware = ready.default_options, ready.middleware
        guard_tools_in(self._workflow)
        given = await self._given()
        if given is None:
            return True
        self._run.check_lease()
        stream = self._workflow.run(
            stream=True,
            checkpoint_storage=self._checkpoints,
            function_invocation_kwargs=self._kwargs or None,
            **given,
        )
        try:
            async for event in stream:
                if event.type == "superstep_started":
                    self._has_begun = True
                    self._run.check_lease()
                self._queue.write(event)
                if self._queue.full:
                    await self._queue.drained()
        finally:
            with contextlib.suppress(Exception):
                await stream.close()
        return True

    async def _given(self) -> dict[str, Any] | None:
        """What the workflow is run with; None where nobody answered anything.

        Raises:
            NotDelivered: the checkpoint is gone, or does not fit the workflow as it is now.
            UpstreamError: its first executor takes neither messages nor text.
        """
        kept = self._kept
        if kept is None:
            return {"message": _first(self._workflow, self._run)}
        try:
            checkpoint = await self._checkpoints.load(kept.checkpoint)
        except Exception as error:
            raise NotDelivered(
                f"The workflow's checkpoint {kept.checkpoint!r} can't be read "
                f"({type(error).__name__}): is it the storage that it was paused with?"
            ) from error
        if checkpoint.graph_signature_hash != self._workflow.graph_signature_hash:
            raise NotDelivered("The workflow is another one now than the one that was paused.")
        self._expect_tools(kept, checkpoint)
        responses = {}
        for one in kept.requests:
            decision = self._decisions.get(one.native_id)
            if one.content is not None or isinstance(decision, Answer):
                kind = checkpoint.pending_request_info_events[one.request].response_type
                responses[one.request] = response_of(one, decision, kind)
        self._responded = {one.request for one in kept.requests}
        if not responses:
            return None
        return {"checkpoint_id": kept.checkpoint, "responses": responses}

    def _expect_tools(self, kept: Continuation, checkpoint: WorkflowCheckpoint) -> None:
        """Have answers wait while the tool of an approved call is not there.

        Raises:
            NotDelivered: it is gone from the agent that made the call, as far as that has all its
                tools before it runs.
        """
        for one in kept.requests:
            if one.content is None or not isinstance(self._decisions.get(one.native_id), Approve):
                continue
            name = str(one.content["function_call"]["name"])
            agents = _askers(self._workflow, checkpoint, one.request)
            if not any(_may_have(agent, name) for agent in agents):
                raise NotDelivered(
                    f"The agent of the workflow that wants to call {name!r} has no such tool "
                    "any more."
                )

    # --- what comes of it ---

    def _read(self, event: Any) -> Iterator[Any]:
        if not isinstance(event, WorkflowEvent):
            yield from super()._read(event)
            return
        kind, executor = event.type, event.executor_id or ""
        if kind in ("output", "intermediate", "data"):
            yield from self._output(event.data)
        elif kind == "request_info" and event.request_id not in self._responded:
            self._asked.append(ask_of(event, self._guard.tools_for))
        elif kind == "executor_invoked" and executor not in self._steps:
            self._steps.append(executor)
            yield StepStartedEvent(step_name=executor)
        elif kind in _OVER and executor in self._steps:
            yield from self._reader.end()
            yield from self._results()
            self._steps.remove(executor)
            yield StepFinishedEvent(step_name=executor)

    def _output(self, data: Any) -> Iterator[Any]:
        if isinstance(data, AgentResponseUpdate):
            for content in data.contents:
                if content.type == "function_result":
                    self._guard.tell(content)
            yield from self._reader.read(data)
        elif isinstance(data, AgentResponse | Message):
            yield data.text
        elif isinstance(data, str):
            yield data
        elif isinstance(data, list) and all(isinstance(one, Message) for one in data):
            yield "\n\n".join(one.text for one in data if one.role == "assistant")
        else:
            self._run.result = to_jsonable_python(data, fallback=str)

    def _results(self) -> Iterator[Any]:
        """What came of calls, those too that no agent's output has told."""
        guard = self._guard
        done = {**guard.outputs, **guard.unknown}
        untold = [call for call in done if call not in self._reader.answered]
        known = _calls_in(self._run.conversation()) if untold else set()
        for call in untold:
            if call in guard.outputs and call not in known and call not in self._reader.called:
                made = guard.made[call]
                args = guard.calls.proposed.get(call) or json.dumps(made.args, ensure_ascii=False)
                yield from self._reader.whole_call(call, made.name, args)
            if call in known or call in self._reader.called:
                yield from self._reader.result(call, done[call])

    def _last_items(self) -> Iterator[Any]:
        yield from self._reader.end()
        yield from self._results()
        for name in self._steps:
            yield StepFinishedEvent(step_name=name)

    def _is_of_code(self, call: str) -> bool:
        # An agent's model proposed it, or people were asked; else an executor made it.
        asked = {one.call for one in self._kept.requests} if self._kept is not None else ()
        return call not in self._guard.calls.proposed and call not in asked

    async def _left(self) -> None:
        self._run.iteration = self._guard.requests
        self._guard.note_usage(self._run)

    async def _expect_delivered(self, failure: BaseException | None) -> None:
        await super()._expect_delivered(failure)
        is_ours = failure is None or isinstance(failure, BridgeError)
        if self._is_untouched and not is_ours:
            # The framework looks at all answers before anything else.
            raise NotDelivered(f"The workflow can't go on with this: {failure}") from failure

    @property
    def _is_untouched(self) -> bool:
        return self._kept is not None and not self._has_begun

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        checkpoint = await self._ended()
        if checkpoint is not None:
            waiting = [one for one, _ in self._asked]
            place, named = self._checkpoints.place, self._guard.calls.named
            kept = Continuation(checkpoint, place, waiting, self._actor, named).to_json()
            yield Pause([ask for _, ask in self._asked if ask is not None], kept)

    async def _ended(self) -> str | None:
        """The checkpoint to go on from, where somebody is waited for; no other is left.

        Raises:
            UpstreamError: the workflow asked, and there is none.
        """
        requests = [one.request for one, _ in self._asked]
        if not requests:
            await self._checkpoints.forget()
            return None
        checkpoint = self._checkpoints.waiting_for(requests)
        if checkpoint is None:
            raise UpstreamError(
                "The workflow asks, and made no checkpoint to go on from. The framework's log "
                "says what can't be kept: see register_checkpoint_type."
            )
        await self._checkpoints.forget(but=checkpoint)
        return checkpoint


def _first(workflow: Workflow, run: Run) -> Any:
    """What a workflow begins with: all of the conversation where it takes messages, else text.

    Raises:
        UpstreamError: it takes neither.
    """
    takes = workflow.input_types
    if any(get_origin(one) is list and Message in _members(one) for one in takes):
        return list(messages_of(turns_of(run.raw_messages), NO_HANDLES))
    if str in takes:
        return run.text
    raise UpstreamError(
        f"The workflow's first executor takes {takes}; the bridge has list[Message] or str for it."
    )


def _calls_in(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    return {call["id"] for one in messages for call in one.get("toolCalls") or ()}


def _members(kind: Any) -> set[Any]:
    """What a list's type says may be in it."""
    (inside,) = get_args(kind) or (Any,)
    return {inside, *get_args(inside)}


def _askers(workflow: Workflow, checkpoint: WorkflowCheckpoint, request: str) -> Iterator[Any]:
    """The agent that asked; all that may have, where the checkpoint does not say.

    Args:
        workflow: the workflow.
        checkpoint: what it waits with.
        request: the id of the request.
    """
    event = checkpoint.pending_request_info_events.get(request)
    executor = workflow.executors.get(event.source_executor_id or "") if event is not None else None
    if isinstance(executor, WorkflowExecutor):
        inner = checkpoint_within(checkpoint, executor.id)
        if inner is None:
            yield from agents_in(executor.workflow)
        else:
            yield from _askers(executor.workflow, inner, request)
    elif isinstance(executor, AgentExecutor) and not isinstance(executor.agent, WorkflowAgent):
        yield executor.agent
    else:
        yield from agents_in(workflow)


def _may_have(agent: Any, name: str) -> bool:
    """Whether an agent has a tool, or may get it when it runs."""
    providers = getattr(agent, "context_providers", None) or ()
    is_open = any(not isinstance(one, HistoryProvider) for one in providers)
    return bool(is_open or getattr(agent, "mcp_tools", None) or name in names_of(agent))
