"""docs/strands.md: its agents run, ask and answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from examples.strands.model import Call, Message, OfflineModel, results_in
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "strands.md"


async def writing(messages: list[Message], _: Collection[str]) -> AsyncIterator[str | Call]:
    if results := results_in(messages[-1]):
        yield f"Outcome: {results}"
    else:
        yield Call("send_email", {"to": "bob", "body": "Hi"})
        yield Call("book", {"day": "friday"})


@pytest.mark.parametrize("agent", ["mailer", "secretary"])
async def test_the_agents_of_the_page_ask_and_go_on(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")  # a model is asked nothing here
    page = await run_page(PAGE)
    page["mailer"].model = OfflineModel(writing)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("write to bob")
        asks = {ask["reason"]: ask.get("message") for ask in talk.asks}
        assert set(asks) == {"tool_call", "strands:hour"}
        assert asks["strands:hour"] == "When on friday?"
        payloads = [{"approved": True} if a["reason"] == "tool_call" else 5 for a in talk.asks]
        told = await talk.answer(*payloads)
    assert "sent to bob" in told
    assert "booked at 5" in told
