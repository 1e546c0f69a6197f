"""A keyword agent behind a real server on a SQLite file, restarted between the runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun, KeywordAdapter
from tests.support.server import post, run_input, serve

Event = dict[str, Any]


class Site:
    """A bridge that is made and served anew for every input.

    Attributes:
        question: what the agent asks, as tokens.
        deleted: what the agent deleted.
        told: what the agent saw at each run: role and content of the messages.
    """

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'agents.db'}"
        self.deleted: list[str] = []
        self.told: list[list[tuple[str, Any]]] = []
        self.question: tuple[str, ...] = ()

    def delete(self, rows: str) -> str:
        self.deleted.append(rows)
        return "gone"

    async def agent(self, run: FunctionRun) -> AsyncIterator[str]:
        self.told.append([(message.role, message.content) for message in run.messages])
        if run.text in ("Yes, I confirm. Please proceed.", "是的，我确认。请继续执行。"):
            await run.call("delete", {"rows": "expired users"}, self.delete)
            yield "Deleted."
            return
        if run.text.startswith(("No", "不", "Thanks")):
            yield "Fine."
            return
        yield "I found 1,234 rows in v2.0. "
        for token in self.question:
            yield token
        # A careless model goes on by itself.
        await run.call("delete", {"rows": "all"}, self.delete)

    async def send(self, text: str | None = None, **members: Any) -> list[Event]:
        bridge = Bridge(self.url)
        bridge.add("agent", KeywordAdapter(self.agent))
        async with serve(bridge.app(anonymous=True)) as base:
            return (await post(base, **run_input(text, **members))).events


def kinds(events: list[Event]) -> set[str]:
    return {event["type"] for event in events}


def answers(events: list[Event], payload: Any) -> list[dict[str, Any]]:
    (ask,) = events[-1]["outcome"]["interrupts"]
    return [{"interruptId": ask["id"], "status": "resolved", "payload": payload}]


@pytest.mark.parametrize(
    ("question", "label", "yes", "no"),
    [
        (
            ("Please", " con", "firm: delete 1,234 rows", "?"),
            "Confirm",
            "Yes, I confirm. Please proceed.",
            "No, I do not confirm. Do not proceed.",
        ),
        (
            ("请", "确认:删除 1,234 条记录。"),
            "确认",
            "是的，我确认。请继续执行。",
            "不，我不确认。请不要执行。",
        ),
    ],
)
async def test_a_request_survives_restarts_and_is_carried_out_once_after_a_yes_and_not_after_a_no(
    tmp_path: Path, question: tuple[str, ...], label: str, yes: str, no: str
) -> None:
    site = Site(tmp_path)
    site.question = question

    asked = await site.send("clean up", thread="a")
    refused = await site.send(None, thread="a", resume=answers(asked, {"confirm": False}))
    again = await site.send("clean up again", thread="a")
    confirm = answers(again, {"confirm": True})
    assert site.deleted == []
    wrong = await site.send(None, thread="a", resume=answers(again, {"confirm": "yes"}))
    done = await site.send(None, thread="a", resume=confirm)
    replayed = await site.send(None, thread="a", resume=confirm)
    await site.send("Thanks", thread="a")

    (ask,) = asked[-1]["outcome"]["interrupts"]
    sentence = "".join(question)
    assert (ask["reason"], ask["message"]) == ("confirmation", sentence)
    assert ask["responseSchema"]["properties"] == {"confirm": {"type": "boolean", "title": label}}
    assert "TOOL_CALL_START" not in kinds(asked)
    assert wrong[-1]["code"] == "INVALID_RESUME_PAYLOAD"
    assert [e[-1]["outcome"]["type"] for e in (refused, done, replayed)] == ["success"] * 3
    assert "TOOL_CALL_RESULT" in kinds(done) and "TOOL_CALL_RESULT" not in kinds(replayed)
    assert site.deleted == ["expired users"]

    request = ("assistant", f"I found 1,234 rows in v2.0. {sentence}")
    assert site.told[1] == [("user", "clean up"), request, ("user", no)]
    later = [m for m in site.told[-1] if m[0] == "user" or m == request]
    assert later == [
        ("user", "clean up"),
        request,
        ("user", no),
        ("user", "clean up again"),
        request,
        ("user", yes),
        ("user", "Thanks"),
    ]
