"""Every check of the kit on an agent of LangChain, in both modes of its middleware."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import MODES, Mailer

pytestmark = pytest.mark.timeout(120)


class TestBatched(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached.
    leaves_out = ("undelivered", "amid")
    mode = "batched"

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        async def look_up_slowly(name: str) -> str:
            """Look somebody up, in no hurry."""
            await asyncio.sleep(0.25)
            done.append(f"looked up {name}")
            return f"{name} is known"

        async def delegate(task: str) -> str:
            """Have somebody else do it."""
            mailer = mailers[-1]
            secretary = create_agent(
                mailer.model, mailer.tools, middleware=mailer.middleware, name="secretary"
            )
            answer = await secretary.ainvoke({"messages": [HumanMessage(task)]})
            return str(answer["messages"][-1].text)

        def heard() -> list[Any]:
            asked = [mailer.requests[-1] for mailer in mailers if mailer.requests]
            return [message.model_dump(mode="json") for message in asked[-1]]

        with TemporaryDirectory() as folder:

            @contextlib.asynccontextmanager
            async def graph() -> AsyncIterator[Any]:
                file = str(Path(folder) / "graph.db")
                async with AsyncSqliteSaver.from_conn_string(file) as saver:
                    mailer = Mailer(
                        done.append,
                        saver=saver,
                        mode=self.mode,
                        reviewed=("approve", "edit", "reject", "respond"),
                        more=[look_up_slowly, delegate],
                    )
                    mailers.append(mailer)
                    yield mailer.graph

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
                subagent="delegate look h",
                nested="delegate send i",
                acting="slowlytwice g",
                free="ask anything",
                image="look at this",
                heard=heard,
                executed=lambda: done,
            )


if "per_call" in MODES:

    class TestPerCall(TestBatched):
        mode = "per_call"
