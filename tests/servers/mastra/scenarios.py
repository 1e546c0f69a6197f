"""All scenarios that are recorded, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.servers.mastra.agent_scenarios import AGENTS
from tests.servers.mastra.scenario import Scenario
from tests.servers.mastra.workflow_scenarios import WORKFLOWS

__all__ = ["SCENARIOS"]

SCENARIOS: Final[Mapping[str, Scenario]] = {**AGENTS, **WORKFLOWS}
