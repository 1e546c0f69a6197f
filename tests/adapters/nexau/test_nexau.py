"""The NexAU adapter against a server that behaves like NexAU where a client can go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_bridge import EndReason
from agui_bridge.adapters import Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.decisions import Answer, Cancel
from agui_bridge_nexau import NexauAdapter
from agui_bridge_nexau.events import CallSeen, Translator
from agui_bridge_nexau.questions import answer_text, ask_of, labels_of
from tests.adapters.nexau.simulator import Nexau
from tests.support.agents import Bench, eventually, outcome
from tests.support.server import serve


class NexauBench(Bench):
    """A bench whose agent is a server's.

    Attributes:
        base: the server's address.
    """

    def __init__(self, adapter: NexauAdapter, base: str, **settings: Any) -> None:
        super().__init__(adapter, **settings)
        self.base = base


@contextlib.asynccontextmanager
async def bench_of(server: Nexau, **options: Any) -> AsyncIterator[NexauBench]:
    """A bench whose agent is the server's."""
    told = options.pop("on_run_end", ())
    async with serve(server.app, lifespan="off") as base:
        adapter = NexauAdapter(base, **{"drain_timeout": 5.0, **options})
        try:
            yield NexauBench(adapter, base, on_run_end=told)
        finally:
            server.go.set()
            await adapter.aclose()


@pytest.mark.parametrize("nulls", [False, True])
async def test_only_new_messages_are_sent_under_scope_and_thread(nulls: bool) -> None:
    server = Nexau(nulls=nulls)
    server.go.set()
    async with bench_of(server, session_prefix="x-", headers={"x-key": "k"}) as bench:
        await bench.say("first")
        events = await bench.say("first", "second")
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


# --- stops ---


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_is_sent_before_the_stream_is_closed_and_reported_as_cancelled(
    force: bool,
) -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await bench.engine.stop(bench.KEY, force=force)
        assert outcome(await reader.rest()) == "cancelled"
        await eventually(server.runs[0].over.is_set)
    assert (stopped.status, stopped.partial_response) == ("success", "one ")
    assert stopped.interrupted_at_iteration == 1
    assert [stop["force"] for stop in server.stops] == [force]
    assert server.log == ["started", "stop", "ended"]


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_that_finds_no_running_agent_is_sent_again(force: bool) -> None:
    server = Nexau(unregistered=3)
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        assert (await bench.engine.stop(bench.KEY, force=force)).status == "success"
        await reader.rest()
        await eventually(server.runs[0].over.is_set)
    assert len(server.stops) == 4
    assert not server.runs[0].closed


async def test_a_stop_before_the_run_has_begun_is_sent_once_it_has() -> None:
    server = Nexau()
    server.begin.clear()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await eventually(lambda: bool(server.runs))
        stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
        await asyncio.sleep(0)
        assert server.stops == []
        server.begin.set()
        assert (await stopping).status == "success"
        assert outcome(await reader.rest()) == "cancelled"
    assert server.log == ["started", "stop", "ended"]


async def test_a_stop_before_anything_was_sent_sends_nothing_until_the_next_run() -> None:
    server = Nexau()
    server.go.set()
    async with bench_of(server) as bench:
        run = Run("agent", "t", "r", bench.call("one").parsed.input, bench.call("one").principal)
        run.raw_messages = run.raw_new_messages = [{"id": "one", "role": "user", "content": "one"}]
        run.mint = lambda: "id"
        run.stop.request()
        assert [item async for item in bench.adapter.run(run)] == []
        assert server.runs == []
        await bench.say("one", "two")
    assert [m["content"][0]["text"] for m in server.runs[0].body["messages"]] == ["one", "two"]


async def test_the_next_run_begins_only_after_the_stopped_one_has_ended() -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await bench.engine.stop(bench.KEY, force=True)
        await reader.rest()
        following = bench.begin("more")
        await eventually(lambda: len(server.runs) == 2)
        server.go.set()
        assert outcome(await following.rest()) == "success"
    assert server.log == ["started", "stop", "ended", "started", "ended"]
    assert server.history["default", "t"] == ["go", "one ", "more", "one two "]


async def test_a_client_that_goes_away_stops_the_run_there_and_the_session_is_free() -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go", disconnect="stop")
        await reader.until("TEXT_MESSAGE_CONTENT")
        reader.leave()
        await eventually(server.runs[0].over.is_set)
        await eventually(lambda: not bench.engine.running)
        assert server.stops
        server.go.set()
        assert outcome(await bench.say("more")) == "success"
    assert "locked" not in server.log
    assert "client gone" not in server.log


async def test_a_session_that_another_process_uses_is_tried_again_for_a_while() -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        second = NexauAdapter(bench.base, drain_timeout=5.0)
        first = Bench(second).begin("theirs")
        await first.until("TEXT_MESSAGE_CONTENT")
        reader = bench.begin("mine")
        await eventually(lambda: "locked" in server.log)
        server.go.set()
        assert outcome(await reader.rest()) == "success"
        await first.rest()
        await second.aclose()
    assert server.history["default", "t"] == ["theirs", "one two ", "mine", "one two "]


async def test_a_session_that_stays_busy_fails_and_the_message_is_sent_with_the_next() -> None:
    server = Nexau()
    async with bench_of(server, busy_patience=0.0) as bench:
        second = NexauAdapter(bench.base, drain_timeout=5.0)
        first_reader = Bench(second).begin("theirs")
        await first_reader.until("TEXT_MESSAGE_CONTENT")
        failed = await bench.say("mine")
        assert (outcome(failed), "busy" in failed[-1]["message"]) == ("UPSTREAM_ERROR", True)
        server.go.set()
        await first_reader.rest()
        assert outcome(await bench.say("mine", "again")) == "success"
        await second.aclose()
    assert server.history["default", "t"][-3:] == ["mine", "again", "one two "]


# --- failures ---


async def test_a_server_that_is_not_there_has_seen_nothing() -> None:
    with socket.socket() as probe:
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


FINISHED = '{"type":"RUN_STARTED"}', '{"type":"RUN_FINISHED"}'


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
    async with _saying(*frames) as bench:
        events = await bench.say("go")
    assert [e["type"] for e in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert told in events[-1]["message"]
    assert "secret" not in str(events)


async def test_unknown_events_and_frames_that_are_none_are_passed_over() -> None:
    async with _saying(
        FINISHED[0], "[DONE]", '{"type":"COMPACTION_STARTED","x":1}', '{"type":7}', "[]",
        '{"type":"TOOL_CALL_RESULT","tool_call_id":"nobody","content":"x"}', FINISHED[1],
    ) as bench:  # fmt: skip
        assert [e["type"] for e in await bench.say("go")] == ["RUN_STARTED", "RUN_FINISHED"]


@contextlib.asynccontextmanager
async def _saying(*frames: str, **options: Any) -> AsyncIterator[Bench]:
    async def stream(_: Any) -> Response:
        body = "".join(f"data: {frame}\n\n" for frame in frames)
        return StreamingResponse(iter([body]), media_type="text/event-stream")

    app = Starlette(routes=[Route("/stream", stream, methods=["POST"])])
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(base)
        yield Bench(adapter, **options)
        await adapter.aclose()


# --- what it asks ---

ASKING = (
    FINISHED[0],
    '{"type":"TOOL_CALL_START","tool_call_id":"c","tool_call_name":"ask_user"}',
    '{"type":"TOOL_CALL_ARGS","tool_call_id":"c","delta":"{\\"question\\":\\"Name?\\"}"}',
    '{"type":"TOOL_CALL_RESULT","tool_call_id":"c","content":"{\\"_is_stop_tool\\": true}"}',
    FINISHED[1],
)


async def test_another_tool_that_stops_the_run_asks_nobody_and_is_told_as_the_reason() -> None:
    seen: list[EndReason] = []
    frames = [frame.replace("ask_user", "complete_task") for frame in ASKING]

    def hook(run: Run, reason: EndReason) -> None:
        seen.append(reason)

    async with _saying(*frames, on_run_end=[hook]) as bench:
        assert outcome(await bench.say("go")) == "success"
        await eventually(lambda: seen == [EndReason.STOP_TOOL_TRIGGERED])


async def test_a_question_whose_answer_reached_nobody_stands_again() -> None:
    async with _saying(*ASKING) as bench:
        asked = await bench.ask()
    # The server is gone by now.
    events = await bench.say(resume=bench.entries(asked, {"answer": "Bob"}))
    await bench.adapter.aclose()
    assert [e["type"] for e in events][-2:] == ["RUN_FINISHED", "RUN_ERROR"]
    assert events[-2]["outcome"]["interrupts"][0]["id"] == asked[0]["id"]


def call(arguments: str) -> CallSeen:
    return CallSeen("c", "ask_user", arguments, '{"_is_stop_tool": true}', ended=True)


def test_questions_become_a_form_and_its_answers_a_message() -> None:
    ask = ask_of(
        call(
            '{"questions":[{"question":"Name?","type":"text"},'
            '{"question":"Which?","options":[{"label":"red"},{"label":"blue"}]},'
            '{"question":"Any?","multiSelect":true,"options":[{"label":"a"}]}]}'
        )
    )
    assert ask.reason == "input_required"
    assert ask.message == "Name?\nWhich?\nAny?"
    schema: Any = ask.response_schema
    assert schema["required"] == ["answer", "answer_2", "answer_3"]
    assert schema["properties"]["answer_2"]["enum"] == ["red", "blue"]
    assert "enum" not in schema["properties"]["answer_3"]
    payload = {"answer": "Bob", "answer_2": "red", "answer_3": "b"}
    assert answer_text(Answer(payload), labels_of(ask)) == "Name? Bob\nWhich? red\nAny? b"


@pytest.mark.parametrize("arguments", ["", "broken", "[]", "{}", '{"questions":[]}'])
def test_a_question_without_words_is_still_one(arguments: str) -> None:
    assert ask_of(call(arguments)).message == "The agent asks for input."


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Answer({"answer": "Bob"}), "Bob"),
        (Answer({"answer": 7}), "7"),
        (Answer("Bob"), "Bob"),
        (Cancel("cancelled"), "The user did not answer the question."),
        (Cancel("expired"), "The user did not answer the question in time."),
    ],
)
def test_a_decision_is_said_in_words(decision: Any, text: str) -> None:
    assert answer_text(decision, {}) == text


# --- events ---


def kinds(*events: dict[str, Any]) -> list[str]:
    translator = Translator(lambda: "minted")
    found = [e for event in events for e in translator.take(event)] + translator.close()
    return [str(e.type.value) for e in found]


def test_missing_ids_and_ends_are_supplied() -> None:
    content = {"type": "TEXT_MESSAGE_CONTENT", "delta": "x"}
    assert kinds(content, content) == [
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
    ]  # fmt: skip
    thought = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "x"}
    assert kinds(thought) == [
        "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END", "REASONING_END",
    ]  # fmt: skip
    start = {"type": "TOOL_CALL_START", "tool_call_name": "x", "tool_call_id": "c"}
    result = {"type": "TOOL_CALL_RESULT", "tool_call_id": "c", "content": {"a": 1}}
    assert kinds(start, result) == ["TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"]


def test_text_around_thoughts_is_two_messages() -> None:
    text = {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "x"}
    thought = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "thinking_message_id": "t", "delta": "x"}
    found = kinds(text, thought, text)
    assert found.count("TEXT_MESSAGE_START") == found.count("TEXT_MESSAGE_END") == 2


def test_usage_is_summed_for_each_model() -> None:
    translator = Translator(lambda: "minted")
    for model, tokens in (("a", 10), ("b", 1), ("a", 5)):
        translator.take({"type": "MODEL_CALL_FINISHED", "model_name": model})
        translator.take({"type": "USAGE_UPDATE", "usage": {"input_tokens": tokens}})
        translator.take({"type": "USAGE_UPDATE", "usage": {"input_tokens": 0}})
    found = {entry["model"]: entry["input_tokens"] for entry in translator.usage_entries()}
    assert found == {"a": 15, "b": 1}


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is no URL"):
        NexauAdapter("localhost:8000")


async def test_a_message_with_an_image_is_refused_in_words() -> None:
    adapter = NexauAdapter("http://127.0.0.1:9")
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/x.png"}}
    message = {"id": "m", "role": "user", "content": [image]}
    events = await Bench(adapter).say(messages=[message])
    assert (outcome(events), "text only" in events[-1]["message"]) == ("UPSTREAM_ERROR", True)
