"""The adapter passes every check of the kit that applies to it."""

import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_flows import FlowsAdapter


class TestFlows(AdapterSuite):
    # It asks one thing at a time, nothing but approvals, and knows no policies. A flow is one step,
    # without a model, and no text takes the place of its result.
    leaves_out = (
        *("parallel", "answer", "cancel-question", "policy", "respond"),
        *("beside", "twice", "stages", "nested", "acting", "free", "amid", "heard"),
    )

    @asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "deployed.jsonl"

            def executed() -> list[Any]:
                lines = log.read_text().splitlines() if log.exists() else []
                return [json.loads(line) for line in lines]

            yield AdapterScenario(
                adapter=lambda: FlowsAdapter(folder),
                approval="deploy v2.0",
                edited={"version": "v2.1"},
                slow="watch",
                executed=executed,
                unreachable=lambda: FlowsAdapter(f"{folder}/nowhere"),
            )
