"""One run of an agent: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent
from google.adk.agents import BaseAgent, RunConfig
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.workflow import BaseNode
from google.genai import types
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import AgentRefused, UpstreamError
from agui_bridge.frameworks.a2ui.drawing import surfaces_of
from agui_bridge.frameworks.a2ui.offer import draws_itself, page_of, without_surfaces
from agui_bridge.frameworks.a2ui.settings import A2UI
from agui_bridge.frameworks.application import Application
from agui_bridge.frameworks.predicted_state import PredictState, predicted
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.media import Handles
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import Approve, Decision, Decline
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import turns_of
from agui_bridge.tool_gate import CutOff, Execute, Refuse
from agui_bridge_adk.content import gemini_in, handles_of, models_in, user_parts
from agui_bridge_adk.guard import Guard
from agui_bridge_adk.history import dumped, instructions_of, memo_of, read_conversation
from agui_bridge_adk.nodes import (
    NodeCall,
    NodeResult,
    confirmed_by,
    in_tree,
    is_workflow,
)
from agui_bridge_adk.pauses import (
    ABOUT_A_CALL,
    ADK,
    CHANGES,
    CONFIRMATION,
    Continuation,
    Waiting,
    changes_answered,
    changes_asked,
    confirmation_of,
    frontend_of,
    going_on,
    held_call,
    permission_of,
    question_of,
)
from agui_bridge_adk.reader import Reader
from agui_bridge_adk.state import CONTEXT, changes_of, is_private, shown_context, with_context
from agui_bridge_adk.surface_tool import SURFACE, SurfaceTool
from agui_bridge_adk.unique_calls import UniqueCalls

_CREDENTIAL: Final = "adk_request_credential"

_GUARDS: Final = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK"}
    | {"IMAGE_SAFETY", "IMAGE_RECITATION", "IMAGE_PROHIBITED_CONTENT"}
)
"""Why a model gives no reply to what it was asked; the other reasons are about how it answers."""


class Turn(FrameworkTurn):
    """One run of an agent.

    Args:
        run: the run.
        agent: the agent or workflow, or the application that it is the root of.
        config: how ADK runs it.
        services: what else a `Runner` takes.
        application: what the application may tell the model.
        predictions: of the state.
        confirmed: names of the tools whose changes the page's user is to confirm.
        user: whose artifacts and memories these are.
        toolsets: see `Guard`.
        a2ui: see `AdkAdapter`.
    """

    def __init__(
        self,
        run: Run,
        agent: BaseNode | App,
        config: RunConfig,
        services: Mapping[str, Any],
        application: Application,
        predictions: Sequence[PredictState],
        confirmed: Collection[str],
        user: str,
        toolsets: Mapping[str, Sequence[Any]],
        a2ui: A2UI | None,
    ) -> None:
        super().__init__(run, Continuation.from_json, predictions=predictions)
        self._context = shown_context(run) if application.context != "off" else []
        self._config = with_context(config, self._context)
        self._services = services
        root: Any = agent.root_agent if isinstance(agent, App) else agent
        self._root = root
        self._handles = handles_of(root)
        kept: Continuation | None = self._kept
        if kept is not None:
            self._decided = kept.decided(self._decisions)
        self._surface = _surface_tool(run, application, a2ui)
        self._guard = Guard(
            run,
            self._make_gate,
            self._decided,
            kept.waiting if kept else (),
            instructions_of(run),
            _words_of(run, application),
            self._queue.write,
            is_workflow(root),
            toolsets,
            self._rounds,
            self._surface,
        )
        self._confirmed = confirmed
        self._gate = self._guard.gate
        self._gate.failed = self._stop_working
        self._calls = UniqueCalls(run)
        self._app = _application(agent, self._guard)
        of_nodes = self._guard.of_nodes if is_workflow(root) else None
        self._reader = Reader(
            run, root.name, _structured(root), of_nodes, gemini_in(root), models_in(root)
        )
        for one in kept.waiting if kept else ():
            if one.kind not in ABOUT_A_CALL or isinstance(self._decided.get(one.call), Approve):
                self._reader.tools.add(one.tool)
            if isinstance(self._decided.get(one.call), Approve):
                self._reader.ran.add(one.tool)
            if one.kind in ("frontend", "changes"):
                self._reader.answered.add(one.call)
            elif one.kind in ABOUT_A_CALL:
                self._reader.calls[one.call] = one.tool_call
        for names in (self._reader.tools, self._reader.ran):
            names.update(kept.tools if kept else ())
        for one in (held := kept.held(run.results()) if kept else []):
            self._reader.calls[one.call] = one.tool_call
            self._reader.long_running.add(one.call)
            # An answer may come without the application's tools.
            self._guard.frontend.add(one.tool)
        # Once these have their results, nothing goes on: ADK, or the next agent, would at once.
        self._last = kept.beside(held) if kept else set()
        self._responded: set[str] = set()
        self._sessions = InMemorySessionService()
        self._where: dict[str, Any] = {
            "app_name": self._app.name,
            "user_id": user,
        }
        self._author = kept.author if kept else root.name
        self._private: dict[str, Json] = dict(kept.state) if kept else {}
        self._has_state = isinstance(run.state, dict)
        self._late: list[Any] = []

    def _last_items(self) -> Iterator[RunItem]:
        self._reader.long_running |= self._guard.unfinished
        yield from self._reader.end()
        for call in self._reader.called:
            # What ran to its end while everything else was stopped, or failed.
            if call in self._guard.outputs:
                yield from self._reader.result(call, self._guard.outputs[call])

    def _is_of_code(self, call: str) -> bool:
        return call in self._reader.of_code

    async def _left(self) -> None:
        self._run.iteration = self._reader.replies
        self._note_author()

    # --- the agent's own task ---

    async def _work(self) -> bool:
        for told in self._given_results():
            self._queue.write(told)
        self._calls.begin()
        SURFACE.set(self._surface)
        session = await self._sessions.create_session(
            **self._where, session_id=self._run.thread_id, state=self._state()
        )
        events, said = await self._given()
        for event in events:
            await self._sessions.append_event(session, event)
        runner = Runner(app=self._app, session_service=self._sessions, **self._services)
        for message in said:
            await self._hear(runner, message)
            if self._is_last:
                break
        await self._queue.taken()
        if self._reader.goes_on and not (self._is_waiting or self._is_left_waiting):
            raise CutOff
        if self._late and not self._is_waiting:
            late, self._late = self._late, []
            await self._hear(
                runner, types.Content(role="user", parts=_parts_of(late, self._handles))
            )
        return True

    @property
    def _is_waiting(self) -> bool:
        """Whether somebody outside is waited for, once all that was told has been read."""
        return bool(self._reader.waiting() or self._guard.unfinished)

    @property
    def _is_last(self) -> bool:
        """Whether all is carried out that is to be, while a call of the application's waits on."""
        return bool(self._last) and self._last <= self._responded

    @property
    def _is_left_waiting(self) -> bool:
        """Whether a workflow's node waits for ever, since nobody answered it."""
        waiting = self._kept.waiting if self._kept else ()
        return any(one.is_unanswered(self._decisions) for one in waiting)

    async def _hear(self, runner: Runner, message: types.Content) -> None:
        stream = runner.run_async(
            user_id=self._where["user_id"],
            session_id=self._run.thread_id,
            new_message=message,
            run_config=self._config,
        )
        async with contextlib.aclosing(stream) as events:
            async for event in events:
                self._queue.write(event)
                if self._queue.full:
                    await self._queue.drained()
                self._responded |= {str(one.id) for one in event.get_function_responses()}
                if self._is_last and not self._gate.running_tools:
                    return
        if self._guard.is_cut_off:
            raise CutOff

    async def _given(self) -> tuple[list[Event], list[types.Content]]:
        """What has happened, and what the agents are told now.

        Raises:
            NotDelivered: see `Continuation.restored`.
        """
        run, kept = self._run, self._kept
        if kept is None:
            conversation = read_conversation(run, self._root.name, self._handles)
            self._author = conversation.author
            return conversation.events, [conversation.said]
        self._late = [*kept.late, *self._new_user_messages()]
        if gone := kept.nodes_without(self._root):
            raise kept.refused(f"its workflow has no node {gone!r} any more.")
        decisions = {**self._decisions, **await self._refused_nodes(kept.waiting)}
        said = list(kept.answers(decisions, run.results()))
        if parts := [*changes_answered(kept.waiting, run.results())]:
            late, self._late = self._late, []
            parts += _parts_of(late, self._handles)
            said.append(types.Content(role="user", parts=parts))
        # In the event by which a tool asks in its middle ADK has the arguments of before an edit.
        begun = self._rounds.going_on
        on = {call: Approve(one.args, edited=True) for call, one in begun.items()}
        return kept.restored({**decisions, **on}), said

    async def _refused_nodes(self, waiting: Sequence[Waiting]) -> dict[str, Decision]:
        """What stands for the decisions on functions of workflows that may not run after all.

        ADK asks nobody before these begin, so that the gate is asked before all.
        """
        refused = dict[str, Decision]()
        for one in waiting:
            if one.kind == "node":
                verdict = await self._gate.before(one.call, one.tool, one.args)
                if not isinstance(verdict, Execute):
                    refused[one.call] = Decline()
                if isinstance(verdict, Refuse):
                    self._queue.write(NodeResult(one.call, verdict.text))
        return refused

    def _given_results(self) -> Iterator[RunItem]:
        """The results that people gave: nothing else tells them."""
        for one in self._kept.waiting if self._kept else ():
            if one.kind in ("input", "long_running"):
                yield from self._reader.result(one.call, self._decisions[one.call].text)

    def _state(self) -> dict[str, Json]:
        """The session's state: what clients see and may set, and what they don't."""
        if self._kept is None and isinstance(self._run.memo, dict):
            self._private = dict(self._run.memo.get("state") or {})
        shared = self._run.state if isinstance(self._run.state, dict) else {}
        return {
            **{name: value for name, value in shared.items() if not is_private(name)},
            **self._private,
            **({CONTEXT: self._context} if self._context else {}),
        }

    # --- what comes of it ---

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        items = chain.from_iterable(map(self._read, events))
        return predicted(items, self._predictions) if self._predictions else items

    def _read(self, event: Any) -> Iterator[RunItem]:
        if isinstance(event, Event):
            yield from self._read_event(event)
        elif isinstance(event, BaseEvent):
            yield event
        elif isinstance(event, NodeCall | NodeResult):
            yield from self._reader.node(event)
        else:
            for told in super()._read(event):
                self._has_state |= isinstance(told, StateSnapshotEvent)
                yield told

    def _read_event(self, event: Event) -> Iterator[RunItem]:
        yield from self._reader.read(event)
        if event.partial:
            return
        shared: dict[str, Json] = {}
        for name, value in changes_of(event.actions.state_delta).items():
            (self._private if is_private(name) else shared)[name] = value
        if shared and not self._has_state:
            self._has_state = True
            yield StateSnapshotEvent(snapshot=shared)
        elif shared:
            yield StateDeltaEvent(
                delta=[
                    {"op": "add", "path": f"/{_escaped(name)}", "value": value}
                    for name, value in shared.items()
                ]
            )

    def _result(self, failure: BaseException | None) -> Any:
        if isinstance(failure, LlmCallsLimitExceededError):
            self._run.end_reason = EndReason.MAX_ITERATIONS_REACHED
            return None
        if isinstance(failure, ValueError) and self._is_untouched:
            # So ADK says that a tool, or a call, is not there any more.
            raise self._kept.refused(str(failure)) from failure
        result = super()._result(failure)
        if self._reader.refused is not None:
            guarded = self._reader.refused in _GUARDS
            error = AgentRefused if guarded else UpstreamError
            raise error(f"The model gave no reply: {self._reader.refused}.")
        return result

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        """What ends a run that nothing went wrong in: nothing, or what is waited for.

        Raises:
            UpstreamError: an agent wants credentials.
        """
        missing = self._reader.unasked()
        for event in missing:
            for _ in self._reader.read(event):
                pass
        stored = await self._sessions.get_session(**self._where, session_id=self._run.thread_id)
        events = [*(stored.events if stored is not None else []), *missing]
        waiting, asks = self._waiting()
        if not waiting and self._reader.tools & {*self._confirmed}:
            own = self._run.mint()
            for told in self._reader.node(NodeCall(own, CHANGES, {})):
                yield told
            waiting.append(changes_asked(own))
        if not waiting:
            if self._reader.output is not None:
                self._run.result = _json_of(self._reader.output)
            self._run.memo = memo_of(
                self._run, self._reader.said, events, self._author, self._private
            )
            return
        kept = Continuation(
            events=dumped(events),
            waiting=waiting,
            adk=installed_version(ADK),
            actor=self._actor,
            author=self._author,
            state=self._private,
            late=self._late,
            rounds=self._rounds.to_json(),
            tools=sorted(self._reader.ran & {*self._confirmed}),
        ).to_json()
        handed = [one.call for one in waiting if one.kind in ("frontend", "changes")]
        yield Pause(asks, kept, frontend_calls=handed) if asks else Handoff(handed, kept)

    def _waiting(self) -> tuple[list[Waiting], list[Ask]]:
        """The calls that wait, and the questions about them.

        Raises:
            UpstreamError: see `_ending`.
        """
        waiting: list[Waiting] = []
        asks: list[Ask] = []
        for call in self._reader.waiting():
            if call.name == _CREDENTIAL:
                raise UpstreamError(
                    "An agent asks for credentials (adk_request_credential), which the bridge does "
                    "not pass on. Give its tools credentials that they need not ask for."
                )
            if call.name in self._guard.frontend:
                waiting += frontend_of([call])
                continue
            own = self._reader.wire.get(call.id or "", call.id or "")
            if (path := confirmed_by(call)) is not None and path in self._guard.of_nodes:
                one, ask = permission_of(
                    call,
                    own,
                    self._guard.asks.get(own),
                    self._guard.parameters.get(own),
                    is_tool=own not in self._reader.functions,
                )
            elif call.name == CONFIRMATION and held_call(call)["id"] in self._rounds.asks:
                waiting.append(going_on(call))
                asks += self._rounds.asks[waiting[-1].call]
                continue
            elif call.name == CONFIRMATION:
                held, name = held_call(call)["id"], held_call(call)["name"]
                self._rounds.expect_one_way(held, name)
                one, ask = confirmation_of(
                    call, self._guard.asks.get(held), self._guard.parameters.get(held)
                )
            else:
                one, ask = question_of(call, own)
            waiting.append(one)
            asks.append(ask)
        return waiting, asks

    def _note_author(self) -> None:
        """Remember who spoke last, also where the run was stopped or failed: they go on."""
        self._author = self._reader.author or self._author
        memo = self._run.memo if isinstance(self._run.memo, dict) else {}
        if self._author != memo.get("author", self._root.name):
            self._run.memo = {**memo, "author": self._author}


def _application(agent: BaseNode | App, guard: Guard) -> App:
    """The application that ADK runs: resumable, and with the guard after all other plugins."""
    with warnings.catch_warnings():
        # It warns of each of its experimental classes.
        warnings.simplefilter("ignore")
        resumable = ResumabilityConfig(is_resumable=True)
        app = agent if isinstance(agent, App) else App(name=agent.name, root_agent=agent)
    plugins = [*app.plugins, guard]
    return app.model_copy(update={"plugins": plugins, "resumability_config": resumable})


def _surface_tool(run: Run, application: Application, a2ui: A2UI | None) -> SurfaceTool | None:
    page = page_of(run, a2ui)
    if page.offer is None:
        return None
    words = application.words(run, page.context)
    return SurfaceTool(surfaces_of(run, page.offer, words), words, run.usage)


def _words_of(run: Run, application: Application) -> Callable[[Collection[str]], str]:
    """Gives what a model reads of the application, by the names of its tools."""

    @cache
    def words(draws: bool) -> str:
        return application.words(run, without_surfaces(run.input.context or ()) if draws else None)

    return lambda tools: words(draws_itself(run, tools))


def _structured(root: BaseNode) -> set[str]:
    """Names of the agents below one, itself included, whose words are data."""
    return {
        node.name
        for node in in_tree(root)
        if isinstance(node, BaseAgent) and getattr(node, "output_schema", None) is not None
    }


def _parts_of(messages: list[Any], handles: Handles) -> list[types.Part]:
    return [part for turn in turns_of(messages) for part in user_parts(turn.content, handles)]


def _json_of(output: Any) -> Json:
    try:
        found: Json = json.loads(output) if isinstance(output, str) else to_jsonable_python(output)
    except ValueError:
        return str(output)
    return found


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
