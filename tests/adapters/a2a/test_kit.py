"""The kit on an agent of the official SDK's server, in each way that its card may offer."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_a2a import A2AAdapter
from tests.adapters.a2a.bench import Agent

pytestmark = pytest.mark.timeout(120)

PATIENCE = 10.0
NOBODY = "http://127.0.0.1:9"
NO_APPROVALS = (
    *("ids", "approve", "result", "decline", "edit", "cancel", "parallel", "threads", "policy"),
    *("beside", "twice", "stages", "nested", "acting", "free", "amid", "heard", "respond"),
    *("stop-by-itself", "stop-acting"),
)


class Ways(AdapterSuite):
    """One process for all checks: what was done before a check does not count."""

    way = "rpc"
    leaves_out = NO_APPROVALS
    agent: Agent

    @pytest.fixture(autouse=True)
    def its_agent(self, shared: Agent) -> None:
        self.agent = shared

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        before = len(self.agent.effects)
        yield AdapterScenario(
            adapter=lambda: A2AAdapter(f"{self.agent.url}/{self.way}"),
            question="order",
            answer={"size": "M"},
            slow="slow",
            executed=lambda: [e for e in self.agent.effects[before:] if e != "cancelled"],
            unreachable=lambda: A2AAdapter(NOBODY),
            patience=PATIENCE,
        )


class TestJsonRpc(Ways):
    way = "rpc"


class TestHttpJsonPolled(Ways):
    way = "rest-polled"


@pytest.mark.soak
class TestHttpJson(Ways):
    way = "rest"


@pytest.mark.soak
class TestPolled(Ways):
    way = "rpc-polled"


@pytest.mark.soak
class TestOld(Ways):
    way = "old"


@pytest.mark.soak
class TestOldPolled(Ways):
    way = "old-polled"
