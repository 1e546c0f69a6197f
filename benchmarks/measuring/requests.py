"""Requests as bytes, made before anything is timed."""

from __future__ import annotations

import itertools
import json
from typing import Any

_numbers = itertools.count(1)


def new_thread() -> str:
    """An id that no other thread of this run of the benchmarks has."""
    return f"thread-{next(_numbers)}"


def run_input(thread: str, text: str | None = "hello", **members: Any) -> dict[str, Any]:
    """A RunAgentInput with one new user message, or none."""
    number = next(_numbers)
    message = {"id": f"user-{number}", "role": "user", "content": text}
    return {
        "threadId": thread,
        "runId": f"run-{number}",
        "protocolVersion": "1.0",
        "messages": [] if text is None else [message],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **members,
    }


def request(agent: str, body: dict[str, Any] | None = None) -> bytes:
    """The bytes of a POST to an agent; by default the first message of a new thread."""
    content = json.dumps(run_input(new_thread()) if body is None else body).encode()
    head = (
        f"POST /agents/{agent} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content
