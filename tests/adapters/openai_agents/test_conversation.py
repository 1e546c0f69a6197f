"""What the model is told, what a run is given and gives, and the application's tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import StateSnapshotEvent
from agents import Agent, LocalShellTool, ToolsToFinalOutputResult, function_tool
from pydantic import BaseModel

from agui_bridge import Bridge, Principal, Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName
from agui_bridge.testing import talk
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from agui_bridge_openai_agents.guard import NEEDED
from tests.adapters.mails import YES
from tests.adapters.openai_agents.mailer import Mailer
from tests.adapters.openai_agents.talking import conversing, serving, talking

pytestmark = pytest.mark.anyio

SECRET = "token-of-the-application"


def stored_in(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.iterdir()]


def kinds_of(stream: Any) -> list[str]:
    return [event["type"] for event in stream.events]


# --- the conversation ---


async def test_a_message_reaches_a_model_that_the_sdk_would_not_have_asked_again() -> None:
    mailer = Mailer(tool_use_behavior="stop_on_first_tool")
    async with conversing(serving(mailer)) as one:
        await one.say("send bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
    assert len(mailer.done) == 1
    assert "hello again" in mailer.told()


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
        content = request[0]["content"]
        assert content[1]["image_url"] == "data:image/png;base64,iVBORw=="


async def test_a_document_keeps_its_name() -> None:
    mailer = Mailer()
    source = {"type": "data", "value": "aGk=", "mimeType": "application/pdf"}
    named = {"type": "document", "source": source, "metadata": {"filename": "terms.pdf"}}
    legacy = {"type": "binary", "mimeType": "application/pdf", "data": "aGk=", "filename": "a.pdf"}
    message = {"id": "u1", "role": "user", "content": [named, legacy]}
    async with conversing(serving(mailer)) as one:
        await one._send(messages=[message])
    content = mailer.requests[-1][0]["content"]
    assert [part["filename"] for part in content] == ["terms.pdf", "a.pdf"]


async def test_a_handle_is_named_in_words_to_a_model_that_nobody_knows() -> None:
    mailer = Mailer()
    source = {"type": "file", "value": "file-abc"}
    parts = [{"type": kind, "source": source} for kind in ("image", "document")]
    message = {"id": "u1", "role": "user", "content": parts}
    async with conversing(serving(mailer)) as one:
        await one._send(messages=[message])
    words = "[The user sent something that can't be passed on to you: {}.]"
    assert mailer.requests[-1][0]["content"] == [
        {"type": "input_text", "text": words.format(kind)} for kind in ("image", "document")
    ]


async def test_what_a_tool_says_last_is_told_and_the_model_reads_it_in_the_next_turn() -> None:
    async def receipt(context: Any, results: Any) -> ToolsToFinalOutputResult:
        text = f"Receipt: {results[0].output}"
        return ToolsToFinalOutputResult(is_final_output=True, final_output=text)

    mailer = Mailer(tool_use_behavior=receipt)
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        assert (await one.answer(asked, YES)).text == "Receipt: sent to bob"
        assert (await one.say("look eve")).text == "I will do it. Receipt: eve is known"
        said = [m["content"] for m in await one.messages() if m["role"] == "assistant"]
        assert (await one.say("hello")).text == "Hello."
    assert said[-1] == "Receipt: eve is known"
    kept = [item for item in mailer.requests[-1] if "Receipt" in str(item.get("content"))]
    assert [item["role"] for item in kept] == ["assistant", "assistant"]


# --- what a run gives, and is given ---


class Report(BaseModel):
    sent: int


async def test_a_structured_output_is_the_runs_result_and_no_text() -> None:
    mailer = Mailer(output_type=Report)
    mailer.model._reply = lambda items, tools: _said('{"sent": 1}')
    async with talking(mailer) as one:
        stream = await one.say("report")
    assert stream.events[-1]["result"] == {"sent": 1}
    assert "TEXT_MESSAGE_CONTENT" not in kinds_of(stream)
    (usage,) = stream.events[-1]["usage"]
    assert usage == {
        "model": "offline",
        "inputTokens": 7,
        "outputTokens": 3,
        "totalTokens": 10,
        "cachedInputTokens": 4,
        "reasoningTokens": 2,
    }


async def _said(text: str) -> AsyncIterator[str]:
    yield text


async def test_the_context_is_made_of_who_asks_for_each_run_and_never_stored(
    tmp_path: Path,
) -> None:
    mailer = Mailer()

    async def context(run: Run) -> dict[str, str]:
        return {"actor": run.principal.actor, "token": SECRET}

    store = f"sqlite:///{tmp_path}/agents.db"
    bridge = serving(mailer, context=context)
    async with talk(bridge, "mailer", store=store, principal=Principal("acme", "ann")) as one:
        await one.answer(await one.say("inside bob"), YES)
        await one.answer(await one.say("send bob"), YES)
        await one.say("inside eve")
    assert mailer.contexts == [{"actor": "ann", "token": SECRET}] * 2
    files = stored_in(tmp_path)
    assert any(b"send_email" in content for content in files)
    assert not any(SECRET.encode() in content for content in files)


async def test_an_object_for_a_context_arrives_in_a_resumed_run() -> None:
    mailer, given = Mailer(), object()
    async with talking(mailer, context=lambda run: given) as one:
        await one.answer(await one.say("send bob"), YES)
    assert mailer.contexts == [given]


async def test_a_function_of_the_run_makes_the_agent_of_who_asks() -> None:
    mailers = {"ann": Mailer(), "bob": Mailer()}
    bridge = Bridge("memory:")
    bridge.add("mailer", OpenAIAgentsAdapter(lambda run: mailers[run.principal.actor].agent))
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        await one.answer(await one.say("send bob"), YES)
    assert (len(mailers["ann"].done), mailers["bob"].done) == (1, [])


async def test_a_model_that_does_not_stream_is_told_whole() -> None:
    mailer = Mailer(streams=False)
    async with talking(mailer) as one:
        thought = await one.say("think trees")
        asked = await one.say("send bob")
        assert (await one.answer(asked, YES)).ending == "success"
    kinds = kinds_of(thought)
    assert kinds.index("REASONING_MESSAGE_END") < kinds.index("TEXT_MESSAGE_START")
    assert (thought.text, asked.text) == ("I thought of trees.", "I will do it. ")
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_events_that_a_tool_returns_are_told() -> None:
    async def paint() -> StateSnapshotEvent:
        return StateSnapshotEvent(snapshot={"colour": "red"})

    mailer = Mailer()
    mailer.agent.tools[1] = function_tool(paint, name_override="look_up")
    mailer.inner.tools[1] = mailer.agent.tools[1]
    async with talking(mailer) as one:
        for word in ("look bob", "lookinside bob"):
            await one.say(word, state={"colour": "blue"})
            assert await one.state() == {"colour": "red"}


@pytest.mark.parametrize("needed", NEEDED, ids=lambda one: one.name)
def test_another_sdk_than_the_adapter_knows_is_refused(
    needed: PrivateName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(needed.owner, needed.name)
    with pytest.raises(ConfigurationError, match=f"{needed.name}.*Install openai-agents>=0.20"):
        OpenAIAgentsAdapter(Agent("a"))


def test_a_tool_that_nothing_can_hold_back_is_refused_where_it_is_given() -> None:
    tool = LocalShellTool(executor=lambda request: "done")
    with pytest.raises(ConfigurationError, match=r"'local_shell' is a LocalShellTool"):
        OpenAIAgentsAdapter(Agent("a", tools=[tool]))


# --- frontend tools ---
