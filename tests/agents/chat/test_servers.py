"""However a server streams a reply, what comes of it is the same, or nothing is executed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge, EndReason, Run
from agui_bridge.agents.chat import ChatAgent, tool
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import Talk, talk
from tests.servers.model.chat_completions import ChatReply
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel

executed: list[str] = []


@tool
def look(day: str = "every day") -> str:
    executed.append(day)
    return f"free on {day}"


@contextlib.asynccontextmanager
async def talking(*replies: Reply, **options: Any) -> AsyncIterator[tuple[Talk, ScriptedModel]]:
    executed.clear()
    async with ScriptedModel(*replies) as model:
        bridge = Bridge(telemetry=False)
        if hook := options.pop("on_run_end", None):
            bridge.on_run_end(hook)
        settings = {"tools": [look], "base_url": model.base_url, "api_key": "k", "retries": 0}
        bridge.add("agent", ChatAgent("scripted", **{**settings, **options}))
        async with talk(bridge, "agent") as it:
            yield it, model


def fragment(arguments: str | None = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]}


MONDAY, FRIDAY = '{"day": "monday"}', '{"day": "friday"}'


@pytest.mark.parametrize(
    ("deltas", "days"),
    [
        ([fragment('{"day": ', index=0), fragment('"monday"}', "look", index=0)], ["monday"]),
        ([fragment(MONDAY, index=0), fragment(None, "look", index=0)], ["monday"]),
        ([fragment("", "lo", index=0), fragment(MONDAY, "ok", index=0)], ["monday"]),
        ([fragment(MONDAY, "look"), fragment(FRIDAY, "look")], ["monday", "friday"]),
        (
            [fragment(MONDAY, "look", index=0, id=""), fragment(FRIDAY, "look", index=0, id="")],
            ["monday", "friday"],
        ),
        ([fragment(MONDAY, "look", index=0), fragment("", "look", index=0)], ["monday"]),
    ],
    ids=[
        "name in the middle",
        "name after the arguments",
        "name in pieces",
        "neither ids nor index",
        "empty ids, one index",
        "name said again",
    ],
)
async def test_calls_are_told_apart_and_run_once_each(deltas: list[Any], days: list[str]) -> None:
    async with talking(ChatReply(deltas_more=deltas), Reply("Done.")) as (it, model):
        stream = await it.say("go")
        assert sorted(executed) == sorted(days)
        assert stream.ending == "success"
        names = [e["toolCallName"] for e in stream.events if e["type"] == "TOOL_CALL_START"]
        assert names == ["look"] * len(days)
        results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
        assert results == [f"free on {day}" for day in days]


async def test_a_call_that_comes_again_under_its_id_is_refused_rather_than_run_twice() -> None:
    echoed = [fragment(MONDAY, "look", id="same", index=0)] * 2
    async with talking(ChatReply(deltas_more=echoed), Reply("Hm.")) as (it, model):
        assert (await it.say("go")).text == "Hm."
        assert executed == []
        assert "The arguments don't fit" in model.requests[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("name", "told"), [(None, "unknown"), ("multi_tool_use.parallel", "multi_tool_use_parallel")]
)
async def test_a_call_with_a_name_that_can_not_be_leaves_a_conversation_that_can(
    name: str | None, told: str
) -> None:
    made_up = ChatReply(deltas_more=[fragment(MONDAY, name, index=0)])
    async with talking(made_up, Reply("Hm."), Reply("Yes?")) as (it, model):
        assert (await it.say("go")).text == "Hm."
        await it.say("again")
        assert executed == []
        for request in model.requests[1:]:
            calls = [c for m in request.messages for c in m.get("tool_calls", ())]
            assert [call["function"]["name"] for call in calls] == [told]


async def test_a_call_that_was_cut_before_its_arguments_is_not_executed_without_them() -> None:
    cut = ChatReply(calls=[ToolUse("look", "")], finish="length")
    async with talking(cut, Reply("Hm.")) as (it, model):
        await it.say("go")
        assert executed == []
        assert "The arguments don't fit" in model.requests[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("So far", "So far\n\nI stop here: the reply has come to its limit of tokens."),
        ("", "I stop here: the reply has come to its limit of tokens."),
    ],
    ids=["within its text", "before any text"],
)
async def test_a_reply_that_was_cut_off_says_so_and_is_no_success(text: str, said: str) -> None:
    reasons: list[EndReason] = []

    async def hook(run: Run, reason: EndReason) -> None:
        reasons.append(reason)

    async with talking(ChatReply(text, finish="length"), on_run_end=hook) as (it, _):
        assert (await it.say("go")).text == said
    assert reasons == [EndReason.CONTEXT_TOKEN_LIMIT]


@pytest.mark.parametrize("arguments", ['{"day": "fri', '{"day": "fri"}'], ids=["open", "closed"])
async def test_the_call_at_which_a_reply_was_cut_off_is_not_executed_those_before_are(
    arguments: str,
) -> None:
    calls = [ToolUse("look", {"day": "monday"}, id="a"), ToolUse("look", arguments, id="b")]
    async with talking(ChatReply(calls=calls, finish="length"), Reply("Hm.")) as (it, model):
        await it.say("go")
    assert executed == ["monday"]
    told = "The arguments don't fit: the reply came to its limit of tokens before their end."
    assert model.requests[1].messages[-1]["content"] == f"{told} It was not executed."


async def test_a_refusal_is_said() -> None:
    async with talking(ChatReply(deltas_more=[{"refusal": "I can't help"}])) as (it, _):
        assert (await it.say("go")).text == "I can't help"


async def test_reasoning_is_not_taken_for_the_reply() -> None:
    thinking = {"reasoning_content": "Hm, hm."}
    async with talking(ChatReply(deltas_more=[thinking, {"content": "Yes."}])) as (it, _):
        assert (await it.say("go")).text == "Yes."


@pytest.mark.parametrize("approval", ["never", "always"])
async def test_reasoning_goes_back_to_its_server_until_the_turn_is_over(approval: Any) -> None:
    thinking = [{"reasoning_content": "Which day? "}, {"reasoning_content": "Monday."}]
    call = ToolUse("look", {"day": "monday"})
    thoughtful = ChatReply("So: ", calls=[call], deltas_more=thinking)
    replies = (thoughtful, Reply(calls=[call]), Reply("Free."), Reply("Yes."))
    async with talking(*replies, tools=[look.but(approval=approval)]) as (it, model):
        stream = await it.say("go")
        while stream.asks:
            stream = await it.answer(stream, {"approved": True})
        await it.say("sure?")
    sent = [[m for m in r.messages if m["role"] == "assistant"] for r in model.requests]
    thought = {"content": "So: ", "reasoning_content": "Which day? Monday."}
    assert sent[1][0].items() >= thought.items()
    assert sent[2][0].items() >= thought.items()
    assert "reasoning_content" not in sent[2][1]
    assert all("reasoning_content" not in message for message in sent[3])


async def test_a_server_that_counts_in_every_chunk_is_counted_once() -> None:
    counts = [{"total_tokens": n} for n in (5, 6, 7)]
    replies = [
        ChatReply(calls=[ToolUse("look", {})], usages=counts),
        ChatReply("Done.", usages=counts),
    ]
    async with talking(*replies, max_tokens=10) as (it, _):
        stream = await it.say("go")
        assert stream.text == "Done."
        assert [used["totalTokens"] for used in stream.events[-1]["usage"]] == [7, 7]


async def test_an_option_that_only_this_server_knows_reaches_it() -> None:
    async with talking(Reply("Hi."), options={"top_k": 3, "temperature": 0.5}) as (it, model):
        assert (await it.say("go")).text == "Hi."
        assert (model.requests[0].body["top_k"], model.requests[0].body["temperature"]) == (3, 0.5)


def test_what_the_agent_itself_sends_is_no_option() -> None:
    with pytest.raises(ConfigurationError, match="itself sends messages, stream"):
        ChatAgent("m", options={"stream": False, "messages": [], "top_p": 1})


async def test_an_agent_can_be_talked_to_again_after_its_bridge_was_closed() -> None:
    async with ScriptedModel(Reply("One."), Reply("Two.")) as model:
        bridge = Bridge(telemetry=False)
        bridge.add("agent", ChatAgent("scripted", base_url=model.base_url, api_key="k", retries=0))
        said = []
        for _ in range(2):
            async with talk(bridge, "agent") as it:
                said.append((await it.say("hi")).text)
        assert said == ["One.", "Two."]
