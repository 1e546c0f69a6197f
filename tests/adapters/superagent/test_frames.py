"""What an agent of SuperAgent does besides speaking is seen by a page, and kept in the thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
import respx

from agui_bridge_superagent import SuperAgentAdapter
from tests.support.agents import Bench, outcome

URL = "http://remote.example"
DONE: tuple[str, Any] = ("done", None)
CALL: dict[str, Any] = {"id": "pay", "name": "pay", "arguments": {"sum": 5}, "status": "calling"}
RESULT: dict[str, Any] = {"id": "pay", "name": "pay", "result": "paid", "is_error": False}


def frame(kind: str, data: Any) -> bytes:
    body = {"type": kind, "timestamp": 1767225600123, "data": data}
    return f"event: {kind}\ndata: {json.dumps(body)}\n\n".encode()


def seen(events: list[dict[str, Any]]) -> list[Any]:
    """What a page is told, without ids and without what the run itself is told by."""
    told: list[Any] = []
    for event in events:
        match event["type"]:
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" | "TOOL_CALL_ARGS":
                told.append((event["type"].split("_")[0], event["delta"]))
            case "TOOL_CALL_START":
                told.append(event["toolCallName"])
            case "TOOL_CALL_RESULT" | "ACTIVITY_SNAPSHOT":
                told.append(event["content"])
            case "CUSTOM":
                told.append((event["name"], event["value"]))
    return told


STEP = {"agent_name": "research", "step": "turn_1", "total": 3, "current": 1}
SWITCH = {"from_agent": "router", "to_agent": "coder", "reason": "delegation"}

CASES: dict[str, tuple[list[tuple[str, Any]], list[Any]]] = {
    "a call and its result": (
        [("tool_call", CALL), ("tool_result", RESULT)],
        ["pay", ("TOOL", '{"sum": 5}'), "paid"],
    ),
    "a result without its call": ([("tool_result", RESULT)], ["pay", "paid"]),
    "a tool that failed": (
        [("tool_call", CALL), ("tool_result", RESULT | {"is_error": True, "result": "sk-secret"})],
        ["pay", ("TOOL", '{"sum": 5}'), "The tool failed."],
    ),
    "thoughts": (
        [("thinking", {"content": "", "delta": "Well"}), ("thinking", {"delta": ", yes."})],
        [("REASONING", "Well"), ("REASONING", ", yes.")],
    ),
    "progress": ([("progress", STEP)], [STEP]),
    "another agent": ([("agent_switch", SWITCH)], [("superagent:agent_switch", SWITCH)]),
    "code": (
        [("code_block", {"language": "go", "code": "x()", "delta": ""})],
        [("TEXT", "\n```go\nx()\n```\n")],
    ),
    "a frame that is unknown": ([("beginRendering", {"surfaceId": "x"})], []),
    "a call without a name": ([("tool_call", {"id": "1"})], []),
    "a frame without data": ([("tool_result", None)], []),
}


@pytest.mark.parametrize("case", CASES)
@respx.mock
async def test_a_frame_is_told_as_what_it_is(case: str) -> None:
    frames, told = CASES[case]
    content = b"".join(frame(*each) for each in (*frames, DONE))
    headers = {"content-type": "text/event-stream"}
    respx.post(f"{URL}/api/v1/chat/stream").respond(200, headers=headers, content=content)
    async with Bench(SuperAgentAdapter(URL, "a")).open() as bench:
        events = await bench.say("go")

    assert (seen(events), outcome(events)) == (told, "success")


@respx.mock
async def test_two_calls_of_one_tool_have_ids_of_their_own_and_their_own_results() -> None:
    """The original names a call by its tool, in every run."""
    calls = [CALL, CALL | {"arguments": {"sum": 6}}]
    frames: list[tuple[str, Any]] = [("tool_call", calls[0]), ("tool_call", calls[1])]
    frames += [("tool_result", RESULT), ("tool_result", RESULT | {"result": "paid again"}), DONE]
    content = b"".join(frame(*each) for each in frames)
    headers = {"content-type": "text/event-stream"}
    respx.post(f"{URL}/api/v1/chat/stream").respond(200, headers=headers, content=content)
    async with Bench(SuperAgentAdapter(URL, "a")).open() as bench:
        streams = [await bench.say("go"), await bench.say("again")]

    begun = [e["toolCallId"] for s in streams for e in s if e["type"] == "TOOL_CALL_START"]
    ended = [
        (e["toolCallId"], e["content"])
        for s in streams
        for e in s
        if e["type"] == "TOOL_CALL_RESULT"
    ]
    assert len(set(begun)) == 4
    assert ended == list(zip(begun, ["paid", "paid again"] * 2, strict=True))


@respx.mock
async def test_a_call_whose_result_never_came_is_of_unknown_fate() -> None:
    content = frame("tool_call", CALL) + frame("error", {"code": "chat_failed", "message": "no"})
    content += frame("done", None)
    headers = {"content-type": "text/event-stream"}
    respx.post(f"{URL}/api/v1/chat/stream").respond(200, headers=headers, content=content)
    async with Bench(SuperAgentAdapter(URL, "a")).open() as bench:
        events = await bench.say("go")

    (result,) = [e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"]
    assert "unknown" in result
    assert events[-1]["code"] == "UPSTREAM_ERROR"
