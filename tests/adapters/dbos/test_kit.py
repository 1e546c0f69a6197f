"""The kit on workflows that ask, end and take long, in a worker on PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_dbos import DBOSWorkflow
from tests.adapters.dbos.bench import Place

pytestmark = pytest.mark.timeout(120)

NOWHERE = "postgresql://nobody@127.0.0.1:9/dbos"


class TestWorkflows(AdapterSuite):
    # A workflow tells no calls of its own, and asks one thing at a time. No model is told anything.
    leaves_out = (
        *("parallel", "beside", "stages", "nested", "acting", "amid", "heard", "respond"),
        *("policy", "stop-by-itself", "stop-acting"),
    )
    place: Place

    @pytest.fixture(autouse=True)
    def its_place(self, shared: Place) -> None:
        self.place = shared

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        before = len(self.place.effects)
        yield AdapterScenario(
            adapter=lambda: self.place.adapter(patience=4.0),
            approval="deploy",
            edited={"version": "v3"},
            question="order",
            answer={"size": "M"},
            free="free",
            twice="twice",
            slow="slow",
            later="later",
            executed=lambda: self.place.effects[before:],
            unreachable=lambda: DBOSWorkflow("target", database=NOWHERE, queue="agents"),
            patience=20.0,
        )
