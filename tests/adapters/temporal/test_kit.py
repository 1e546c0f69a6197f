"""The kit on workflows of Temporal's own server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from tests.adapters.temporal.bench import Bench

pytestmark = pytest.mark.timeout(120)


class TestWorkflows(AdapterSuite):
    # A workflow tells no calls of its own, and no model is told anything.
    leaves_out = (
        "nested",
        "acting",
        "amid",
        "heard",
        "respond",
        "policy",
        "stop-by-itself",
        "stop-acting",
    )
    bench: Bench

    @pytest.fixture(autouse=True)
    def its_bench(self, shared: Bench) -> None:
        self.bench = shared

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        before = len(self.bench.effects)
        yield AdapterScenario(
            adapter=lambda: self.bench.adapter(patience=4.0),
            approval="deploy",
            edited={"version": "v3"},
            parallel="both",
            question="order",
            answer={"size": "M"},
            free="free",
            twice="twice",
            stages="stages",
            beside="beside",
            slow="slow",
            later="later",
            executed=lambda: self.bench.effects[before:],
            unreachable=lambda: self.bench.adapter(address="127.0.0.1:9"),
            patience=20.0,
        )
