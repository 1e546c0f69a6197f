"""What a graph waits for is answered by another process, whatever keeps its conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import Mailer
from tests.support.postgres import execute, new_schema, server

pytestmark = pytest.mark.anyio

YES = {"approved": True}
Opened = Callable[[], AbstractAsyncContextManager[Any]]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens a checkpointer on what earlier ones kept."""
    if request.param == "postgres":
        with new_schema() as schema:
            execute(server().dsn, f"CREATE SCHEMA {schema}")
            address = f"{server().dsn}?options=-csearch_path%3D{schema}"

            @asynccontextmanager
            async def in_postgres() -> AsyncIterator[Any]:
                async with AsyncPostgresSaver.from_conn_string(address) as saver:
                    await saver.setup()
                    yield saver

            yield in_postgres
        return
    saver = InMemorySaver()

    @asynccontextmanager
    async def in_memory() -> AsyncIterator[Any]:
        yield saver

    def in_a_file() -> Any:
        return AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.db"))

    yield in_memory if request.param == "memory" else in_a_file


def process(opened: Opened, done: list[Any]) -> Bridge:
    """Another process on the same checkpoints."""

    @asynccontextmanager
    async def graph() -> AsyncIterator[Any]:
        async with opened() as saver:
            yield Mailer(done.append, saver=saver).graph

    bridge = Bridge("memory:")
    bridge.add("mailer", LangGraphAdapter(graph))
    return bridge


async def test_a_pause_outlives_its_process(opened: Opened, tmp_path: Path) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(process(opened, done), "mailer", store=store) as one:
        asked = await one.say("mixed bob")
    async with talk(process(opened, done), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
        assert (await one.say("hello")).text == "Hello."
    assert done == ["looked up bob", {"to": "bob", "body": "original"}]


async def test_a_graph_is_opened_again_after_it_was_closed(opened: Opened) -> None:
    bridge = process(opened, [])
    for _ in range(2):
        async with talk(bridge, "mailer") as one:
            assert (await one.say("hello")).text == "Hello."
