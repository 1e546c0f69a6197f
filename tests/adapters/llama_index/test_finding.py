"""An agent of LlamaIndex is recognised, and what can't be run here is told where it is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from workflows import Context, Workflow

from agui_bridge import Bridge, Verdict
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_llama_index import LlamaIndexAdapter
from tests.adapters.finding import Finding
from tests.adapters.llama_index.mailer import Mailer, Team
from tests.adapters.llama_index.test_kit import Survey


class TestFinding(Finding):
    adapter = LlamaIndexAdapter
    name = "llama_index"
    package = "workflows"
    function = "tell"

    @pytest.fixture
    def agent(self) -> Any:
        return Mailer().agent


class Careless(FunctionAgent):
    """An agent that calls its tools itself."""

    async def _call_tool(self, *args: Any, **options: Any) -> Any:
        return await super()._call_tool(*args, **options)


@pytest.mark.parametrize(
    ("workflow", "options", "told"),
    [
        (3, {}, "agent should be an agent or a workflow of LlamaIndex"),
        (Workflow, {}, "agent should be an agent or a workflow of LlamaIndex"),
        ("no_such_module:agent", {}, "There is no module"),
        (Careless(llm=Mailer().model), {}, "Careless has a _call_tool of its own"),
        (Mailer().agent, {"approve": "send_email"}, "approve should be names of tools"),
        (Mailer().agent, {"tell": 1}, "tell should be a function"),
        (Survey([]), {"approve": ["send_email"]}, "approve names tools of agents"),
    ],
)
def test_what_can_not_be_run_is_told_where_it_is_given(
    workflow: Any, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        LlamaIndexAdapter(workflow, **options)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (FunctionAgent.__mro__[1], "_call_tool"),
        (AgentWorkflow, "call_tool"),
        (Workflow, "_get_steps_from_class"),
        (Context, "get_step_context"),
    ],
    ids=str,
)
def test_a_version_that_lacks_what_is_leaned_on_is_refused(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Mailer().agent
    monkeypatch.delattr(owner, name)
    with pytest.raises(ConfigurationError, match=rf"has no {name}\. Install llama-index-\w+>="):
        LlamaIndexAdapter(agent)


@pytest.mark.parametrize("make", [lambda: Team().agent, lambda: Survey([])])
async def test_workflows_are_added_as_they_are(make: Callable[[], Workflow]) -> None:
    bridge = Bridge("memory:")
    bridge.add("one", make())
    async with talk(bridge, "one") as one:
        assert (await one.say("hello")).text in ("Hello.", "You said hello.")


def test_a_bridge_with_a_policy_refuses_a_workflow_whose_steps_would_not_ask_it() -> None:
    bridge = Bridge("memory:")
    bridge.policy(lambda call: Verdict("allow"))
    with pytest.raises(ConfigurationError, match="policy"):
        bridge.add("survey", Survey([]))


async def test_nor_does_it_run_one_that_is_made_of_the_run() -> None:
    bridge, done = Bridge("memory:"), list[Any]()
    bridge.policy(lambda call: Verdict("allow"))
    bridge.add("survey", LlamaIndexAdapter(lambda run: Survey(done)))
    async with talk(bridge, "survey") as one:
        assert (await one.say("hello")).ending not in ("success", "interrupt")
