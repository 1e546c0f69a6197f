"""The kit on workflows that ask, end and take long, over a real server in each direction."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from tests.adapters.webhook.bench import Door, Tool, adapter_for
from tests.support.server import serve

pytestmark = pytest.mark.timeout(120)

NOBODY = "http://127.0.0.1:9"


class TestWorkflows(AdapterSuite):
    # A workflow tells no calls of its own, and asks one thing at a time. No model is told anything.
    leaves_out = (
        *("parallel", "beside", "stages", "nested", "acting", "amid", "heard", "respond"),
        *("policy", "stop-by-itself", "stop-acting"),
    )
    tool: Tool

    @pytest.fixture(autouse=True)
    def its_tool(self, shared: Tool) -> None:
        self.tool = shared

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        before, door = len(self.tool.effects), Door()
        async with serve(door, lifespan="off") as url:
            yield AdapterScenario(
                adapter=lambda: adapter_for(self.tool.url, url, patience=4.0),
                approval="deploy",
                edited={"version": "v3"},
                question="order",
                answer={"size": "M"},
                free="free",
                twice="twice",
                slow="slow",
                later="later",
                executed=lambda: self.tool.effects[before:],
                unreachable=lambda: adapter_for(NOBODY, url),
                reached=door.opens_to,
                patience=20.0,
            )
