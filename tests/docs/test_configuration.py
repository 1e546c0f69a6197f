"""docs/configuration.md and docs/command-line.md: the examples work, and nothing is left out."""

import logging
import re
import sys
from pathlib import Path

import pytest

from agui_bridge.cli import COMMANDS
from agui_bridge.cli.commands.serve import serve
from agui_bridge.config import bridge_from, load_config
from tests.docs.pages import ROOT, run_page, snippets_of
from tests.support.logs import logging_as_before
from tests.support.own_modules import importing_own

PAGE = ROOT / "docs" / "configuration.md"
SHOP = """
from agui_bridge import FunctionAdapter

async def orders(run):
    yield "hi"

refunds = FunctionAdapter(orders)
"""


def test_the_file_of_the_page_becomes_the_bridge_that_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [(_, text)] = snippets_of(PAGE, "yaml")
    path = tmp_path / "bridge.yaml"
    path.write_text(text)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "rules.py").write_text("def decide(call):\n    return 'allow'\n")
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setenv("ANN_TOKEN", "a-token-of-some-length")
    monkeypatch.delenv("PORT", raising=False)

    values = load_config(path).values
    bridge = bridge_from(path)
    for name in ("shop", "rules"):
        del sys.modules[name]

    assert (values.server.port, values.logging.format) == (8787, "json")
    assert bridge.store == "sqlite:///./agents.db"
    assert {name: a.settings.expires_in for name, a in bridge.agents.items()} == {
        "orders": 86400,
        "refunds": 3600,
    }


def test_the_file_of_the_readme_serves_the_agent_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = ROOT / "README.md"
    [(_, text)] = snippets_of(readme, "yaml")
    (tmp_path / "bridge.yaml").write_text(text)
    (tmp_path / "agents.py").write_text(snippets_of(readme)[1][1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))

    with importing_own("agents"):
        bridge = bridge_from("bridge.yaml")

    assert list(bridge.agents) == ["ops"]


async def test_the_filter_of_the_page_can_be_used() -> None:
    with logging_as_before():
        names = await run_page(PAGE)
        assert names["handler"] in logging.getLogger().handlers


def test_every_command_and_flag_of_serve_is_on_the_page() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert set(re.findall(r"^\| `agui-bridge (\w+)", text, re.MULTILINE)) == set(COMMANDS)
    flags = {flag for option in serve.params for flag in option.opts if "--" in flag}
    assert {flag for flag in flags if f"`{flag}`" not in text} == set()
