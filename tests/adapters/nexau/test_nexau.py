"""What a NexAU server is sent, and what becomes of its failures."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agui_bridge.engine.input.submission import Submission
from agui_bridge.errors import ConfigurationError
from agui_bridge.stdio.json_rpc import read_query
from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.bench import FINISHED, bench_of, saying
from tests.adapters.nexau.simulator import Nexau
from tests.support.agents import Bench, Reader, outcome
from tests.support.server import serve


@pytest.mark.parametrize("nulls", [False, True])
async def test_only_new_messages_are_sent_under_scope_and_thread(nulls: bool) -> None:
    server = Nexau(nulls=nulls)
    server.go.set()
    async with bench_of(server, session_prefix="x-", headers={"x-key": "k"}) as bench:
        await bench.say("first")
        events = await bench.say("second")
    assert outcome(events) == "success"
    assert [run.body["messages"] for run in server.runs] == [
        [{"role": "user", "content": [{"type": "text", "text": text}]}]
        for text in ("first", "second")
    ]
    assert {(r.body["user_id"], r.body["session_id"]) for r in server.runs} == {("default", "x-t")}
    assert server.runs[0].headers["x-key"] == "k"
    assert "accept" in server.runs[0].headers


async def test_context_and_variables_are_passed_on() -> None:
    server = Nexau()
    server.go.set()
    async with bench_of(server) as bench:
        await bench.say(
            "go",
            context=[{"description": "date", "value": "today"}],
            forwardedProps={"variables": {"a": 1}, "other": 2},
        )
    assert server.runs[0].body["context"] == {"date": "today"}
    assert server.runs[0].body["variables"] == {"a": 1}


async def test_what_nexaus_clients_send_over_pipes_reaches_nexau_with_its_types() -> None:
    server = Nexau()
    server.go.set()
    params = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}],
        "user_id": "default-user",
        "session_id": "s",
        "context": {"date": "today", "days": 7, "dry": False, "none": None, "list": [1, "1"]},
        "variables": {"template": {"name": "Ann"}, "runtime_vars": {"key": "k"}},
    }
    async with bench_of(server) as bench:
        query = read_query(params, bench.settings.input_limits, lambda: "minted")
        call = Submission(bench.agent, query.principal, query.parsed)
        assert outcome(await Reader(*bench.engine.submit(call)).rest()) == "success"
    assert server.runs[0].body == {**params, "user_id": "default"}


async def test_a_server_that_is_not_there_has_seen_nothing() -> None:
    with socket.socket() as probe:
        # Taken, so that no other server comes to listen there.
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        adapter = NexauAdapter(f"http://127.0.0.1:{port}")
        events = await Bench(adapter).say("go")
    assert outcome(events) == "UPSTREAM_ERROR"
    assert "can't be reached" in events[-1]["message"]
    await adapter.aclose()


@pytest.mark.parametrize("status", [401, 404, 422, 500, 503])
async def test_an_http_error_tells_its_status_and_not_its_body(status: int) -> None:
    async def refuse(_: Any) -> Response:
        return PlainTextResponse("a secret", status)

    app = Starlette(routes=[Route("/stream", refuse, methods=["POST"])])
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(base)
        events = await Bench(adapter).say("go")
        await adapter.aclose()
    assert str(status) in events[-1]["message"]
    assert "secret" not in str(events)


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        ((FINISHED[0],), "before the run's end"),
        ((FINISHED[0], '{"type":"RUN_ERROR","message":"a secret"}'), "its run failed"),
        (('{"type":"TRANSPORT_ERROR","message":"a secret"}',), "its run failed"),
        (
            (
                FINISHED[0],
                '{"type":"RUN_ERROR","message":"a secret"}',
                '{"type":"TRANSPORT_ERROR","message":"another"}',
            ),
            "its run failed",
        ),
    ],
)
async def test_a_run_that_fails_there_is_one_error_without_its_words(
    frames: Sequence[str], told: str
) -> None:
    async with saying(*frames) as bench:
        events = await bench.say("go")
    assert [e["type"] for e in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert told in events[-1]["message"]
    assert "secret" not in str(events)


async def test_unknown_events_and_frames_that_are_none_are_passed_over() -> None:
    async with saying(
        FINISHED[0], "[DONE]", '{"type":"COMPACTION_STARTED","x":1}', '{"type":7}', "[]",
        '{"type":"TOOL_CALL_RESULT","tool_call_id":"nobody","content":"x"}', FINISHED[1],
    ) as bench:  # fmt: skip
        assert [e["type"] for e in await bench.say("go")] == ["RUN_STARTED", "RUN_FINISHED"]


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is no URL"):
        NexauAdapter("localhost:8000")


async def test_a_files_handle_is_named_in_words_and_fails_no_run() -> None:
    source = {"type": "file", "value": "file-abcd1234", "provider": "openai"}
    content = [{"type": "text", "text": "Look. "}, {"type": "image", "source": source}]
    server = Nexau()
    server.go.set()
    async with bench_of(server) as bench:
        events = await bench.say(messages=[{"id": "m", "role": "user", "content": content}])
    assert outcome(events) == "success"
    words = "Look. [The user sent something that can't be passed on to you: image.]"
    (message,) = server.runs[0].body["messages"]
    assert message["content"] == [{"type": "text", "text": words}]


async def test_a_message_with_an_image_is_refused_in_words() -> None:
    adapter = NexauAdapter("http://127.0.0.1:9")
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/x.png"}}
    message = {"id": "m", "role": "user", "content": [image]}
    events = await Bench(adapter).say(messages=[message])
    assert (outcome(events), "text only" in events[-1]["message"]) == ("UPSTREAM_ERROR", True)
