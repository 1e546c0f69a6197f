"""docs/security.md: the app of its example lets in whom its token stands for."""

import re

import pytest

from tests.docs.pages import ROOT, run_page
from tests.support.server import client, serve


async def test_the_example_asks_for_a_token(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    monkeypatch.setenv("ANN_TOKEN", "a-token-of-some-length")
    page = await run_page(ROOT / "docs" / "security.md")
    async with serve(page["app"]) as base, client(base) as http:
        assert (await http.get("/agents")).status_code == 401
        http.headers["authorization"] = "Bearer a-token-of-some-length"
        assert (await http.get("/agents")).json() == {"agents": []}


def test_the_threat_model_names_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 15
    for path, test in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {test or 'test_'}" in text, f"{path} has no {test}"
