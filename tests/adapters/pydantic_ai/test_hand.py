"""What the kit does not look at: questions, images, what a run gives, stops of threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import RunContext
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

from agui_bridge import Principal, Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.mails import YES, EditableMails, StatelessMails
from tests.adapters.pydantic_ai.mailer import SIGNATURE, Mailer
from tests.adapters.pydantic_ai.talking import BRIDGES, conversing, serving, talking

pytestmark = pytest.mark.anyio


class TestMails(StatelessMails, EditableMails):
    bridges = BRIDGES
    signature = SIGNATURE
    tells_signature = True

    @pytest.fixture
    def mailer(self) -> Mailer:
        return Mailer()


# --- approvals ---


async def test_a_default_that_nobody_was_shown_is_the_tools_own() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann"}})
    assert mailer.done == [{"to": "ann", "body": "Hi"}]


# --- questions ---


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {}])
async def test_an_answer_arrives_as_it_is(payload: Any) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("ask anything")
        assert asked.asks[0]["message"] == "Which anything?"
        assert (await one.answer(asked, payload)).ending == "success"
    assert mailer.done == [payload]
    assert mailer.results("ask_user") == [payload]


async def test_an_external_result_is_asked_for_and_what_the_tool_keeps_is_not_shown() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("fetch k")
        (ask,) = asked.asks
        assert ask["reason"] == "pydantic_ai:external"
        assert (ask["metadata"]["toolName"], ask["metadata"]["args"]) == ("fetch", {"key": "k"})
        await one.answer(asked, {"value": 3})
    assert SIGNATURE.encode() not in asked.raw
    assert mailer.results("fetch") == [{"value": 3}]


# --- the conversation ---


async def test_images_reach_the_model_now_and_in_the_history() -> None:
    mailer = Mailer()
    image = {
        "type": "image",
        "source": {"type": "data", "value": "iVBORw==", "mimeType": "image/png"},
    }
    message = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "hello"}, image]}
    async with conversing(serving(mailer)) as one:
        await one._send(messages=[message])
        await one.say("hello")
    for request in mailer.requests:
        found = [
            item
            for m in request
            if isinstance(m, ModelRequest)
            for part in m.parts
            if isinstance(part, UserPromptPart) and not isinstance(part.content, str)
            for item in part.content
        ]
        (binary,) = [item for item in found if isinstance(item, BinaryContent)]
        assert (binary.data, binary.media_type) == (b"\x89PNG", "image/png")


async def test_the_agents_system_prompt_is_there_in_every_turn() -> None:
    mailer = Mailer(system_prompt="Be brief.")
    async with talking(mailer) as one:
        stream = one.begin("slow")
        assert await stream.until("TEXT_MESSAGE_CONTENT")
        await one.stop()
        await stream.rest()
        await one.say("hello")
        await one.say("hello")
    assert [mailer.told(n).count("Be brief.") for n in range(3)] == [1, 1, 1]


# --- what a run gives ---


class Report(BaseModel):
    sent: int


async def test_a_structured_output_is_the_runs_result_and_no_act() -> None:
    mailer = Mailer(output_type=Report)
    async with talking(mailer) as one:
        stream = await one.say("look bob")
    assert stream.events[-1]["result"] == {"sent": 1}
    names = [e["toolCallName"] for e in stream.events if e["type"] == "TOOL_CALL_START"]
    assert names == ["look_up"]
    (usage,) = stream.events[-1]["usage"]
    assert usage["outputTokens"] > 0


async def test_dependencies_are_made_of_who_asks() -> None:
    mailer, seen = Mailer(deps_type=str), list[str]()

    @mailer.agent.instructions
    def instructions(ctx: RunContext[str]) -> str:
        seen.append(ctx.deps)
        return ctx.deps

    async def deps(run: Run) -> str:
        return f"for {run.principal.actor}"

    bridge = serving(mailer, deps=deps)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        await one.say("hello")
    assert set(seen) == {"for ann"}


# --- frontend tools ---


# --- stops and policies ---


async def test_a_forced_stop_leaves_behind_what_runs_in_a_thread() -> None:
    mailer, begun, finish = Mailer(), threading.Event(), threading.Event()

    @mailer.agent.tool_plain(name="look_up_slowly")
    def look_up_slowly(name: str) -> str:
        begun.set()
        finish.wait(30)
        return name

    try:
        async with talking(mailer) as one:
            stream = one.begin("slowly bob")
            assert await asyncio.to_thread(begun.wait, 10)
            await one.stop(force=True)
            assert (await stream.rest()).ending == "cancelled"
            finish.set()
            assert (await one.say("hello")).ending == "success"
            (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    finally:
        finish.set()
    assert "whether this tool call was executed is unknown" in kept


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"agent": 3}, "agent should be a pydantic_ai.Agent"),
        ({"agent": Mailer().agent, "deps": 3}, "deps should be a function"),
        ({"agent": "no_such_module:agent"}, "There is no module"),
    ],
)
def test_what_is_no_agent_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        PydanticAIAdapter(**options)
