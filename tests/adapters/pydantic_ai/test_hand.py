"""What the kit does not look at: edits, history, questions, frontend tools, stops, policies."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import RunContext
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

from agui_bridge import Bridge, Principal, ProposedCall, Run, Verdict
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import Talk, talk
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.pydantic_ai.mailer import SIGNATURE, Mailer
from tests.docs.pages import Conversation

pytestmark = pytest.mark.anyio

YES = {"approved": True}
COLOUR_TOOL = {
    "name": "set_colour",
    "description": "Colour the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}


def serving(mailer: Mailer, store: str = "memory:", **options: Any) -> Bridge:
    bridge = Bridge(store)
    bridge.add("mailer", PydanticAIAdapter(mailer.agent, **options))
    return bridge


@asynccontextmanager
async def talking(mailer: Mailer, **options: Any) -> AsyncIterator[Talk]:
    async with talk(serving(mailer, **options), "mailer") as one:
        yield one


@asynccontextmanager
async def conversing(bridge: Bridge) -> AsyncIterator[Conversation]:
    async with bridge.lifespan():
        yield Conversation(bridge, "mailer")


# --- approvals ---


async def test_what_was_edited_is_what_runs_and_the_card_offers_the_tools_own_schema() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        (ask,) = asked.asks
        schema = ask["responseSchema"]["properties"]["editedArgs"]
        assert set(schema["properties"]) == {"to", "body"}
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
    assert mailer.done == [{"to": "ann", "body": "edited"}]


async def test_a_default_that_nobody_was_shown_is_the_tools_own() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann"}})
    assert mailer.done == [{"to": "ann", "body": "Hi"}]


async def test_the_neighbour_of_a_paused_call_runs_once() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("mixed bob")
        assert mailer.done == ["looked up bob"]
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == ["looked up bob", {"to": "bob", "body": "original"}]


async def test_a_resumed_run_pauses_again() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        first = await one.say("twice bob")
        second = await one.answer(first, YES)
        assert [done["to"] for done in mailer.done] == ["bob"]
        assert (await one.answer(second, YES)).ending == "success"
    assert [done["to"] for done in mailer.done] == ["bob", "second-bob"]


async def test_the_model_reads_why_a_person_declined_in_the_words_of_the_history() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.answer(await one.say("send bob"), {"approved": False, "reason": "not him"})
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    told = "The user declined this tool call; it was not executed. Reason: not him"
    assert mailer.results("send_email") == [told]
    assert (kept, mailer.done) == (told, [])


async def test_a_pause_outlives_the_process_and_is_answered_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/agents.db"
    done: list[Any] = []
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        asked = await one.say("send bob")
    again = Mailer(done.append)
    async with talk(serving(again), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
        await one.answer(asked, YES)
    assert done == [{"to": "bob", "body": "original"}]
    assert "send bob" in again.told()


async def test_a_call_that_nobody_answered_is_never_executed_by_a_later_run() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("send bob")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == []
    assert len(mailer.results("send_email")) == 1


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


async def test_a_message_sent_along_with_the_answer_reaches_the_model() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("send bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert one.events[-1]["outcome"]["type"] == "success"
    assert len(mailer.done) == 1
    assert "hello again" in mailer.told()


async def test_thinking_and_what_the_provider_wants_back_are_kept_from_turn_to_turn() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        thought = await one.say("think trees")
        await one.say("hello")
        await one.say("hello")
    kinds = [event["type"] for event in thought.events]
    assert kinds.index("REASONING_MESSAGE_END") < kinds.index("TEXT_MESSAGE_START")
    assert SIGNATURE in mailer.told()
    assert mailer.told().count("think trees") == 1


async def test_an_answer_that_is_asked_anew_is_not_remembered() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("think trees")
        first = {"id": "u1", "role": "user", "content": "think trees"}
        await one._send(messages=[first])
        assert len(mailer.requests) == 2
        assert "I thought of trees." not in mailer.told()
        await one._send(messages=[{**first, "id": "u9", "content": "think stones"}])
    assert mailer.told().count("think stones") == 1


async def test_the_next_turn_has_the_text_that_a_stop_cut_off() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("think trees")
        stream = one.begin("slow")
        assert await stream.until("TEXT_MESSAGE_CONTENT")
        await one.stop()
        assert (await stream.rest()).ending == "cancelled"
        await one.say("hello")
    assert "Working. " in mailer.told()
    assert SIGNATURE in mailer.told()


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


async def test_the_application_carries_its_own_tools_out() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("colour red", tools=[COLOUR_TOOL])
        assert await one.hand_back("it is red") == "Done with 1 calls."
    assert mailer.results("set_colour") == ["it is red"]


async def test_an_approval_beside_a_frontend_tool_takes_both_answers() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("colourandsend red", tools=[COLOUR_TOOL])
        (ask,) = one.asks
        starts = [e for e in one.events if e["type"] == "TOOL_CALL_START"]
        (call,) = [e["toolCallId"] for e in starts if e["toolCallName"] == "set_colour"]
        result = {"id": "f1", "role": "tool", "toolCallId": call, "content": "it is red"}
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": YES}
        await one._send(messages=[result], resume=[entry], tools=[COLOUR_TOOL])
        assert one.events[-1]["outcome"]["type"] == "success"
    assert mailer.results("set_colour") == ["it is red"]
    assert mailer.done == [{"to": "red", "body": "original"}]


# --- stops and policies ---


async def test_a_stop_lets_the_tool_that_runs_finish_and_begins_nothing_more() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("wait")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        assert (await stream.rest()).ending == "cancelled"
        assert mailer.done == ["waited"]
        assert (await one.say("hello")).ending == "success"
    assert len(mailer.requests) == 2


async def test_a_forced_stop_waits_for_no_tool() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("wait")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        await one.stop(force=True)
        assert (await stream.rest()).ending == "cancelled"
    assert mailer.done == []


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


async def test_a_policy_denies_a_tool_that_needs_no_approval() -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talk(bridge, "mailer") as one:
        assert (await one.say("look bob")).ending == "success"
    assert mailer.done == []
    assert mailer.results("look_up") == [
        "The policy denied this tool call; it was not executed. Reason: not him"
    ]


async def test_a_policy_has_people_asked_and_learns_who_approved_what() -> None:
    mailer, seen = Mailer(), list[tuple[Any, ...]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((dict(call.args), call.approved, call.approved_by))
        return Verdict("ask", "Look him up?", editable=True)

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        asked = await one.say("look bob")
        assert asked.asks[0]["message"] == "Look him up?"
        assert mailer.done == []
        await one.answer(asked, {**YES, "editedArgs": {"name": "eve"}})
    assert mailer.done == ["looked up eve"]
    assert seen == [({"name": "bob"}, False, None), ({"name": "eve"}, True, "ann")]


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
