"""docs/proxy.md: its configurations are valid, its tables complete."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from agui_bridge.config import bridge_from
from agui_bridge.installed import ENTRY_POINTS
from agui_bridge_agui import AguiAdapter
from tests.docs.pages import ROOT, run_page, snippets_of

PAGE = ROOT / "docs" / "proxy.md"


async def test_the_python_and_the_file_make_the_same_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    ((_, text),) = snippets_of(PAGE, "yaml")
    (tmp_path / "bridge.yaml").write_text(text)
    for variable in ("ANN_TOKEN", "SUPPORT_TOKEN"):
        monkeypatch.setenv(variable, "t" * 32)
    bridge = bridge_from(tmp_path / "bridge.yaml")
    for made in (page["bridge"], bridge):
        agent = made.agents["support"]
        assert isinstance(agent.adapter, AguiAdapter)
        assert agent.settings.expires_in == 86400


def test_every_argument_is_listed() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## What it adds")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))

    assert listed == set(inspect.signature(AguiAdapter).parameters)


def test_it_is_found_by_its_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"][ENTRY_POINTS]["agui"] == "agui_bridge_agui:AguiAdapter"
