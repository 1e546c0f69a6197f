"""A pause that the installed SDK, or the agent as it is now, can't go on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import RunState

from agui_bridge.testing import talk
from tests.adapters.mails import YES
from tests.adapters.openai_agents.mailer import Mailer
from tests.adapters.openai_agents.talking import serving

pytestmark = pytest.mark.anyio


async def test_a_state_of_another_sdk_is_told_with_versions_and_can_be_answered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    plain = RunState.to_json

    def of_a_later_sdk(self: RunState[Any, Any]) -> dict[str, Any]:
        return {**plain(self), "$schemaVersion": "9.0"}

    with monkeypatch.context() as patched:
        patched.setattr(RunState, "to_json", of_a_later_sdk)
        patched.setattr("agui_bridge_openai_agents.turn.installed_version", lambda name: "99.0.0")
        async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
            asked = await one.say("send bob")
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        refused = await one.answer(asked, YES)
        told = refused.events[-1]
        assert (told["type"], told["code"]) == ("RUN_ERROR", "UPSTREAM_ERROR")
        assert "openai-agents 99.0.0 (state 9.0)" in told["message"]
        assert done == []
    with monkeypatch.context() as patched:
        supported = frozenset({"9.0", "1.21"})
        patched.setattr("agents.run_state.SUPPORTED_SCHEMA_VERSIONS", supported)
        async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
            assert (await one.answer(asked, YES)).ending == "success"
    assert done == [{"to": "bob", "body": "original"}]


async def test_an_agent_that_is_gone_leaves_the_question_open_until_it_is_back(
    tmp_path: Path,
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        asked = await one.say("handoff bob")
    renamed = Mailer(done.append)
    renamed.sales.name = "marketing"
    async with talk(serving(renamed), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "UPSTREAM_ERROR"
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
    assert done == [{"to": "bob", "body": "original"}]


async def test_a_tool_that_is_gone_leaves_the_question_open_until_it_is_back(
    tmp_path: Path,
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        asked = await one.say("inside bob")
    without = Mailer(done.append)
    del without.inner.tools[0]
    async with talk(serving(without), "mailer", store=store) as one:
        told = (await one.answer(asked, YES)).events[-1]["message"]
        assert "agent 'inner' has no tool 'send_email'" in told
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
    assert done == [{"to": "bob", "body": "original"}]
