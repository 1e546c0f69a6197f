"""What a Mastra server is sent."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import Principal
from agui_bridge.errors import ConfigurationError
from agui_bridge_mastra import MastraAdapter
from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import FINISH, SUSPENDED, Talk, agent, result, status, stream


async def test_a_message_with_an_answer_is_told_once_the_run_is_through() -> None:
    server = Server(stream(SUSPENDED), stream(SUSPENDED), stream(result(), FINISH), "01")
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


@pytest.mark.parametrize(
    ("options", "route", "path"),
    [
        ({"maxSteps": 3}, "/x/{agent}/resume", "/x/approval-agent/resume"),
        ({"maxSteps": 3}, None, "/api/agents/approval-agent/approve-network-tool-call"),
        ({}, "/x/{agent}/resume", "/api/agents/approval-agent/approve-network-tool-call"),
    ],
)
async def test_an_approval_in_a_network_takes_the_route_that_takes_its_options(
    options: dict[str, Any], route: str | None, path: str
) -> None:
    asks = agent("tool-execution-approval", toolName="t", args={})
    server = Server(stream(asks), stream(agent("network-execution-event-finish", result="done")))
    talk = Talk(server, kind="network", options=options, resume_network_path=route)
    await talk.say("go")
    await talk.answer({"approved": True})

    asked, body = server.requests[1]
    assert asked == path
    if path.startswith("/x"):
        assert body["resumeData"] == {"approved": True}
        assert body["maxSteps"] == 3


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
        options={"maxSteps": 3, "autoResumeSuspendedTools": False},
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


@pytest.mark.parametrize("kind", ["image", "document"])
async def test_a_files_handle_is_no_address(kind: str) -> None:
    server = Server("01")
    talk = Talk(server)
    source = {"type": "file", "value": "file-abcd1234", "provider": "openai"}
    parts = [{"type": "text", "text": "What is it?"}, {"type": kind, "source": source}]
    await talk._send(messages=[{"id": "u", "role": "user", "content": parts}])

    (message,) = server.requests[0][1]["messages"]
    words = f"[The user sent something that can't be passed on to you: {kind}.]"
    assert message["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "text", "text": words},
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
    for options in (
        {"kind": "team"},
        {"kind": "network", "memory": False},
        {"working_memory": "yes"},
        {"working_memory": "tell", "memory": False},
        {"working_memory": "share", "kind": "workflow"},
    ):
        with pytest.raises(ConfigurationError):
            MastraAdapter("http://x", "a", **options)
    with pytest.raises(ConfigurationError, match="url should be"):
        MastraAdapter("x:4111", "a")
    with pytest.raises(ConfigurationError, match=r"step_schemas\['ask'\]: .* is invalid"):
        MastraAdapter("http://x", "a", kind="workflow", step_schemas={"ask": {"type": "strange"}})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"autoResumeSuspendedTools": True}, "auto_resume='on'"),
        ({"runId": "r"}, r"options\['runId'\]"),
        ({"messages": []}, r"options\['messages'\]"),
        ({"memory": "mine"}, "should be an object"),
        ({"memory": {"thread": "t"}}, r"options\['memory'\]\['thread'\]"),
        ({"memory": {"resource": "r"}}, r"options\['memory'\]\['resource'\]"),
    ],
)
def test_options_that_are_the_bridges_to_say_are_refused(options: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        MastraAdapter("http://x", "a", options=options)


async def test_a_run_stands_whose_working_memory_can_not_be_read() -> None:
    server = Server("01", status(500))
    talk = Talk(server, working_memory="tell")
    said = await talk.say("lookup 7")

    assert said.startswith("Result: lookupRecord")
    assert talk.events[-1]["outcome"] == {"type": "success"}
    assert server.used_up
