"""One run of an agent: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import warnings
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Final

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent
from google.adk.agents import BaseAgent, RunConfig
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.media import Handles
from agui_bridge.policy import PolicyFailed
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import turns_of
from agui_bridge.tool_gate import ToolGate
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

_GRACE: Final = 1.0
"""Seconds that a cancelled agent has to come to its end; a tool in a thread may take longer."""

_AHEAD: Final = 64
"""Events that an agent may be ahead of who reads them."""

_CREDENTIAL: Final = "adk_request_credential"


class Turn:
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
        self._run = run
        self._config = config
        self._services = services
        root: Any = agent.root_agent if isinstance(agent, App) else agent
        self._root = root
        self._handles = handles_of(root)
        waited = run.resume or run.handoff
        self._kept = Kept.from_json(waited.continuation) if waited is not None else None
        kept = self._kept
        self._actor = kept.actor if kept else run.principal.actor
        # What the consumer has not taken yet; None when the agent is done.
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue(_AHEAD)
        decisions = run.resume.decisions if run.resume is not None else {}
        decided = kept.decided(decisions) if kept else {}
        permits = {one.call for one in (kept.waiting if kept else ()) if one.kind == "permit"}
        self._guard = Guard(run, self._make_gate, decided, permits, instructions_of(run))
        self._gate = self._guard.gate
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

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Carry it out.

        Raises:
            NotDelivered, UpstreamError, Fenced, PolicyFailed: see `AdkAdapter.run`.
        """
        run = self._run
        working = asyncio.create_task(self._work())
        self._guard.failed = working.cancel
        stopping = asyncio.create_task(self._gate.stopped())
        stopping.add_done_callback(lambda done: done.cancelled() or working.cancel())
        try:
            for told in self._given_results():
                yield told
            while (event := await self._queue.get()) is not None:
                for item in self._read(event):
                    yield item
                self._queue.task_done()
            await asyncio.wait([working])
            self._reader.long_running |= self._guard.unfinished
            for last in self._reader.end():
                yield last
            for call in self._reader.called:
                # What ran to its end while everything else was stopped, or failed.
                if call in self._guard.outputs:
                    for told in self._reader.result(call, self._guard.outputs[call]):
                        yield told
            is_over = self._outcome(working)
        finally:
            stopping.cancel()
            if not working.done():
                working.cancel()
                while not self._queue.empty():
                    # Nobody reads on, and it shall not wait for that.
                    self._queue.get_nowait()
                await asyncio.wait([working], timeout=_GRACE)
            touched = self._touched
            asked = run.resume.decisions if run.resume else {}
            run.not_begun = [call for call in (*asked, *self._reader.called) if call not in touched]
            self._note_author()
        if is_over:
            async for ending in self._ending():
                yield ending

    # --- the agent's own task ---

    async def _work(self) -> None:
        try:
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
            await self._queue.join()
            if self._late and not self._is_waiting:
                late, self._late = self._late, []
                await self._hear(
                    runner, types.Content(role="user", parts=_parts_of(late, self._handles))
                )
        finally:
            # Full only while somebody reads it.
            await self._queue.put(None)

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
                await self._queue.put(event)

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
        if run.resume is not None:
            new = [m.model_dump(by_alias=True, mode="json") for m in run.resume.new_messages]
        else:
            new = list(map(dict, run.raw_new_messages))
        self._late = [*kept.late, *(one for one in new if one.get("role") == "user")]
        decisions = run.resume.decisions if run.resume is not None else {}
        return kept.restored(decisions), list(kept.answers(decisions, run.results()))

    def _given_results(self) -> Iterator[RunItem]:
        """The results that people gave: nothing else tells them."""
        decisions = self._run.resume.decisions if self._run.resume is not None else {}
        for one in self._kept.waiting if self._kept else ():
            if one.kind in ("input", "long_running"):
                yield from self._reader.result(one.call, decisions[one.call].text)

    def _state(self) -> dict[str, Json]:
        """The session's state: what clients see and may set, and what they don't."""
        if self._kept is None and isinstance(self._run.memo, dict):
            self._private = dict(self._run.memo.get("state") or {})
        shared = self._run.state if isinstance(self._run.state, dict) else {}
        return {
            **{name: value for name, value in shared.items() if not is_private(name)},
            **self._private,
        }

    def _make_gate(self, approve: Any) -> ToolGate:
        run, kept = self._run, self._kept
        if run.resume is not None and kept is not None:
            decided = kept.decided(run.resume.decisions)
            run = replace(run, resume=replace(run.resume, decisions=decided))
        return ToolGate(run, approve=approve, taken=self._queue.join, actor=self._actor)

    # --- what comes of it ---

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

    def _outcome(self, working: asyncio.Task[None]) -> bool:
        """Whether the agents came to their end: not after a stop, and not at their limit.

        Raises:
            NotDelivered: nothing was done with the answers.
            UpstreamError: the model gave no reply.
            Exception: what an agent raised, or what the gate did and ADK made its own of.
        """
        # Looked at, so that asyncio does not tell of one that nobody retrieved.
        failure = None if working.cancelled() else working.exception()
        if isinstance(self._gate.fault, PolicyFailed) and self._kept and not self._touched:
            raise NotDelivered(str(self._gate.fault)) from self._gate.fault
        self._gate.raise_fault()
        self._run.iteration = self._reader.replies
        if self._run.stop.requested:
            return False
        if isinstance(failure, LlmCallsLimitExceededError):
            self._run.end_reason = EndReason.MAX_ITERATIONS_REACHED
            return False
        if isinstance(failure, ValueError) and self._kept and not self._touched:
            # So ADK says that a tool, or a call, is not there any more.
            raise self._kept.refused(str(failure)) from failure
        if failure is not None:
            raise failure
        if self._reader.refused is not None:
            raise UpstreamError(f"The model gave no reply: {self._reader.refused}.")
        return True

    @property
    def _touched(self) -> set[str]:
        """Ids of the calls that began, or that the client has a result of."""
        return self._gate.begun | self._reader.answered

    async def _ending(self) -> AsyncGenerator[RunItem, None]:
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
