"""The adapter: an agent by its command line, a process for each conversation that is going on."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agui_bridge.adapters import AdapterCapabilities, HoldEnd, Run, RunItem
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.threads.records import Json
from agui_bridge_acp.connection import Gone, let_go
from agui_bridge_acp.process import Process, home_of
from agui_bridge_acp.prompts import decided_prompt, message_prompt
from agui_bridge_acp.questions import Question, Recorded
from agui_bridge_acp.session import CannotBeLoaded, Session
from agui_bridge_acp.turn import Turn

_LOST: Final = (
    "The agent does not know this conversation any more, so that nothing could be carried out. Say "
    "what is to be done, and it begins anew."
)
_SLOW: Final = "The agent has ended, or takes too long to load the conversation: try again."
_CROWDED: Final = "As many agents work already as may at once (`max_processes`): try again later."

Key = tuple[str, str, str]


class AcpAdapter:
    """Runs an agent of the Agent Client Protocol.

    The agent keeps the conversation in its session, and is sent what is new. While people are asked
    it waits, but nothing of it needs to: any process goes on, by loading the session.

    Args:
        command: the agent's program with its arguments, as a list, or as a shell would read it.
        cwd: the folder that the agent works in.
        homes: a folder with a home for each scope: an agent signs in, and remembers, there.
        env: what it finds in its environment, besides the search path, the language, the time zone
            and the certificates of the bridge's own.
        mode: the mode that it works in; by default `default`, where it has modes.
        idle_seconds: for so long a process is kept for the next message.
        max_processes: agents that work, wait, or are kept, at once.
        start_timeout: seconds that starting an agent and loading a session may take.

    Raises:
        ConfigurationError: the command is empty, or an argument is of another type.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=False, null=False, stop=True, own_history=True, holds=True
    )

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | Path,
        homes: str | Path,
        env: Mapping[str, str] | None = None,
        mode: str | None = None,
        idle_seconds: float = 300.0,
        max_processes: int = 16,
        start_timeout: float = 60.0,
    ) -> None:
        """Remember what to start; nothing is started yet."""
        self._command = shlex.split(command) if isinstance(command, str) else list(command)
        if not self._command or not all(isinstance(part, str) for part in self._command):
            raise ConfigurationError("command must be a program and its arguments, as texts.")
        self._env = dict(env or {})
        if not all(isinstance(part, str) for pair in self._env.items() for part in pair):
            raise ConfigurationError("env must be names and values, as texts: quote numbers.")
        if max_processes < 1:
            raise ConfigurationError("max_processes must be 1 or more.")
        self._cwd, self._homes = Path(cwd).resolve(), Path(homes).resolve()
        self._mode = mode
        self._idle_seconds = idle_seconds
        self._most = max_processes
        self._start_timeout = start_timeout
        self._idle: dict[Key, Session] = {}
        self._busy: set[Session] = set()
        # Turns whose agents wait for what people decide, by their names; the oldest is the first.
        self._held: dict[str, tuple[Key, Turn]] = {}
        self._starting = 0
        self._ending: set[asyncio.Task[None]] = set()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no agent was started, or it begins no session.
            UpstreamError: it failed, or does not know the conversation any more.
            OutcomeUnknown: it failed, once it was allowed a tool call.
        """
        decided = _decided(run)
        key = (run.principal.scope, run.agent, run.thread_id)
        name = run.mint()
        if (turn := await self._waiting(run, key)) is not None:
            run.memo = {"session": turn.session.id, "turn": name}
            going_on = turn.go_on(run, [decision for _, decision in decided])
            async with contextlib.aclosing(self._told(key, turn, name, going_on)) as items:
                async for item in items:
                    yield item
            return
        if run.stop.requested:
            run.not_begun = Recorded(decided).calls
            return
        run.check_lease()
        try:
            session, known = await self._session(run, key)
        except CannotBeLoaded as error:
            # Only with decisions: a message begins another session.
            run.memo = None
            run.not_begun = Recorded(decided).calls
            raise UpstreamError(_LOST) from error
        turn = Turn(session, run, Recorded(decided), name)
        images = session.takes_images
        if run.resume is not None:
            content = decided_prompt(decided, run, images=images)
        else:
            content = message_prompt(run, fresh=not known, images=images)
        # Whatever comes of the turn, another process can't have it.
        run.memo = {"session": session.id, "turn": name}
        async with contextlib.aclosing(self._told(key, turn, name, turn.items(content))) as items:
            async for item in items:
                yield item

    async def _told(
        self, key: Key, turn: Turn, name: str, items: AsyncGenerator[RunItem, None]
    ) -> AsyncGenerator[RunItem, None]:
        """Tell a turn, and keep its agent as far as that is of use."""
        turn.name = name
        try:
            async with contextlib.aclosing(items):
                async for item in items:
                    yield item
        finally:
            if turn.held:
                self._held[name] = key, turn
            else:
                self._let_rest(key, turn)

    async def closed(self, continuation: Json, end: HoldEnd) -> None:
        """End a turn that waits at its questions; its agent is kept for the next message.

        Args:
            continuation: of the pause.
            end: why nobody waits any more; answered elsewhere, another agent has gone on.
        """
        held = self._held.pop(continuation["turn"], None)
        if held is not None:
            await self._let_go(*held, kill=end == "answered elsewhere")

    async def aclose(self) -> None:
        """End all agents."""
        for session in self._idle.values():
            self._end(session, kill=False)
        for session in tuple(self._busy):
            self._end(session, kill=True)
        self._idle.clear()
        self._held.clear()
        while self._ending:
            await asyncio.wait(set(self._ending))

    # --- turns that wait ---

    async def _waiting(self, run: Run, key: Key) -> Turn | None:
        """The turn that waits for what was decided, if it can be given that."""
        if run.resume is None:
            return None
        _, turn = self._held.pop(run.resume.continuation.get("turn"), (key, None))
        if turn is None:
            return None
        plain = all(isinstance(one, Approve | Answer) for one in run.resume.decisions.values())
        if plain and turn.waits and not run.resume.new_messages:
            return turn
        await self._let_go(key, turn)
        return None

    async def _let_go(self, key: Key, turn: Turn, *, kill: bool = False) -> None:
        """End a turn at its questions; its agent is kept, unless another one has gone on."""
        if turn.waits and not kill:
            await turn.let_go()
        self._let_rest(key, turn)

    def _let_rest(self, key: Key, turn: Turn) -> None:
        """Keep a turn's agent for the next one, if it has ended the turn."""
        session = turn.session
        if turn.ended and session.connection.alive:
            session.turn = turn.name
            self._keep(key, session)
        else:
            self._end(session, kill=True)

    # --- sessions ---

    async def _session(self, run: Run, key: Key) -> tuple[Session, bool]:
        """The session of a thread, and whether it has the conversation so far.

        Raises:
            NotDelivered: no agent was started, or it begins no session.
            CannotBeLoaded: the session with the question is not to be had any more.
        """
        memo: Mapping[str, Any] = run.memo if isinstance(run.memo, dict) else {}
        kept, here = self._idle.pop(key, None), asyncio.get_running_loop()
        wanted = (
            run.resume.continuation["session"] if run.resume is not None else memo.get("session")
        )
        if kept is not None:
            current = wanted is not None and (kept.id, kept.turn) == (wanted, memo.get("turn"))
            if current and kept.connection.alive and kept.connection.loop is here:
                self._busy.add(kept)
                return kept, True
            # Another process has gone on with it, or the client has gone back.
            self._end(kept, kill=False)
        session = await self._start(run.principal.scope)
        try:
            if wanted is not None:
                try:
                    await session.load(wanted, self._mode)
                    return session, True
                except CannotBeLoaded:
                    if run.resume is not None:
                        raise
                except Gone as error:
                    if run.resume is not None:
                        raise NotDelivered(_SLOW) from error
                    self._end(session, kill=True)
                    session = await self._start(run.principal.scope)
                if not session.connection.alive:
                    self._end(session, kill=True)
                    session = await self._start(run.principal.scope)
            await session.begin(self._mode)
        except BaseException:
            self._end(session, kill=True)
            raise
        return session, False

    async def _start(self, scope: str) -> Session:
        """Start an agent; one that is idle, or waits, makes room.

        Raises:
            NotDelivered: it can't be started, or too many work.
        """
        while (self._idle or self._held) and len(self._idle) + len(
            self._busy
        ) + self._starting >= self._most:
            if self._idle:
                self._end(self._idle.pop(next(iter(self._idle))), kill=False)
            else:
                await self._let_go(*self._held.pop(next(iter(self._held))))
        if len(self._busy) + self._starting >= self._most:
            raise NotDelivered(_CROWDED)
        self._starting += 1
        try:
            process = await Process.start(
                self._command, cwd=self._cwd, home=home_of(self._homes, scope), env=self._env
            )
            session = await Session.greet(process, cwd=str(self._cwd), timeout=self._start_timeout)
            self._busy.add(session)
            return session
        except OSError as error:
            raise NotDelivered("The agent can't be started: is it installed?") from error
        finally:
            self._starting -= 1

    def _keep(self, key: Key, session: Session) -> None:
        self._busy.discard(session)
        self._idle[key] = session
        loop = asyncio.get_running_loop()
        loop.call_later(self._idle_seconds, self._end_idle, key, session, session.turn)

    def _end_idle(self, key: Key, session: Session, turn: str) -> None:
        if self._idle.get(key) is session and session.turn == turn:
            del self._idle[key]
            self._end(session, kill=False)

    def _end(self, session: Session, *, kill: bool) -> None:
        """End an agent: at once, or as soon as it likes."""
        self._busy.discard(session)
        here = asyncio.get_running_loop()
        if kill or session.connection.loop is not here:
            session.connection.strike()
        if session.connection.loop is not here:
            # Whoever ran it is gone, and with that loop all that could be waited for.
            return
        ending = let_go(session.connection) if kill else session.connection.end()
        task = here.create_task(ending)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _decided(run: Run) -> list[tuple[Question, Decision]]:
    """The questions of the pause that the run goes on from, with what became of them."""
    if run.resume is None:
        return []
    kept = run.resume.continuation["questions"]
    decisions = run.resume.decisions
    return [(Question.read(one), decisions[str(number)]) for number, one in enumerate(kept)]
