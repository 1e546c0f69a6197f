"""An agent of Strands is recognised, and what can't be run here is told where it is added."""

from __future__ import annotations

from typing import Any

import pytest
from strands import Agent
from strands.multiagent import GraphBuilder
from strands.session.file_session_manager import FileSessionManager

from agui_bridge.errors import ConfigurationError
from agui_bridge_strands import StrandsAdapter
from tests.adapters.finding import Finding
from tests.adapters.strands.mailer import Mailer


class TestFinding(Finding):
    adapter = StrandsAdapter
    name = "strands"
    package = "strands"
    function = "invocation_state"

    @pytest.fixture
    def agent(self) -> Any:
        return Mailer().agent


def _graph() -> Any:
    builder = GraphBuilder()
    builder.add_node(Mailer().agent, "mailer")
    return builder.set_max_node_executions(9).build()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"agent": 3}, "agent should be a strands.Agent"),
        ({"agent": _graph()}, "agent should be a strands.Agent"),
        ({"agent": Mailer().agent, "approve": "send_email"}, "approve should be names of tools"),
        ({"agent": Mailer().agent, "invocation_state": {}}, "invocation_state should be"),
        ({"agent": Mailer(checkpointing=True).agent}, "'mailer' has checkpointing"),
        ({"agent": "no_such_module:agent"}, "There is no module"),
    ],
)
def test_what_is_no_agent_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        StrandsAdapter(**options)


def test_an_agent_that_keeps_the_conversation_itself_is_refused(tmp_path: Any) -> None:
    manager = FileSessionManager(session_id="a", storage_dir=str(tmp_path))
    agent = Agent(model=Mailer().model, session_manager=manager, callback_handler=None)
    with pytest.raises(ConfigurationError, match="has a session manager"):
        StrandsAdapter(agent)
