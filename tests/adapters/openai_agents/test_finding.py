"""An agent of the OpenAI Agents SDK is recognised: as an object, and in a configuration."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError
from agui_bridge.installed import ENTRY_POINTS, FRAMEWORKS
from agui_bridge.testing import talk
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from tests.adapters.openai_agents.mailer import Mailer

pytestmark = pytest.mark.anyio


async def test_an_agent_is_added_as_it_is() -> None:
    mailer, bridge = Mailer(), Bridge("memory:")
    bridge.add("mailer", mailer.agent)
    assert isinstance(bridge.agents["mailer"].adapter, OpenAIAgentsAdapter)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."


def test_what_lacks_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {FRAMEWORKS: "agents.agent", ENTRY_POINTS: "openai_agents"}
    (entry,) = importlib.metadata.entry_points(group=FRAMEWORKS, name="agents.agent")

    def broken(group: str) -> list[importlib.metadata.EntryPoint]:
        one = importlib.metadata.EntryPoint(names[group], "no_such_package:Adapter", group)
        vars(one)["dist"] = entry.dist
        return [one]

    monkeypatch.setattr("agui_bridge.installed.entry_points", broken)
    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[openai-agents\]"'):
        Bridge("memory:").add("mailer", Mailer().agent)


def test_a_bridge_without_such_an_agent_imports_no_framework() -> None:
    code = (
        "import sys; from agui_bridge import Bridge\n"
        "try: Bridge('memory:').add('a', object())\n"
        "except Exception: pass\n"
        "print('agents' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_a_configuration_names_the_agent(tmp_path: Path) -> None:
    (tmp_path / "mail_for_openai_agents.py").write_text(
        "from tests.adapters.openai_agents.mailer import Mailer\n"
        "agent = Mailer().agent\n"
        "def context(run): return None\n"
    )
    file = tmp_path / "bridge.yaml"
    file.write_text(
        "agents:\n  mailer:\n    adapter: openai_agents\n    options:\n"
        "      agent: mail_for_openai_agents:agent\n      context: mail_for_openai_agents:context\n"
    )
    bridge = bridge_from(file)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."
