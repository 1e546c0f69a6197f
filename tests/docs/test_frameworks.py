"""The README's frameworks: each object is added as it is, asks, and goes on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.adapters.langgraph.mailer import Mailer as Graph
from tests.adapters.openai_agents.mailer import Mailer as Triage
from tests.adapters.pydantic_ai.mailer import Mailer as Support
from tests.docs.pages import ROOT, Conversation, snippets_of


@pytest.mark.parametrize("name", ["support", "triage", "ops"])
async def test_the_agent_of_a_framework_is_added_asks_and_acts_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailers: dict[str, Any] = {"support": Support(), "triage": Triage(), "ops": Graph()}
    own = ModuleType("my_agents")
    own.__dict__.update(
        support=mailers["support"].agent, triage=mailers["triage"].agent, graph=mailers["ops"].graph
    )
    monkeypatch.setitem(sys.modules, "my_agents", own)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(snippets_of(ROOT / "README.md")[0][1], "README.md", "exec"), names)
    async with names["bridge"].lifespan():
        talk = Conversation(names["bridge"], name)
        await talk.say("send bob")
        assert len(talk.asks) == 1
        await talk.answer({"approved": True})
    assert len(mailers[name].done) == 1
