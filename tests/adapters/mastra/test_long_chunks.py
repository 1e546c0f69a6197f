"""Chunks of any length: what nobody reads of them is not held, and what is too large is said."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.errors import UpstreamError
from agui_bridge_mastra.frames import LONGEST, Pruned
from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import APPROVE, FINISH, Talk, agent, result, stream
from tests.servers.mastra.recording import RECORDINGS

MEGABYTE = "x" * 1024 * 1024


def pruned(chunk: dict[str, Any], longest: int = LONGEST, seed: int = 0) -> Any:
    """A chunk as it is held, fed in pieces that fall where they like."""
    found, data, random_ = Pruned(longest), json.dumps(chunk).encode(), random.Random(seed)
    while data:
        size = random_.choice((1, 2, 7, 100, 5000))
        found.feed(data[:size])
        data = data[size:]
    return json.loads(found.end())


def recorded_chunks() -> Iterator[dict[str, Any]]:
    """Every chunk of the recordings of a real server."""
    for path in sorted(Path(RECORDINGS).glob("*.json")):
        for exchange in json.loads(path.read_text(encoding="utf-8"))["exchanges"]:
            for said in exchange["said"]:
                text = said.removeprefix("data: ").strip("\x1e\n")
                if text.startswith("{") and '"type"' in text[:200]:
                    yield json.loads(text)


def read_of(chunk: Any) -> Any:
    """A chunk without what is passed over at the end of a step or a run."""
    if not isinstance(chunk, dict):
        return chunk
    payload = chunk.get("payload")
    if not isinstance(payload, dict):
        return chunk
    if chunk.get("type") in ("finish", "step-finish"):
        keep: dict[str, Callable[[Any], Any]] = {
            "stepResult": lambda value: value,
            "metadata": lambda value: {
                k: v if k == "modelMetadata" else None for k, v in value.items()
            },
            "output": lambda value: {k: v if k == "usage" else None for k, v in value.items()},
        }
        payload = {k: keep[k](v) if k in keep else None for k, v in payload.items()}
    elif str(chunk.get("type")).startswith(("agent-execution-event-", "workflow-execution-event-")):
        payload = read_of(payload)
    elif isinstance(payload.get("output"), dict):
        payload = {**payload, "output": read_of(payload["output"])}
    return {**chunk, "payload": payload}


def test_of_every_recorded_chunk_all_that_is_read_is_held() -> None:
    seen = 0
    for seed, chunk in enumerate(recorded_chunks()):
        assert pruned(chunk, seed=seed) == read_of(chunk)
        seen += 1
    assert seen > 1000


@pytest.mark.soak
@pytest.mark.parametrize("depth", [0, 1, 3], ids=["agent", "sub-agent", "three levels below"])
def test_a_conversation_that_is_repeated_is_not_held(depth: int) -> None:
    many = [{"text": 'a "quoted" \\ text'}] * 100_000
    chunk = agent(
        "finish",
        messages={"all": many},
        stepResult={"reason": "stop"},
        output={"steps": many, "usage": {"inputTokens": 3}},
        response={"uiMessages": many},
    )
    for _ in range(depth):
        chunk = agent("tool-output", output=chunk, toolCallId="c", toolName="agent-a")
    assert len(json.dumps(chunk)) > 10_000_000

    found = pruned(chunk, longest=10_000)
    for _ in range(depth):
        assert found["payload"]["toolName"] == "agent-a"
        found = found["payload"]["output"]
    assert found["payload"]["stepResult"] == {"reason": "stop"}
    assert found["payload"]["output"] == {"steps": None, "usage": {"inputTokens": 3}}


@pytest.mark.parametrize("nested", [False, True], ids=["agent", "sub-agent"])
@pytest.mark.parametrize("value", ["x" * 20_000, [{"a": "b"}] * 5000], ids=["text", "list"])
def test_a_value_that_is_too_large_is_replaced_by_a_sentence(value: Any, nested: bool) -> None:
    chunk = result(value=value)
    if nested:
        chunk = agent("tool-output", output=chunk, toolCallId="c", toolName="agent-a")
    found = pruned(chunk, longest=10_000)
    if nested:
        assert found["payload"]["toolCallId"] == "c"
        found = found["payload"]["output"]

    assert found["payload"]["toolCallId"] == "c1"
    assert "too large to be told: it has more than" in found["payload"]["result"]


def test_an_object_whose_type_comes_after_it_is_replaced_too() -> None:
    chunk = {"runId": "r", "object": {"a": ["x"] * 9000, "b": 1}, "type": "object-result"}
    found = pruned(chunk, longest=10_000)

    assert found["type"] == "object-result"
    assert "too large" in found["object"]


@pytest.mark.parametrize("kind", ["tool-call", "tool-call-approval", "tool-call-suspended"])
def test_what_people_decide_about_is_never_shortened(kind: str) -> None:
    chunk = agent(kind, toolCallId="c", toolName="t", args={"text": "x" * 20_000})
    with pytest.raises(UpstreamError, match="too large to be shown"):
        pruned(chunk, longest=10_000)


async def test_a_long_turn_ends_as_it_did() -> None:
    long = {"messages": MEGABYTE * 9, "output": {"steps": [MEGABYTE] * 9, "usage": {}}}
    ends = agent("finish", stepResult={"reason": "stop"}, **long)
    text = [agent("text-delta", id="t", text="said"), agent("text-end", id="t")]
    talk = Talk(Server(stream(*text, ends)))

    assert await talk.say("go") == "said"
    assert talk.events[-1]["outcome"] == {"type": "success"}


async def test_an_approved_call_whose_result_is_too_large_is_told_as_executed() -> None:
    asks = agent("tool-call-approval", toolCallId="c1", toolName="ask", args={})
    told = result(value=MEGABYTE * 17)
    talk = Talk(Server(stream(asks), stream(told, FINISH)))
    await talk.say("go")
    await talk.answer(APPROVE)

    (said,) = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
    assert said.startswith("This is too large to be told: it has more than 16 MB.")
    assert talk.events[-1]["outcome"] == {"type": "success"}
