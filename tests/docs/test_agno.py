"""docs/agno.md: its agents run, ask and answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agno.models.message import Message

from examples.agno.offline import Call, OfflineModel
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "agno.md"


async def writing(messages: list[Message], tools: set[str]) -> AsyncIterator[Any]:
    mail = Call("send_email", {"to": "bob", "body": "Hi"})
    results = [str(message.content) for message in messages if message.role == "tool"]
    if results:
        yield f"Outcome: {results}"
    elif "delegate_task_to_member" in tools:
        yield Call("delegate_task_to_member", {"member_id": "clerk", "task": "write to bob"})
    elif "book" in tools:
        yield mail
        yield Call("book", {"day": "friday"})
    else:
        yield mail


@pytest.mark.parametrize(
    ("agent", "answers"),
    [
        ("mailer", [{"approved": True}, {"hour": 5}]),
        ("secretary", [{"approved": True}, {"hour": 5}]),
        ("office", [{"approved": True}]),
    ],
)
async def test_the_agents_of_the_page_ask_and_go_on(
    agent: str, answers: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    page = await run_page(PAGE)
    for one in ("mailer", "clerk", "office"):
        page[one].model = OfflineModel(reply=writing)
        page[one].telemetry = False
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], agent)
        await talk.say("write to bob")
        reasons = ["tool_call", "input_required"][: len(answers)]
        assert [ask["reason"] for ask in talk.asks] == reasons
        said = await talk.answer(*answers)
        assert "sent to bob" in said
        assert ("booked friday at 5" in said) == (len(answers) == 2)
