"""An agent of ADK is recognised: as an object, and in a configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_adk import AdkAdapter
from tests.adapters.adk.mailer import Mailer
from tests.adapters.finding import imported_by_a_bridge

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("wrapped", [False, True])
async def test_an_agent_or_an_app_is_added_as_it_is(wrapped: bool) -> None:
    agent, bridge = Mailer().agent, Bridge("memory:")
    bridge.add("mailer", App(name="mails", root_agent=agent) if wrapped else agent)
    assert isinstance(bridge.agents["mailer"].adapter, AdkAdapter)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."


async def test_each_run_may_have_an_agent_of_its_own() -> None:
    seen: list[str] = []
    bridge = Bridge("memory:")

    def made(run: Any) -> Any:
        seen.append(run.principal.actor)
        return Mailer().agent

    bridge.add("mailer", AdkAdapter(made))
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."
    assert len(seen) == 1


def test_what_lacks_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agui_bridge_adk", None)  # can't be imported
    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[adk\]"'):
        Bridge("memory:").add("mailer", Mailer().agent)


def test_a_bridge_without_such_an_agent_imports_no_framework() -> None:
    assert "google.adk" not in imported_by_a_bridge()


async def test_a_configuration_names_the_agent(tmp_path: Path) -> None:
    (tmp_path / "mail_for_adk.py").write_text(
        "from google.adk.agents import RunConfig\n"
        "from tests.adapters.adk.mailer import Mailer\n"
        "agent = Mailer().agent\n"
        "config = RunConfig(max_llm_calls=9)\n"
    )
    file = tmp_path / "bridge.yaml"
    file.write_text(
        "agents:\n  mailer:\n    adapter: adk\n    options:\n"
        "      agent: mail_for_adk:agent\n      run_config: mail_for_adk:config\n"
    )
    bridge = bridge_from(file)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"agent": 3}, "agent should be an agent, a Workflow or an App of google.adk"),
        ({"agent": Mailer().agent, "run_config": 3}, "run_config should be a RunConfig"),
        ({"agent": Mailer().agent, "memory_service": 3}, "should be a BaseMemoryService"),
        ({"agent": "no_such_module:agent"}, "There is no module"),
    ],
)
def test_what_is_no_agent_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        AdkAdapter(**options)
