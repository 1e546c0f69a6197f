"""What an agent of ADK is told and tells: history, state, results, stops, what goes wrong."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel

from agui_bridge import Principal, Run
from agui_bridge.protocol.dialects.parsing import parse_input
from agui_bridge.testing import talk
from agui_bridge_adk import AdkAdapter
from tests.adapters.adk.mailer import SIGNATURE, Call, Mailer, Scripted, Thought
from tests.adapters.adk.talking import YES, conversing, names_of, serving, talking

pytestmark = pytest.mark.anyio


# --- the history ---


async def test_a_message_sent_along_with_the_answer_reaches_the_model_after_it() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer.agent)) as one:
        await one.say("send bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert one.events[-1]["outcome"]["type"] == "success"
    assert len(mailer.done) == 1
    assert "hello again" in mailer.told()
    assert mailer.results("send_email") == [{"result": "sent to bob"}]


async def test_a_message_sent_along_waits_for_the_next_question_too() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer.agent)) as one:
        await one.say("twice bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert "hello again" not in mailer.told()
        await one.answer(YES)
        assert one.events[-1]["outcome"]["type"] == "success"
    assert "hello again" in mailer.told()
    assert [mail["to"] for mail in mailer.done] == ["bob", "second-bob"]


async def test_thoughts_are_told_as_reasoning_and_their_signatures_kept() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        thought = await one.say("think trees")
        await one.say("hello")
        await one.say("hello")
    kinds = [event["type"] for event in thought.events]
    assert kinds.count("REASONING_MESSAGE_CONTENT") == 2
    assert kinds.index("REASONING_MESSAGE_END") < kinds.index("TEXT_MESSAGE_START")
    assert kinds.count("TEXT_MESSAGE_CONTENT") == 2
    assert SIGNATURE in mailer.told()
    assert SIGNATURE.encode() not in thought.raw
    assert mailer.told().count("think trees") == 1


async def test_an_answer_that_is_asked_anew_is_not_remembered() -> None:
    mailer = Mailer()
    first = {"id": "u1", "role": "user", "content": "think trees"}
    async with conversing(serving(mailer.agent)) as one:
        await one._send(messages=[first])
        await one._send(messages=[first])
    assert len(mailer.requests) == 2
    assert "I thought of trees." not in mailer.told()


async def test_the_next_turn_has_the_text_that_a_stop_cut_off() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
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
    source = {"type": "data", "value": "iVBORw==", "mimeType": "image/png"}
    linked = {"type": "url", "value": "https://example.com/a.png", "mimeType": "image/png"}
    content = [
        {"type": "text", "text": "hello"},
        {"type": "image", "source": source},
        {"type": "image", "source": linked},
    ]
    async with conversing(serving(mailer.agent)) as one:
        await one._send(messages=[{"id": "u1", "role": "user", "content": content}])
        await one.say("hello")
        await one.say("hello")
    for request in mailer.requests:
        parts = [part for c in request for part in c.parts or ()]
        (blob,) = [part.inline_data for part in parts if part.inline_data is not None]
        assert (blob.data, blob.mime_type) == (b"\x89PNG", "image/png")
        (file,) = [part.file_data for part in parts if part.file_data is not None]
        assert file.file_uri == "https://example.com/a.png"


async def test_what_an_adapter_around_it_tells_the_model_is_an_instruction() -> None:
    mailer, numbers = Mailer(), itertools.count()
    said = [
        {"id": "s1", "role": "system", "content": "Be brief."},
        {"id": "u1", "role": "user", "content": "hello"},
    ]
    given = parse_input({"threadId": "t", "runId": "r", "messages": []}).input
    run = Run("mailer", "t", "r", given, Principal(), raw_messages=said)
    run.mint = lambda: str(next(numbers))
    assert [item async for item in AdkAdapter(mailer.agent).run(run)]
    assert "Be brief." in mailer.instructions
    assert "Be brief." not in mailer.told()


# --- state and results ---


async def test_a_sessions_state_is_the_threads_and_what_is_the_users_own_is_not_shown(
    tmp_path: Path,
) -> None:
    seen: list[Any] = []

    async def look_up(name: str, tool_context: ToolContext) -> str:
        """Look somebody up."""
        state = tool_context.state
        seen.append([state.get(key) for key in ("colour", "user:name", "temp:mood", "size")])
        return name

    def agent() -> Any:
        mailer = Mailer()
        return mailer.make("mailer", tools=[mailer.set_colour, look_up])

    store = f"sqlite:///{tmp_path}/agents.db"
    async with talk(serving(agent()), "mailer", store=store) as one:
        stream = await one.say("colour red")
        assert await one.state() == {"colour": "red"}
        assert b"fond of" not in stream.raw
    async with talk(serving(agent()), "mailer", store=store) as one:
        await one.say("look bob")
    assert seen == [["red", "fond of red", None, None]]


async def test_what_a_client_puts_into_the_state_agents_see_but_never_what_is_private() -> None:
    seen: list[Any] = []

    async def look_up(name: str, tool_context: ToolContext) -> str:
        """Look somebody up."""
        seen.append([tool_context.state.get(key) for key in ("size", "user:name")])
        return name

    mailer = Mailer()
    async with conversing(serving(mailer.make("mailer", tools=[look_up]))) as one:
        await one.say("look bob", state={"size": 3, "user:name": "root"})
    assert seen == [[3, None]]


class Report(BaseModel):
    sent: int


async def test_a_structured_output_is_the_runs_result_and_no_text() -> None:
    async def report(request: LlmRequest) -> AsyncIterator[str]:
        yield '{"sent"'
        yield ": 1}"

    agent = LlmAgent(name="mailer", model=Scripted(reply=report), output_schema=Report)
    async with talking(agent) as one:
        stream = await one.say("report")
        assert stream.events[-1]["result"] == {"sent": 1}
        assert stream.text == ""


async def test_usage_and_the_replies_of_models_are_counted() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        told = (await one.say("look bob")).events[-1]
    assert len(told["usage"]) == 2
    assert told["usage"][0]["model"] == "scripted-1"
    assert sum(usage["totalTokens"] for usage in told["usage"]) == 20


class Writing(BaseLlm):
    """A model that writes a call's arguments piece by piece, as Gemini does on Vertex AI."""

    model: str = "writing"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if any(part.function_response for part in llm_request.contents[-1].parts or ()):
            content = types.Content(role="model", parts=[types.Part(text="Done.")])
            yield LlmResponse(content=content)
            return
        pieces = [
            types.PartialArg(json_path="$.to", string_value="b", will_continue=True),
            types.PartialArg(json_path="$.to", string_value='o"b', will_continue=True),
            types.PartialArg(json_path="$.copies", number_value=2),
            types.PartialArg(json_path="$.tags[0]", string_value="late"),
        ]
        for piece in pieces:
            call = types.FunctionCall(
                id="c1", name="post", partial_args=[piece], will_continue=True
            )
            content = types.Content(role="model", parts=[types.Part(function_call=call)])
            yield LlmResponse(content=content, partial=True)
        args = {"to": 'bo"b', "copies": 2, "tags": ["late"], "urgent": True}
        whole = types.FunctionCall(id="c1", name="post", args=args)
        content = types.Content(role="model", parts=[types.Part(function_call=whole)])
        yield LlmResponse(content=content)


class Letter(BaseModel):
    to: str
    sent: date


LETTER = Letter(to="bob", sent=date(2026, 1, 2))
PLAIN = {"to": "bob", "sent": "2026-01-02"}


@pytest.mark.parametrize(
    ("given", "told"),
    [(LETTER, PLAIN), ({"copies": 2, "letter": LETTER}, {"copies": 2, "letter": PLAIN})],
    ids=["model", "model within"],
)
async def test_what_a_tool_returns_is_told_as_a_model_of_google_reads_it(
    given: Any, told: Any
) -> None:
    async def post() -> Any:
        """Post a letter."""
        return given

    read: list[Any] = []

    async def reply(request: LlmRequest) -> AsyncIterator[Call | str]:
        parts = request.contents[-1].parts or []
        answers = [part.function_response for part in parts if part.function_response]
        # As the client sends it.
        read.extend(answer.model_dump(mode="json")["response"] for answer in answers)
        yield "Done." if answers else Call("post", {})

    async with talking(LlmAgent(name="mailer", model=Scripted(reply=reply), tools=[post])) as one:
        stream = await one.say("post")
    assert read in ([told], [{"result": told}])
    (result,) = names_of(stream.events, "TOOL_CALL_RESULT", "content")
    assert json.loads(result) == told


async def test_arguments_that_a_model_writes_are_told_as_they_come() -> None:
    async def post(to: str, copies: int, tags: list[str], urgent: bool) -> str:
        """Post a letter."""
        return f"{copies} to {to}"

    async with talking(LlmAgent(name="mailer", model=Writing(), tools=[post])) as one:
        stream = await one.say("post")
    deltas = names_of(stream.events, "TOOL_CALL_ARGS", "delta")
    assert deltas[0] == '{"to": "b'
    assert len(deltas) == 4
    told = {"to": 'bo"b', "copies": 2, "tags": ["late"], "urgent": True}
    assert json.loads("".join(deltas)) == told
    assert names_of(stream.events, "TOOL_CALL_START", "toolCallName") == ["post"]


# --- stops ---


async def test_a_stop_lets_the_tool_that_runs_finish_and_begins_nothing_more() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        stream = one.begin("wait")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        ended = await stream.rest()
        assert ended.ending == "cancelled"
        assert names_of(ended.events, "TOOL_CALL_RESULT", "content") == ["it is done"]
        assert mailer.done == ["waited"]
        assert (await one.say("hello")).ending == "success"
    assert len(mailer.requests) == 2


# --- what goes wrong ---


async def test_a_pause_of_an_adk_that_wrote_other_events_can_be_answered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()

    def of_a_later_adk(events: Any) -> list[Any]:
        return [{"author": "user", "newMember": 1}]

    with monkeypatch.context() as patched:
        patched.setattr("agui_bridge_adk.turn.dumped", of_a_later_adk)
        patched.setattr("agui_bridge_adk.turn.installed_version", lambda name: "99.0.0")
        async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
            asked = await one.say("send bob")
    async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
        refused = await one.answer(asked, YES)
        assert refused.ending == "UPSTREAM_ERROR"
        assert "google-adk 99.0.0" in refused.fault
    assert done == []


async def test_calls_and_thoughts_of_one_reply_are_told_in_its_order() -> None:
    async def reply(request: LlmRequest) -> AsyncIterator[str | Thought | Call]:
        if len(request.contents) > 1:
            yield "Done."
            return
        yield Thought("Hm.")
        yield "First. "
        yield Call("look_up", {"name": "bob"})
        yield Call("look_up", {"name": "ann"})

    mailer = Mailer()
    agent = LlmAgent(name="mailer", model=Scripted(reply=reply), tools=[mailer.look_up])
    async with talking(agent) as one:
        stream = await one.say("go")
        starts = [e for e in stream.events if e["type"] == "TOOL_CALL_START"]
        assert len({start["parentMessageId"] for start in starts}) == 1
        assert [m["role"] for m in await one.messages()] == [
            *("user", "reasoning", "assistant", "tool", "tool", "assistant"),
        ]
