"""Streams that break the grammar: repaired where nothing is lost by it, else an error says what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge_agui import AguiAdapter
from tests.adapters.agui.upstream import (
    Talk,
    Upstream,
    before,
    call,
    finished,
    interrupt,
    result,
    started,
    text,
)

USER = {"id": "u1", "role": "user", "content": "go"}
REPAIRED: dict[str, tuple[list[Any], str]] = {
    "no RUN_STARTED": ([*text("Hi."), finished()], "Hi."),
    "RUN_STARTED twice": ([started(), started(), *text("Hi."), finished()], "Hi."),
    "RUN_FINISHED twice": ([started(), *text("Hi."), finished(), finished()], "Hi."),
    "events after the end": ([started(), *text("Hi."), finished(), *text("Ho.", "m2")], "Hi."),
    "no TEXT_MESSAGE_END": ([started(), *text("Hi.")[:2], finished()], "Hi."),
    "no TEXT_MESSAGE_START": ([started(), *text("Hi.")[1:], finished()], "Hi."),
    "no TOOL_CALL_END": ([started(), *call()[:2], result("x"), *text("Hi."), finished()], "Hi."),
    "END before START": ([started(), text("")[2], *text("Hi."), finished()], "Hi."),
    "an empty delta": ([started(), *text(""), *text("Hi.", "m2"), finished()], "Hi."),
    "a step that never began": (
        [started(), {"type": "STEP_FINISHED", "stepName": "a"}, *text("Hi."), finished()],
        "Hi.",
    ),
    "a step that begins twice and never ends": (
        [started(), *[{"type": "STEP_STARTED", "stepName": "a"}] * 2, *text("Hi."), finished()],
        "Hi.",
    ),
    "an unknown event": ([started(), {"type": "SPARKLE"}, *text("Hi."), finished()], "Hi."),
    "older thoughts": (
        [
            started(),
            {"type": "THINKING_START"},
            {"type": "THINKING_TEXT_MESSAGE_START"},
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."},
            {"type": "THINKING_TEXT_MESSAGE_END"},
            {"type": "THINKING_END"},
            *text("Hi."),
            finished(),
        ],
        "Hi.",
    ),
    "CRLF, comments and [DONE]": (
        [": hello\r\n\r\n", started(), *text("Hi."), finished(), "data: [DONE]\r\n\r\n"],
        "Hi.",
    ),
    "nulls": ([{**started(), "rawEvent": None}, *text("Hi."), finished(result=None)], "Hi."),
    "a message that only the snapshot tells": (
        [
            started(),
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [USER, {"id": "a1", "role": "assistant", "content": "Hi."}],
            },
            finished(),
        ],
        "Hi.",
    ),
    "a message that the snapshot tells again": (
        [
            started(),
            *text("Hi."),
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [USER, {"id": "other", "role": "assistant", "content": "Hi."}],
            },
            finished(),
        ],
        "Hi.",
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
async def test_it_is_repaired(name: str) -> None:
    stream, said = REPAIRED[name]
    async with before(Upstream(stream)) as talk:
        assert await talk.say("go") == said
        assert talk.ending == "success"


BROKEN: dict[str, tuple[Any, str, str]] = {
    "cut off": ([started(), *text("Hi.")], "UPSTREAM_ERROR", "ended before its run"),
    "nothing at all": ([], "UPSTREAM_ERROR", "ended before its run"),
    "malformed": (
        [started(), {"type": "TOOL_CALL_START", "toolCallId": 7, "toolCallName": "x"}],
        "UPSTREAM_ERROR",
        "malformed TOOL_CALL_START: toolCallId",
    ),
    "the draft's outcome": (
        [started(), {**finished(), "outcome": "interrupt"}],
        "UPSTREAM_ERROR",
        "malformed RUN_FINISHED: outcome",
    ),
    "no JSON": ([started(), "data: {oops\n\n"], "UPSTREAM_ERROR", "no AG-UI event"),
    "arguments of no call": (
        [started(), call()[1], finished()],
        "UPSTREAM_ERROR",
        "No active tool call found with ID 'call-1'",
    ),
    "a result of no call": (
        [started(), result("x"), finished()],
        "AGENT_PROTOCOL_ERROR",
        "there is no tool call 'call-1'",
    ),
    "an error": (
        [started(), {"type": "RUN_ERROR", "message": "Traceback secret", "code": "BAD_KEY"}],
        "UPSTREAM_ERROR",
        "with an error (BAD_KEY)",
    ),
    "an error after the end": (
        [started(), finished(), {"type": "RUN_ERROR", "message": "secret", "code": "a secret!"}],
        "UPSTREAM_ERROR",
        "with an error: see its log",
    ),
    "stopped there": (
        [started(), finished({"type": "cancelled"})],
        "UPSTREAM_ERROR",
        "was stopped there",
    ),
    "stopped there, in older words": (
        [started(), finished(result={"stopReason": "USER_INTERRUPTED"})],
        "UPSTREAM_ERROR",
        "was stopped there",
    ),
    "one id for two questions": (
        [started(), *call(), finished(interrupt({}, {"toolCallId": "x"}))],
        "UPSTREAM_ERROR",
        "same id",
    ),
    "500": (JSONResponse({"secret": 1}, status_code=500), "UPSTREAM_ERROR", "failed (500)"),
    "404": (Response(status_code=404), "UPSTREAM_ERROR", "see the adapter's `url`"),
    "422": (JSONResponse({"secret": 1}, status_code=422), "UPSTREAM_ERROR", "see `dialect`"),
    "307": (RedirectResponse("/secret"), "UPSTREAM_ERROR", "at another address (307)"),
    "no stream": (PlainTextResponse("secret"), "UPSTREAM_ERROR", "'text/plain' and no event"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_it_is_an_error_that_says_what(name: str) -> None:
    stream, code, said = BROKEN[name]
    async with before(Upstream(stream)) as talk:
        await talk.say("go")
        assert talk.ending == code
        assert said in talk.message
        assert "secret" not in str(talk.events)


async def test_a_server_that_is_not_there_and_one_that_is_silent_are_told_apart() -> None:
    bridge = Bridge()
    bridge.add("agent", AguiAdapter("http://127.0.0.1:9/"))
    async with bridge.lifespan():
        talk = Talk(bridge, "agent")
        await talk.say("go")
        assert "can't be reached (ConnectError): nothing was sent" in talk.message

    async def silent(_: Any) -> Any:
        yield started()
        await asyncio.sleep(20)

    async with before(Upstream(silent), timeout=0.3) as talk:
        await talk.say("go")
        assert "silent for too long" in talk.message


async def test_the_upstreams_own_are_kept_private() -> None:
    stream = [
        {**started(), "rawEvent": {"secret": 1}},
        {"type": "RAW", "event": {"secret": 2}},
        *[{**event, "rawEvent": {"secret": 3}} for event in text("Hi.")],
        finished(),
    ]
    upstream = Upstream(stream)
    async with before(upstream, headers={"Authorization": "Bearer abc"}) as talk:
        assert await talk.say("go") == "Hi."
        assert "secret" not in str(talk.events)
    assert upstream.headers[0]["authorization"] == "Bearer abc"


async def test_frontend_tools_are_handed_over_and_their_results_come_back() -> None:
    tool = {"name": "paint", "description": "", "parameters": {"type": "object"}}
    upstream = Upstream(
        [started(), *call(name="paint"), finished()], [started(), *text("Nice."), finished()]
    )
    async with before(upstream) as talk:
        user = {"id": "u1", "role": "user", "content": "go"}
        assert await talk.send(messages=[user], tools=[tool]) == "success"
        assert talk.events[-1]["outcome"]["pendingToolCallIds"] == ["call-1"]
        assert await talk.hand_back("painted") == "Nice."
    assert upstream.bodies[0]["tools"][0]["name"] == "paint"
    assert upstream.bodies[1]["messages"][-1]["content"] == "painted"


async def test_an_older_server_is_sent_nothing_that_it_would_refuse() -> None:
    thought = [
        {"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "Hm."},
        {"type": "REASONING_MESSAGE_END", "messageId": "r1"},
    ]
    said = [{**event, "metadata": {"n": 1}} for event in text("Hi.")]
    upstream = Upstream([started(), *thought, *said, finished()])
    async with before(upstream, dialect="0.x") as talk:
        await talk.say("one")
        await talk.say("two")
    body = upstream.bodies[1]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert not [message for message in body["messages"] if "metadata" in message]
    assert "protocolVersion" not in body


async def test_a_server_that_keeps_the_conversation_gets_only_what_is_new() -> None:
    upstream = Upstream([started(), *text("Hi."), finished()])
    async with before(upstream, history="new") as talk:
        await talk.say("one")
        await talk.say("two")
    assert [[m["content"] for m in b["messages"]] for b in upstream.bodies] == [["one"], ["two"]]


async def test_a_server_that_keeps_the_conversation_gets_what_it_refused_before() -> None:
    upstream = Upstream(Response(status_code=429), [started(), *text("Hi."), finished()])
    async with before(upstream, history="new") as talk:
        await talk.say("one")
        await talk.say("two")
        await talk.say("three")
    sent = [[message["content"] for message in body["messages"]] for body in upstream.bodies]
    assert sent == [["one"], ["one", "two"], ["three"]]


@pytest.mark.parametrize(
    "options",
    [
        {"url": "agent"},
        {"url": "http://"},
        {"url": "http://x:port/"},
        {"dialect": "2.0"},
        {"history": "some"},
        {"timeout": 0},
        {"stop_url": "ftp://x"},
        {"stop_url": "http://x/{thread_id}/stop"},
        {"stop_url": "http://x/{threadId/stop"},
        {"headers": {"X": "é"}},
        {"headers": {"X": "a\r\nY: b"}},
        {"tool_schemas": {"pay": {"$ref": "http://x/y"}}},
        {"tool_schemas": {"pay": {"properties": {"code": {"pattern": r"(\w)\1"}}}}},
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        AguiAdapter(**{"url": "http://x/", **options})


async def test_the_state_goes_there_and_comes_back() -> None:
    stream = [
        started(),
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 2}]},
        finished(),
    ]
    upstream = Upstream(stream)
    async with before(upstream) as talk:
        await talk.send(messages=[USER], state={"a": 1})
        await talk.say("more")
    assert [body["state"] for body in upstream.bodies] == [{"a": 1}, {"a": 1, "b": 2}]


async def test_the_result_and_the_usage_of_the_run_are_passed_on() -> None:
    used = {"model": "m", "inputTokens": 3, "outputTokens": 2}
    upstream = Upstream([started(), *text("Hi."), finished(result={"rows": 2}, usage=[used])])
    async with before(upstream) as talk:
        await talk.say("go")
        end = talk.events[-1]
    assert (end["type"], end["result"]) == ("RUN_FINISHED", {"rows": 2})
    assert [used.items() <= entry.items() for entry in end["usage"]] == [True]
