"""Every field of the chat API's forms says what it is, in the language of the question."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_bridge import FunctionAdapter, FunctionRun, KeywordAdapter
from agui_bridge.agents.keyword.phrases import CHINESE_REPLIES, ENGLISH_REPLIES
from tests.http.chat.conftest import Serving


async def send(to: str) -> str:
    return f"Sent to {to}."


async def approve(run: FunctionRun, message: str) -> AsyncIterator[str]:
    await run.approve("send", {"to": "all"}, message=message, fn=send)
    yield "Done."


async def confirm(run: FunctionRun, message: str) -> AsyncIterator[str]:
    await run.confirm(message)
    yield "Done."


async def ask(run: FunctionRun, message: str) -> AsyncIterator[str]:
    await run.ask(message)
    yield "Done."


async def ask_in_a_form(run: FunctionRun, message: str) -> AsyncIterator[str]:
    properties = {"maxRows": {"type": "integer"}, "dry_run": {"type": "boolean", "title": " "}}
    await run.ask(message, schema={"type": "object", "properties": properties})
    yield "Done."


ENGLISH, CHINESE = "Which table shall I clean?", "要清理哪张 users 表？"


@pytest.mark.parametrize(
    ("asking", "message", "labels"),
    [
        (approve, ENGLISH, ["Approve", "Reason", "Changed arguments (JSON)"]),
        (approve, CHINESE, ["批准", "理由", "修改后的参数（JSON）"]),
        (confirm, ENGLISH, ["Confirm"]),
        (confirm, CHINESE, ["确认"]),
        (ask, ENGLISH, ["Answer"]),
        (ask, CHINESE, ["答复"]),
        (ask_in_a_form, ENGLISH, ["Max rows", "Dry run"]),
    ],
)
@pytest.mark.parametrize("a2ui", [True, False])
async def test_every_field_has_a_label_in_the_language_of_the_question(
    serving: Serving, asking: Callable[..., Any], message: str, labels: list[str], a2ui: bool
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        async for text in asking(run, message):
            yield text

    async with serving(FunctionAdapter(agent)) as site:
        chat = site.chat(a2ui=a2ui)
        asked = await chat.say()
        state = await chat.state()
    assert asked.interrupt is not None and state is not None
    assert [field["label"] for field in asked.interrupt["fields"]] == labels
    assert state["fields"] == asked.interrupt["fields"]


@pytest.mark.parametrize(
    ("said", "label", "reply"),
    [
        ("Please confirm: 即将删除 1,234 条记录。", "确认", CHINESE_REPLIES.yes),
        ("我将删除 1,234 条记录。Please confirm.", "确认", CHINESE_REPLIES.yes),
        ("请确认：即将删除 users 表。", "确认", CHINESE_REPLIES.yes),
        ("Please confirm: delete the table 用户数据?", "Confirm", ENGLISH_REPLIES.yes),
        ("I will delete 1,234 rows. Please confirm.", "Confirm", ENGLISH_REPLIES.yes),
        ("请确认: shall I delete the users?", "Confirm", ENGLISH_REPLIES.yes),
    ],
)
async def test_a_request_in_words_is_answered_in_the_language_of_its_sentence(
    serving: Serving, said: str, label: str, reply: str
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield said if run.text == "go" else f"Told: {run.text}"

    async with serving(KeywordAdapter(agent)) as site:
        chat = site.chat()
        asked = await chat.say("go")
        assert asked.interrupt is not None
        assert [field["label"] for field in asked.interrupt["fields"]] == [label]
        assert (await chat.answer(confirm=True)).text == f"Told: {reply}"


async def test_a_bare_phrase_is_answered_in_the_language_of_the_user(serving: Serving) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Please confirm." if run.text.startswith("请") else f"Told: {run.text}"

    async with serving(KeywordAdapter(agent)) as site:
        chat = site.chat()
        await chat.say("请帮我删除过期用户")
        assert (await chat.answer(confirm=False)).text == f"Told: {CHINESE_REPLIES.no}"
