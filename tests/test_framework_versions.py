"""What was tried is what each framework's extra allows, and what the page of versions says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
EXTRAS = (
    *("adk", "agent-framework", "agno", "claude", "dbos", "langgraph", "langgraph-server"),
    *("llama-index", "openai-agents", "pydantic-ai", "strands", "temporal"),
)


def pinned(file: str) -> dict[str, Version]:
    """The versions that a file of constraints names."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("==") for line in lines if "==" in line)
    return {name.strip(): Version(version.strip()) for name, _, version in pairs}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_goes_from_the_oldest_version_that_is_tried_to_the_newest(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest, newest = pinned("constraints-frameworks-lowest.txt"), pinned("constraints.txt")
    for text in project["project"]["optional-dependencies"][extra]:
        needed = Requirement(text)
        bounds = {one.operator: Version(one.version) for one in needed.specifier}
        low, high = oldest[needed.name], newest[needed.name]
        assert (bounds[">="].major, bounds[">="].minor) == (low.major, low.minor)
        assert (bounds["<"].major, bounds["<"].minor) == (high.major, high.minor + 1)


def test_the_page_names_the_langgraph_server_that_the_tests_run() -> None:
    run = pinned("tests/servers/langgraph_server/requirements.txt")
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    named = re.search(r"`langgraph-api` (\S+), `langgraph-sdk` (\S+) on PyPI", page)
    assert named
    assert [*map(Version, named.groups())] == [run["langgraph-api"], run["langgraph-sdk"]]


def test_the_page_names_the_mastra_that_the_tests_run() -> None:
    server = json.loads((ROOT / "tests/servers/mastra/package.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    named = re.search(r"`@mastra/core` (\S+) on npm", page)
    assert named and named[1] == server["dependencies"]["@mastra/core"]
