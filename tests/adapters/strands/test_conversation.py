"""Conversations: what a model is told of them, what is kept beside them, and what fails."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import MessageAddedEvent

from agui_bridge import Bridge, Principal, Run
from agui_bridge.protocol.dialects.parsing import parse_input
from agui_bridge.testing import talk
from agui_bridge_strands import StrandsAdapter
from examples.strands.model import Call, Message, OfflineModel
from tests.adapters.mails import YES
from tests.adapters.strands.mailer import Mailer
from tests.adapters.strands.talking import conversing, serving, talking
from tests.docs.pages import Conversation

pytestmark = pytest.mark.anyio

PICTURE = b"\x89PNG of a cat"
DANGLING: Any = [
    {"role": "user", "content": [{"text": "hello eve"}]},
    {
        "role": "assistant",
        "content": [
            {"toolUse": {"toolUseId": "old", "name": "send_email", "input": {"to": "eve"}}}
        ],
    },
]


# --- what is never carried out ---


@pytest.mark.parametrize("gated", [("send_email",), ()])
async def test_a_history_that_ends_in_a_dangling_call_is_answered_and_never_executed(
    gated: tuple[str, ...],
) -> None:
    mailer = Mailer(gated=gated, messages=DANGLING)
    function = {"name": "send_email", "arguments": '{"to": "bob"}'}
    call = {"id": "c1", "type": "function", "function": function}
    async with conversing(serving(mailer)) as one:
        await one._send(
            messages=[
                {"id": "u1", "role": "user", "content": "hello"},
                {"id": "a1", "role": "assistant", "content": "", "toolCalls": [call]},
            ]
        )
        await one.say("hello")
    assert mailer.done == []
    assert all(
        any("toolResult" in block for block in after["content"])
        for before, after in itertools.pairwise(mailer.requests[-1])
        if any("toolUse" in block for block in before["content"])
    )
    assert len(mailer.results("send_email")) >= 1


async def test_a_pause_that_was_stopped_is_not_executed_by_the_next_message() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("both bob")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
        await one.answer(asked, YES, YES)
    assert mailer.done == []
    roles = [message["role"] for message in mailer.requests[-1]]
    assert all(first != second for first, second in itertools.pairwise(roles))


# --- what is kept ---


async def test_pictures_are_heard_through_a_pause_and_after_it(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/agents.db"
    data = base64.b64encode(PICTURE).decode()
    source = {"type": "data", "value": data, "mimeType": "image/png"}
    paper = {"type": "data", "value": data, "mimeType": "application/pdf"}
    content = [
        {"type": "image", "source": source},
        {"type": "document", "source": paper, "metadata": {"filename": "a_b.pdf"}},
        {"type": "text", "text": "send bob"},
    ]
    async with conversing(serving(Mailer(), store)) as one:
        await one._send(messages=[{"id": "u1", "role": "user", "content": content}])
        asked = one.asks
    mailer = Mailer()
    async with conversing(serving(mailer, store)) as one:
        entry = {"interruptId": asked[0]["id"], "status": "resolved", "payload": YES}
        await one._send(resume=[entry])
        await one._send(messages=[{"id": "u2", "role": "user", "content": "hello"}])
    image, document, _ = mailer.requests[-1][0]["content"]
    assert image == {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    assert document["document"]["name"] == "a b pdf"
    assert document["document"]["source"] == {"bytes": PICTURE}
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_what_the_page_shows_stands_beside_a_lone_picture() -> None:
    source = {
        "type": "data",
        "value": base64.b64encode(PICTURE).decode(),
        "mimeType": "image/png",
    }
    mailer = Mailer()
    async with talking(mailer) as one:
        one.context = [{"description": "page", "value": "INV-1"}]
        stream = await one.begin([{"type": "image", "source": source}]).rest()
        assert stream.ending == "success"
    ((message,),) = mailer.requests
    assert [next(iter(block)) for block in message["content"]] == ["image", "text"]
    assert "INV-1" in message["content"][1]["text"]


async def test_the_agents_state_goes_with_the_thread_alone(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/agents.db"
    async with talk(serving(Mailer(state={"mood": "calm"})), "mailer", store=store) as one:
        await one.say("mood glad")
    mailer = Mailer(state={"mood": "calm"})
    async with talk(serving(mailer), "mailer", store=store) as one:
        asked = await one.say("moodandsend sad")
        assert mailer.results("set_mood") == ["it was calm", "it was glad"]
        await one.stop()
        stream = await one.say("mood wild")
        assert mailer.results("set_mood")[-1] == "it was sad"
        assert b'"calm"' not in stream.raw
        await one.answer(asked, YES)
    async with talk(serving(mailer), "mailer") as one:
        await one.say("mood glad")
    assert mailer.results("set_mood") == ["it was calm"]
    assert mailer.agent.state.get() == {"mood": "calm"}
    assert mailer.agent.messages == []


async def test_two_threads_at_once_share_an_agent_and_nothing_else() -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    async with bridge.lifespan():
        one, other = Conversation(bridge, "mailer", "one"), Conversation(bridge, "mailer", "other")
        waiting = asyncio.create_task(one.say("wait"))
        await asyncio.wait_for(mailer.begun.wait(), 10)
        await other.say("inside bob")
        assert "wait" not in mailer.told()
        mailer.finish.set()
        assert "Done with 1 calls." in await waiting
        assert "Done with 1 calls." in await other.answer(YES)
    assert mailer.done == ["waited", {"to": "bob", "body": "original"}]


async def test_what_a_tool_did_is_told_when_the_model_fails_after_it() -> None:
    mailer = Mailer(retry_strategy=None)
    async with talking(mailer) as one:
        assert (await one.say("lookandfail bob")).ending == "AGENT_ERROR"
        assert mailer.done == ["looked up bob"]
        told = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert (await one.say("hello")).text == "Hello."
    assert told == mailer.results("look_up") == ["bob is known"]
    assert mailer.done == ["looked up bob"]


async def test_a_tool_that_raises_is_told_to_the_model() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        assert (await one.say("fail")).ending == "success"
    assert mailer.results("break_down") == ["Error: RuntimeError - no network"]


# --- what else the agent is given ---


async def test_what_an_adapter_around_it_tells_the_model_is_an_instruction() -> None:
    heard: list[Any] = []

    class Listening(OfflineModel):
        async def stream(self, messages: Any, *rest: Any, **named: Any) -> AsyncIterator[Any]:
            heard.append([*rest, *named.values()])
            async for event in super().stream(messages):
                yield event

    async def said(_: Any, __: Any) -> AsyncIterator[Any]:
        yield "Hello."

    agent = Agent(model=Listening(said), system_prompt="Be kind.", callback_handler=None)
    adapter = StrandsAdapter(agent)
    messages = [
        {"id": "s1", "role": "system", "content": "Be brief."},
        {"id": "u1", "role": "user", "content": "hello"},
    ]
    given = parse_input({"threadId": "t", "runId": "r", "messages": []}).input
    run = Run("mailer", "t", "r", given, Principal(), raw_messages=messages)
    run.mint = map(str, itertools.count()).__next__
    assert [item async for item in adapter.run(run)]
    assert "Be kind." in str(heard[0])
    assert "Be brief." in str(heard[0])
    assert agent.system_prompt == "Be kind."


async def test_a_structured_output_is_the_result_and_no_call() -> None:
    class Weather(BaseModel):
        degrees: int

    async def said(messages: list[Message], names: Any) -> AsyncIterator[Any]:
        yield Call("Weather", {"degrees": 7})

    agent = Agent(model=OfflineModel(said), structured_output_model=Weather, callback_handler=None)
    bridge = Bridge("memory:")
    bridge.add("mailer", agent)
    async with talk(bridge, "mailer") as one:
        stream = await one.say("hello")
        assert stream.events[-1]["result"] == {"degrees": 7}
        assert "TOOL_CALL_START" not in [e["type"] for e in stream.events]
        assert (await one.say("hello")).ending == "success"


async def test_tools_find_what_the_application_gives_them_for_a_run() -> None:
    found: list[Any] = []

    @tool(context=True)
    def look_up(name: str, tool_context: Any) -> str:
        """Look somebody up."""
        found.append(tool_context.invocation_state["actor"])
        return "known"

    mailer = Mailer()
    mailer.agent.tool_registry.registry["look_up"] = look_up
    # Members named like those of the stream's own events.
    given = lambda run: {"actor": run.principal.actor, "event": 1, "message": 2}  # noqa: E731
    async with talking(mailer, invocation_state=given) as one:
        stream = await one.say("look bob")
    assert (stream.ending, len(found)) == ("success", 1)


async def test_hooks_hear_what_the_user_says() -> None:
    heard: list[Any] = []
    mailer = Mailer()
    mailer.agent.hooks.add_callback(MessageAddedEvent, lambda event: heard.append(event.message))
    async with talking(mailer) as one:
        await one.say("hello")
    assert [message["role"] for message in heard] == ["user", "assistant"]


async def test_a_function_makes_an_agent_for_each_run() -> None:
    bridge = Bridge("memory:")
    bridge.add("mailer", StrandsAdapter(lambda run: Mailer().agent))
    async with talk(bridge, "mailer") as one:
        asked = await one.say("book friday")
        assert (await one.answer(asked, 3)).ending == "success"
