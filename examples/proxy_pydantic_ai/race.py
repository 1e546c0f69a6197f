"""Answers one approval twice at the same moment, and counts what was executed.

    python -m examples.proxy_pydantic_ai.race http://127.0.0.1:8000/               # pydantic-ai
    python -m examples.proxy_pydantic_ai.race http://127.0.0.1:8787/agents/agent   # the bridge

Several addresses are those of several processes: the answers are spread over them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

__all__ = ["race"]

Event = dict[str, Any]


async def _run(client: httpx.AsyncClient, url: str, body: Event) -> list[Event]:
    run_id = secrets.token_hex(8)
    given = {"protocolVersion": "1.0", "state": {}, "tools": [], "context": []}
    answer = await client.post(
        url, json={**given, "forwardedProps": {}, "runId": run_id, **body}, timeout=60
    )
    answer.raise_for_status()
    lines = answer.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def _history(user: Event, events: Sequence[Event]) -> list[Event]:
    """What a client has after the first run, as it sends it back with its answer."""
    calls: dict[str, Event] = {}
    for event in events:
        if event["type"] == "TOOL_CALL_START":
            function = {"name": event["toolCallName"], "arguments": ""}
            calls[event["toolCallId"]] = {
                "id": event["toolCallId"],
                "type": "function",
                "function": function,
            }
        elif event["type"] == "TOOL_CALL_ARGS":
            calls[event["toolCallId"]]["function"]["arguments"] += event["delta"]
    return [user, {"id": "asking", "role": "assistant", "toolCalls": [*calls.values()]}]


def race(urls: Sequence[str], effects: Path, answers: int = 2) -> int:
    """Ask for an e-mail, approve it several times at once, and count the e-mails.

    Args:
        urls: of the agent; the first is asked, and each gets its share of the answers.
        effects: the agent's file of executions.
        answers: how many identical approvals are sent.

    Returns:
        How often the tool was executed.
    """
    name = asyncio.run(_race(urls, answers))
    return sum(name in line for line in effects.read_text().splitlines())


async def _race(urls: Sequence[str], answers: int) -> str:
    name = secrets.token_hex(4)
    thread = f"race-{name}"
    user = {"id": f"user-{name}", "role": "user", "content": f"send {name}"}
    async with httpx.AsyncClient() as client:
        asked = await _run(client, urls[0], {"threadId": thread, "messages": [user]})
        interrupts = asked[-1]["outcome"]["interrupts"]
        resume = [
            {"interruptId": i["id"], "status": "resolved", "payload": {"approved": True}}
            for i in interrupts
        ]
        body = {"threadId": thread, "messages": _history(user, asked), "resume": resume}
        await asyncio.gather(
            *(_run(client, urls[n % len(urls)], body) for n in range(answers)),
        )
    return name


def main() -> None:
    """Race, and tell."""
    parser = argparse.ArgumentParser(description="Approves one call twice at the same moment.")
    parser.add_argument("urls", nargs="+", metavar="URL", help="the agent's address")
    parser.add_argument("--effects", type=Path, default=Path("effects.jsonl"))
    parser.add_argument("--answers", type=int, default=2)
    options = parser.parse_args()
    times = race(options.urls, options.effects, options.answers)
    often = "once" if times == 1 else f"{times} times"
    print(f"{options.answers} approvals of one call at once: executed {often}")


if __name__ == "__main__":
    main()
