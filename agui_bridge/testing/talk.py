"""A conversation with an agent of one's own, in a test: no server, no database, no sleeping."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import AsyncIterator

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.engine import Engine
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.stores.base import Store
from agui_bridge.testing.conversation import Conversation

__all__ = ["Talk", "talk"]


class Talk(Conversation):
    """One thread with an agent; `talk` makes it.

    `say`, `answer` and `cancel` send an input and read its stream to the end, `begin` leaves the
    reading to you. Every stream is held to the protocol.
    """

    def __init__(
        self,
        bridge: Bridge,
        engine: Engine,
        agent: str,
        thread: str,
        patience: float,
        principal: Principal,
    ) -> None:
        found = bridge.find(agent)
        ids = f"user-{secrets.token_hex(4)}"
        super().__init__(engine, found, thread, patience, principal=principal, ids=ids)
        self._bridge = bridge
        self._store = engine.store
        self._key = ThreadKey(principal.scope, agent, thread)

    async def stop(self, *, force: bool = False, timeout: float = 5.0) -> StopResult:
        """Stop what the thread does, and wait until it is over.

        Args:
            force: cancel at once instead of letting a running tool finish.
            timeout: seconds that a graceful stop may take.
        """
        return await self._bridge.stop(
            self._key.agent,
            self.thread,
            force=force,
            timeout=timeout,
            principal=self._principal,
        )

    async def state(self) -> Json:
        """The state that the agent shares with its frontend."""
        loaded = await self._store.load(self._key)
        return loaded.record.state if loaded.record is not None else None


@contextlib.asynccontextmanager
async def talk(
    bridge: Bridge,
    agent: str,
    *,
    thread: str = "test",
    store: str | Store = "memory:",
    principal: Principal | None = None,
    patience: float = 10.0,
) -> AsyncIterator[Talk]:
    """Open a bridge on a store of its own, and talk to one of its agents.

    ::

        async def test_nothing_is_deleted_unasked():
            async with talk(bridge, "ops") as ops:
                asked = await ops.say("Clean up the users")
                assert asked.asks[0]["message"] == "Delete 1234 rows of users?"
                done = await ops.answer(asked, {"approved": True})
                assert done.text == "Done: 1234 rows of users deleted."

    The bridge is closed at the end, and has its own store and settings again; what still runs then
    has `patience` seconds to end. Use a file
    (`sqlite:///{tmp_path}/test.db`) twice to see what survives a restart.

    Args:
        bridge: not open yet.
        agent: the name of the agent.
        thread: the id of the thread.
        store: what takes the place of the bridge's store meanwhile.
        principal: who talks; the default principal by default.
        patience: seconds that a stream may be silent.

    Raises:
        ConfigurationError: the bridge is open, or the validator (extra `testing`) is missing.
        Refused: there is no such agent.
        Failed: while you read: a stream is silent for too long, or breaks the protocol.
    """
    own, settings = bridge.store, bridge.settings
    bridge.store = store
    grace = min(settings.shutdown_grace, patience)
    bridge.settings = dataclasses.replace(settings, shutdown_grace=grace)
    try:
        engine = await bridge.open()
        yield Talk(bridge, engine, agent, thread, patience, principal or Principal())
    finally:
        await bridge.aclose()
        bridge.store, bridge.settings = own, settings
