"""Odd servers: recorded bytes in odd pieces, broken streams, refusals, nobody there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
import respx

from agui_bridge.errors import ConfigurationError, UpstreamError
from agui_bridge.protocol.threads.messages.call_ids import CallIds
from agui_bridge_superagent import SuperAgentAdapter
from agui_bridge_superagent.frames import FrameEvents
from agui_bridge_superagent.reader import Reader
from tests.support.agents import Bench, outcome

URL = "http://remote.example"
STATE = {
    "session_id": "session-123",
    "agent_name": "approval-agent",
    "reason": "Please confirm: 即将删除 1,234 条记录,此操作不可逆。",
    "fields": [{"name": "confirm", "type": "confirm", "label": "确认删除", "required": True}],
    "timestamp": 1746000000,
    "checkpoint_id": "approval-agent_session-123_1746000000000000000",
}
LEGACY = (
    "data: 我将要删除\n\ndata: 以下过期用户数据:共 1,234 条记录。\n\n"
    f"data: \0INTERRUPT:{json.dumps(STATE, ensure_ascii=False)}\n\n"
).encode()
A2UI = (
    'event: text\ndata: {"type":"text","timestamp":1,"data":{"content":"我将","delta":"我将"}}\n\n'
    'event: beginRendering\ndata: {"surfaceId":"x"}\n\n'
    'event: interrupt\ndata: {"type":"interrupt","timestamp":1746000000,"data":'
    + json.dumps({name: STATE[name] for name in ("reason", "fields")})
    + "}\n\n"
).encode()


SAID = b'event: text\ndata: {"data":{"delta":"So far."}}\n\n'
DONE = b"data: [DONE]\n\n"


class Pieces(httpx.AsyncByteStream):
    """A body that comes in pieces, and may break."""

    def __init__(self, pieces: Sequence[bytes], error: Exception | None = None) -> None:
        self._pieces = pieces
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._error is not None:
            raise self._error


def stream(*pieces: bytes, error: Exception | None = None) -> httpx.Response:
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, headers=headers, stream=Pieces(pieces, error))


def bench() -> Bench:
    return Bench(SuperAgentAdapter(URL, "approval-agent"))


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.parametrize("size", [1, 2, 7, 64])
@pytest.mark.parametrize(
    ("recorded", "text"),
    [(LEGACY, "我将要删除以下过期用户数据:共 1,234 条记录。"), (A2UI, "我将")],
    ids=["legacy", "a2ui"],
)
@respx.mock
async def test_recorded_bytes_in_pieces_of_any_size_are_the_same_question(
    recorded: bytes, text: str, size: int
) -> None:
    pieces = [recorded[at : at + size] for at in range(0, len(recorded), size)]
    route = respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=stream(*pieces))
    async with bench().open() as engine:
        events = await engine.say("go")
    (ask,) = events[-1]["outcome"]["interrupts"]
    assert (text_of(events), ask["message"]) == (text, STATE["reason"])
    assert json.loads(route.calls[0].request.content) == {
        "agent_id": "approval-agent",
        "session_id": "t",
        "message": "go",
    }


@pytest.mark.parametrize("cut", [1, 5, 11, 40, -2])
@respx.mock
async def test_the_interrupt_token_may_come_as_several_tokens(cut: int) -> None:
    token = f"\0INTERRUPT:{json.dumps(STATE)}"
    body = f"data: {token[:cut]}\n\ndata: {token[cut:]}\n\n".encode()
    respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=stream(body))
    async with bench().open() as engine:
        (ask,) = await engine.ask()
    assert ask["message"] == STATE["reason"]


@pytest.mark.parametrize(
    "response",
    [
        stream(b"data: So far.\n\n"),
        stream(b"data: So far.\n\ndata: [DO"),
        stream(b"data: So far.\n\ndata: \0INTERRUPT:{broken\n\n"),
        stream(b"data: So far.\n\ndata: \0NEWS:{}\n\n"),
        stream(b'data: So far.\n\ndata: \0INTERRUPT:{"fields":[]}\n\n'),
        stream(b'data: So far.\n\ndata: \0INTERRUPT:{"reason":"x","fields":[{"type":"text"}]}\n\n'),
        stream(b'data: So far.\n\ndata: \0INTERRUPT:{"reason":"x","fields":"many"}\n\n'),
        stream(b"data: So far.\n\n", error=httpx.RemoteProtocolError("peer closed")),
        stream(b"data: So far.\n\n", error=httpx.ReadTimeout("slow")),
        stream(SAID + b'event: text\ndata: {no\n\n'),
        stream(SAID + b'event: text\ndata: 1\n\n'),
        stream(SAID + b'event: interrupt\ndata: {}\n\n'),
        stream(SAID + b'event: text\ndata: {"da'),
        stream(SAID),
        stream(b'data: So far.\n\ndata: \0ERROR:{"code":"X","message":"secret"}\n\n' + DONE),
    ],
)  # fmt: skip
@respx.mock
async def test_a_broken_stream_keeps_its_text_and_is_an_upstream_error(
    response: httpx.Response,
) -> None:
    respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=response)
    async with bench().open() as engine:
        events = await engine.say("go")
    assert (text_of(events), outcome(events)) == ("So far.", "UPSTREAM_ERROR")
    assert "secret" not in json.dumps(events)


@respx.mock
async def test_nothing_after_an_end_counts() -> None:
    done = b'event: done\ndata: {"type":"done","data":{}}\n\n'
    route = respx.post(f"{URL}/api/v1/chat/stream")
    route.side_effect = [stream(SAID, done, SAID), stream(DONE, SAID)]
    async with bench().open() as engine:
        for said in ("So far.", ""):
            events = await engine.say(f"go {route.call_count}")
            assert (text_of(events), outcome(events)) == (said, "success")


@respx.mock
async def test_a_reply_of_a_bridge_may_begin_like_a_failure_of_the_original() -> None:
    said = "[error] 3 lines of the log match."
    frame = f'event: text\ndata: {{"data":{{"content":"{said}","delta":"{said}"}}}}\n\n'
    done = b'event: done\ndata: {"type":"done","data":{}}\n\n'
    token = f"data: {said}\n\n".encode()
    route = respx.post(f"{URL}/api/v1/chat/stream")
    route.side_effect = [stream(frame.encode(), done), stream(token, DONE)]
    async with bench().open() as engine:
        for _ in range(2):
            events = await engine.say(f"go {route.call_count}")
            assert (text_of(events), outcome(events)) == (said, "success")


FAILED = b"event: message\ndata: [error] internal error occurred\n\n"
WORDS = b"event: message\ndata: Deleting 500 of 1234.\n\n"


@respx.mock
async def test_a_failure_in_the_middle_of_a_reply_is_no_success() -> None:
    respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=stream(WORDS, FAILED, DONE))
    async with bench().open() as engine:
        events = await engine.say("go")
    assert (text_of(events), outcome(events)) == ("Deleting 500 of 1234.", "UPSTREAM_ERROR")
    assert "internal error" not in json.dumps(events)


@respx.mock
async def test_a_failure_in_the_middle_of_an_approved_job_is_of_unknown_fate() -> None:
    respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=stream(LEGACY))
    respx.post(f"{URL}/api/v1/chat/resume").mock(return_value=stream(WORDS, FAILED, DONE))
    async with bench().open() as engine:
        asked = await engine.ask()
        events = await engine.say(resume=engine.entries(asked, {"confirm": True}))
    assert (text_of(events), outcome(events)) == ("Deleting 500 of 1234.", "RUN_INDETERMINATE")


@respx.mock
async def test_words_that_look_like_a_failure_are_words_when_the_reply_goes_on() -> None:
    respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=stream(WORDS, FAILED, WORDS, DONE))
    async with bench().open() as engine:
        events = await engine.say("go")
    said = "Deleting 500 of 1234."
    assert (text_of(events), outcome(events)) == (
        f"{said}[error] internal error occurred{said}",
        "success",
    )


RESUMES = [
    (httpx.ConnectError("refused"), "UPSTREAM_ERROR", True),
    (httpx.ConnectTimeout("slow"), "UPSTREAM_ERROR", True),
    (httpx.Response(400), "UPSTREAM_ERROR", True),
    (httpx.Response(401), "UPSTREAM_ERROR", True),
    (httpx.Response(404), "UPSTREAM_ERROR", True),
    (httpx.Response(429), "UPSTREAM_ERROR", True),
    (httpx.Response(409), "INTERRUPT_EXPIRED", False),
    (httpx.Response(500, text="secret"), "RUN_INDETERMINATE", False),
    (httpx.Response(200, text="<html>secret"), "RUN_INDETERMINATE", False),
    (httpx.ReadError("reset"), "RUN_INDETERMINATE", False),
    (httpx.ReadTimeout("slow"), "RUN_INDETERMINATE", False),
]


@pytest.mark.parametrize(("failure", "code", "stays"), RESUMES)
@respx.mock
async def test_an_answer_that_did_not_arrive_leaves_the_question_open_and_others_do_not(
    failure: httpx.Response | Exception, code: str, stays: bool
) -> None:
    respx.post(f"{URL}/api/v1/chat/stream").mock(return_value=stream(LEGACY))
    resume = respx.post(f"{URL}/api/v1/chat/resume")
    resume.side_effect = [failure, stream(b"data: Done.\n\ndata: [DONE]\n\n")]
    async with bench().open() as engine:
        asked = await engine.ask()
        entries = engine.entries(asked, {"confirm": True})
        events = await engine.say(resume=entries)
        assert outcome(events) == code
        assert "secret" not in json.dumps(events)
        again = await engine.say(resume=entries)
    assert json.loads(resume.calls[0].request.content)["input"] == {"confirm": True}
    if stays:
        assert events[-2]["outcome"]["interrupts"][0]["id"] == asked[0]["id"]
        assert (text_of(again), outcome(again)) == ("Done.", "success")
    else:
        # What became of it is unknown, or it is gone: it is not sent a second time.
        assert outcome(again) == code
        assert resume.call_count == 1


@respx.mock
async def test_headers_and_the_mode_are_sent() -> None:
    route = respx.post(f"{URL}/api/v1/chat/stream").mock(
        side_effect=lambda _: stream(b"data: [DONE]\n\n")
    )
    for a2ui, sent in ((True, "true"), (False, None)):
        headers = {"Authorization": "Bearer x"}
        adapter = SuperAgentAdapter(f"{URL}/", "a", a2ui=a2ui, headers=headers)
        async with Bench(adapter).open() as engine:
            await engine.say("go")
        assert route.calls.last.request.headers.get("x-a2ui") == sent
        assert route.calls.last.request.headers["authorization"] == "Bearer x"
        await adapter.aclose()


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="write http"):
        SuperAgentAdapter("agents:8888", "a")


def test_a_control_token_has_an_end() -> None:
    reply = Reader(FrameEvents(lambda: "id", CallIds((), lambda: "id")))
    with pytest.raises(UpstreamError, match="too large"):
        for _ in range(20):
            list(reply.feed(b"data: \0INTERRUPT:" + b"x" * 100_000 + b"\n\n"))
