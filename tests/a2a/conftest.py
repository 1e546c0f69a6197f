"""The test's own bridge, spoken to in either binding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agui_bridge import Bridge
from tests.a2a.agents import made
from tests.a2a.asking import Client
from tests.support.effects import Effects
from tests.support.server import client, serve

Talk = Callable[[str], Client]


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    """What the agents of a test did."""
    return Effects(tmp_path / "effects")


@pytest.fixture
def bridge(tmp_path: Path, effects: Effects) -> Bridge:
    """A bridge on a file."""
    return made(f"sqlite:///{tmp_path / 'agents.db'}", effects)


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def binding(request: pytest.FixtureRequest) -> str:
    """How it is spoken to."""
    return str(request.param)


@pytest.fixture
async def talk(bridge: Bridge, binding: str) -> AsyncIterator[Talk]:
    """Gives a client of an agent."""
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        yield lambda agent: Client(session, binding, agent)
