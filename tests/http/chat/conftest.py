"""A bridge behind a real uvicorn, and sessions on it."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge, Settings
from agui_bridge.adapters import Adapter
from agui_bridge.stores.memory import MemoryStore
from tests.support.chat import Chat
from tests.support.clock import FakeClock
from tests.support.server import client, serve


@dataclass
class Site:
    """A served bridge with one agent, called `agent`.

    Attributes:
        base: its URL.
        clock: the store's.
        http: a client.
    """

    base: str
    bridge: Bridge
    clock: FakeClock
    http: httpx.AsyncClient

    def chat(self, session: str = "session-123", **options: Any) -> Chat:
        """A session."""
        return Chat(self.http, session=session, **options)


Serving = Callable[..., contextlib.AbstractAsyncContextManager[Site]]


@pytest.fixture
def serving() -> Serving:
    """Serves an adapter with settings; `authenticate=` besides."""

    @contextlib.asynccontextmanager
    async def start(
        adapter: Adapter, *, authenticate: Any = None, **settings: Any
    ) -> AsyncIterator[Site]:
        clock = FakeClock(1_746_000_000.0)
        bridge = Bridge(
            MemoryStore(clock.time),
            settings=Settings(**{"shutdown_grace": 0.1, "cancel_grace": 0.2, **settings}),
            authenticate=authenticate,
        )
        bridge.add("agent", adapter)
        async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
            yield Site(base, bridge, clock, http)

    return start
