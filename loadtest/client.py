"""A client of one thread: it sends inputs and tells what came of them, in a word."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Answer:
    """What an input got: an outcome or a code, and the interrupts that it ends with."""

    word: str
    interrupts: tuple[str, ...] = ()


def approval(interrupt: str, *, approved: bool = True) -> dict[str, Any]:
    """A resume entry."""
    return {"interruptId": interrupt, "status": "resolved", "payload": {"approved": approved}}


async def send(
    http: httpx.AsyncClient,
    url: str,
    thread: str,
    text: str | None = None,
    resume: list[dict[str, Any]] | None = None,
) -> Answer:
    """Run the agent and read the whole stream."""
    body: dict[str, Any] = {
        "threadId": thread,
        "runId": uuid.uuid4().hex,
        "protocolVersion": "1.0",
        "messages": [],
    }
    if text is not None:
        body["messages"] = [{"id": uuid.uuid4().hex, "role": "user", "content": text}]
    if resume is not None:
        body["resume"] = resume
    outcome: dict[str, Any] = {}
    word = "cut off"
    try:
        async with http.stream("POST", f"{url}/agents/target", json=body) as response:
            if response.status_code != 200:
                error = json.loads(await response.aread())["error"]
                return Answer(f"{response.status_code} {error['code']}")
            async for line in response.aiter_lines():
                # The others are many, and don't say how it ends.
                if '"RUN_FINISHED"' in line:
                    outcome = json.loads(line.removeprefix("data: "))["outcome"]
                    word = outcome["type"]
                elif '"RUN_ERROR"' in line:
                    word = json.loads(line.removeprefix("data: "))["code"]
    except httpx.TransportError as error:
        return Answer(type(error).__name__)
    return Answer(word, tuple(ask["id"] for ask in outcome.get("interrupts", ())))


async def stop(http: httpx.AsyncClient, url: str, thread: str) -> Answer:
    """Stop the thread."""
    response = await http.post(f"{url}/agents/target/threads/{thread}/stop")
    return Answer(f"stop {response.json()['status']}" if response.is_success else "stop refused")
