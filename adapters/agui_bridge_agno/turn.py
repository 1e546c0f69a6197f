"""One run of an agent or a team: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from importlib.metadata import version
from typing import Any, Final

from ag_ui.core import StateSnapshotEvent
from agno.agent import Agent
from agno.models.message import Message
from agno.run import RunContext
from agno.run.agent import RunOutput
from agno.run.team import TeamRunOutput
from agno.team import Team
from agno.tools.function import Function
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge_agno.content import handles_of
from agui_bridge_agno.guard import Guard
from agui_bridge_agno.history import (
    calls_in,
    dumped,
    loaded,
    memo_of,
    messages_of,
    read_conversation,
)
from agui_bridge_agno.members import Members, never_repeat
from agui_bridge_agno.pauses import AGNO, Kept, ask_of, restore, waiting_of
from agui_bridge_agno.reader import Reader

__all__ = ["AgentFailed", "Turn"]

_GO_ON: Final = "Go on."
"""What a model is asked with where nobody has said anything since its own words."""

_OURS: Final = ("current_user_id", "current_session_id", "current_run_id")
"""What Agno puts into the session's state by itself."""


class AgentFailed(Exception):
    """The agent's run ended in an error, which Agno told as an event."""


class Turn(FrameworkTurn):
    """One run.

    Args:
        run: the run.
        agent: the agent or team.
        dependencies: what its tools are given.
    """

    def __init__(self, run: Run, agent: Agent | Team, dependencies: Any) -> None:
        super().__init__(run, Kept.from_json)
        kept: Kept | None = self._kept
        if run.resume is not None and kept is not None:
            self._decided = kept.decided(self._decisions)
        calls = run.call_ids(calls_in(kept.output if kept else None))
        self._guard = Guard(run, self._make_gate, calls)
        self._gate = self._guard.gate
        self._gate.failed = self._stop_working
        self._members = Members(run.mint, kept.members if kept else ())
        structured = getattr(agent, "output_schema", None) is not None
        self._reader = Reader(run, self._members, is_structured=structured)
        self._frontend: set[str] = set()
        self._agent = self._prepared(agent)
        self._handles = handles_of(agent.model)
        self._own_input: list[Any] = list(self._agent.additional_input or ())
        self._dependencies = dependencies
        state = run.state if isinstance(run.state, dict) else {}
        # Who it is that a tool works for is nothing that a client may say.
        self._state = {name: value for name, value in state.items() if name not in _OURS}
        # Ids of messages: instructions that the application gave, and the agent's own examples.
        self._given: set[str] = set(kept.given) if kept else set()
        self._examples: set[str] = set(kept.examples) if kept else set()
        self._late: list[Message] = []
        # What a run that goes on tells before anything else, unless it can't: once something was
        # told, the answers can't be given again.
        self._first: list[Any] = []
        self._has_told = False

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        for item in super()._told(events):
            yield from self._take_first()
            yield item

    def _last_items(self) -> Iterator[RunItem]:
        yield from self._take_first()
        yield from self._reader.end()
        for call in [*self._reader.told]:
            # What ran to its end while everything else was stopped, or failed.
            if call in self._guard.outputs:
                yield from self._reader.result(call, self._guard.outputs[call])

    async def _left(self) -> None:
        await self._guard.abandon(GRACE)

    # --- the agent's own task ---

    async def _work(self) -> Any:
        self._guard.begin()
        output = await self._take(self._begin())
        if self._late and output is not None and not output.is_paused:
            late, self._late = self._late, []
            output = await self._take(self._ask([*self._told_by(output), *late]))
        return output

    async def _take(self, stream: AsyncIterator[Any]) -> Any:
        output, write = None, self._queue.write
        # Members' runs come out of it, too; the last is the agent's own. Agno's types call it an
        # iterator; it is a generator, and is closed as one.
        async with contextlib.aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, RunOutput | TeamRunOutput):
                    output = event
                else:
                    write(event)
                    if self._queue.full:
                        await self._queue.drained()
        return output

    def _begin(self) -> AsyncIterator[Any]:
        """What the run begins or goes on with.

        Raises:
            NotDelivered: see `restore`.
        """
        run, kept = self._run, self._kept
        if kept is None:
            return self._ask(read_conversation(run, self._handles))
        said = messages_of(self._new_user_messages(), self._handles)
        self._late = [*loaded(kept.late), *said]
        handed = run.results()
        if not self._agent.tools and any(one.run is None for one in kept.waiting):
            # Agno would go on without a word.
            raise kept.refused("it has no tools.")
        output = restore(kept, self._decisions, handed)
        self._reader.top = output.run_id
        self._first += self._members.reopen()
        results = kept.results(self._decisions, handed)
        for one in kept.waiting:
            self._reader.told.add(one.call)
            if one.kind == "frontend":
                self._reader.answered.add(one.call)
            elif one.call in results and (one.kind != "confirmation" or one.run is not None):
                self._first += self._reader.result(one.call, results[one.call], one.run)
        for call in kept.open:
            self._reader.told.add(call)
            self._reader.open.add(call)
        stream: AsyncIterator[Any] = self._agent.acontinue_run(
            run_response=output, requirements=output.requirements, **self._options(output.run_id)
        )
        return stream

    def _ask(self, messages: list[Message]) -> AsyncIterator[Any]:
        """Have the agent answer a conversation."""
        said = messages.pop() if messages and messages[-1].role == "user" else None
        self._given |= {one.id for one in messages if one.role == "system"}
        own = self._reader.top = self._run.mint()
        # A team makes one text of a list of messages; these both are told as they are.
        examples = [_message(one) for one in self._own_input]
        self._examples |= {one.id for one in examples}
        self._agent.additional_input = [*examples, *messages]
        said = said or Message(role="user", content=_GO_ON)
        # A team takes one message; of one alone an agent makes JSON, which can't be of a picture.
        given: Any = said if isinstance(self._agent, Team) else [said]
        stream: AsyncIterator[Any] = self._agent.arun(given, run_id=own, **self._options(own))
        return stream

    def _options(self, run_id: Any) -> dict[str, Any]:
        run = self._run
        context = RunContext(
            run_id=run_id,
            session_id=run.thread_id,
            user_id=self._actor or None,
            session_state=copy.deepcopy(self._state),
            dependencies=self._dependencies,
        )
        return {
            "session_id": run.thread_id,
            "user_id": self._actor or None,
            "run_context": context,
            "dependencies": self._dependencies,
            "stream": True,
            "stream_events": True,
            "yield_run_output": True,
        }

    def _prepared(self, agent: Agent | Team) -> Any:
        """The agent for this run: with the application's tools, without a history of its own."""
        made: Any = copy.copy(agent)
        made.db = None
        made.add_history_to_context = False
        never_repeat(made)
        if made.tools is None or isinstance(made.tools, list):
            own = {getattr(one, "name", getattr(one, "__name__", None)) for one in made.tools or ()}
            external = {
                one.name for one in made.tools or () if getattr(one, "external_execution", None)
            }
            offered = [_frontend(tool) for tool in self._run.tools if tool.name not in own]
            self._frontend = {one.name for one in offered} | (
                external & {tool.name for tool in self._run.tools}
            )
            made.tools = [*(made.tools or ()), *offered]
        if isinstance(made, Team):
            made.stream_member_events = True
        return made

    # --- what comes of it ---

    def _take_first(self) -> list[Any]:
        self._has_told = True
        first, self._first = self._first, []
        return first

    async def _expect_delivered(self, failure: BaseException | None) -> None:
        await super()._expect_delivered(failure)
        is_over = self._gate.fault is not None or self._run.stop.requested
        if isinstance(failure, ValueError) and self._is_untouched and not is_over:
            # So Agno says that a tool or a member is not there any more.
            raise self._kept.refused(failure) from failure

    @property
    def _is_untouched(self) -> bool:
        return self._kept is not None and not self._has_told and not self._gate.begun

    def _result(self, failure: BaseException | None) -> Any:
        output = super()._result(failure)
        if self._reader.failure is not None or output is None:
            raised = self._guard.model_failure
            told = self._reader.failure or "it gave no output"
            raise AgentFailed(told) from (raised if str(raised) == told else None)
        return output

    async def _ending(self, output: Any) -> AsyncGenerator[RunItem, None]:
        state = {k: v for k, v in (output.session_state or {}).items() if k not in _OURS}
        state = to_jsonable_python(state, fallback=str)
        if state != self._state:
            yield StateSnapshotEvent(snapshot=state)
        waiting, asks = [], list[Ask]()
        if output.is_paused:
            for requirement in output.active_requirements:
                one = waiting_of(requirement, self._frontend)
                for item in self._reader.call(one.call, one.tool, one.args, one.run):
                    yield item
                waiting.append(one)
                if one.kind == "frontend":
                    continue
                known = self._guard.asks.get(one.call), self._guard.parameters.get(one.call)
                subagent = self._members.id_of(one.run)
                asks.append(ask_of(one, requirement, *known, subagent))
        if not waiting:
            for call in sorted(self._reader.open):
                for item in self._reader.result(call, _result_in(output, call)):
                    yield item
            if not isinstance(output.content, str | None):
                self._run.result = to_jsonable_python(output.content, fallback=str)
            self._run.memo = memo_of(self._run, self._reader.said, self._told_by(output))
            return
        output.additional_input = output.events = None
        kept = Kept(
            output=json.loads(json.dumps(output.to_dict(), default=str)),
            is_team=isinstance(output, TeamRunOutput),
            waiting=waiting,
            agno=version(AGNO),
            actor=self._actor,
            members=self._members.to_json(),
            open=sorted(self._reader.open),
            given=sorted(self._given),
            examples=sorted(self._examples),
            late=dumped(self._late),
        ).to_json()
        handed = [one.call for one in waiting if one.kind == "frontend"]
        yield Pause(asks, kept, frontend_calls=handed) if asks else Handoff(handed, kept)

    def _told_by(self, output: Any) -> list[Message]:
        """The conversation as Agno has it, without the agent's own instructions."""
        role = self._agent.system_message_role
        return [
            one
            for one in output.messages or ()
            if (one.role != role or one.id in self._given) and one.id not in self._examples
        ]


def _frontend(tool: Any) -> Function:
    """A tool that the application carries out: Agno waits for its result."""
    return Function(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters or {"type": "object", "properties": {}},
        external_execution=True,
        skip_entrypoint_processing=True,
    )


def _message(given: Any) -> Message:
    return given if isinstance(given, Message) else Message.model_validate(given)


def _result_in(output: Any, call: str) -> str:
    found = (tool.result for tool in output.tools or () if tool.tool_call_id == call)
    return str(next(found, "") or "")
