"""One run of an agent: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent
from google.adk.agents import BaseAgent, RunConfig
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import AgentRefused, UpstreamError
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.media import Handles
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import turns_of
from agui_bridge.tool_gate import CutOff
from agui_bridge_adk.content import handles_of, user_parts
from agui_bridge_adk.guard import Guard
from agui_bridge_adk.history import dumped, instructions_of, memo_of, read_conversation
from agui_bridge_adk.pauses import (
    ABOUT_A_CALL,
    ADK,
    CONFIRMATION,
    Kept,
    Waiting,
    confirmation_of,
    frontend_of,
    held_call,
    question_of,
)
from agui_bridge_adk.reader import Reader
from agui_bridge_adk.state import changes_of, is_private
from agui_bridge_adk.unique_calls import UniqueCalls

__all__ = ["Turn"]

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
        agent: the agent, or the application that it is the root of.
        config: how ADK runs it.
        services: what else a `Runner` takes.
    """

    def __init__(
        self, run: Run, agent: BaseAgent | App, config: RunConfig, services: Mapping[str, Any]
    ) -> None:
        super().__init__(run, Kept.from_json)
        self._config = config
        self._services = services
        root: Any = agent.root_agent if isinstance(agent, App) else agent
        self._root = root
        self._handles = handles_of(root)
        kept: Kept | None = self._kept
        if kept is not None:
            self._decided = kept.decided(self._decisions)
        permits = {one.call for one in (kept.waiting if kept else ()) if one.kind == "permit"}
        self._guard = Guard(run, self._make_gate, self._decided, permits, instructions_of(run))
        self._gate = self._guard.gate
        self._gate.failed = self._stop_working
        self._calls = UniqueCalls(run)
        self._app = _application(agent, self._guard)
        self._reader = Reader(run, root.name, _structured(root))
        for one in kept.waiting if kept else ():
            if one.kind == "frontend":
                self._reader.answered.add(one.call)
            elif one.kind in ABOUT_A_CALL:
                self._reader.calls[one.call] = one.tool_call
        self._sessions = InMemorySessionService()
        self._where: dict[str, Any] = {
            "app_name": self._app.name,
            "user_id": run.principal.actor or "user",
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

    async def _left(self) -> None:
        self._run.iteration = self._reader.replies
        self._note_author()

    # --- the agent's own task ---

    async def _work(self) -> bool:
        for told in self._given_results():
            self._queue.write(told)
        self._calls.begin()
        session = await self._sessions.create_session(
            **self._where, session_id=self._run.thread_id, state=self._state()
        )
        events, said = self._given()
        for event in events:
            await self._sessions.append_event(session, event)
        runner = Runner(app=self._app, session_service=self._sessions, **self._services)
        for message in said:
            await self._hear(runner, message)
        await self._queue.taken()
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
        if self._guard.is_cut_off:
            raise CutOff

    def _given(self) -> tuple[list[Event], list[types.Content]]:
        """What has happened, and what the agents are told now.

        Raises:
            NotDelivered: see `Kept.restored`.
        """
        run, kept = self._run, self._kept
        if kept is None:
            conversation = read_conversation(run, self._root.name, self._handles)
            self._author = conversation.author
            return conversation.events, [conversation.said]
        self._late = [*kept.late, *self._new_user_messages()]
        decisions = self._decisions
        return kept.restored(decisions), list(kept.answers(decisions, run.results()))

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
        }

    # --- what comes of it ---

    def _told(self, events: Sequence[Event | BaseEvent]) -> Iterator[RunItem]:
        for event in events:
            if isinstance(event, BaseEvent):
                yield event
            else:
                yield from self._read(event)

    def _read(self, event: Event) -> Iterator[RunItem]:
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
        if not waiting:
            if self._reader.output is not None:
                self._run.result = _json_or_text(self._reader.output)
            self._run.memo = memo_of(
                self._run, self._reader.said, events, self._author, self._private
            )
            return
        kept = Kept(
            events=dumped(events),
            waiting=waiting,
            adk=version(ADK),
            actor=self._actor,
            author=self._author,
            state=self._private,
            late=self._late,
        ).to_json()
        handed = [one.call for one in waiting if one.kind == "frontend"]
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
            if call.name == CONFIRMATION:
                held = held_call(call)["id"]
                one, ask = confirmation_of(
                    call, self._guard.asks.get(held), self._guard.parameters.get(held)
                )
            else:
                one, ask = question_of(call)
            waiting.append(one)
            asks.append(ask)
        return waiting, asks

    def _note_author(self) -> None:
        """Remember who spoke last, also where the run was stopped or failed: they go on."""
        self._author = self._reader.author or self._author
        memo = self._run.memo if isinstance(self._run.memo, dict) else {}
        if self._author != memo.get("author", self._root.name):
            self._run.memo = {**memo, "author": self._author}


def _application(agent: BaseAgent | App, guard: Guard) -> App:
    """The application that ADK runs: resumable, and with the guard after all other plugins."""
    with warnings.catch_warnings():
        # It warns of each of its experimental classes.
        warnings.simplefilter("ignore")
        resumable = ResumabilityConfig(is_resumable=True)
        app = agent if isinstance(agent, App) else App(name=agent.name, root_agent=agent)
    plugins = [*app.plugins, guard]
    return app.model_copy(update={"plugins": plugins, "resumability_config": resumable})


def _structured(root: BaseAgent) -> set[str]:
    """Names of the agents below one, itself included, whose words are data."""
    below = {name for sub in root.sub_agents for name in _structured(sub)}
    return below | ({root.name} if getattr(root, "output_schema", None) is not None else set())


def _parts_of(messages: list[Any], handles: Handles) -> list[types.Part]:
    return [part for turn in turns_of(messages) for part in user_parts(turn.content, handles)]


def _json_or_text(text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
