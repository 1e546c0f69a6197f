"""A Mastra server that fails, refuses, or sends what nobody expects."""

from __future__ import annotations

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.adapters.mastra.replay import Answer, Server
from tests.adapters.mastra.scripted import (
    APPROVE,
    FINISH,
    SUSPENDED,
    Talk,
    agent,
    broken,
    nothing_suspended,
    refuse,
    result,
    status,
    stream,
)
from tests.docs.pages import Conversation
from tests.support.stopped_at_once import StoppedAtOnce


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout])
async def test_what_was_not_delivered_can_be_sent_again(error: type[httpx.TransportError]) -> None:
    server = Server("02", refuse(error), "03")
    talk = Talk(server)
    await talk.say("delete 42")
    asked = talk.events
    await talk.answer(APPROVE)
    code, message = talk.error
    assert (code, "can't be reached" in message) == ("UPSTREAM_ERROR", True)
    assert "secret-host" not in message
    (again,) = [e for e in talk.events if e["type"] == "RUN_FINISHED"]
    assert again["outcome"] == asked[-1]["outcome"]
    talk.events = asked
    await talk.answer(APPROVE)

    assert talk.events[-1]["outcome"] == {"type": "success"}
    assert server.used_up


@pytest.mark.parametrize("error", [httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError])
async def test_what_may_have_been_delivered_is_never_sent_again(
    error: type[httpx.TransportError],
) -> None:
    talk = Talk(Server("02", refuse(error)))
    await talk.say("delete 42")
    asked = talk.events
    await talk.answer(APPROVE)
    assert "whether it acted is unknown" in talk.error[1]
    talk.events = asked
    await talk.answer(APPROVE)

    assert talk.error[0] == "RUN_INDETERMINATE"


async def test_an_approval_that_is_stopped_before_it_is_sent_is_not_sent() -> None:
    server = Server("02")
    talk = Talk(server, store=StoppedAtOnce())
    await talk.say("delete 42")
    await talk.answer(APPROVE)

    assert talk.events[-1]["outcome"] == {"type": "cancelled"}
    (told,) = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
    assert "not executed" in told


RESULT = result()
SPOKEN = [agent("text-start", id="t"), agent("text-delta", id="t", text="On it.")]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (status(500, "secret"), "RUN_INDETERMINATE"),
        (status(429), "UPSTREAM_ERROR"),
        (broken(), "RUN_INDETERMINATE"),
        (broken(*SPOKEN), "RUN_INDETERMINATE"),
        (stream(*SPOKEN, end=False), "RUN_INDETERMINATE"),
        (broken(RESULT, *SPOKEN), "UPSTREAM_ERROR"),
        (stream(RESULT, *SPOKEN, end=False), "UPSTREAM_ERROR"),
    ],
    ids=["500", "429", "silent", "spoken", "spoken, ended", "settled", "settled, ended"],
)
async def test_an_answer_is_of_unknown_fate_until_its_result_is_told(
    reply: Answer, code: str
) -> None:
    talk = Talk(Server(stream(SUSPENDED), reply, nothing_suspended))
    await talk.say("ask")
    asked = talk.events
    for _ in range(2):
        talk.events = asked
        await talk.answer({"answer": "a"})
        assert talk.error[0] == code
    assert "secret" not in str(talk.events)


async def test_a_batch_of_which_a_part_was_delivered_is_not_opened_again() -> None:
    second = {**SUSPENDED, "payload": {**SUSPENDED["payload"], "toolCallId": "c2"}}
    talk = Talk(Server(stream(SUSPENDED, second), stream(), refuse(httpx.ConnectError)))
    await talk.say("ask")
    await talk.answer({"answer": "a"}, {"answer": "b"})

    assert talk.error == (
        "UPSTREAM_ERROR",
        "Mastra took only some of the answers, then it could not be reached.",
    )


async def test_a_connection_that_breaks_at_the_question_asks_nothing() -> None:
    talk = Talk(Server(broken(SUSPENDED), "01"))
    await talk.say("ask")
    assert talk.error[1] == "The connection to Mastra broke while it answered (ReadError)."

    assert (await talk.say("lookup 7")).startswith("Result: lookupRecord")


async def test_an_empty_stream_asks_for_what_is_still_suspended() -> None:
    listed = {
        "runs": [
            {"runId": "other", "toolCalls": [{"toolCallId": "x", "toolName": "x"}]},
            {
                "runId": "ours",
                "toolCalls": [
                    {
                        "toolCallId": "c2",
                        "toolName": "ask",
                        "args": {"topic": "blue"},
                        "requiresApproval": False,
                        "suspendPayload": {"question": "And blue?"},
                    }
                ],
            },
        ]
    }
    server: Server

    def listing(request: httpx.Request) -> httpx.Response:
        assert request.url.params["threadId"] == "t"
        listed["runs"][1]["runId"] = server.requests[0][1]["runId"]
        return httpx.Response(200, json=listed)

    server = Server(stream(SUSPENDED), stream(), listing, stream(RESULT, result("c2"), FINISH))
    talk = Talk(server)
    await talk.say("ask")
    await talk.answer({"answer": "a"})
    (ask,) = talk.asks
    assert ask["message"] == "And blue?"
    await talk.answer({"answer": "b"})

    assert server.requests[-1][1]["toolCallId"] == "c2"
    assert talk.events[-1]["outcome"] == {"type": "success"}


async def test_an_empty_stream_of_a_run_that_is_gone_names_the_storage() -> None:
    talk = Talk(Server(stream(SUSPENDED), stream(), nothing_suspended))
    await talk.say("ask")
    await talk.answer({"answer": "a"})

    assert "storage provider" in talk.error[1]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (status(400, '{"error": "secret"}'), "request's shape (400)"),
        (status(401, "secret"), "credentials (401)"),
        (status(403, "secret"), "another resource"),
        (status(404, "secret"), "no such agent"),
        (status(429, "secret"), "too many requests"),
        (status(500, '{"error": "secret"}'), "Mastra failed (500)"),
        (status(502, "<html>secret"), "Mastra failed (502)"),
        (status(307), "Mastra failed (307)"),
        (
            stream({"stack": "secret"}, {"type": "tool-call", "payload": {}}),
            "ended before the run did",
        ),
        (stream(agent("text-start", id="t"), end=False), "ended before the run did"),
        (stream(agent("finish", stepResult={"reason": "error"})), "failed in Mastra"),
    ],
)
async def test_what_is_refused_or_broken_is_an_error_without_the_upstreams_words(
    answer: Answer, says: str
) -> None:
    talk = Talk(Server(answer, nothing_suspended))
    await talk.say("hello")

    code, message = talk.error
    assert code == "UPSTREAM_ERROR"
    assert says in message
    assert "secret" not in str(talk.events)


@pytest.mark.parametrize("line", ["data: {broken\n\n", "data: [1]\n\n"])
async def test_what_is_no_chunk_is_an_error(line: str) -> None:
    kind = {"content-type": "text/event-stream"}
    talk = Talk(Server(lambda request: httpx.Response(200, text=line, headers=kind)))
    await talk.say("hello")

    assert talk.error[0] == "UPSTREAM_ERROR"


async def test_the_connections_are_closed_with_the_bridge() -> None:
    adapter = MastraAdapter("http://127.0.0.1:9", "a")
    bridge = Bridge()
    bridge.add("agent", adapter)
    async with bridge.lifespan():
        talk = Conversation(bridge, "agent")
        await talk.say("hello")

    assert "can't be reached" in talk.events[-1]["message"]
