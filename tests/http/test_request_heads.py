"""What comes before credentials is bounded: heads of requests, and how slowly they may come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from agui_bridge import Bridge
from agui_bridge.http.request_heads import MAX_HEAD_BYTES, MAX_HEADERS, BoundedRequests
from tests.http.conftest import Serving
from tests.support.server import PATIENCE, client, serve

GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
CHUNKED = b"POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"


async def answer_to(base: str, *pieces: bytes, pause: float = 0) -> tuple[bytes, int]:
    """What is answered until the connection is closed, and how many bytes could be sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
    sent = 0

    async def send() -> None:
        nonlocal sent
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
            await asyncio.sleep(pause)

    sending = asyncio.create_task(send())
    answer = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while received := await reader.read(65536):
                answer += received
    except ConnectionError:
        pass
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()
    return answer, sent


@pytest.fixture
async def base() -> AsyncIterator[str]:
    async with serve(Bridge("memory:").app(anonymous=True)) as base:
        yield base


MIB = b"x" * (1 << 20)


@pytest.mark.parametrize(
    "begun",
    [b"GET /" , GET + b"a: ", GET + b"a", CHUNKED + b"1\r\nx\r\n0\r\na: ", CHUNKED + b"1;a="],
    ids=["path", "value", "name", "trailer", "chunk extension"],
)  # fmt: skip
async def test_a_head_without_end_is_ended_before_it_fills_the_memory(
    base: str, begun: bytes
) -> None:
    answer, sent = await answer_to(base, begun, *[MIB] * 64)
    # What the system's buffers hold may have gone; the answer can be lost with the connection.
    assert sent < 16 << 20
    assert not answer or answer[9:12] in (b"431", b"401", b"404", b"415")


async def test_a_head_at_the_limit_passes_and_one_beyond_it_is_a_431(base: str) -> None:
    for size, status in ((MAX_HEAD_BYTES - 100, b"200"), (MAX_HEAD_BYTES + 20_000, b"431")):
        head = GET + b"connection: close\r\na: " + b"x" * (size - len(GET)) + b"\r\n\r\n"
        answer, _ = await answer_to(base, head)
        assert answer[9:12] == status


async def test_more_headers_than_any_client_sends_are_a_431(base: str) -> None:
    for count, status in ((MAX_HEADERS - 2, b"200"), (MAX_HEADERS + 1, b"431")):
        head = GET + b"connection: close\r\n" + b"a: b\r\n" * count + b"\r\n"
        answer, _ = await answer_to(base, head)
        assert answer[9:12] == status


@pytest.mark.parametrize("pieces", [[b"G"], [GET], [GET, *[b"a: b\r\n"] * 50], [b"\r\n"] * 50])
async def test_a_head_that_comes_slowly_is_ended(
    base: str, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]
) -> None:
    monkeypatch.setattr(BoundedRequests, "head_seconds", 0.2)
    begun = time.monotonic()
    answer, _ = await answer_to(base, *pieces, pause=0.05)
    assert 0.1 < time.monotonic() - begun < PATIENCE / 2
    assert answer[9:12] in (b"408", b"")


async def test_a_slow_head_after_an_answer_is_ended_too(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedRequests, "head_seconds", 0.2)
    answer, _ = await answer_to(base, GET + b"\r\n", b"GET /hea", pause=0.05)
    assert answer[9:12] == b"200"
    assert b"408 Request Timeout" in answer


async def test_the_time_of_a_head_is_not_that_of_its_body_or_answer(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedRequests, "head_seconds", 0.1)
    async with serving(body_timeout=0.5) as site:
        head = b"POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n"
        head += b"content-type: application/json\r\n\r\n"
        answer, _ = await answer_to(site.base, head, b"{", pause=0.05)
    assert b"REQUEST_TIMEOUT" in answer


async def test_requests_may_follow_each_other_but_not_without_end(base: str) -> None:
    several = (GET + b"\r\n") * 5 + GET + b"connection: close\r\n\r\n"
    answer, _ = await answer_to(base, several)
    assert answer.count(b"HTTP/1.1 200") == 6

    answer, sent = await answer_to(base, *[(GET + b"\r\n") * 10_000] * 200)
    assert sent < 40 << 20


async def test_a_body_of_single_bytes_is_ended(base: str) -> None:
    _, sent = await answer_to(base, CHUNKED, *[b"1\r\nx\r\n" * 100_000] * 50)
    assert sent < 20 << 20


async def test_a_body_in_pieces_passes(serving: Serving) -> None:
    async with serving() as site, client(site.base) as http:

        async def pieces() -> AsyncIterator[bytes]:
            yield b'{"threadId":"t","runId":"r","messages":[],"state":{"a":"'
            for _ in range(2_000):
                yield b"x" * 500
            yield b'"}}'

        answer = await http.post(
            "/agents/agent", content=pieces(), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 200
