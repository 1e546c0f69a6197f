"""docs/conformance.md, followed as its reader does, against pydantic-ai's own endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from agui_bridge.conformance import load, run_suite
from tests.docs.pages import ROOT, snippets_of
from tests.support import unavailable
from tests.support.pydantic_ai import PYTHON

PAGE = ROOT / "docs" / "conformance.md"


@pytest.mark.timeout(300)
async def test_the_page_leads_from_an_empty_folder_to_a_judged_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not PYTHON.exists():
        unavailable("pydantic-ai", "`make e2e` sets its environment up")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text(snippets_of(PAGE)[0][1])
    # The reader has both in one environment.
    checks = snippets_of(PAGE, "toml")[0][1].replace("{python}", str(PYTHON))
    config = tmp_path / "checks.toml"
    config.write_text(checks)

    report = await run_suite(load(config), only=["answer", "race.identical"])

    ended = {result.check.id: result.status for result in report.results}
    assert ended["answer.approve-once"] == ended["answer.edit"] == "pass"
    assert ended["race.identical"] == "fail"
    assert any(line.startswith("edits: offered") for line in report.found)
