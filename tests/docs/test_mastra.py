"""docs/mastra.md: its bridge can be made, and its table's rows are those that are tested."""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from agui_bridge.installed import ENTRY_POINTS
from agui_bridge_mastra import MastraAdapter
from tests.docs.pages import ROOT, run_page

PAGE = ROOT / "docs" / "mastra.md"
TESTED = {
    "a second approval": "test_approvals_of_a_network_at_once_execute_once_in_several_processes",
    "`resume-stream` without": "test_each_answer_goes_to_the_call_that_asked",
    "data that violates": "test_an_answer_that_violates_the_schema_consumes_nothing",
    "agent, thread and resource": "test_an_interrupt_is_answered_only_where_it_was_raised",
    "an approval stays valid": (
        "test_a_stale_approval_is_declined_at_mastra_once_a_new_message_comes"
    ),
    "a run id": "test_a_message_with_an_answer_is_told_once_the_run_is_through",
    "a connection that breaks": "test_a_connection_that_breaks_at_the_question_asks_nothing",
    "a client that closes": "test_a_network_that_is_left_by_force_does_not_end_the_server",
}
"""By the beginning of a row: the test that holds it."""


async def test_its_bridge_has_four_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)

    assert set(page["bridge"].agents) == {"records", "team", "network", "refund"}
    assert page["bridge"].agents["network"].settings.auto_resume == "on"


def test_every_row_of_what_it_guards_against_has_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## What it guards against")[2]
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    rows.remove("Mastra")
    files = [*ROOT.glob("tests/e2e/test_mastra*.py"), *ROOT.glob("tests/adapters/mastra/*.py")]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)

    assert len(rows) == len(TESTED)
    for row in rows:
        found = [test for beginning, test in TESTED.items() if row.startswith(beginning)]
        assert found, row
        assert all(f"def {test}(" in code for test in found)


def test_every_argument_is_listed() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## What becomes what")[0]
    listed = {name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
              for name in re.findall(r"`(\w+)`", row)}  # fmt: skip

    assert listed == set(inspect.signature(MastraAdapter).parameters)


def test_it_is_found_by_its_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    target = project["entry-points"][ENTRY_POINTS]["mastra"]

    assert EntryPoint("mastra", target, ENTRY_POINTS).load() is MastraAdapter
