"""A bridge with a scripted agent behind a real uvicorn."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import Bridge, Principal, Refused, Settings
from agui_bridge.adapters import Adapter
from agui_bridge.protocol.threads.records import ThreadKey
from tests.engine.run.hooked import HookedStore
from tests.support.agents import Answering
from tests.support.server import Streamed, client, post, run_input, serve

TOKENS = {"ann": ("team", "ann"), "bob": ("team", "bob"), "eve": ("other", "eve")}


def by_token(request: Request) -> Principal:
    """The principal that a bearer token stands for; mallory's may not do anything."""
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token == "mallory":
        raise Refused("FORBIDDEN", "Not you.")
    if token not in TOKENS:
        raise Refused("UNAUTHENTICATED", "Send a bearer token.")
    return Principal(*TOKENS[token])


@dataclass
class Site:
    """A served bridge.

    Attributes:
        base: its URL.
        store: what it stores in, without HTTP.
        agent: its adapter, under the name `agent`.
        http: a client.
    """

    base: str
    bridge: Bridge
    store: HookedStore
    agent: Any
    http: httpx.AsyncClient

    async def run(self, text: str | None = "hello", **members: Any) -> Streamed:
        """Carry an input out."""
        return await post(self.base, **run_input(text, **members))

    async def ask(self, **members: Any) -> list[dict[str, Any]]:
        """Run to a pause; gives its interrupts."""
        stream = await self.run("go", **members)
        interrupts: list[dict[str, Any]] = stream.events[-1]["outcome"]["interrupts"]
        return interrupts

    async def everything(self, thread: str = "t", scope: str = "default") -> Any:
        """All that is stored of a thread, its version included, without the time."""
        key = ThreadKey(scope, "agent", thread)
        loaded = await self.store.load(key, messages=True)
        rows = await self.store.list_interrupts(scope)
        return loaded.record, loaded.messages, rows, await self.store.history(key)


Serving = Callable[..., contextlib.AbstractAsyncContextManager[Site]]


@pytest.fixture
def serving() -> Serving:
    """Serves an adapter with settings; `authenticate=` and `headers=` besides."""

    @contextlib.asynccontextmanager
    async def start(
        adapter: Adapter | None = None,
        *,
        authenticate: Any = None,
        headers: dict[str, str] | None = None,
        **settings: Any,
    ) -> AsyncIterator[Site]:
        store, agent = HookedStore(), adapter or Answering()
        bridge = Bridge(
            store,
            settings=Settings(**{"shutdown_grace": 0.1, "cancel_grace": 0.2, **settings}),
            authenticate=authenticate,
        )
        bridge.add("agent", agent, description="For tests.")
        async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
            http.headers.update(headers or {})
            yield Site(base, bridge, store, agent, http)

    return start
