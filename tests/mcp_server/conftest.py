"""Clients at the test's own bridge, over either transport."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp import Client

from tests.mcp_server.agents import made
from tests.mcp_server.asking import Person, asking, piped
from tests.support.effects import Effects
from tests.support.server import serve

Asking = Callable[..., AbstractAsyncContextManager[Client]]


either = pytest.mark.parametrize("ask", ["http", "stdio"], indirect=True)
"""Of a test that runs over both: a process for each of its clients takes its time."""


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    """What the agents of a test did."""
    return Effects(tmp_path / "effects")


@pytest.fixture
async def ask(
    request: pytest.FixtureRequest, tmp_path: Path, effects: Effects
) -> AsyncIterator[Asking]:
    """Gives a client at the test's own bridge, for a person or none; over HTTP if not `either`."""
    if getattr(request, "param", None) == "stdio":

        def over_pipes(
            person: Person | None = None, **options: object
        ) -> AbstractAsyncContextManager[Client]:
            return asking(piped(tmp_path), person, **options)

        yield over_pipes
        return
    bridge = made(f"sqlite:///{tmp_path / 'agents.db'}", effects)
    async with contextlib.AsyncExitStack() as stack:
        base = await stack.enter_async_context(serve(bridge.app(anonymous=True)))

        def over_http(
            person: Person | None = None, **options: object
        ) -> AbstractAsyncContextManager[Client]:
            return asking(f"{base}/mcp", person, **options)

        yield over_http
