"""An agent of Strands is recognised, and what can't be run here is told where it is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from strands import Agent
from strands.multiagent import GraphBuilder
from strands.session.file_session_manager import FileSessionManager

from agui_bridge import Bridge, Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
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


class Counting(Agent):
    """An agent with something of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: list[str] = []


def counting() -> Counting:
    return Counting(model=Mailer().model, callback_handler=None)


def test_what_threads_would_share_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="has an attribute 'seen'"):
        StrandsAdapter(counting())
    with pytest.raises(ConfigurationError, match="has an attribute 'seen'"):
        StrandsAdapter(Mailer().make("outer", tools=[counting().as_tool(name="inner")]))


async def test_a_function_may_make_a_new_one_for_each_run_but_not_give_one_to_several() -> None:
    one = counting()
    async with talk(bridge_of(lambda run: counting()), "mailer") as thread:
        assert (await thread.say("hello")).ending == "success"
        assert (await thread.say("hello")).ending == "success"
    async with talk(bridge_of(lambda run: one), "mailer") as thread:
        assert (await thread.say("hello")).ending == "success"
        assert (await thread.say("hello")).ending != "success"


def bridge_of(agent: Callable[[Run], Agent]) -> Bridge:
    bridge = Bridge("memory:")
    bridge.add("mailer", StrandsAdapter(agent))
    return bridge


@pytest.mark.parametrize(
    "path",
    [
        *(
            *("messages", "state", "event_loop_metrics", "conversation_manager", "hooks"),
            *("_retry_strategy", "_interrupt_state", "_concurrency", "_cancel_signal"),
            *("_model_state", "tool_registry", "tool_caller", "_middleware_registry"),
            *("_session_manager", "_background_tasks", "_checkpointing"),
            *("_default_structured_output_model", "_intervention_registry"),
        ),
        *("_middleware_registry._handlers", "hooks._registered_callbacks"),
        "tool_registry._tool_providers",
        *("helper._agent", "helper._lock", "helper._preserve_context"),
    ],
)
def test_a_strands_that_names_something_else_is_refused_with_the_versions(path: str) -> None:
    agent = Mailer().agent
    owner: Any = agent
    *above, name = path.split(".")
    for one in above:
        owner = agent.tool_registry.registry[one] if one == "helper" else getattr(owner, one)
    held = owner.__dict__.pop(name)
    try:
        with pytest.raises(ConfigurationError, match=name) as refused:
            StrandsAdapter(agent)
    finally:
        setattr(owner, name, held)
    assert "strands-agents 1." in str(refused.value)


def test_an_agent_that_keeps_the_conversation_itself_is_refused(tmp_path: Any) -> None:
    manager = FileSessionManager(session_id="a", storage_dir=str(tmp_path))
    agent = Agent(model=Mailer().model, session_manager=manager, callback_handler=None)
    with pytest.raises(ConfigurationError, match="has a session manager"):
        StrandsAdapter(agent)
