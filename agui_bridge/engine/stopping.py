"""Stopping a thread's run from anywhere, without losing anything.

A stop request is a field of its own in the store and names the run that it is for. It reaches
the process that runs the thread, whichever process received it.

Source: NexAU's RFC-0001; docs/contract.md, "Stop".
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from agui_bridge.engine.recovery import close_batch, recover_thread
from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.engine.waiting import appears, wait_until
from agui_bridge.errors import Conflict, Refused, StoreError
from agui_bridge.protocol.approvals import why_not_stop
from agui_bridge.protocol.contract.transitions import end_watch
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Principal,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.stores.base import Expected, Store

# --- stop requests that other processes took ---
#
# Looked for before every act, on hints, and by polling.
#
# The store says who is to stop. Notifications only say when to look, so that a lost one costs time:
# until the next act of the run, or the next poll.
#
# Source: docs/contract.md, "Stop".

logger: Final = logging.getLogger("agui_bridge")


class StopRequests:
    """Finds the stop requests for the runs of one process.

    Args:
        store: where they are.
        clock: what the polling waits by.
        poll: seconds between two looks that nothing gave rise to.
    """

    def __init__(self, store: Store, clock: Clock, poll: float) -> None:
        self._store = store
        self._clock = clock
        self._poll = poll
        # By lease token, as the store is asked.
        self._running: dict[str, Execution] = {}
        # Their tokens, until others run: to collect them for each look takes longer than the look
        # itself where thousands of runs say nothing.
        self._tokens: tuple[str, ...] | None = None
        self._wanted: dict[str, Execution] = {}
        self._all_wanted = False
        self._current: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._busy = asyncio.Event()

    def begun(self, run: Execution) -> None:
        """A run is under way: it heeds the requests for it from now on."""
        run.run.check_stop = functools.partial(self._look, run)
        self._running.update(dict.fromkeys(run.owner.tokens, run))
        self._tokens = None
        self._busy.set()

    def over(self, run: Execution) -> None:
        """A run has ended."""
        for token in run.owner.tokens:
            # One that it had may be of a run here again, which took it up.
            if self._running.get(token) is run:
                del self._running[token]
        self._tokens = None

    async def _look(self, run: Execution | None = None) -> None:
        """Have one run, or all, heed what the store holds for them now.

        Looks that are asked for at once are one read of the store, and one that is under way does
        not count: it may have missed what was stored since. A store that does not answer has
        nothing to say; then the lease ends the run.
        """
        if run is not None:
            self._wanted.update(dict.fromkeys(run.owner.tokens, run))
        elif self._running:
            self._all_wanted = True
        else:
            return
        if self._following is None:
            self._following = asyncio.create_task(self._read(after=self._current))
        # Whoever asked first may be cancelled, and the others still wait.
        await asyncio.shield(self._following)

    async def _read(self, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await asyncio.wait({after})
        self._current, self._following = self._following, None
        wanted, self._wanted = self._wanted, {}
        tokens = tuple(wanted)
        if self._all_wanted:
            # Whoever looks for a run of its own runs, too.
            self._all_wanted, wanted, tokens = False, self._running, self._all_tokens()
        try:
            for stop in await self._store.stops(tokens):
                if (run := wanted.get(stop.token)) is not None:
                    run.notice_stop(stop)
        except StoreError as error:
            logger.debug("stop requests can't be looked for: %s", error)

    def _all_tokens(self) -> tuple[str, ...]:
        if self._tokens is None:
            self._tokens = tuple(self._running)
        return self._tokens

    async def poll(self) -> None:
        """Look again and again."""
        while True:
            await self._clock.sleep(self._poll)
            await self._look()

    async def listen(self) -> None:
        """Look whenever the store hints at a stop request, while anything runs."""
        async with contextlib.aclosing(self._store.watch_stops()) as hints:
            async for _ in hints:
                if not self._running:
                    self._busy.clear()
                    await self._busy.wait()
                await self._look()


# --- stops ---

_FORCE_GRACE = 10.0


async def stop_thread(
    store: Store,
    clock: Clock,
    running: Mapping[ThreadKey, Execution],
    key: ThreadKey,
    *,
    force: bool,
    timeout: float,
    principal: Principal | None,
    run_id: str | None,
    mint: Callable[[], str],
    take_up: Callable[[ThreadKey, Loaded], Awaitable[bool]],
) -> StopResult:
    """Stop what a thread does, and wait until it is over.

    A thread that does not exist may be about to: its first input may be on its way (see `appears`).

    Args:
        store: where the thread lives.
        clock: what to wait by.
        running: the runs of this process.
        key: the thread.
        force: cancel at once instead of letting a running tool finish.
        timeout: seconds that a graceful stop may take before it is forced.
        principal: who stops; None is the operator, whom no approval rule binds.
        run_id: stop this run, or the question that it asked, and none that has come since; None is
            whatever the thread does. Nobody looks any more after what an idle thread has left.
        mint: makes ids.
        take_up: takes a lost run up; says whether it did.

    Raises:
        Refused: NOT_AN_APPROVER: it waits with a question that the principal may not withdraw.
    """
    actor = "bridge" if principal is None else principal.actor
    while True:
        loaded = await store.load(key, messages=True)
        record = loaded.record
        if record is None:
            if await appears(store, [key]):
                continue
            return StopResult("error", error="There is no such thread.")
        if run_id is not None and busy_with(record) not in (None, run_id):
            return _failure(loaded, "This run is over, and the thread has gone on to another one.")
        try:
            if loaded.status is ThreadStatus.INTERRUPTED:
                check_may_withdraw(loaded, principal)
                history = await close_batch(store, key, loaded, mint, stopped_by=actor)
                return _success(tuple(history.messages))
            if loaded.run_lost and loaded.way_on is None:
                await recover_thread(store, key, loaded, mint)
                return _failure(loaded, "The run was lost before it could be stopped.")
            if record.run is not None:
                until = loaded.now + (_FORCE_GRACE if force else timeout)
                stop = StopRequest(record.run.token, force, until, actor)
                if loaded.run_lost:
                    # It ends once it is taken up: the stop goes with it.
                    await store.request_stop(key, stop)
                    seen = await store.load(key)
                    if seen.way_on != "now" or await take_up(key, seen):
                        continue
                result = await _stop_run(store, clock, running.get(key), key, stop, timeout, mint)
                if result is None:
                    continue
                return result
            if record.watch is not None:
                # It does nothing, but what it has begun goes on.
                await _end_watch(store, key, loaded, mint)
                return _success(tuple(m.message for m in loaded.messages))
        except Conflict:
            continue
        if was_stopped(record):
            ended = record.ended
            iteration = ended.iteration if ended and ended.outcome == "stopped" else None
            return _success(tuple(m.message for m in loaded.messages), iteration=iteration)
        return _failure(loaded, "The thread has no run to stop.")


def check_may_withdraw(loaded: Loaded, principal: Principal | None) -> None:
    """Let somebody end a thread's pause without an answer.

    Args:
        loaded: the thread, whatever it does.
        principal: who ends it; None is the operator.

    Raises:
        Refused: NOT_AN_APPROVER.
    """
    if principal is None:
        return
    refusal = why_not_stop(loaded.asks, principal, loaded.now)
    if refusal is not None:
        raise Refused(refusal.code, refusal.message)


def was_stopped(record: ThreadRecord) -> bool:
    """Whether a stop ended what an idle thread did last: its run, or the question of it."""
    outcome = record.ended.outcome if record.ended is not None else None
    if outcome == "finished" and record.closed:
        return record.closed[-1].cause == "stopped"
    return outcome == "stopped"


def busy_with(record: ThreadRecord) -> str | None:
    """Id of the run that a thread runs, or whose question it waits with."""
    if record.status is ThreadStatus.RUNNING and record.run is not None:
        return record.run.run_id
    if record.status is ThreadStatus.INTERRUPTED and record.batch is not None:
        return record.batch.run_id
    return None


async def _stop_run(
    store: Store,
    clock: Clock,
    local: Execution | None,
    key: ThreadKey,
    stop: StopRequest,
    timeout: float,
    mint: Callable[[], str],
) -> StopResult | None:
    """Stop a run; None when it has ended by asking: then the question is what to stop."""
    asked = await store.request_stop(key, stop)
    limit = clock.monotonic() + (0.0 if stop.force else timeout) + _FORCE_GRACE
    if local is not None and local.owner.token == stop.token:
        local.request_stop(force=stop.force, timeout=timeout, unwanted=True)
        await local.over.wait_until(clock, limit - clock.monotonic())
    else:
        local = None

        def over(seen: Loaded) -> bool:
            # A lost run is waited for too: its time to be recovered is not up to a stop.
            gone = seen.run is None or seen.run.token != stop.token
            return gone or clock.monotonic() >= limit

        await wait_until(store, key, over)
    loaded = await store.load(key, messages=True)
    record = loaded.record
    if record is None:
        return StopResult("error", error="The thread was deleted.")
    if record.run is not None and record.run.token == stop.token:
        return _failure(loaded, "The run did not end in time; it will stop as soon as it can.")
    if record.status is ThreadStatus.INTERRUPTED or _has_left(record, stop.token):
        return None
    if record.run is not None and record.stop_requested is not None:
        # It was lost meanwhile, and goes on under another lease.
        return None
    ended = record.ended
    moved = asked is not None and asked.checkpoint is not None
    if moved and record.run is None and ended is not None and ended.token != stop.token:
        return None
    if ended is None or ended.token != stop.token:
        return _failure(loaded, "The run ended, and another one has begun since.")
    if ended.outcome == "stopped":
        await _end_watch(store, key, loaded, mint)
        partial = local.partial if local is not None else _last_truncated(loaded)
        return _success(tuple(m.message for m in loaded.messages), partial, ended.iteration)
    reason = {
        "finished": "The run had ended before it could be stopped.",
        "failed": "The run failed before it could be stopped.",
        "lost": "The run was lost before it could be stopped.",
    }[ended.outcome]
    return _failure(loaded, reason)


async def _end_watch(store: Store, key: ThreadKey, loaded: Loaded, mint: Callable[[], str]) -> None:
    """Have nobody look after what is left, where the run that was stopped did not hear of it."""
    while (record := loaded.record) is not None and record.look_at is not None:
        try:
            await store.commit(key, end_watch(loaded), Expected(version=record.version), mint())
            return
        except Conflict:
            loaded = await store.load(key)


def _has_left(record: ThreadRecord, token: str) -> bool:
    """Whether a run ended by itself, and what it has left with its framework goes on."""
    ended = record.ended
    by_itself = ended is not None and ended.token == token and ended.outcome == "finished"
    return by_itself and record.look_at is not None


def _last_truncated(loaded: Loaded) -> str | None:
    for stored in reversed(loaded.messages):
        message = stored.message
        if message["role"] == "assistant":
            mark = (message.get("metadata") or {}).get("agui_bridge") or {}
            content = message.get("content")
            return content if mark.get("truncated") and isinstance(content, str) else None
    return None


def _success(
    messages: tuple[Mapping[str, Any], ...],
    partial: str | None = None,
    iteration: int | None = None,
) -> StopResult:
    return StopResult("success", "USER_INTERRUPTED", len(messages), messages, iteration, partial)


def _failure(loaded: Loaded, reason: str) -> StopResult:
    messages = tuple(m.message for m in loaded.messages)
    return StopResult("error", message_count=len(messages), messages=messages, error=reason)
