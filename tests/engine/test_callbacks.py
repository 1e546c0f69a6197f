"""Callbacks are kept beside their thread, and acknowledged once they are."""

from __future__ import annotations

import pytest

from agui_bridge.engine.callbacks import Mailbox
from agui_bridge.engine.engine import mint
from agui_bridge.errors import NotReplicated
from agui_bridge.protocol.callbacks import Callback
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadKey
from tests.engine.run.hooked import HookedStore

CALLBACK = Callback("default", "t", "c1", {"type": "finished"})


class Unreplicated(HookedStore):
    """A store whose replicas are behind."""

    replicas = False

    async def ping(self) -> float:
        """Wait for them, as a commit does."""
        await self.after(None)  # type: ignore[arg-type]
        return await super().ping()


async def test_one_that_comes_again_is_acknowledged_once_replicas_have_it() -> None:
    store = Unreplicated()
    mailbox = Mailbox(store, ThreadKey("default", "agent", "t"), mint)

    async def behind(change: Change) -> None:
        if not store.replicas:
            raise NotReplicated("0 of 1")

    store.after = behind
    for _ in range(2):
        with pytest.raises(NotReplicated):
            await mailbox.put(CALLBACK, lambda one: True)
    store.replicas = True

    assert not await mailbox.put(CALLBACK, lambda one: True)
    assert await mailbox.first(lambda one: True) == CALLBACK
