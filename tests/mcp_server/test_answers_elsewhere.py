"""A call whose question is answered on its page, by whoever may, goes on in the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client

from agui_bridge import Bridge, Principal
from tests.mcp_server.agents import made
from tests.mcp_server.asking import ACCEPTED, Person, asking
from tests.support.effects import Effects
from tests.support.server import serve
from tests.support.waiting import eventually

DBA = Principal("default", "dba")

At = Callable[[Person], AbstractAsyncContextManager[Client]]


@pytest.fixture
def bridge(tmp_path: Path, effects: Effects) -> Bridge:
    """The bridge of a test."""
    return made(f"sqlite:///{tmp_path / 'agents.db'}", effects)


@pytest.fixture
async def at(bridge: Bridge) -> AsyncIterator[At]:
    """Gives a client at the bridge."""
    async with serve(bridge.app(anonymous=True)) as base:
        yield lambda person: asking(f"{base}/mcp", person)


async def decide(bridge: Bridge, approved: bool) -> None:
    """Answer the one question that waits, as the inbox does."""
    (row,) = (await bridge.pending(DBA)).rows
    outcome = await bridge.answer(row.ref, {"approved": approved}, principal=DBA, via="inbox")
    assert outcome.status == "resolved"


@pytest.mark.parametrize(
    ("approved", "reply", "executed"),
    [(True, "3 rows of salaries deleted", 1), (False, "Kept: refused.", 0)],
)
async def test_the_client_is_told_what_came_of_it(
    bridge: Bridge, at: At, effects: Effects, approved: bool, reply: str, executed: int
) -> None:
    person = Person([ACCEPTED])
    async with at(person) as client:
        calling = asyncio.ensure_future(client.call_tool("ops", {"message": "salaries"}))
        await eventually(lambda: person.asked)
        assert not calling.done()
        await decide(bridge, approved)
        done = await calling
    assert done.structured_content["text"] == f"I will delete.\n\n{reply}"
    assert effects.counted["deleted salaries"] == executed


async def test_a_page_that_nobody_answers_keeps_the_client_for_some_rounds_and_stays_open(
    bridge: Bridge, at: At, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_bridge.mcp_server.calls.HEARTBEAT", 0.05)
    person = Person([ACCEPTED])
    async with at(person) as client:
        left = await client.call_tool("ops", {"message": "salaries"})
        assert len(person.asked) == 1, "it is shown once"
        assert (left.structured_content["status"], left.is_error) == ("waiting", False)
        thread = left.structured_content["thread"]
        await decide(bridge, True)
        done = await client.call_tool("thread_status", {"agent": "ops", "thread": thread})
    assert done.structured_content["text"] == "I will delete.\n\n3 rows of salaries deleted"
    assert effects.counted == {"deleted salaries": 1}


async def test_a_form_that_somebody_else_was_faster_with_tells_so(
    bridge: Bridge, at: At, effects: Effects
) -> None:
    async def late() -> types.ElicitResult:
        (row,) = (await bridge.pending(DBA)).rows
        await bridge.answer(row.ref, {"approved": False}, principal=DBA, via="inbox")
        return types.ElicitResult(action="accept", content={"approved": True})

    async with at(Person([late])) as client:
        told = await client.call_tool("ops", {"message": "users"})
    (text,) = told.content
    assert isinstance(text, types.TextContent)
    assert told.is_error and "Another answer was given" in text.text
    assert "Kept: refused." in text.text
    assert effects.counted == {}
