"""One run of a workflow: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, get_args, get_origin

from ag_ui.core import StepFinishedEvent, StepStartedEvent
from agent_framework import AgentResponse, AgentResponseUpdate, Message, Workflow
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.frameworks.item_queue import join_text
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.media import NO_HANDLES
from agui_bridge.protocol.answers.asks import Ask, Pause
from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.turns import turns_of
from agui_bridge_agent_framework.arguments import with_stand_ins
from agui_bridge_agent_framework.guard import Guard, agents_in, guard_tools_in
from agui_bridge_agent_framework.history import messages_of
from agui_bridge_agent_framework.reader import Reader
from agui_bridge_agent_framework.unique_calls import UniqueCalls
from agui_bridge_agent_framework.workflows.checkpoints import Checkpoints
from agui_bridge_agent_framework.workflows.requests import Kept, Requested, ask_of, response_of

__all__ = ["WorkflowTurn"]

_OVER: Final = ("executor_completed", "executor_failed", "executor_bypassed")


class WorkflowTurn(FrameworkTurn):
    """One run of a workflow.

    Args:
        run: the run.
        workflow: one that nobody else runs: it holds its state.
        checkpoints: where it waits.
        kwargs: what tools of its agents find in their context.
    """

    def __init__(
        self, run: Run, workflow: Workflow, checkpoints: Checkpoints, kwargs: Mapping[str, Any]
    ) -> None:
        super().__init__(run, Kept.from_json)
        self._workflow = workflow
        kept: Kept | None = self._kept
        self._checkpoints = checkpoints
        self._kwargs = kwargs
        self._guard = Guard(self._make_gate, self._decisions, UniqueCalls(run))
        self._gate = self._guard.gate
        self._reader = Reader(run, structured=False)
        for one in kept.requests if kept else ():
            if one.kind == "approval":
                self._reader.called.append(one.call)
        self._asked: list[tuple[Requested, Ask]] = []
        self._steps: list[str] = []
        self._responded: set[str] = set()

    # --- the workflow's own task ---

    async def _work(self) -> bool:
        self._guard.watch()
        approved = self._kept.approved(self._decisions) if self._kept is not None else ()
        for agent in agents_in(self._workflow):
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
                    # Executors act by themselves.
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
        responses = {}
        for one in kept.requests:
            decision = self._decisions[one.native_id]
            if one.kind == "approval" or isinstance(decision, Answer):
                kind = checkpoint.pending_request_info_events[one.request].response_type
                responses[one.request] = response_of(one, decision, kind)
        self._responded = {one.request for one in kept.requests}
        if not responses:
            return None
        return {"checkpoint_id": kept.checkpoint, "responses": responses}

    # --- what comes of it ---

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        return join_text(chain.from_iterable(map(self._read, events)))

    def _read(self, event: Any) -> Iterator[Any]:
        kind = event.type
        if kind in ("output", "intermediate", "data"):
            yield from self._output(event.data)
        elif kind == "request_info" and event.request_id not in self._responded:
            self._asked.append(ask_of(event))
        elif kind == "executor_invoked" and event.executor_id not in self._steps:
            self._steps.append(event.executor_id)
            yield StepStartedEvent(step_name=event.executor_id)
        elif kind in _OVER and event.executor_id in self._steps:
            yield from self._reader.end()
            self._steps.remove(event.executor_id)
            yield StepFinishedEvent(step_name=event.executor_id)

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

    def _last_items(self) -> Iterator[Any]:
        yield from self._reader.end()
        for name in self._steps:
            yield StepFinishedEvent(step_name=name)

    @property
    def _is_untouched(self) -> bool:
        return False  # executors act by themselves

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        checkpoint = await self._ended()
        if checkpoint is not None:
            waiting = [one for one, _ in self._asked]
            kept = Kept(checkpoint, self._checkpoints.place, waiting, self._actor).to_json()
            yield Pause([ask for _, ask in self._asked], kept)

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
            raise UpstreamError("The workflow asks, and made no checkpoint to go on from.")
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


def _members(kind: Any) -> set[Any]:
    """What a list's type says may be in it."""
    (inside,) = get_args(kind) or (Any,)
    return {inside, *get_args(inside)}
