"""The kit on the adapter, before an agent that is made with the official Python SDK."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from tests.adapters.acp.bench import Bench

pytestmark = pytest.mark.timeout(180)


@pytest.mark.soak
class TestAcp(AdapterSuite):
    leaves_out = ("edit", "respond", "nested", "amid", "free", "policy")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder))
            yield AdapterScenario(
                adapter=bench.adapter,
                approval="deploy",
                parallel="both",
                question="form",
                answer={"name": "Ann"},
                slow="slow",
                beside="beside",
                twice="twice",
                stages="stages",
                acting="acting",
                image="What is this?",
                heard=lambda: json.loads((bench.folder / "heard.json").read_text()),
                executed=lambda: bench.effects,
                unreachable=lambda: bench.adapter(command=["/nowhere/agent"]),
                patience=30.0,
            )
