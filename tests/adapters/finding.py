"""A framework's agent is recognised: as an object, and in a configuration."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agui_bridge import Adapter, Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk

__all__ = ["Finding", "imported_by_a_bridge"]


@cache
def imported_by_a_bridge() -> frozenset[str]:
    """What a process has imported that was given an object which is no framework's agent."""
    code = (
        "import sys; from agui_bridge import Bridge\n"
        "try: Bridge('memory:').add('a', object())\n"
        "except Exception: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = frozenset(done.stdout.split())
    assert "agui_bridge.bridge.bridge" in names
    return names


class Finding:
    """The tests of one framework; a subclass names it, and has a fixture `agent`.

    Attributes:
        adapter: the class of its adapter.
        name: the adapter's, as a configuration says it.
        package: the framework's own.
        function: an option of the adapter that takes a function of the run.
    """

    adapter: ClassVar[type[Adapter]]
    name: ClassVar[str]
    package: ClassVar[str]
    function: ClassVar[str]

    async def test_an_agent_is_added_as_it_is(self, agent: Any) -> None:
        bridge = Bridge("memory:")
        bridge.add("mailer", agent)
        assert isinstance(bridge.agents["mailer"].adapter, self.adapter)
        async with talk(bridge, "mailer") as one:
            assert (await one.say("hello")).text == "Hello."

    def test_what_lacks_its_package_says_what_to_install(
        self, agent: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, f"agui_bridge_{self.name}", None)  # can't be imported
        extra = self.name.replace("_", "-")
        with pytest.raises(ConfigurationError, match=rf'pip install "agui-bridge\[{extra}\]"'):
            Bridge("memory:").add("mailer", agent)

    def test_a_bridge_without_such_an_agent_imports_no_framework(self) -> None:
        assert self.package not in imported_by_a_bridge()

    async def test_a_configuration_names_the_agent(self, tmp_path: Path) -> None:
        module = f"mail_for_{self.name}"
        (tmp_path / f"{module}.py").write_text(
            f"from tests.adapters.{self.name}.mailer import Mailer\n"
            "agent = Mailer().agent\n"
            f"def {self.function}(run): return None\n"
        )
        file = tmp_path / "bridge.yaml"
        file.write_text(
            f"agents:\n  mailer:\n    adapter: {self.name}\n    options:\n"
            f"      agent: {module}:agent\n      {self.function}: {module}:{self.function}\n"
        )
        async with talk(bridge_from(file), "mailer") as one:
            assert (await one.say("hello")).text == "Hello."
