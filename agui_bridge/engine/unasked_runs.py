"""Has runs begin that nobody asks for: after work that others left, at their time, or once lost.

A look is claimed in the store before it is taken, so that of many processes one takes it. It
changes nothing. Where it finds something, an input that nobody sends goes the way of all inputs:
it begins a run on a thread that does nothing, and waits where the thread does anything. So does
a callback: it is kept, and where the thread does nothing, a run hears it at once.

A run that sleeps, or is lost, is not claimed before: such an input is all there is, and its claim
lets one win.

Source: docs/contract.md, "Work that outlasts its run", "Callbacks", "Sleep" and "Checkpoints".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, cast

from agui_bridge.adapters import Looks
from agui_bridge.engine.callbacks import Mailbox
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.recovery import recover_thread
from agui_bridge.engine.run.checkpoints import submission_of
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Conflict, Refused, StoreError
from agui_bridge.protocol.callbacks import Callback, CalledBack, Standing
from agui_bridge.protocol.contract.transitions import look
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey
from agui_bridge.stores.base import Expected, Store

logger: Final = logging.getLogger("agui_bridge")

_PATIENCE: Final = 30.0
"""Seconds that a look may take."""

_MOST: Final = 32
"""Looks that one process takes at once; the others are due again at its next sweep."""

Submit = Callable[[Submission], tuple[Pipe, EventStream]]
Spawn = Callable[[Coroutine[None, None, None]], object]


class LookAround:
    """Takes the looks of one process.

    Args:
        store: where the threads live.
        agents: those that this process has, by name.
        submit: begins to carry an input out.
        spawn: has work carried out beside.
        mint: makes ids.
    """

    def __init__(
        self,
        store: Store,
        agents: Mapping[str, Agent],
        submit: Submit,
        spawn: Spawn,
        mint: Callable[[], str],
    ) -> None:
        self._store = store
        self._agents = agents
        self._submit = submit
        self._spawn = spawn
        self._mint = mint
        self._under_way = 0

    async def take(self, key: ThreadKey, loaded: Loaded) -> bool:
        """Take a look that is due, or have a run go on; says whether it did.

        It does not what another process is to do, nor more at once than it may.

        Args:
            key: the thread, which does nothing and has left something, or whose pause is over.
            loaded: the same.

        Raises:
            Conflict: the thread has changed meanwhile.
        """
        record, agent = loaded.record, self._agents.get(key.agent)
        if loaded.timer_due or loaded.only_answered or loaded.way_on == "now":
            return agent is not None and await self._go_on_swept(agent, key, loaded)
        assert record is not None and record.watch is not None, "something is left"
        over = loaded.now >= record.watch.until
        adapter = agent.adapter if agent is not None else None
        if not over and (not isinstance(adapter, Looks) or self._under_way >= _MOST):
            return False
        expected = Expected(version=record.version)
        await self._store.commit(key, look(loaded), expected, self._mint())
        if over:
            logger.warning(
                "nobody looks any more after what a run has left (agent %s, thread %s)",
                *(key.agent, key.thread),
            )
        elif agent is not None and isinstance(adapter, Looks):
            self._under_way += 1
            watch = record.watch
            has_news = partial(self._has_news, key, agent, adapter, watch.note)
            self._spawn(self._look(key, agent, watch.askers, has_news))
        return True

    async def go_on(self, agent: Agent, key: ThreadKey, loaded: Loaded) -> None:
        """Have a run go on that is lost, that slept, or whose pause has all its answers.

        It returns once somebody has claimed it.

        Args:
            agent: whose run it is.
            key: the thread.
            loaded: the thread.

        Raises:
            Refused: TOO_MANY_RUNS, SHUTTING_DOWN: it sleeps on, or stays lost.
            StoreUnavailable: the store did not answer.
        """
        record = loaded.record
        assert record is not None, "a run has a thread"
        if not loaded.run_lost:
            via = "timer" if loaded.timer_due else "rule"
            pipe = self._begin(agent, key, record.askers, wakes=True, via=via)
        elif agent.adapter.capabilities.checkpoints:
            pipe, _ = self._submit(submission_of(agent, record))
        else:
            # The agent is another one by now, and can't go on from there.
            whole = await self._store.load(key, messages=True)
            if whole.run_lost:
                with contextlib.suppress(Conflict):  # Somebody was faster.
                    await recover_thread(self._store, key, whole, self._mint)
            return
        try:
            # The first that is told of a run is told after its claim.
            await pipe.read()
        except BaseException:
            pipe.detach()
            raise
        self._spawn(_read_out(pipe))

    async def call_back(self, agent: Agent, callback: Callback) -> bool:
        """Keep a callback for the run that is to hear it, and begin that where none goes on.

        Args:
            agent: its adapter has read the callback.
            callback: what came.

        Returns:
            Whether it is new: the same may come again.

        Raises:
            Refused: CALLBACK_NOT_AWAITED: no run is to hear it. TOO_MANY_RUNS: too many wait.
            StoreUnavailable: the store did not answer; it may have been kept.
        """
        key = ThreadKey(callback.scope, agent.name, callback.thread)
        loaded = await self._store.load(key)
        record = loaded.record
        if record is None or record.watch is None or loaded.stopping:
            raise Refused("CALLBACK_NOT_AWAITED", _NOT_AWAITED)
        note, judge = record.watch.note, _judge_of(agent)
        if (standing := judge(note, callback)) == "over":
            raise Refused("CALLBACK_NOT_AWAITED", _NOT_AWAITED)
        if standing == "heard":
            return False
        new = await self.mailbox(key).put(callback, lambda one: judge(note, one) == "new")
        if loaded.may_look and self._under_way < _MOST:
            self._under_way += 1
            self._spawn(self._look(key, agent, record.watch.askers, _found))
        return new

    def mailbox(self, key: ThreadKey) -> Mailbox:
        """What is kept for a thread that was called back.

        Args:
            key: the thread.
        """
        return Mailbox(self._store, key, self._mint)

    async def forget(self, key: ThreadKey) -> None:
        """Delete what is kept for a thread that is deleted.

        Args:
            key: the thread.
        """
        agent = self._agents.get(key.agent)
        if agent is None or agent.adapter.capabilities.called_back:
            await self.mailbox(key).delete()

    async def _go_on_swept(self, agent: Agent, key: ThreadKey, loaded: Loaded) -> bool:
        try:
            await self.go_on(agent, key, loaded)
        except Refused as error:
            logger.info("a run that waits goes on later (agent %s): %s", key.agent, error)
            return False
        return True

    async def _has_news(self, key: ThreadKey, agent: Agent, adapter: Looks, left: Json) -> bool:
        if agent.adapter.capabilities.called_back:
            judge = _judge_of(agent)
            if await self.mailbox(key).first(lambda one: judge(left, one) == "new") is not None:
                return True
        return await adapter.look(left)

    async def _look(
        self,
        key: ThreadKey,
        agent: Agent,
        askers: tuple[str, ...],
        has_news: Callable[[], Awaitable[bool]],
    ) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await has_news()
            if found:
                await _read_out(self._begin(agent, key, askers, looks=True))
        except (Conflict, Refused, StoreError) as error:
            logger.info("what was found is told later (agent %s): %s", key.agent, error)
        except Exception:
            logger.warning("a look has failed (agent %s)", key.agent, exc_info=True)
        finally:
            self._under_way -= 1

    def _begin(
        self,
        agent: Agent,
        key: ThreadKey,
        askers: tuple[str, ...],
        *,
        looks: bool = False,
        wakes: bool = False,
        via: str = "rule",
    ) -> Pipe:
        """Begin to carry out an input that nobody sends, in the name of whoever asked before."""
        principal = Principal(key.scope, askers[0]) if askers else Principal(key.scope)
        body: dict[str, Any] = {"threadId": key.thread, "runId": self._mint(), "messages": []}
        submission = Submission(
            agent,
            principal,
            parse_input({**body, "protocolVersion": "1.0"}),
            on_disconnect="continue",
            via=via,
            looks=looks,
            wakes=wakes,
        )
        pipe, _ = self._submit(submission)
        return pipe


_NOT_AWAITED: Final = (
    "Nothing of this thread waits for this callback: its run was stopped, has ended, or was given "
    "up. Nothing was changed."
)


def _judge_of(agent: Agent) -> Callable[[Json, Callback], Standing]:
    return cast("CalledBack", agent.adapter).judge_callback


async def _found() -> bool:
    return True


async def _read_out(pipe: Pipe) -> None:
    """Take what is told to nobody."""
    try:
        while await pipe.read():
            pass
    finally:
        pipe.detach()
