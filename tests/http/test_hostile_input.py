"""Hostile requests get a clear 4xx in the documented form, in bounded time and memory."""

import asyncio
import copy
import gzip
import json
import random
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_bridge import Bridge, Settings
from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import CODES
from tests.http.conftest import Serving, Site
from tests.support.agents import Answering, Scripted, approval
from tests.support.server import PATIENCE, client, run_input, serve

JSON = {"content-type": "application/json"}
SECONDS = 20.0
"""Within which every answer comes, on a busy machine; each takes a fraction of it."""


def body(**members: Any) -> bytes:
    return json.dumps(run_input("hi", **members)).encode()


def with_state(raw: bytes) -> bytes:
    """An input whose state is these bytes, as they are."""
    return body(state="@").replace(b'"@"', raw)


def check_error(response: httpx.Response, code: str | None = None) -> dict[str, Any]:
    """The error of a refusal, which has the documented form."""
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error"]
    error: dict[str, Any] = response.json()["error"]
    assert {"code", "message"} <= set(error) <= {"code", "message", "details"}
    assert response.status_code == CODES[error["code"]].status
    assert 400 <= response.status_code < 500, error
    assert code in (None, error["code"]), error
    assert 5 < len(error["message"]) < 1000 and "Traceback" not in error["message"]
    assert len(response.content) < 3000
    return error


async def refused(
    site: Site, content: bytes, code: str, said: str = "", **headers: str
) -> dict[str, Any]:
    """Send what must be refused with a code and some words; nothing is stored or run."""
    began = time.perf_counter()
    response = await site.http.post("/agents/agent", content=content, headers={**JSON, **headers})
    assert time.perf_counter() - began < SECONDS
    error = check_error(response, code)
    assert said in error["message"], error
    assert site.agent.runs == [] and site.store.commits == []
    return error


NESTED = 3_000_000
MANY = 100_000
HOSTILE: dict[str, tuple[bytes, str, str]] = {
    # --- depth ---
    "101 levels": (with_state(b"[" * 100 + b"]" * 100), "INVALID_INPUT", "max_depth"),
    "nested arrays": (with_state(b"[" * NESTED + b"]" * NESTED), "INVALID_INPUT", "max_depth"),
    "nested objects": (b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000, "INVALID_INPUT", "max_dep"),
    "unclosed arrays": (b"[" * NESTED, "INVALID_INPUT", "max_depth"),
    "900 levels": (with_state(b'{"a":' * 900 + b"1" + b"}" * 900), "INVALID_INPUT", "901 levels"),
    # --- numbers ---
    "1e400": (with_state(b"1e400"), "INVALID_INPUT", "$.state"),
    "-1e400": (with_state(b'{"a": [-1e400]}'), "INVALID_INPUT", "$.state.a[0]"),
    "NaN": (with_state(b"NaN"), "INVALID_INPUT", "NaN"),
    "Infinity": (with_state(b"-Infinity"), "INVALID_INPUT", "Infinity"),
    "5000 digits": (with_state(b"1" * 5000), "INVALID_INPUT", "not valid JSON"),
    "2000000 digits": (with_state(b"9" * 2_000_000), "INVALID_INPUT", "not valid JSON"),
    "leading zero": (with_state(b"007"), "INVALID_INPUT", "not valid JSON"),
    "hexadecimal": (with_state(b"0x10"), "INVALID_INPUT", "not valid JSON"),
    # --- text ---
    "NUL value": (with_state(rb'"a\u0000b"'), "INVALID_INPUT", "$.state: NUL"),
    "NUL key": (with_state(rb'{"a\u0000": 1}'), "INVALID_INPUT", "key $.state"),
    "raw NUL": (with_state(b'"a\x00b"'), "INVALID_INPUT", "not valid JSON"),
    "high surrogate": (with_state(rb'"\ud800"'), "INVALID_INPUT", "lone surrogate"),
    "low surrogate": (with_state(rb'{"\udfff": 1}'), "INVALID_INPUT", "lone surrogate"),
    "reversed pair": (with_state(rb'"\udc00\ud800"'), "INVALID_INPUT", "lone surrogate"),
    "raw surrogate": (with_state(b'"\xed\xa0\x80"'), "INVALID_INPUT", "not UTF-8"),
    "overlong": (with_state(b'"\xc0\x80"'), "INVALID_INPUT", "not UTF-8"),
    "beyond Unicode": (with_state(b'"\xf4\x90\x80\x80"'), "INVALID_INPUT", "not UTF-8"),
    "cut off": (body()[:-1] + b"\xe2\x82", "INVALID_INPUT", "not UTF-8"),
    "UTF-16": (body().decode().encode("utf-16"), "INVALID_INPUT", "not UTF-8"),
    "UTF-16 without mark": (body().decode().encode("utf-16-le"), "INVALID_INPUT", "not valid"),
    "UTF-32": (body().decode().encode("utf-32"), "INVALID_INPUT", "not UTF-8"),
    "byte order mark": (b"\xef\xbb\xbf" + body(), "INVALID_INPUT", "BOM"),
    # --- documents ---
    "empty": (b"", "INVALID_INPUT", "not valid JSON"),
    "blank": (b" \n\t ", "INVALID_INPUT", "not valid JSON"),
    "trailing garbage": (body() + b"x", "INVALID_INPUT", "not valid JSON"),
    "two documents": (body() + body(), "INVALID_INPUT", "not valid JSON"),
    "comment": (b"/**/" + body(), "INVALID_INPUT", "not valid JSON"),
    "single quotes": (b"{'a': 1}", "INVALID_INPUT", "not valid JSON"),
    "newline in text": (with_state(b'"a\nb"'), "INVALID_INPUT", "not valid JSON"),
    "form": (b"threadId=t&runId=r", "INVALID_INPUT", "not valid JSON"),
    "gzip": (gzip.compress(body()), "INVALID_INPUT", "not UTF-8"),
    "scalar": (b'"text"', "INVALID_INPUT", "JSON object"),
    "list": (b"[" + body() + b"]", "INVALID_INPUT", "JSON object"),
    # --- sizes ---
    "9 MB": (with_state(b'"' + b"x" * 9_000_000 + b'"'), "PAYLOAD_TOO_LARGE", "max_body_bytes"),
    "tiny messages": (
        body(messages=[{"id": str(i), "role": "user", "content": ""} for i in range(MANY)]),
        "PAYLOAD_TOO_LARGE",
        "max_messages",
    ),
    "empty members": (body(tools=[{}] * MANY), "PAYLOAD_TOO_LARGE", "max_members"),
    "parts that are none": (
        body(messages=[{"id": "m", "role": "user", "content": [0] * 2_600_000}]),
        "PAYLOAD_TOO_LARGE",
        "messages.0.content",
    ),
    "calls that are none": (
        body(messages=[{"id": "m", "role": "assistant", "toolCalls": [{}] * MANY}]),
        "PAYLOAD_TOO_LARGE",
        "messages.0.toolCalls",
    ),
    "many resumes": (
        body(resume=[{"interruptId": "i", "status": "cancelled"}] * MANY),
        "PAYLOAD_TOO_LARGE",
        "max_members",
    ),
    "long thread id": (body(threadId="t" * 5_000_000), "INVALID_INPUT", "max_id_bytes"),
    "long message id": (
        body(messages=[{"id": "m" * 5_000_000, "role": "user", "content": "x"}]),
        "INVALID_INPUT",
        "max_id_bytes",
    ),
    "long role": (
        body(messages=[{"id": "m", "role": "r" * 5_000_000, "content": "x"}]),
        "INVALID_INPUT",
        "messages.0",
    ),
    "long version": (body(protocolVersion="9" * 6 + "." + "9" * 6), "UNSUPPORTED_VERSION", "1.0"),
    "long key that offends": (
        with_state(b'{"' + b"k" * 5_000_000 + rb'\u0000": 1}'),
        "INVALID_INPUT",
        "$.state",
    ),
    "many wrong messages": (body(messages=[5] * 9_999), "INVALID_INPUT", "messages.0"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_input_is_refused_with_clear_words_and_changes_nothing(
    serving: Serving, name: str
) -> None:
    content, code, said = HOSTILE[name]
    async with serving() as site:
        await refused(site, content, code, said)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"content-encoding": "gzip"}, "gzip"),
        ({"content-encoding": "br"}, "br"),
        ({"content-type": "application/json; charset=utf-16"}, "utf-16"),
        ({"content-type": 'application/json; charset="ISO-8859-1"'}, "iso-8859-1"),
        ({"content-type": "application/x-www-form-urlencoded"}, "application/json"),
        ({"content-type": "text/plain; x=application/json"}, "application/json"),
        ({"content-type": "x" * 10_000}, "application/json"),
    ],
)
async def test_what_is_declared_as_something_else_is_a_415(
    serving: Serving, headers: dict[str, str], said: str
) -> None:
    async with serving() as site:
        content = gzip.compress(body()) if headers.get("content-encoding") == "gzip" else body()
        response = await site.http.post(
            "/agents/agent", content=content, headers={**JSON, **headers}
        )
        assert said in check_error(response, "UNSUPPORTED_MEDIA_TYPE")["message"]


async def test_a_gzip_bomb_is_never_unpacked(serving: Serving) -> None:
    bomb = gzip.compress(b" " * 200_000_000, compresslevel=1)
    async with serving() as site:
        tracemalloc.start()
        try:
            await refused(
                site, bomb, "UNSUPPORTED_MEDIA_TYPE", "compressed", **{"content-encoding": "gzip"}
            )
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("raw", [b"[" * NESTED, b'"' + b"x" * NESTED + b'"', b"1" * NESTED])
async def test_a_hostile_stop_is_refused_too(serving: Serving, raw: bytes) -> None:
    async with serving() as site:
        await site.ask()
        before = await site.everything()
        for content in (raw, b'{"timeout": 1e400}', b'{"timeout": ' + b"9" * 4000 + b"}"):
            response = await site.http.post(
                "/agents/agent/threads/t/stop", content=content, headers=JSON
            )
            check_error(response, "INVALID_INPUT")
        assert await site.everything() == before


async def test_a_body_that_drips_is_cut_off_and_others_are_served_meanwhile(
    serving: Serving,
) -> None:
    async with serving(body_timeout=0.5) as site:
        port = int(site.base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 1000\r\n\r\n{"
        )

        async def drip() -> None:
            while True:
                writer.write(b" ")
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        assert (await site.run("hi")).kinds[0] == "RUN_STARTED"
        async with asyncio.timeout(PATIENCE):
            assert b" 408 " in await reader.readline()
            assert b"REQUEST_TIMEOUT" in await reader.read()
        dripping.cancel()
        writer.close()


# --- answers ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", SCHEMAS)
async def test_a_schema_that_could_do_harm_never_becomes_a_question(
    serving: Serving, name: str
) -> None:
    ask = type(approval())("n", "input_required", response_schema=SCHEMAS[name])
    async with serving(Answering(ask)) as site:
        began = time.perf_counter()
        stream = await site.run("go")
        assert time.perf_counter() - began < SECONDS
        assert stream.events[-1]["type"] == "RUN_ERROR"
        assert stream.events[-1]["code"] == "AGENT_ERROR"
        assert (await site.http.get("/interrupts")).json() == {"interrupts": []}
        thread = (await site.http.get("/agents/agent/threads/t")).json()
        assert thread["status"] == "idle"


async def test_what_input_may_not_hold_is_replaced_in_output(serving: Serving) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "a\x00b\ud800c"

    async with serving(Scripted(script)) as site:
        stream = await site.run("go")
        said = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert said == "a\ufffdb\ufffdc"
        assert b"\\u0000" not in stream.raw and b"\\ud800" not in stream.raw


# --- at random ----------------------------------------------------------------------------------

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


@settings(
    max_examples=20, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(st.lists(st.integers(0, 2**64), min_size=20, max_size=20))
def test_no_mutation_of_an_input_makes_a_500(seeds: list[int]) -> None:
    asyncio.run(_fuzz(seeds))
