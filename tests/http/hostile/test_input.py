"""Hostile requests get a clear 4xx in the documented form, in bounded time and memory."""

import asyncio
import contextlib
import gzip
import json
import re
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving, Site
from tests.http.hostile.inputs import JSON, SECONDS, check_error
from tests.support.agents import Scripted
from tests.support.server import PATIENCE, run_input


def body(**members: Any) -> bytes:
    return json.dumps(run_input("hi", **members)).encode()


def with_state(raw: bytes) -> bytes:
    """An input whose state is these bytes, as they are."""
    return body(state="@").replace(b'"@"', raw)


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


NESTED = 50_000


MANY = 20_000


HOSTILE: dict[str, tuple[bytes, str, str]] = {
    # --- depth ---
    "101 levels": (with_state(b"[" * 100 + b"]" * 100), "INVALID_INPUT", "max_depth"),
    "nested arrays": (with_state(b"[" * NESTED + b"]" * NESTED), "INVALID_INPUT", "max_depth"),
    "nested objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "INVALID_INPUT", "max_dep"),
    "unclosed arrays": (b"[" * NESTED, "INVALID_INPUT", "max_depth"),
    "900 levels": (with_state(b'{"a":' * 900 + b"1" + b"}" * 900), "INVALID_INPUT", "901 levels"),
    # --- numbers ---
    "1e400": (with_state(b"1e400"), "INVALID_INPUT", "$.state"),
    "-1e400": (with_state(b'{"a": [-1e400]}'), "INVALID_INPUT", "$.state.a[0]"),
    "NaN": (with_state(b"NaN"), "INVALID_INPUT", "NaN"),
    "Infinity": (with_state(b"-Infinity"), "INVALID_INPUT", "Infinity"),
    "1001 digits": (with_state(b"1" * 1001), "INVALID_INPUT", "over 1000 digits"),
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
        body(messages=[{"id": "m", "role": "user", "content": [0] * 50_000}]),
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
    "a million values": (
        with_state(b"[" + b"{}," * 1_000_000 + b"0]"),
        "PAYLOAD_TOO_LARGE",
        "max_values",
    ),
    "many short texts": (
        with_state(b"[" + b'"",' * 2_000_000 + b"0]"),
        "PAYLOAD_TOO_LARGE",
        "max_values",
    ),
    # --- keys twice ---
    "state twice": (
        body(state={"a": 1}).replace(b'"a": 1', rb'"a": 1, "b": 2, "a": 3'),
        "INVALID_INPUT",
        'the key "a" more than once',
    ),
    "resume twice": (
        body()[:-1] + b', "resume": [], "resume": []}',
        "INVALID_INPUT",
        'the key "resume" more than once',
    ),
    "a long key twice": (
        with_state(b'{"' + b"k" * 3_000_000 + b'": 1, "' + b"k" * 3_000_000 + b'": 1}'),
        "INVALID_INPUT",
        "kkk\u2026",
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
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 408 " in head and b"\r\nconnection: close\r\n" in head.lower()
            # It drips on meanwhile: a server that closed at once would reset what is not read yet.
            await asyncio.sleep(0.2)
            length = re.search(rb"(?i)content-length: (\d+)", head)
            assert length is not None
            assert b"REQUEST_TIMEOUT" in await reader.readexactly(int(length[1]))
            with contextlib.suppress(ConnectionResetError):  # Of drops that came after the end.
                assert await reader.read() == b""
        dripping.cancel()
        writer.close()


async def test_what_input_may_not_hold_is_replaced_in_output(serving: Serving) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "a\x00b\ud800c"

    async with serving(Scripted(script)) as site:
        stream = await site.run("go")
        said = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert said == "a\ufffdb\ufffdc"
        assert b"\\u0000" not in stream.raw and b"\\ud800" not in stream.raw
