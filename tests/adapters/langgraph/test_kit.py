"""Every check of the kit on an agent of LangChain, in both modes of its middleware."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from langchain_core.messages import messages_to_dict
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import MODES, REVIEWED, Mailer

pytestmark = pytest.mark.timeout(120)


class TestBatched(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached.
    leaves_out = ("undelivered", "nested", "acting")
    mode = "batched"

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []
        with TemporaryDirectory() as folder:

            @contextlib.asynccontextmanager
            async def graph() -> AsyncIterator[Any]:
                file = str(Path(folder) / "graph.db")
                async with AsyncSqliteSaver.from_conn_string(file) as saver:
                    reviewed = (*REVIEWED, "respond")
                    mailers.append(
                        Mailer(done.append, saver=saver, mode=self.mode, reviewed=reviewed)
                    )
                    yield mailers[-1].graph

            yield AdapterScenario(
                adapter=lambda: LangGraphAdapter(graph),
                text="think trees",
                approval="send a",
                parallel="both b",
                question="ask colour",
                answer={"answer": "blue"},
                edited={"to": "c", "body": "edited"},
                slow="slow",
                beside="mixed d",
                twice="twice e",
                stages="sendlook f",
                free="ask anything",
                image="picture this",
                heard=lambda: messages_to_dict(
                    [mailer.requests[-1] for mailer in mailers if mailer.requests][-1]
                ),
                executed=lambda: done,
            )


if "per_call" in MODES:

    class TestPerCall(TestBatched):
        mode = "per_call"
