"""Hostile answers and schemas: the question stays open, or is never asked."""

import json
import time
from typing import Any

import httpx
import pytest

from tests.http.conftest import Serving, Site
from tests.http.hostile.inputs import JSON, SECONDS, check_error
from tests.support.agents import Answering, approval
from tests.support.server import run_input


async def answered(site: Site, interrupt: str, raw: bytes) -> httpx.Response:
    entry = {"interruptId": interrupt, "status": "resolved", "payload": "@"}
    content = json.dumps(run_input(None, run="r2", resume=[entry])).encode().replace(b'"@"', raw)
    return await site.http.post("/agents/agent", content=content, headers=JSON)


@pytest.mark.parametrize(
    "raw",
    [b"1e400", b"NaN", rb'{"approved": true, "a\u0000": 1}', rb'{"approved": true, "a": "\ud800"}',
     b'{"approved": true, "a": ' + b"[" * 99 + b"]" * 99 + b"}", b'{"approved": ' + b"1" * 5000],
    ids=lambda raw: repr(raw[:30]),
)  # fmt: skip
async def test_a_hostile_answer_leaves_the_question_open(serving: Serving, raw: bytes) -> None:
    async with serving() as site:
        [ask] = await site.ask()
        before = await site.everything()
        check_error(await answered(site, ask["id"], raw), "INVALID_INPUT")
        assert await site.everything() == before and len(site.agent.runs) == 1


async def test_one_interrupt_answered_twice_in_one_input_is_refused(serving: Serving) -> None:
    async with serving() as site:
        [ask] = await site.ask()
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
        for entries in ([entry, entry], [entry, {**entry, "status": "cancelled"}], [entry] * 9_999):
            stream = await site.run(None, run="r2", resume=entries)
            assert stream.events[-1]["code"] == "INTERRUPT_DUPLICATE"
        assert len(site.agent.runs) == 1


EVIL_PATTERNS: list[dict[str, Any]] = [
    {"pattern": "^(a+)+$"},
    {"pattern": "^(a|a)*$"},
    {"patternProperties": {"^(a+)+$": {"type": "string"}}, "additionalProperties": False},
]


EVIL_TEXT = "a" * 200_000 + "!"


@pytest.mark.parametrize("rule", EVIL_PATTERNS, ids=str)
async def test_patterns_that_backtrack_take_linear_time(
    serving: Serving, rule: dict[str, Any]
) -> None:
    by_key = "patternProperties" in rule
    schema = {"type": "object", **rule} if by_key else {"type": "string", **rule}
    ask = approval()
    ask = type(ask)("n", "input_required", response_schema=schema)
    async with serving(Answering(ask)) as site:
        [waiting] = await site.ask()
        payload = {EVIL_TEXT: "x"} if by_key else EVIL_TEXT
        began = time.perf_counter()
        response = await answered(site, waiting["id"], json.dumps(payload).encode())
        assert time.perf_counter() - began < SECONDS
        assert '"code":"INVALID_RESUME_PAYLOAD"' in response.text
        assert EVIL_TEXT not in response.text.rpartition("RUN_ERROR")[2]


def bomb(levels: int) -> dict[str, Any]:
    """A schema that doubles at each level: 2**levels values once expanded."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(levels):
        both = [{"$ref": f"#/$defs/d{level}"}] * 2
        definitions[f"d{level + 1}"] = {"allOf": both}
    return {"$defs": definitions, "$ref": f"#/$defs/d{levels}"}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


SCHEMAS: dict[str, dict[str, Any]] = {
    "expands": bomb(40),
    "deep": deep(70),
    "circular": {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "circular in two": {
        "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}},
        "$ref": "#/$defs/a",
    },
    "itself": {"properties": {"a": {"$ref": "#"}}},
    "remote": {"$ref": "http://127.0.0.1:1/schema.json"},
    "file": {"$ref": "file:///etc/passwd"},
    "remote dynamic": {"$dynamicRef": "https://schemas.example/x"},
    "nowhere": {"$ref": "#/$defs/none"},
    "other base": {"properties": {"a": {"$id": "http://evil.example/", "$ref": "b"}}},
    "look-around": {"type": "string", "pattern": "(?=a)b"},
    "back-reference": {"type": "string", "pattern": r"(a)\1"},
    "huge repetition": {"type": "string", "pattern": "(a{1000}){1000}"},
    "huge": {"enum": ["x" * 300_000]},
    "unknown draft": {"$schema": "http://evil.example/draft", "type": "string"},
    "no schema": {"type": "nothing"},
}


WEAKENED = frozenset(
    ("circular", "circular in two", "look-around", "back-reference", "huge repetition")
)
"""These are shown, and checked by what remains of them."""


@pytest.mark.parametrize("name", SCHEMAS)
async def test_a_schema_that_could_do_harm_is_left_out_of_its_question_which_says_so(
    serving: Serving, name: str
) -> None:
    ask = type(approval())("n", "input_required", response_schema=SCHEMAS[name])
    async with serving(Answering(ask)) as site:
        began = time.perf_counter()
        [waiting] = await site.ask()
        response = await answered(site, waiting["id"], b'{"a": "b"}')
        assert time.perf_counter() - began < SECONDS
        assert response.status_code == 200
    if name == "itself":
        assert waiting["responseSchema"] == SCHEMAS[name]
        return
    assert waiting["metadata"]["agui_bridge"]["unchecked"]
    assert ("responseSchema" in waiting) == (name in WEAKENED)
