"""Waiting for the run that a thread is busy with, in this process or in another one.

Source: docs/contract.md, rows of admission whose ruling is Join.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Final

from agui_bridge.engine.run.execution import Execution
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import PauseHold
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

FIRST_INPUT_SECONDS: Final = 0.5
"""For so long a stop waits for a thread that does not exist: it may have overtaken its input."""


async def wait_until(store: Store, key: ThreadKey, done: Callable[[Loaded], bool]) -> None:
    """Look at a thread until something holds: when it changes, and at least once per lease.

    The owner of a run may be gone without a word, so whoever waits looks of their own accord.

    Args:
        store: where the thread lives.
        key: the thread.
        done: whether it has been waited for long enough, by what the thread is now.
    """
    async with contextlib.aclosing(store.watch(key)) as changes:
        async for _ in changes:
            if done(await store.load(key)):
                return


async def appears(store: Store, keys: Iterable[ThreadKey]) -> bool:
    """Wait until one of these threads exists, for FIRST_INPUT_SECONDS at most; whether one does.

    Args:
        store: where they would be.
        keys: the threads.

    Raises:
        StoreUnavailable: the store did not answer.
    """

    def exists(seen: Loaded) -> bool:
        return seen.record is not None

    looks = [asyncio.ensure_future(wait_until(store, key, exists)) for key in keys]
    if not looks:
        return False
    try:
        done, _ = await asyncio.wait(
            looks, timeout=FIRST_INPUT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for look in done:
            look.result()
        return bool(done)
    finally:
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)


async def wait_for_run(
    store: Store,
    clock: Clock,
    running: Mapping[ThreadKey, Execution],
    key: ThreadKey,
    loaded: Loaded,
    until: float | None,
) -> None:
    """Wait until a thread's run is over, or its lease or the time is.

    Args:
        store: where the thread lives.
        clock: what to wait by.
        running: the runs of this process.
        key: the thread.
        loaded: the thread as it was when its run was seen.
        until: how long to wait, by the store's clock; None is as long as it runs.
    """
    run = loaded.run
    if run is None:
        if (hold := loaded.hold) is not None:
            await wait_until(store, key, lambda seen: not _holds(seen, hold))
        return
    local = running.get(key)
    if local is not None and local.owner.token == run.token:
        left = (until if until is not None else run.ends_at) - loaded.now
        with local.listeners.present():
            await local.over.wait_until(clock, max(0.0, left))
        return

    def over(seen: Loaded) -> bool:
        return not seen.runs(run.token) or (until is not None and seen.now >= until)

    await wait_until(store, key, over)


def _holds(seen: Loaded, hold: PauseHold) -> bool:
    return seen.hold is not None and seen.hold.token == hold.token


async def finish_unless_gone(work: Coroutine[None, None, None], pipe: Pipe) -> bool:
    """Do some waiting, but not for a client that goes away meanwhile; whether it was finished."""
    waiting = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(pipe.gone.wait())
    try:
        await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            return False
        await waiting
        return True
    finally:
        waiting.cancel()
        gone.cancel()
        await asyncio.gather(waiting, gone, return_exceptions=True)
