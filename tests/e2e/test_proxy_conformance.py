"""What the conformance kit sees of pydantic-ai behind the bridge is what docs/proxy.md says."""

from __future__ import annotations

import pytest

from agui_bridge.conformance import load, run_suite
from docs.generators.proxy import FOLDER, PAGE, marks, proxy_page
from tests.support import unavailable
from tests.support.pydantic_ai import PYTHON

RACES = ("race.identical", "race.identical-two-processes")


@pytest.fixture(autouse=True)
def in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the configurations find what they start."""
    if not PYTHON.exists():
        unavailable("pydantic-ai", "`make e2e` sets its environment up")
    monkeypatch.chdir(FOLDER.parents[1])


@pytest.mark.timeout(600)
async def test_behind_the_bridge_every_check_that_applies_passes_as_the_page_says() -> None:
    report = await run_suite(load(FOLDER / "behind.toml"))
    failed = [
        f"{r.check.id}: {r.detail}" for r in report.results if r.status in ("fail", "blocked")
    ]
    assert failed == []
    seen = {result.check.id: result.status for result in report.results}
    told = marks(PAGE.read_text(encoding="utf-8"))
    assert set(told) == {check for check, status in seen.items() if status != "skip"}
    assert {behind for _, behind in told.values()} == {"P"}


@pytest.mark.timeout(300)
async def test_alone_it_executes_twice_as_the_page_says() -> None:
    report = await run_suite(load(FOLDER / "direct.toml"), only=RACES)
    assert [result.status for result in report.results] == ["fail"] * len(report.results)
    told = marks(PAGE.read_text(encoding="utf-8"))
    assert [told[check][0] for check in RACES] == ["F"] * len(RACES)


def test_the_page_keeps_its_own_text_when_the_table_is_made_anew() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "## What it can't" in text
    assert "## What it can't" in proxy_page(text, [])
