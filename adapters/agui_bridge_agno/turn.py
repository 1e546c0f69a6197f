"""One run of an agent or a team: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent, ToolCallResultEvent
from agno.agent import Agent
from agno.models.message import Message
from agno.run import RunContext
from agno.run.agent import RunOutput
from agno.run.team import TeamRunOutput
from agno.team import Team
from agno.tools.function import Function
from agno.utils.callables import aresolve_callable_members
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import AgentRefused
from agui_bridge.frameworks.application import Application
from agui_bridge.frameworks.predicted_state import PredictState, told_anew
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge_agno.content import handles_of
from agui_bridge_agno.guard import AGNO, Guard
from agui_bridge_agno.history import (
    calls_in,
    dumped,
    loaded,
    masked,
    memo_of,
    messages_of,
    read_conversation,
    results_in,
)
from agui_bridge_agno.members import Members, never_repeat, with_result
from agui_bridge_agno.pauses import Continuation, ask_of, held_back, restore, waiting_of
from agui_bridge_agno.reader import Reader

_GO_ON: Final = "Go on."
"""What a model is asked with where nobody has said anything since its own words."""

_MEDIA: Final = ("images", "audio", "videos", "files")

_MEMBER_ENDS: Final = ("RunCompleted", "TeamRunCompleted")

_OURS: Final = ("current_user_id", "current_session_id", "current_run_id")
"""What Agno puts into the session's state by itself."""


@dataclass(frozen=True)
class Settings:
    """What an adapter was given besides its agent; see `AgnoAdapter`."""

    application: Application
    predictions: tuple[PredictState, ...] = ()
    client_user_id: bool = False

    def user_of(self, run: Run, actor: str) -> str | None:
        """Who it is that Agno works for.

        Args:
            run: the run.
            actor: who began it, as the bridge knows.
        """
        props: Any = run.input.forwarded_props
        said = props.get("user_id") if self.client_user_id and isinstance(props, dict) else None
        return (said if isinstance(said, str) else None) or actor or None


class AgentFailed(Exception):
    """The agent's run ended in an error, which Agno told as an event."""


class Turn(FrameworkTurn):
    """One run.

    Args:
        run: the run.
        agent: the agent or team.
        dependencies: what its tools are given.
        settings: the adapter's.
    """

    def __init__(
        self, run: Run, agent: Agent | Team, dependencies: Any, settings: Settings
    ) -> None:
        super().__init__(run, Continuation.from_json, predictions=settings.predictions)
        kept: Continuation | None = self._kept
        if run.resume is not None and kept is not None:
            self._decided = kept.decided(self._decisions)
        calls = run.call_ids(calls_in(kept.output if kept else None))
        words = settings.application.words(run)
        self._guard = Guard(run, self._make_gate, calls, self._queue.write, self._tell_state, words)
        # By which calls the members were asked that now go on, and which sub-agents made these.
        self._asked_by: dict[str, tuple[str, str | None]] = {
            one["run"]: (one["call"], one["above"])
            for one in (kept.members if kept else ())
            if one["call"]
        }
        if kept is not None:
            texts = results_in(kept.output)
            asked = {call: texts[call] for call, _ in self._asked_by.values() if call in texts}
            self._guard.delegated.update(asked | kept.delegated)
        self._gate = self._guard.gate
        self._gate.failed = self._stop_working
        self._members = Members(run.mint, kept.members if kept else ())
        structured = getattr(agent, "output_schema", None) is not None
        is_route = bool(getattr(agent, "respond_directly", False))
        self._reader = Reader(run, self._members, is_structured=structured, is_route=is_route)
        self._frontend: set[str] = set()
        self._agent = self._prepared(agent)
        # An answer may come without them.
        handed = (one.tool for one in (kept.waiting if kept else ()) if one.kind == "frontend")
        self._frontend.update(handed)
        self._handles = handles_of(agent.model)
        self._own_input: list[Any] = list(self._agent.additional_input or ())
        self._dependencies = dependencies
        self._shown: dict[str, Any] = {}
        if settings.application.context != "off" and not agent.add_dependencies_to_context:
            # As behind Agno's own AG-UI server. What the agent has put into its messages stays
            # there: that is no place for what a page shows now.
            self._shown = _named(run)
        self._user = settings.user_of(run, self._actor)
        state = run.state if isinstance(run.state, dict) else {}
        # Who it is that a tool works for is nothing that a client may say.
        self._state = {name: value for name, value in state.items() if name not in _OURS}
        # The session's own, which tools change while the run goes on.
        self._live: dict[str, Any] = {}
        # Ids of messages: instructions that the application gave, and the agent's own examples.
        self._given: set[str] = set(kept.given) if kept else set()
        self._examples: set[str] = set(kept.examples) if kept else set()
        self._late: list[Message] = []
        # What a run that goes on tells before anything else, unless it can't: once something was
        # told, the answers can't be given again.
        self._first: list[Any] = []
        self._has_told = self._is_masked = False
        self._has_state = False

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        for item in super()._told(events):
            yield from self._mask()
            yield from self._take_first()
            yield item

    def _mask(self) -> Iterator[RunItem]:
        """Take out of the thread, once, what the agent's guardrails keep from the model."""
        if not self._is_masked:
            self._is_masked = True
            thread = self._run.conversation()
            if (now := masked(self._agent, thread)) != thread:
                yield told_anew(now)

    def _last_items(self) -> Iterator[RunItem]:
        yield from self._mask()
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
        await self._make_members(self._agent)
        output = await self._take(self._begin())
        if self._late and output is not None and not output.is_paused:
            late, self._late = self._late, []
            output = await self._take(self._ask([*self._told_by(output), *late]))
        return output

    async def _take(self, stream: AsyncIterator[Any]) -> Any:
        output, write, asked = None, self._queue.write, bool(self._asked_by)
        # Members' runs come out of it, too; the last is the agent's own. Agno's types call it an
        # iterator; it is a generator, and is closed as one.
        async with contextlib.aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, RunOutput | TeamRunOutput):
                    output = event
                else:
                    write(event)
                    if asked and event.event in _MEMBER_ENDS:
                        self._note_member(event)
                    if self._queue.full:
                        await self._queue.drained()
        return output

    def _note_member(self, event: Any) -> None:
        """Note what a member that was waited for said at its end, and tell it once all have."""
        if event.run_id not in self._asked_by:
            return
        call, above = self._asked_by.pop(event.run_id)
        name = getattr(event, "agent_name", None) or getattr(event, "team_name", None)
        before = self._guard.delegated.get(call, "")
        text = with_result(before, str(name), str(event.content or "Done."))
        self._guard.delegated[call] = text
        if all(call != other for other, _ in self._asked_by.values()):
            self._queue.write(
                ToolCallResultEvent(
                    message_id=self._run.mint(),
                    tool_call_id=call,
                    content=text,
                    role="tool",
                    subagent_run_id=above,
                )
            )

    def _tell_state(self) -> None:
        """Tell what a tool made of the state."""
        state = self._state_in(self._live)
        if state == self._state:
            return
        if isinstance(self._run.state, dict) or self._has_state:
            self._queue.write(StateDeltaEvent(delta=[*_changes(self._state, state)]))
        else:
            self._queue.write(StateSnapshotEvent(snapshot=state))
        self._state, self._has_state = state, True

    @staticmethod
    def _state_in(session_state: Any) -> dict[str, Any]:
        """The shared part of a session's state, as JSON."""
        state = {k: v for k, v in (session_state or {}).items() if k not in _OURS}
        made: dict[str, Any] = to_jsonable_python(state, fallback=str)
        return made

    async def _make_members(self, team: Any) -> None:
        """Have a function that makes a team's members make them now.

        Agno itself makes them for a run that begins, and none for one that goes on.
        """
        if not isinstance(team, Team):
            return
        if callable(team.members):
            context = self._options(None)["run_context"]
            await aresolve_callable_members(team, context)
            team.members = list(context.members or ())
            never_repeat(team)
            team.initialize_team()
        for member in team.members:
            await self._make_members(member)

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
        frontend = {one.call for one in kept.waiting if one.kind == "frontend"}
        self._guard.held = frontend - {*handed}
        self._guard.put_back = held_back(output, self._guard.held)
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
        text = said.content if isinstance(said.content, str) else said.get_content_string()
        # As text, which its hooks and guardrails look at: of a message they are shown everything.
        # In a text alone Agno fills in `{names}` of the state and of dependencies; the user is not
        # to read these.
        given: Any = [text] if "{" in text else text
        media = {name: value for name in _MEDIA if (value := getattr(said, name))}
        options = {**media, **self._options(own)}
        stream: AsyncIterator[Any] = self._agent.arun(given, run_id=own, **options)
        return stream

    def _options(self, run_id: Any) -> dict[str, Any]:
        run = self._run
        self._live = copy.deepcopy(self._state)
        dependencies = self._dependencies
        if self._shown:
            # To Agno, what a run is given stands in place of what the agents' author gave.
            taken = {*_dependencies_of(self._agent)}
            shown = {name: value for name, value in self._shown.items() if name not in taken}
            dependencies = {**shown, **(dependencies or {})} or None
        context = RunContext(
            run_id=run_id,
            session_id=run.thread_id,
            user_id=self._user,
            session_state=self._live,
            dependencies=dependencies,
        )
        return {
            "session_id": run.thread_id,
            "user_id": self._user,
            "run_context": context,
            "dependencies": dependencies,
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
            if (refused := self._reader.refused) is not None:
                text = f"A check of the agent refused the {refused}: {told}"
                raise AgentRefused(text, of=refused)
            raise AgentFailed(told) from (raised if str(raised) == told else None)
        return output

    async def _ending(self, output: Any) -> AsyncGenerator[RunItem, None]:
        state = self._state_in(output.session_state)
        if state != self._state:
            yield StateSnapshotEvent(snapshot=state)
        waiting, asks = [], list[Ask]()
        if self._guard.held:
            self._guard.put_back()
        if output.is_paused or self._guard.held:
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
                result = self._guard.delegated.get(call) or _result_in(output, call)
                for item in self._reader.result(call, result):
                    yield item
            if not isinstance(output.content, str | None):
                self._run.result = to_jsonable_python(output.content, fallback=str)
            self._run.memo = memo_of(self._run, self._reader.said, self._told_by(output))
            return
        output.additional_input = output.events = None
        kept = Continuation(
            output=json.loads(json.dumps(output.to_dict(), default=str)),
            is_team=isinstance(output, TeamRunOutput),
            waiting=waiting,
            agno=installed_version(AGNO),
            actor=self._actor,
            members=self._members.to_json(),
            open=sorted(self._reader.open),
            given=sorted(self._given),
            examples=sorted(self._examples),
            late=dumped(self._late),
            delegated=self._guard.delegated,
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


def _named(run: Run) -> dict[str, Any]:
    """What the application shows, by its descriptions, as Agno's own AG-UI server gives it."""
    found: dict[str, Any] = {}
    for number, entry in enumerate(run.input.context or (), 1):
        value: Any = entry.value
        with contextlib.suppress(ValueError):
            value = json.loads(entry.value)
        found[entry.description or f"context_{number}"] = value
    return found


def _dependencies_of(agent: Any) -> Iterator[str]:
    """Names of the dependencies that an agent has itself, or a member of a team."""
    yield from agent.dependencies or ()
    for member in agent.members if isinstance(getattr(agent, "members", None), list) else ():
        yield from _dependencies_of(member)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What makes one state of another, key by key, as a JSON patch."""
    for key in before.keys() | after.keys():
        path = "/" + key.replace("~", "~0").replace("/", "~1")
        if key not in after:
            yield {"op": "remove", "path": path}
        elif key not in before or before[key] != after[key]:
            yield {"op": "add", "path": path, "value": after[key]}


def _result_in(output: Any, call: str) -> str:
    found = (tool.result for tool in output.tools or () if tool.tool_call_id == call)
    return str(next(found, "") or "")
