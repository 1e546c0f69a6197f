"""A Mastra server that fails, refuses, or sends what nobody expects; and what no recording has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge, Principal
from agui_bridge.errors import ConfigurationError
from agui_bridge_mastra import MastraAdapter
from tests.adapters.mastra.replay import Answer, Server
from tests.docs.pages import Conversation

APPROVE = {"approved": True}


class Talk(Conversation):
    """A conversation with an agent before a scripted server."""

    def __init__(self, server: Server, **options: Any) -> None:
        agent = options.pop("agent", "approval-agent")
        adapter = MastraAdapter("http://mastra.test", agent, client=server.client(), **options)
        bridge = Bridge()
        bridge.add("agent", adapter)
        self.adapter = adapter
        super().__init__(bridge, "agent")

    @property
    def error(self) -> tuple[str, str]:
        """Code and message of the error that the last run ended with."""
        last = self.events[-1]
        assert last["type"] == "RUN_ERROR", last
        return last["code"], last["message"]


def stream(*chunks: dict[str, Any], end: bool = True) -> Answer:
    """An answer of these chunks."""
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    content = "".join([*lines, *(["data: [DONE]\n\n"] if end else [])])
    return lambda request: httpx.Response(
        200, content=content.encode(), headers={"content-type": "text/event-stream"}
    )


def agent(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "runId": "theirs", "from": "AGENT", "payload": payload}


def status(code: int, body: str = "") -> Answer:
    return lambda request: httpx.Response(code, text=body)


def nothing_suspended(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"runs": [], "total": 0})


def refuse(error: type[httpx.TransportError]) -> Answer:
    def raising(request: httpx.Request) -> httpx.Response:
        raise error("secret-host:1")

    return raising


FINISH = agent("finish", stepResult={"reason": "stop"}, output={"usage": {}})
SUSPENDED = agent(
    "tool-call-suspended",
    toolCallId="c1",
    toolName="ask",
    args={"topic": "red"},
    suspendPayload={"question": "What about red?"},
    resumeSchema=json.dumps(
        {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
    ),
)


async def test_reasoning_is_told_apart_from_text() -> None:
    talk = Talk(
        Server(
            stream(
                agent("reasoning-start", id="r"),
                agent("reasoning-delta", id="r", text="Hm."),
                agent("reasoning-end", id="r"),
                agent("text-delta", id="t", text="So."),
                FINISH,
            )
        )
    )

    assert await talk.say("hello") == "So."
    kinds = [e["type"] for e in talk.events]
    assert [k for k in kinds if "REASONING" in k] == [
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
    ]


async def test_calls_without_streamed_arguments_errors_of_tools_and_data_come_through() -> None:
    talk = Talk(
        Server(
            stream(
                agent("tool-call", toolCallId="c", toolName="look", args={"at": "ü"}),
                agent("tool-output", toolCallId="c", toolName="look", output={"half": True}),
                agent("tool-error", toolCallId="c", toolName="look", error={"stack": "at x.mjs"}),
                agent("unheard-of", more=1),
                FINISH,
            )
        )
    )
    await talk.say("hello")

    found = {e["type"]: e for e in talk.events}
    assert json.loads(found["TOOL_CALL_ARGS"]["delta"]) == {"at": "ü"}
    assert found["CUSTOM"]["value"] == {"half": True}
    assert found["TOOL_CALL_RESULT"]["content"] == "The tool failed."
    assert found["RUN_FINISHED"]["outcome"] == {"type": "success"}


async def test_a_failing_sub_agent_is_an_error_of_its_own() -> None:
    inner = agent("error", error={"message": "no credit: key sk-1", "stack": "at y.mjs"})
    talk = Talk(
        Server(
            stream(
                agent("tool-call", toolCallId="c", toolName="agent-helper", args={}),
                agent("tool-output", toolCallId="c", toolName="agent-helper", output=inner),
                agent("tool-result", toolCallId="c", toolName="agent-helper", result="sorry"),
                FINISH,
            )
        )
    )
    await talk.say("hello")

    kinds = [e["type"] for e in talk.events]
    assert "SUBAGENT_ERROR" in kinds
    assert kinds[-1] == "RUN_FINISHED"
    assert "sk-1" not in str(talk.events)


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

    assert talk.error[0] == "UPSTREAM_ERROR"


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
    async def breaking() -> AsyncIterator[bytes]:
        yield f"data: {json.dumps(SUSPENDED)}\n\n".encode()
        raise httpx.ReadError("gone")

    def answer(request: httpx.Request) -> httpx.Response:
        kind = {"content-type": "text/event-stream"}
        return httpx.Response(200, content=breaking(), headers=kind)

    talk = Talk(Server(answer, "01"))
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

    server = Server(stream(SUSPENDED), stream(), listing, stream(FINISH))
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
        (stream({"secret": 1}, {"type": "tool-call", "payload": {}}), "unknown shape"),
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


async def test_a_message_with_an_answer_is_told_once_the_run_is_through() -> None:
    server = Server(stream(SUSPENDED), stream(SUSPENDED), stream(FINISH), "01")
    talk = Talk(server)
    await talk.say("ask")
    (ask,) = talk.asks
    await talk._send(
        resume=[{"interruptId": ask["id"], "status": "resolved", "payload": {"answer": "a"}}],
        messages=[{"id": "more", "role": "user", "content": "and hello"}],
    )
    assert talk.asks
    said = await talk.answer({"answer": "b"})

    assert said.startswith("Result: lookupRecord")
    assert server.requests[-1][1]["messages"] == [{"role": "user", "content": "and hello"}]
    assert server.requests[-1][1]["runId"] != server.requests[0][1]["runId"]


async def test_what_a_cancelled_question_means_can_be_said() -> None:
    server = Server(stream(SUSPENDED), stream(FINISH))
    talk = Talk(server, cancel_with={"ask": {"answer": "nothing"}})
    await talk.say("ask")
    await talk.answer(None)

    assert server.requests[-1][1]["resumeData"] == {"answer": "nothing"}


async def test_without_memory_the_whole_conversation_is_sent() -> None:
    server = Server("01", "01")
    talk = Talk(
        server,
        memory=False,
        headers={"authorization": "Bearer x"},
        options={"maxSteps": 3, "autoResumeSuspendedTools": True},
    )
    await talk.say("hello")
    await talk.say("again")

    body = server.requests[-1][1]
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert "memory" not in body
    assert body["maxSteps"] == 3
    assert body["autoResumeSuspendedTools"] is False
    assert server.headers[-1]["authorization"] == "Bearer x"


async def test_pictures_go_along() -> None:
    server = Server("01")
    talk = Talk(server)
    source = {"type": "url", "value": "https://x.test/y.png", "mimeType": "image/png"}
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image", "source": source}]
    await talk._send(messages=[{"id": "u", "role": "user", "content": parts}])

    (message,) = server.requests[0][1]["messages"]
    assert message["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image", "image": "https://x.test/y.png", "mediaType": "image/png"},
    ]


async def test_scopes_have_threads_and_resources_of_their_own() -> None:
    server = Server("01")
    talk = Talk(server)
    message = {"id": "u", "role": "user", "content": "hello"}
    await talk._send(principal=Principal("acme"), messages=[message])

    assert server.requests[0][1]["memory"] == {"thread": "acme/t", "resource": "acme"}


async def test_a_workflow_without_an_input_is_told_what_it_needs() -> None:
    talk = Talk(Server(), kind="workflow", agent="refundWorkflow")
    await talk.say("hello")

    assert "JSON object" in talk.error[1]


def test_options_that_make_no_sense_are_refused() -> None:
    for options in ({"kind": "team"}, {"kind": "network", "memory": False}):
        with pytest.raises(ConfigurationError):
            MastraAdapter("http://x", "a", **options)
    with pytest.raises(ConfigurationError, match="url should be"):
        MastraAdapter("x:4111", "a")


async def test_the_connections_are_closed_with_the_bridge() -> None:
    adapter = MastraAdapter("http://127.0.0.1:9", "a")
    bridge = Bridge()
    bridge.add("agent", adapter)
    async with bridge.lifespan():
        talk = Conversation(bridge, "agent")
        await talk.say("hello")

    assert "can't be reached" in talk.events[-1]["message"]


def within(*path: tuple[str, str], chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk of a sub-agent, within the calls that lead to it, outermost first."""
    for call, name in reversed(path):
        payload = {"toolCallId": call, "toolName": f"agent-{name}", "output": chunk}
        chunk = {"type": "tool-output", "runId": "theirs", "from": "AGENT", "payload": payload}
    return chunk


async def test_a_sub_agent_of_a_sub_agent_asks_with_its_own_tool() -> None:
    middle, leaf = ("c1", "middle"), ("c2", "leaf")
    asking = {"toolName": "wipe", "args": {"disk": 1}}
    server = Server(
        stream(
            agent("tool-call", toolCallId="c1", toolName="agent-middle", args={}),
            within(middle, chunk=agent("start")),
            within(
                middle, chunk=agent("tool-call", toolCallId="c2", toolName="agent-leaf", args={})
            ),
            within(middle, leaf, chunk=agent("tool-call", toolCallId="c3", **asking)),
            within(middle, leaf, chunk=agent("tool-call-approval", toolCallId="c3", **asking)),
            within(middle, chunk=agent("tool-call-approval", toolCallId="c2", **asking)),
            agent("tool-call-approval", toolCallId="c1", **asking),
        ),
        stream(
            within(middle, leaf, chunk=agent("tool-result", toolCallId="c3", result="wiped")),
            within(middle, leaf, chunk=agent("finish")),
            within(middle, chunk=agent("tool-result", toolCallId="c2", result="done")),
            within(middle, chunk=agent("finish")),
            agent("tool-result", toolCallId="c1", result="all done"),
            FINISH,
        ),
    )
    talk = Talk(server)
    await talk.say("wipe")
    (ask,) = talk.asks
    first, second = [e for e in talk.events if e["type"] == "SUBAGENT_STARTED"]
    calls = {e["toolCallName"]: e for e in talk.events if e["type"] == "TOOL_CALL_START"}
    ended = [e for e in talk.events if e["type"] == "SUBAGENT_FINISHED"]
    assert (first["name"], second["name"]) == ("middle", "leaf")
    assert second["parentSubagentRunId"] == first["subagentRunId"]
    assert second["parentToolCallId"] == calls["agent-leaf"]["toolCallId"]
    assert ask["toolCallId"] == calls["wipe"]["toolCallId"]
    assert ask["subagentRunId"] == second["subagentRunId"]
    assert [e["outcome"]["type"] for e in ended] == ["suspended", "suspended"]
    await talk.answer(APPROVE)

    assert server.requests[-1][1]["toolCallId"] == "c1"
    results = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
    assert results == ["wiped", "done", "all done"]
