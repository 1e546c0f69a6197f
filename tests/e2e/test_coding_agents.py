"""Codex and Gemini CLI, as they are published, behind the bridge: what people say is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.docs.pages import Conversation
from tests.e2e.coding_agents import AGENTS, COMMAND, Place, have_asked, model_serving
from tests.support.forks import fork_talking
from tests.support.waiting import PATIENCE

YES = {"approved": True}
NO = {"approved": False, "reason": "not now"}
FORGETS = {"gemini"}
"""Agents that save a turn as they end: of one that was killed, no session can be loaded."""


@pytest.fixture(params=list(AGENTS))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with model_serving() as model:
        place = Place(request.param, tmp_path, model)
        yield place
        await place.kill_agents()


async def asked(place: Place, talk: Conversation) -> None:
    """Have it ask for the command, which is not run by that."""
    await talk.say(f"run {COMMAND}")
    assert [ask["reason"] for ask in talk.asks] == ["tool_call"]
    assert place.done == []


def results(talk: Conversation) -> dict[str, str]:
    """What the last run told of calls, by their ids."""
    return {e["toolCallId"]: e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"}


async def test_what_was_approved_is_run_once(place: Place) -> None:
    bridge = place.bridge()
    talk = Conversation(bridge, "coder")
    await asked(place, talk)
    events = talk.events
    assert "It is run." in await talk.answer(YES)
    assert place.done == ["done"]
    talk.events = events
    await talk.answer(YES)
    assert place.done == ["done"]
    await bridge.aclose()


async def test_a_command_is_shown_as_it_would_run(place: Place) -> None:
    bridge = place.bridge()
    talk = Conversation(bridge, "coder")
    await asked(place, talk)
    (ask,) = talk.asks
    if place.agent == "codex":
        assert ask["metadata"]["agui_bridge"]["preview"] == {
            "type": "command",
            "command": f"/bin/bash -lc '{COMMAND}'",
            "folder": str(place.work),
            "cut": False,
        }
    else:
        # Gemini tells no arguments: it has the command in the title, which is shown as one.
        (arguments,) = (e["delta"] for e in talk.events if e["type"] == "TOOL_CALL_ARGS")
        assert json.loads(arguments)["title"] == COMMAND
    await bridge.aclose()


async def test_what_was_declined_is_not_run(place: Place) -> None:
    bridge = place.bridge()
    talk = Conversation(bridge, "coder")
    await asked(place, talk)
    (ask,) = talk.asks
    await talk.answer(NO)
    assert place.done == []
    assert "not now" in results(talk)[ask["toolCallId"]]
    await bridge.aclose()


@pytest.mark.parametrize("payload", [YES, NO], ids=["approved", "declined"])
@pytest.mark.parametrize("victim", ["agent", "bridge", "both"])
async def test_whoever_is_killed_while_it_asks_the_answer_counts_once(
    place: Place, victim: str, payload: dict[str, bool]
) -> None:
    arguments = (place.agent, str(place.folder), place.model)
    if victim == "agent":
        bridge = place.bridge()
        talk = Conversation(bridge, "coder")
        await asked(place, talk)
        await place.kill_agents()
    else:
        process, line = fork_talking(have_asked, *arguments)
        try:
            events = await asyncio.to_thread(line.recv)
            process.kill()
            process.join(PATIENCE)
        finally:
            line.close()
        if victim == "both":
            await place.kill_agents()
        # An agent ends with the bridge that started it.
        await place.until_nobody_lives()
        bridge = place.bridge()
        talk = Conversation(bridge, "coder")
        talk.events = events
    (ask,) = talk.asks
    assert place.done == []
    await talk.answer(payload)
    lost = talk.events[-1].get("code") == "UPSTREAM_ERROR"
    if lost:
        assert place.agent in FORGETS
        assert "does not know this conversation any more" in talk.events[-1]["message"]
    assert place.done == (["done"] if payload is YES and not lost else [])
    assert list(results(talk)) == [ask["toolCallId"]]
    await bridge.aclose()
