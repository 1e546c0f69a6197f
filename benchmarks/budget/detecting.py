"""Time to the first text of agents that are scanned for requests in words."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from functools import partial

from benchmarks.contenders.detecting_agents import LENGTHS, PACE
from benchmarks.measuring.load import connect, first_event
from benchmarks.measuring.requests import new_thread, request
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import Row, ratio

_TEXT = b'"TEXT_MESSAGE_CONTENT"'
_FRAME = b"event: text"


def _chat(agent: str) -> bytes:
    body = {"agent_id": agent, "session_id": new_thread(), "message": "hello"}
    content = json.dumps(body).encode()
    head = (
        "POST /api/v1/chat/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a2ui: true\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _first_text(port: int, make: Callable[[], bytes], mark: bytes, times: int) -> float:
    # A connection of its own for each measurement: servers close those that wait.
    with connect(port) as connection:
        first_event(connection, make())
        return statistics.median(first_event(connection, make(), mark) for _ in range(times))


def detection(setup: Setup) -> list[Row]:
    """The same agent with detection and without, buffered, and over the chat API.

    On the AG-UI endpoint nothing is held back; the chat API holds the current sentence, which has
    eight tokens here.
    """
    plan, server = setup.plan, setup.streaming()["bridge"]
    times = max(1, plan.first_events // 20)
    rows = []
    for count in LENGTHS:
        measurements: dict[str, Callable[[], float]] = {}
        for kind in ("paced", "scanned", "buffered", "chat"):
            agent = f"{'scanned' if kind == 'chat' else kind}-{count}"
            make = partial(_chat if kind == "chat" else request, agent)
            mark = _FRAME if kind == "chat" else _TEXT
            measurements[kind] = partial(_first_text, server.port, make, mark, times)
        samples = interleave(measurements, plan.rounds)
        what = f"first text of {count} tokens, {PACE * 1000:.0f} ms each"
        add = partial(ratio, samples=samples, under="paced")
        rows += [
            add(f"detect/{count}", f"{what}: scanned / not", over="scanned", at_most=2),
            add(f"detect/{count}-chat", f"{what}: scanned, chat API / not", over="chat"),
            add(f"detect/{count}-buffered", f"{what}: buffered / not", over="buffered"),
        ]
    return rows
