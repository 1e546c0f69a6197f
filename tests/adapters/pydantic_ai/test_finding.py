"""An agent of Pydantic AI is recognised: as an object, and in a configuration."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError
from agui_bridge.installed import FRAMEWORKS
from agui_bridge.testing import talk
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.pydantic_ai.mailer import Mailer

pytestmark = pytest.mark.anyio


async def test_an_agent_is_added_as_it_is() -> None:
    mailer, bridge = Mailer(), Bridge("memory:")
    bridge.add("mailer", mailer.agent)
    assert isinstance(bridge.agents["mailer"].adapter, PydanticAIAdapter)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."


def test_an_object_of_no_framework_is_told_what_it_lacks() -> None:
    with pytest.raises(ConfigurationError, match=r"no Adapter: it lacks run, aclose"):
        Bridge("memory:").add("other", object())


def test_what_lacks_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = [
        one
        for one in importlib.metadata.entry_points(group=FRAMEWORKS)
        if one.name == "pydantic_ai"
    ]
    broken = importlib.metadata.EntryPoint(entry.name, "no_such_package:Adapter", FRAMEWORKS)
    vars(broken)["dist"] = entry.dist
    monkeypatch.setattr("agui_bridge.installed.entry_points", lambda group: [broken])
    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[pydantic-ai\]"'):
        Bridge("memory:").add("mailer", Mailer().agent)


def test_a_bridge_without_such_an_agent_imports_no_framework() -> None:
    code = (
        "import sys; from agui_bridge import Bridge\n"
        "try: Bridge('memory:').add('a', object())\n"
        "except Exception: pass\n"
        "print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_a_configuration_names_the_agent(tmp_path: Path) -> None:
    (tmp_path / "mail_for_pydantic_ai.py").write_text(
        "from tests.adapters.pydantic_ai.mailer import Mailer\n"
        "agent = Mailer().agent\n"
        "def deps(run): return None\n"
    )
    file = tmp_path / "bridge.yaml"
    file.write_text(
        "agents:\n  mailer:\n    adapter: pydantic_ai\n    options:\n"
        "      agent: mail_for_pydantic_ai:agent\n      deps: mail_for_pydantic_ai:deps\n"
    )
    bridge = bridge_from(file)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("hello")).text == "Hello."
