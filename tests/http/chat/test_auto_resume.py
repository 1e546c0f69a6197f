"""Messages that answer questions through the chat API, where the agent's setting allows it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agui_bridge import FunctionAdapter, FunctionRun, KeywordAdapter
from tests.http.chat.conftest import Serving
from tests.support.server import post, run_input

QUESTION = "Delete 1,234 rows?"


async def asking(run: FunctionRun) -> AsyncIterator[str]:
    yield "I found some rows."
    yield " Deleted." if await run.confirm(QUESTION) else " Kept."


async def in_words(run: FunctionRun) -> AsyncIterator[str]:
    yield "Please confirm: delete the rows." if run.text == "go" else "Deleted."


async def approving(run: FunctionRun) -> AsyncIterator[str]:
    approval = await run.approve("delete", {"rows": 3})
    yield f"{approval.approved}"


@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_question_stands_once_and_a_message_answers_it(
    serving: Serving, a2ui: bool
) -> None:
    async with serving(FunctionAdapter(asking), auto_resume="on") as site:
        chat = site.chat(a2ui=a2ui)
        asked = await chat.say("go")
        assert asked.interrupt is not None
        assert (asked.text, asked.interrupt["reason"]) == ("I found some rows.", QUESTION)
        answered = await chat.say("yes, go ahead")
        assert (answered.text.strip(), answered.interrupt) == ("Deleted.", None)
        assert await chat.state() is None


async def test_an_agent_that_asks_in_words_is_answered_by_a_message(serving: Serving) -> None:
    async with serving(KeywordAdapter(in_words), auto_resume="on") as site:
        chat = site.chat()
        asked = await chat.say("go")
        assert asked.interrupt is not None and asked.text == ""
        assert (await chat.say("Yes")).text == "Deleted."


async def test_a_message_that_is_no_answer_asks_again_and_says_why(serving: Serving) -> None:
    async with serving(FunctionAdapter(asking), auto_resume="on") as site:
        chat = site.chat()
        await chat.say("go")
        again = await chat.say("what rows?")
        assert again.interrupt is not None and again.text == ""
        assert (
            again.interrupt["reason"] == f"The message was not understood as an answer. {QUESTION}"
        )
        assert (await chat.state() or {})["reason"] == QUESTION
        assert (await chat.answer(confirm=False)).text.strip() == "Kept."


async def test_a_message_never_approves_a_tool_call(serving: Serving) -> None:
    async with serving(FunctionAdapter(approving), auto_resume="on") as site:
        chat = site.chat()
        await chat.say("go")
        again = await chat.say("yes")
        assert again.interrupt is not None
        assert again.interrupt["reason"].startswith(
            "A tool call is approved or declined explicitly"
        )


async def test_a_question_that_a_chat_raised_is_said_to_clients_of_agui(serving: Serving) -> None:
    async with serving(FunctionAdapter(asking), auto_resume="on") as site:
        chat = site.chat(session="t")
        await chat.say("go")
        thread = (await site.http.get("/agents/agent/threads/t")).json()
        assert [m["content"] for m in thread["messages"]][-1] == QUESTION
        messages = [*thread["messages"], {"id": "new", "role": "user", "content": "no"}]
        stream = await post(site.base, **run_input(None, thread="t", messages=messages))
    assert stream.events[-1]["outcome"] == {"type": "success"}


async def test_without_the_setting_a_message_repeats_the_question(serving: Serving) -> None:
    async with serving(FunctionAdapter(asking)) as site:
        chat = site.chat()
        first = await chat.say("go")
        assert (await chat.say("yes")).interrupt == first.interrupt
