"""Whatever a client may send to run an agent, it gets a documented refusal or a valid stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import httpx
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agui_bridge import Bridge, Settings
from agui_bridge.stores.memory import MemoryStore
from examples.demo import bridge as demo
from tests.support.agents import Answering, approval
from tests.support.examples import few_or_many
from tests.support.server import Streamed, client, serve

AGENTS: Final = ["mixed", "ops", "report", "mailer"]
THREADS: Final = ["t1", "t2"]

small = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | small | st.floats(allow_nan=False, width=16)
    .filter(lambda number: abs(number) < 1e4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(small, inner, max_size=2),
    max_leaves=5,
)  # fmt: skip
calls = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["c1", "c2", "x"]),
        "function": st.fixed_dictionaries({"name": small, "arguments": st.just("{}") | small}),
    }
)
ids = st.sampled_from(["m1", "m2", "m3", "m4"]) | small
messages = st.one_of(
    st.fixed_dictionaries({"id": ids, "role": st.just("user"), "content": small}),
    st.fixed_dictionaries(
        {"id": ids, "role": st.just("assistant")},
        optional={"content": small | st.none(), "toolCalls": st.lists(calls, max_size=2)},
    ),
    st.fixed_dictionaries(
        {
            "id": ids,
            "role": st.just("tool"),
            "content": small,
            "toolCallId": st.sampled_from(["c1", "c2", "x"]),
        }
    ),
    st.fixed_dictionaries(
        {"id": ids, "role": st.sampled_from(["system", "developer", "reasoning"]), "content": small}
    ),
    st.fixed_dictionaries(
        {"id": ids, "role": st.just("activity"), "activityType": small, "content": st.just({})}
    ),
)
payloads = st.one_of(
    st.just({"approved": True}),
    st.just({"approved": False, "reason": "no"}),
    st.just({"approved": True, "editedArgs": {"table": "users", "limit": 1}}),
    st.just({"quarter": "Q1", "year": 2026}),
    values,
)
entries = st.fixed_dictionaries(
    {
        "interruptId": st.integers(0, 2) | small,
        "status": st.sampled_from(["resolved", "resolved", "cancelled"]),
    },
    optional={"payload": payloads, "metadata": st.dictionaries(small, values, max_size=1)},
)
inputs = st.fixed_dictionaries(
    {
        "threadId": st.sampled_from(THREADS),
        "runId": st.sampled_from(["r1", "r2"]) | small,
        "messages": st.lists(messages, max_size=3),
    },
    optional={
        "protocolVersion": st.sampled_from(["1.0", "1.0", "1.4", "0.0.59", "2.0", "?"]),
        "state": values,
        "resume": st.lists(entries, min_size=1, max_size=2),
        "forwardedProps": values,
        "tools": st.just([{"name": "t", "description": "d", "parameters": {"type": "object"}}]),
        "context": st.just([{"description": "d", "value": "v"}]),
        "parentRunId": small,
        "unknown": values,
    },
)
conversations = st.lists(st.tuples(st.sampled_from(AGENTS), inputs), min_size=1, max_size=6)


def served() -> Bridge:
    """The demo's agents, and one whose tools have any parameters, on a store of its own."""
    bridge = Bridge(MemoryStore(), settings=Settings(shutdown_grace=0.1))
    bridge.agents.update(demo.agents)
    bridge.add("mixed", Answering(approval("c1"), approval("c2")))
    return bridge


async def send(http: httpx.AsyncClient, agent: str, body: dict[str, Any]) -> Streamed | None:
    """Send one input; a stream is read to its end, which checks it."""
    async with http.stream("POST", f"/agents/{agent}", json=body) as response:
        if response.status_code == 200:
            stream = Streamed(response)
            await stream.rest()
            return stream
        error = json.loads(await response.aread())["error"]
        assert response.status_code in (400, 422), (response.status_code, error, body)
        return None


async def converse(conversation: list[tuple[str, dict[str, Any]]]) -> set[str]:
    """Send inputs one after the other; numbers in `resume` stand for what is open."""
    told: set[str] = set()
    async with serve(served().app(anonymous=True)) as base, client(base) as http:
        for agent, body in conversation:
            rows = (await http.get("/interrupts?status=open")).json()["interrupts"]
            mine = [
                row["id"] for row in rows
                if (row["agent"], row["threadId"]) == (agent, body["threadId"])
            ]  # fmt: skip
            for entry in body.get("resume", ()):
                number = entry["interruptId"]
                if isinstance(number, int):
                    entry["interruptId"] = mine[number % len(mine)] if mine else "nobody"
            stream = await send(http, agent, body)
            told |= {"refused"} if stream is None else {stream.events[-1]["type"]}
            # Whatever was sent, the thread can be read.
            await http.get(f"/agents/{agent}/threads/{body['threadId']}")
            await http.get(f"/agents/{agent}/threads/{body['threadId']}/interrupts")
    return told


@pytest.mark.soak
@pytest.mark.timeout(600)
@few_or_many(25, 400)
def test_any_conversation_is_answered_with_valid_streams_or_documented_refusals(
    examples: int,
) -> None:
    told: set[str] = set()

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(conversations)
    def run(conversation: list[tuple[str, dict[str, Any]]]) -> None:
        told.update(asyncio.run(converse(conversation)))

    run()

    assert told == {"refused", "RUN_FINISHED", "RUN_ERROR"}
