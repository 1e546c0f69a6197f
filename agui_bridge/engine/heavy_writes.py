"""Writes of a thread that holds much, in turns: between two of them the store is everybody's."""

from __future__ import annotations

from agui_bridge.engine.heavy_turns import HeavyTurns
from agui_bridge.engine.write_check import WriteCheck
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Committed, Expected

__all__ = ["HeavyWrites"]


class HeavyWrites:
    """Takes the commits of a run whose record is large.

    Args:
        writes: where they go.
        turns: gives each its turn.
    """

    def __init__(self, writes: WriteCheck, turns: HeavyTurns) -> None:
        self._writes = writes
        self._turns = turns

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Commit in its turn (see `Store.commit`).

        Raises:
            Conflict: the guard does not hold.
            StoreUnavailable: whether the change arrived is unknown.
        """
        async with self._turns.turn(key.scope, heavy=True):
            return await self._writes.commit(key, change, expected, write_id)
