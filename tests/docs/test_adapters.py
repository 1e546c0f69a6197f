"""docs/adapters.md: the worked adapter pauses, resumes, is refused and replayed."""

from __future__ import annotations

import asyncio
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Adapter
from agui_bridge.engine.engine import mint
from agui_bridge.installed import ENTRY_POINTS
from agui_bridge.stores.memory import MemoryStore
from agui_bridge.testing import CHECKS, AdapterSuite
from tests.docs.pages import ROOT, Conversation, run_page, snippets_of
from tests.support.agents import Bench, outcome

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


@pytest.mark.parametrize("name", ["TestDeployer", "TestTeam"])
def test_the_worked_adapters_pass_every_check_that_applies(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite: AdapterSuite = asyncio.run(run_page(PAGE))[name]()

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


async def test_the_worked_task_gets_the_answer_where_it_waits_or_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page, executed, store = await run_page(PAGE), list[str](), MemoryStore()
    adapters = [page["TaskAdapter"](executed) for _ in range(2)]
    one, other = (Bench(adapter, store=store) for adapter in adapters)

    assert outcome(await other.say(resume=other.entries(await asked_by(one)))) == "success"
    assert (executed, adapters[0]._waiting) == (["v2.0"], {})

    asked = await asked_by(one)
    await one.engine.holds.let_go_all()
    assert adapters[0]._waiting == {}
    assert outcome(await other.say(resume=other.entries(asked))) == "success"
    assert executed == ["v2.0", "v2.0"]


async def asked_by(bench: Bench) -> list[dict[str, Any]]:
    """What an agent asks that is told to deploy, anew each time."""
    told = await bench.say("deploy", messages=[{"id": mint(), "role": "user", "content": "deploy"}])
    asked: list[dict[str, Any]] = told[-1]["outcome"]["interrupts"]
    return asked
