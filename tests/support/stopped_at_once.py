"""A store on which another process stops each run between its claim and what it claimed for."""

from __future__ import annotations

from typing import Any

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import StopRequest, ThreadKey
from agui_bridge.stores.base import Committed
from agui_bridge.stores.memory.store import MemoryStore


class StoppedAtOnce(MemoryStore):
    """Asks each run to stop that has just claimed its answers."""

    async def commit(self, key: ThreadKey, change: Change, *guard: Any) -> Committed:
        committed = await super().commit(key, change, *guard)
        run = committed.record.run
        if run is not None and change.interrupts and not await self.stops([run.token]):
            until = committed.now + 30
            await self.request_stop(key, StopRequest(run.token, False, until, "other"))
        return committed
