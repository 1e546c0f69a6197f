"""An agent of the OpenAI Agents SDK is recognised."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge_openai_agents import OpenAIAgentsAdapter
from tests.adapters.finding import Finding
from tests.adapters.openai_agents.mailer import Mailer


class TestFinding(Finding):
    adapter = OpenAIAgentsAdapter
    name = "openai_agents"
    package = "agents"
    function = "context"

    @pytest.fixture
    def agent(self) -> Any:
        return Mailer().agent
