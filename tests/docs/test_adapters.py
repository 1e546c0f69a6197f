"""docs/adapters.md: the worked adapter pauses, resumes, is refused and replayed."""

from __future__ import annotations

import asyncio
import re
import tomllib
from pathlib import Path

import pytest

from agui_bridge import Adapter
from agui_bridge.installed import ENTRY_POINTS
from agui_bridge.testing import CHECKS, AdapterSuite
from tests.docs.pages import ROOT, Conversation, run_page, snippets_of

PAGE = ROOT / "docs" / "adapters.md"


async def test_the_worked_adapter_executes_once_and_only_when_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "deployer")
        assert await talk.say("deploy") == "I will deploy. "
        (ask,) = talk.asks
        assert await talk.answer({"approved": False}) == "Left as it was."
        assert page["server"].executed == []
        await talk.say("deploy")
        asked = talk.events
        assert await talk.answer({"approved": True}) == "Done."
        talk.events = asked
        await talk.answer({"approved": True})

    assert ask["reason"] == "tool_call"
    assert page["server"].executed == ["v2.0"]
    assert isinstance(page["FlowAdapter"](page["server"]), Adapter)


def test_the_worked_adapter_passes_every_check_that_applies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite: AdapterSuite = asyncio.run(run_page(PAGE))["TestDeployer"]()

    suite.test_what_is_left_out_does_not_apply()
    for check in CHECKS:
        if not suite.is_left_out(check):
            suite.test_adapter(check)


def test_the_entry_point_is_in_the_group_that_is_looked_up() -> None:
    ((_, toml),) = snippets_of(PAGE, "toml")
    groups = tomllib.loads(toml)["project"]["entry-points"]

    assert list(groups) == [ENTRY_POINTS]


def test_every_link_between_pages_leads_to_a_heading() -> None:
    for page in (PAGE, ROOT / "docs" / "function-agents.md"):
        links = re.findall(r"\]\(([\w.-]+\.md)#([\w-]+)\)", page.read_text(encoding="utf-8"))
        assert links
        for target, anchor in links:
            headings = re.findall(r"^#+ (.+)$", (page.parent / target).read_text(), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}
