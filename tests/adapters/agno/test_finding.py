"""An agent of Agno and a team are recognised; a workflow is refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from agno.workflow import Workflow

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge_agno import AgnoAdapter
from tests.adapters.agno.mailer import Mailer
from tests.adapters.finding import Finding


class TestFinding(Finding):
    adapter = AgnoAdapter
    name = "agno"
    package = "agno"
    function = "dependencies"

    @pytest.fixture
    def agent(self) -> Any:
        return Mailer().agent


def test_a_team_is_added_as_it_is() -> None:
    bridge = Bridge("memory:")
    bridge.add("mailer", Mailer().team)
    assert isinstance(bridge.agents["mailer"].adapter, AgnoAdapter)


def test_a_workflow_is_refused_and_the_reason_told() -> None:
    with pytest.raises(ConfigurationError, match=r"workflow .* The bridge does not run workflows"):
        Bridge("memory:").add("mailer", Workflow(name="mails", steps=[]))
