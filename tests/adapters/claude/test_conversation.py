"""A session goes on with its thread: also where the client goes back; and what it used is told."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.testing import Talk, talk
from agui_bridge.testing.conversation import Stream
from tests.adapters.claude.coder import Coder
from tests.adapters.claude.model import FakeClaude

pytestmark = [pytest.mark.timeout(240), pytest.mark.soak]

YES = {"approved": True}


def talking(coder: Coder, **options: Any) -> AbstractAsyncContextManager[Talk]:
    bridge = Bridge("memory:")
    bridge.add("coder", coder.adapter(**options))
    return talk(bridge, "coder", patience=100)


def heard(model: FakeClaude) -> list[tuple[str, str]]:
    """What the model was told last, without what Claude Code says beside it."""
    told = []
    for message in model.requests[-1]["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            said = str(block.get("text") or block.get("input") or block.get("content"))
            if block["type"] != "text" or not said.startswith("<system-reminder>"):
                told.append((f"{message['role']}: {block['type']}", said))
    return told


# --- going back ---


async def edit(one: Talk, place: int, text: str) -> Stream:
    """Send the thread with another message of the user's, the last one at a place."""
    messages = await one.messages()
    newest = next(m["id"] for m in reversed(messages) if m["role"] in ("user", "assistant"))
    edited = {"id": f"edited: {text}", "role": "user", "content": text}
    return await one.send([*messages[:place], edited], newest=newest)


async def test_an_edited_message_forks_the_session_before_it(
    coder: Coder, model: FakeClaude
) -> None:
    async with talking(coder) as one:
        asked = await one.say("send bob")
        assert (await one.answer(asked, YES)).ending == "success"
        second = len(await one.messages())
        await one.say("think trees")
        told = await edit(one, second, "think stones")
        assert (told.ending, told.text) == ("success", "I thought of stones.")
        first = [
            ("user: text", "send bob"),
            ("assistant: text", "I will do it. "),
            ("assistant: tool_use", "{'to': 'bob', 'body': 'original'}"),
        ]
        then = heard(model)
        # It has its calls and their results as they were, not as a text that tells of them.
        assert then[:3] == first
        assert "sent to bob" in then[3][1]
        assert ("assistant: text", "Done with 1 calls.") in then
        assert then[-1] == ("user: text", "think stones")
        assert "trees" not in str(then)
        # Once more, behind the fork; and it goes on.
        assert (await edit(one, second, "think moss")).text == "I thought of moss."
        assert "stones" not in str(heard(model))
        assert heard(model)[:3] == first
        assert (await one.say("hello")).ending == "success"
        assert ("user: text", "think moss") in heard(model)
    assert [done["to"] for done in coder.executed] == ["bob"]


async def test_a_reply_that_is_asked_anew_forks_the_session_before_its_message(
    coder: Coder, model: FakeClaude
) -> None:
    async with talking(coder) as one:
        await one.say("look bob")
        await one.say("think trees")
        told = await one.send((await one.messages())[:-1])
        assert (told.ending, told.text) == ("success", "I thought of trees.")
    then = heard(model)
    assert then[0] == ("user: text", "look bob")
    assert then.count(("user: text", "think trees")) == 1
    assert coder.executed == ["looked up bob"]


async def test_a_call_that_waited_when_the_client_went_back_is_not_carried_out(
    coder: Coder, model: FakeClaude
) -> None:
    async with talking(coder) as one:
        await one.say("look ann")
        second = len(await one.messages())
        assert (await one.say("send bob")).ending == "interrupt"
        await one.stop()
        told = await edit(one, second, "think stones")
        assert told.ending == "success"
    *before, last = heard(model)
    assert before[0] == ("user: text", "look ann")
    # Of that call it knows what the bridge says of it, with the message.
    assert (len(before), "bob" in str(before)) == (5, False)
    assert last[1].startswith("think stones\n")
    assert coder.executed == ["looked up ann"]


async def test_the_first_message_edited_begins_a_new_session(
    coder: Coder, model: FakeClaude
) -> None:
    async with talking(coder) as one:
        await one.say("think trees")
        assert (await edit(one, 0, "think stones")).text == "I thought of stones."
    assert heard(model) == [("user: text", "think stones")]


# --- usage ---


async def test_usage_and_cost_are_of_all_that_the_run_asked_the_model(
    coder: Coder, model: FakeClaude
) -> None:
    async with talking(coder) as one:
        asked = await one.say("send bob")
        (usage,) = asked.events[-1]["usage"]
        requests = len(model.requests)
        assert usage["inputTokens"] == 4 * requests
        told = await one.answer(asked, YES)
        (usage,) = told.events[-1]["usage"]
        requests = len(model.requests) - requests
    assert usage == {
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "inputTokens": 4 * requests,
        "outputTokens": 3 * requests,
        "totalTokens": 7 * requests,
        "cachedInputTokens": requests,
        "cacheWriteInputTokens": 2 * requests,
        "reasoningTokens": 0,
        "costUsd": usage["costUsd"],
    }
    # By the prices of that model for a million: 1 $ in, 0.1 $ cached, 1.25 $ written, 5 $ out.
    assert usage["costUsd"] == pytest.approx(requests * (1 + 0.1 + 2 * 1.25 + 3 * 5) / 1e6)


async def test_what_was_used_is_counted_once_where_a_message_comes_with_the_answer(
    coder: Coder, model: FakeClaude
) -> None:
    async with talking(coder) as one:
        asked = await one.say("send bob")
        requests = len(model.requests)
        told = await one.begin("think moss", resume=asked.entries(YES)).rest()
        (usage,) = told.events[-1]["usage"]
        requests = len(model.requests) - requests
    assert (usage["outputTokens"], requests) == (3 * requests, 2)
    assert "I thought of moss." in told.text
