"""A run that takes back what it told: the conversation stays as it was, but for that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving
from tests.support.agents import Scripted, redacted, text_events
from tests.support.server import run_input

LATER = {"type": "hologram", "of": {"x": [1]}}
FIRST: dict[str, Any] = {
    "id": "u1",
    "role": "user",
    "content": [{"type": "text", "text": "Hi"}, LATER],
}
SECOND: dict[str, Any] = {"id": "u2", "role": "user", "content": "Again"}


async def redacting(run: Run) -> AsyncIterator[RunItem]:
    """Say a secret, and take it back before going on."""
    for event in text_events(run.mint(), "It is 1234."):
        yield event
    yield redacted(run, "It is 1234.", "It is hidden.")
    yield "Goodbye."


@pytest.mark.parametrize("history", ["server", "client"])
async def test_all_else_that_the_thread_has_stays(serving: Serving, history: str) -> None:
    async with serving(Scripted(redacting), history=history) as site:
        for message in (FIRST, SECOND):
            body = run_input(None, run=message["id"], messages=[message])
            stream = (await site.http.post("/agents/agent", json=body)).text
        messages = (await site.http.get("/agents/agent/threads/t")).json()["messages"]
    said = ["It is hidden.", "Goodbye."]
    assert [m["content"] for m in messages] == [FIRST["content"], *said, "Again", *said]
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    (shown,) = [e["messages"] for e in events if e["type"] == "MESSAGES_SNAPSHOT"]
    assert shown == messages[:-1]
    assert events[-1]["type"] == "RUN_FINISHED"
