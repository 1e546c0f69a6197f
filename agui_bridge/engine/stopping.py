"""Stopping a thread's run from anywhere, without losing anything.

A stop request is a field of its own in the store and names the run that it is for. It reaches
the process that runs the thread, whichever process received it.

Source: NexAU's RFC-0001; docs/contract.md, "Stop".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agui_bridge.engine.recovery import close_batch, recover_thread
from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.engine.waiting import appears, wait_until
from agui_bridge.errors import Conflict, Refused
from agui_bridge.protocol.approvals.entitlement import why_not_stop
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Principal,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.stores.base import Store

__all__ = ["check_may_withdraw", "stop_thread"]

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
            whatever the thread does.
        mint: makes ids.

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
        if run_id is not None and _busy_with(record) not in (None, run_id):
            return _failure(loaded, "This run is over, and the thread has gone on to another one.")
        try:
            if loaded.status is ThreadStatus.INTERRUPTED:
                check_may_withdraw(loaded, principal)
                history = await close_batch(store, key, loaded, mint, stopped_by=actor)
                return _success(tuple(history.messages))
            if loaded.run_lost:
                await recover_thread(store, key, loaded, mint)
                return _failure(loaded, "The run was lost before it could be stopped.")
            if record.run is not None:
                until = loaded.now + (_FORCE_GRACE if force else timeout)
                stop = StopRequest(record.run.token, force, until, actor)
                result = await _stop_run(store, clock, running.get(key), key, stop, timeout)
                if result is None:
                    continue
                return result
        except Conflict:
            continue
        if _was_stopped(record):
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


def _was_stopped(record: ThreadRecord) -> bool:
    """Whether a stop ended what an idle thread did last: its run, or the question of it."""
    outcome = record.ended.outcome if record.ended is not None else None
    if outcome == "finished" and record.closed:
        return record.closed[-1].cause == "stopped"
    return outcome == "stopped"


def _busy_with(record: ThreadRecord) -> str | None:
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
) -> StopResult | None:
    """Stop a run; None when it has ended by asking: then the question is what to stop."""
    await store.request_stop(key, stop)
    limit = clock.monotonic() + (0.0 if stop.force else timeout) + _FORCE_GRACE
    if local is not None and local.owner.token == stop.token:
        local.request_stop(force=stop.force, timeout=timeout)
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
    if record.status is ThreadStatus.INTERRUPTED:
        return None
    ended = record.ended
    if ended is None or ended.token != stop.token:
        return _failure(loaded, "The run ended, and another one has begun since.")
    if ended.outcome == "stopped":
        partial = local.partial if local is not None else _last_truncated(loaded)
        return _success(tuple(m.message for m in loaded.messages), partial, ended.iteration)
    reason = {
        "finished": "The run had ended before it could be stopped.",
        "failed": "The run failed before it could be stopped.",
        "lost": "The run was lost before it could be stopped.",
    }[ended.outcome]
    return _failure(loaded, reason)


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
