"""A chat agent's conversation against a scripted endpoint, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge, KeywordAdapter
from agui_bridge.agents.chat import ChatAgent
from agui_bridge.errors import ConfigurationError
from tests.servers.model.chat_completions import ChatReply
from tests.servers.model.script import Reply
from tests.servers.model.server import ScriptedModel
from tests.support.agents import eventually
from tests.support.server import Streamed, client, open_stream, post, run_input, serve

KEY = "sk-very-secret"


@contextlib.asynccontextmanager
async def serving(
    *replies: Reply, asking: bool = False, **options: Any
) -> AsyncIterator[tuple[str, ScriptedModel]]:
    async with ScriptedModel(*replies) as model:
        settings = {"base_url": model.base_url, "api_key": KEY, "retries": 0, **options}
        adapter = ChatAgent("scripted", **settings)
        bridge = Bridge()
        bridge.add("agent", KeywordAdapter(adapter) if asking else adapter)
        async with serve(bridge.app(anonymous=True)) as base:
            yield base, model


def said(stream: Streamed) -> str:
    return "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")


async def test_text_is_streamed_while_the_model_still_writes() -> None:
    hold = asyncio.Event()
    async with serving(Reply(["Hel", "lo"], hold=hold)) as (base, _):
        async with open_stream(base, **run_input("hi")) as stream:
            assert (await stream.until("TEXT_MESSAGE_CONTENT"))["delta"] == "Hel"
            hold.set()
            await stream.rest()
        assert said(stream) == "Hello"


async def test_the_model_gets_the_prompt_the_stored_history_and_the_options() -> None:
    options: dict[str, Any] = {"instructions": "Be brief.", "options": {"temperature": 0.5}}
    async with serving(Reply("One."), Reply("Two."), **options) as (base, model):
        await post(base, **run_input("first"))
        await post(base, **run_input("second", run="r2"))
        assert [(m["role"], m["content"]) for m in model.requests[1].messages] == [
            ("system", "Be brief."),
            ("user", "first"),
            ("assistant", "One."),
            ("user", "second"),
        ]
        request = model.requests[1]
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert (request.body["model"], request.body["temperature"]) == ("scripted", 0.5)


async def test_images_and_texts_of_a_message_reach_the_model() -> None:
    image = {"type": "image", "source": {"type": "data", "value": "QUJD", "mimeType": "image/png"}}
    link = {"type": "image", "source": {"type": "url", "value": "https://a.example/b.png"}}
    content = [{"type": "text", "text": "Look."}, image, link]
    message = {"id": "u", "role": "user", "content": content}
    async with serving(Reply("Seen.")) as (base, model):
        await post(base, **run_input(None, messages=[message]))
        (sent,) = model.requests[0].messages
    assert sent["content"] == [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
    ]


def media(kind: str, value: str, mime: str | None, source: str = "data") -> dict[str, Any]:
    named = {"mimeType": mime} if mime else {}
    return {"type": kind, "source": {"type": source, "value": value, **named}}


def untold(what: str) -> dict[str, Any]:
    text = f"[The user sent something that can't be passed on to you: {what}.]"
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("part", "heard"),
    [
        (media("image", "file-abc", None, "file"), untold("image")),
        (
            media("document", "file-abc", "application/pdf", "file"),
            untold("document, application/pdf"),
        ),
        (
            media("audio", "UklG", "audio/wav"),
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        ),
        (
            media("audio", "SUQz", "Audio/MPEG; codecs=mp3"),
            {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
        ),
        (media("audio", "T2dn", "audio/ogg"), untold("audio, audio/ogg")),
        (media("audio", "https://a.example/b.wav", None, "url"), untold("audio")),
        (
            media("document", "JVBE", "application/pdf"),
            untold("document, application/pdf"),
        ),
        ({"type": "hologram", "data": 1}, untold("hologram")),
    ],
    ids=[
        "image by handle",
        "document by handle",
        "wav",
        "mp3",
        "ogg",
        "address",
        "document",
        "unknown",
    ],
)
async def test_a_message_of_one_medium_is_heard_or_named(
    part: dict[str, Any], heard: dict[str, Any]
) -> None:
    message = {"id": "u", "role": "user", "content": [part]}
    async with serving(Reply("I see.")) as (base, model):
        await post(base, **run_input(None, messages=[message]))
        (sent,) = model.requests[0].messages
    assert sent == {"role": "user", "content": [heard]}


async def test_usage_is_reported() -> None:
    async with serving(Reply("Hi.")) as (base, model):
        stream = await post(base, **run_input("hi"))
        assert model.requests[0].body["stream_options"] == {"include_usage": True}
    counted = {"inputTokens": 4, "outputTokens": 3, "totalTokens": 7}
    parts = {"cachedInputTokens": 2, "reasoningTokens": 1}
    assert stream.events[-1]["usage"] == [{"model": "scripted", **counted, **parts}]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, "answered 400. It may not take"),
        (401, "answered 401. Check OPENAI_API_KEY."),
        (404, "answered 404. Check OPENAI_BASE_URL"),
        (429, "answered 429. It is busy"),
        (503, "answered 503."),
    ],
)
async def test_a_refusal_is_told_without_the_servers_own_words(status: int, told: str) -> None:
    body = f'{{"error": {{"message": "internal {KEY}"}}}}'
    async with serving(Reply(status=status, body=body)) as (base, _):
        stream = await post(base, **run_input("hi"))
    assert stream.events[-1]["code"] == "UPSTREAM_ERROR"
    assert told in stream.events[-1]["message"]
    assert KEY not in stream.raw.decode() and "internal" not in stream.raw.decode()


async def test_what_fails_before_the_first_token_is_tried_again() -> None:
    failed = Reply(status=503, body="{}")
    async with serving(failed, Reply("Hi."), retries=1) as (base, model):
        assert said(await post(base, **run_input("hi"))) == "Hi."
        assert len(model.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(["So", " far"], breaks_off=True),
        ChatReply("So far", fails={"message": "overloaded"}),
        ChatReply("So far", fails="no JSON"),
    ],
)
async def test_a_reply_that_breaks_off_is_an_upstream_error_and_not_tried_again(
    reply: Reply,
) -> None:
    async with serving(reply, retries=2) as (base, model):
        stream = await post(base, **run_input("hi"))
        assert len(model.requests) == 1
    assert said(stream) == "So far"
    assert stream.events[-1]["code"] == "UPSTREAM_ERROR"


async def test_a_silent_model_times_out() -> None:
    reply = Reply(["Hi", " there"], hold=asyncio.Event())
    async with serving(reply, timeout=0.3) as (base, _):
        stream = await post(base, **run_input("hi"))
    assert stream.events[-1]["code"] == "UPSTREAM_ERROR"


async def test_a_client_that_leaves_ends_the_models_stream() -> None:
    async with serving(Reply(["Hel", "lo"], hold=asyncio.Event())) as (base, model):
        async with open_stream(base, **run_input("hi")) as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
        await eventually(lambda: model.cut_off == 1)


@pytest.mark.parametrize("words", [["Hel", "lo"], ["", "lo"]], ids=["mid-text", "silent"])
@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_ends_the_models_stream_and_keeps_what_it_said(
    words: list[str], force: bool
) -> None:
    held = Reply(words, hold=asyncio.Event())
    async with serving(held, Reply("Go on.")) as (base, model):
        async with open_stream(base, **run_input("hi")) as stream, client(base) as http:
            await (
                stream.until("TEXT_MESSAGE_CONTENT") if words[0] else stream.until("RUN_STARTED")
            )
            await eventually(lambda: len(model.requests) == 1)
            stop = await http.post("/agents/agent/threads/t/stop", json={"force": force})
            await stream.rest()
        await eventually(lambda: model.cut_off == 1)
        await post(base, **run_input("more", run="r2"))

    kept = words[0] or None
    assert (stop.json()["status"], stop.json()["partialResponse"]) == ("success", kept)
    assert stream.events[-1]["outcome"] == {"type": "cancelled"}
    told = [(m["role"], m["content"]) for m in model.requests[1].messages]
    heard = [("user", "hi"), ("assistant", kept), ("user", "more")]
    assert told == (heard if kept else [("user", "hi\n\nmore")])


async def test_an_answer_that_the_model_did_not_get_leaves_the_question_open() -> None:
    replies = (Reply("Please confirm."), Reply(status=503, body="{}"), Reply("Done."))
    async with serving(*replies, asking=True) as (base, model):
        asked = await post(base, **run_input("go"))
        (ask,) = asked.events[-1]["outcome"]["interrupts"]
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"confirm": True}}
        failed = await post(base, **run_input(None, resume=[entry]))
        assert [event["type"] for event in failed.events[-2:]] == ["RUN_FINISHED", "RUN_ERROR"]
        assert failed.events[-2]["outcome"]["interrupts"][0]["id"] == ask["id"]
        assert said(await post(base, **run_input(None, resume=[entry]))).endswith("Done.")
        assert model.requests[2].messages[-1]["content"] == "Yes, I confirm. Please proceed."


async def test_a_server_that_is_not_there_is_told() -> None:
    bridge = Bridge()
    bridge.add("agent", ChatAgent("m", base_url="http://127.0.0.1:9/v1", retries=0))
    async with serve(bridge.app(anonymous=True)) as base:
        stream = await post(base, **run_input("hi"))
    assert "can't be reached" in stream.events[-1]["message"]


def test_a_model_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="name of its model"):
        ChatAgent("")
