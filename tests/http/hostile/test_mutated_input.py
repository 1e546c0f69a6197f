"""Inputs changed at random are a whole stream or a documented refusal."""

import asyncio
import copy
import json
import random
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from agui_bridge import Bridge, Settings
from tests.http.hostile.inputs import JSON, check_error
from tests.support.agents import Answering, Scripted
from tests.support.examples import few_or_many
from tests.support.server import client, serve

FULL: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "parentRunId": "p",
    "protocolVersion": "1.0",
    "state": {"a": [1, 2.5, None, True, {"b": "text"}]},
    "messages": [
        {"id": "1", "role": "system", "content": "be kind"},
        {"id": "2", "role": "user", "content": "hello", "name": "ann"},
        {"id": "3", "role": "user", "content": [{"type": "text", "text": "see"}]},
        {
            "id": "4",
            "role": "assistant",
            "content": "ok",
            "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"id": "5", "role": "tool", "toolCallId": "c", "content": "done"},
    ],
    "tools": [{"name": "f", "description": "d", "parameters": {"type": "object"}}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": {"x": [1]},
    "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}],
}


ODD: list[Any] = [
    None, True, False, 0, -1, 10**400, 1.5, -0.0, 1e308, "", "x", "\x00", "\ud800", "\U0001f600",
    "x" * 300, [], {}, [[]], {"": None}, {"__proto__": 1}, [None] * 50, {"a": {"$ref": "#"}},
    "1.0", "resolved", "user", "tool",
]  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key (or index) within a value."""
    found: list[tuple[Any, Any]] = []
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in list(inner):
        found.append((value, key))
        if isinstance(member, dict | list):
            found += places(member)
    return found


def mutate(rng: random.Random, body: dict[str, Any]) -> bytes:
    """Change a few places of an input, and sometimes a few bytes of its text."""
    body = copy.deepcopy(body)
    if rng.random() < 0.5:
        del body["resume"]
    for _ in range(rng.choice((1, 1, 2, 3))):
        container, key = rng.choice(places(body) or [(body, "threadId")])
        match rng.randrange(6):
            case 0 if isinstance(container, dict):
                del container[key]
            case 1 if isinstance(container, dict):
                container[rng.choice(["", "id", "type", "\ud800", "é", "x" * 300])] = container[key]
            case 2:
                container[key] = [container[key]] * rng.choice((2, 40))
            case 3:
                container[key] = copy.deepcopy(rng.choice(places(FULL))[0])
            case _:
                container[key] = copy.deepcopy(rng.choice(ODD))
    raw = bytearray(json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "replace"))
    if rng.random() < 0.3:
        for _ in range(rng.choice((1, 2, 8))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


async def _fuzz(seeds: list[int]) -> None:
    """Send mutated inputs; each is a whole stream or a documented refusal, and never a 500."""
    bridge = Bridge(settings=Settings(shutdown_grace=0.1, cancel_grace=0.2, busy_patience=0.0))
    bridge.add("asks", Answering())
    bridge.add("says", Scripted(["hello"]))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        for seed in seeds:
            rng = random.Random(seed)
            content, agent = mutate(rng, FULL), rng.choice(("asks", "says"))
            response = await http.post(f"/agents/{agent}", content=content, headers=JSON)
            if response.status_code == 200:
                events = [json.loads(x[6:]) for x in response.text.splitlines() if x[:2] == "da"]
                assert events[0]["type"] == "RUN_STARTED"
                assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
                assert events[-1].get("code") not in ("INTERNAL_ERROR", "AGENT_ERROR"), content
            else:
                check_error(response)


@few_or_many(8, 100)
def test_no_mutation_of_an_input_makes_a_500(examples: int) -> None:
    @settings(
        max_examples=examples, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(st.lists(st.integers(0, 2**64), min_size=20, max_size=20))
    def run(seeds: list[int]) -> None:
        asyncio.run(_fuzz(seeds))

    run()
