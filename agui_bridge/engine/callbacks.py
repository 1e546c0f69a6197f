"""What frameworks tell of threads by calling back, kept until a run has heard it.

It lies beside its thread, in a record of its own: whoever runs the thread may write to the thread
alone, and a callback comes to any process at any time. Whether it was heard, the note says that
the run leaves which hears it (`Run.left`). The two are never written together. So a callback stays
where it is until another one comes that finds it heard or over.

Source: docs/contract.md, "Callbacks".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from agui_bridge.errors import Conflict, Refused
from agui_bridge.frozen import replace
from agui_bridge.protocol.callbacks import Callback
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadKey, ThreadRecord
from agui_bridge.stores.base import ABSENT, Expected, Store

_MOST: Final = 100
"""Callbacks of one thread that wait to be heard."""


class Mailbox:
    """What was told of one thread.

    Args:
        store: where it lies.
        key: the thread's.
        mint: makes ids.
    """

    def __init__(self, store: Store, key: ThreadKey, mint: Callable[[], str]) -> None:
        self._store = store
        # No agent has a name with a slash: nobody lists it, or sends it anything.
        self._key = ThreadKey(key.scope, f"{key.agent}/callbacks", key.thread)
        self._mint = mint

    async def put(self, callback: Callback, awaited: Callable[[Callback], bool]) -> bool:
        """Keep a callback, and those before it that are still awaited; says whether it is new.

        Args:
            callback: what came.
            awaited: says whether a run is still to hear one.

        Raises:
            Refused: TOO_MANY_RUNS: too many wait already.
        """
        write = self._mint()
        while True:
            loaded = await self._store.load(self._key)
            kept = [one for one in _callbacks_in(loaded.record) if awaited(one)]
            if any(one.id == callback.id for one in kept):
                # Whoever sends it again may have heard that replicas lack it.
                await self._store.ping()
                return False
            if len(kept) >= _MOST:
                raise Refused(
                    "TOO_MANY_RUNS",
                    f"{_MOST} callbacks of this thread wait to be heard: send this one again once "
                    "the thread has gone on.",
                )
            fresh = ThreadRecord(self._key, version=int(self._mint()[:12], 16))
            record = replace(
                loaded.record or fresh,
                state={"callbacks": [_json_of(one) for one in (*kept, callback)]},
            )
            expected = Expected(version=loaded.record.version) if loaded.record else ABSENT
            with contextlib.suppress(Conflict):
                await self._store.commit(self._key, Change(record), expected, write)
                return True

    async def first(
        self, wanted: Callable[[Callback], bool], seconds: float = 0.0
    ) -> Callback | None:
        """The first that is wanted; see `Callbacks.first`."""
        if seconds <= 0.0:
            return await self._find(wanted)
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(seconds),
                contextlib.aclosing(self._store.watch(self._key)) as changes,
            ):
                async for _ in changes:
                    if (found := await self._find(wanted)) is not None:
                        return found
        return None

    async def delete(self) -> None:
        """Delete all of it, with its thread."""
        while (record := (await self._store.load(self._key)).record) is not None:
            with contextlib.suppress(Conflict):
                await self._store.delete(self._key, Expected(version=record.version))

    async def _find(self, wanted: Callable[[Callback], bool]) -> Callback | None:
        kept = _callbacks_in((await self._store.load(self._key)).record)
        return next((one for one in kept if wanted(one)), None)


def _callbacks_in(record: ThreadRecord | None) -> list[Callback]:
    kept: list[Mapping[str, Any]] = record.state["callbacks"] if record is not None else []
    key = record.key if record is not None else None
    return [Callback(key.scope, key.thread, one["id"], one["body"]) for one in kept if key]


def _json_of(callback: Callback) -> dict[str, Any]:
    return {"id": callback.id, "body": callback.body}
