"""Serves an example, and prints curl lines that try it step by step."""

from __future__ import annotations

import argparse
import json
import secrets
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agui_bridge import Bridge
from agui_bridge.errors import BridgeError
from agui_bridge.http.server import serve

__all__ = ["Answer", "Say", "guide", "serve_here", "serve_with_guide"]


@dataclass(frozen=True)
class Say:
    """A step of the guide: send a message.

    Attributes:
        why: what the step shows.
        text: the message.
        token: the bearer token of whoever sends it.
    """

    why: str
    text: str
    token: str | None = None


@dataclass(frozen=True)
class Answer:
    """A step of the guide: answer what the agent asked.

    Attributes:
        why: what the step shows.
        payload: the answer.
        token: the bearer token of whoever answers.
    """

    why: str
    payload: Any
    token: str | None = None


def serve_with_guide(bridge: Bridge, agent: str, *steps: Say | Answer) -> None:
    """Serve a bridge on 127.0.0.1 until Ctrl-C, and print how to try one of its agents."""
    parser = argparse.ArgumentParser(description=f"Serves the example agent {agent!r}.")
    parser.add_argument("--port", type=int, default=8787, help="0 takes a free one")
    parser.add_argument("--store", help="where threads are kept, such as sqlite:///agents.db")
    options = parser.parse_args()
    bridge.store = options.store or bridge.store

    def tell(port: int) -> None:
        url = f"http://127.0.0.1:{port}/agents/{agent}"
        print(guide(url, f"try-{secrets.token_hex(2)}", steps), flush=True)

    serve_here(bridge, options.port, tell)


def serve_here(bridge: Bridge, port: int, tell: Callable[[int], None]) -> None:
    """Serve a bridge on 127.0.0.1 until Ctrl-C.

    Args:
        bridge: the bridge.
        port: port to bind to; 0 takes a free one.
        tell: called with the port once requests are answered.

    Raises:
        SystemExit: it can't be served; the message says why, without a trace.
    """
    try:
        serve(bridge, "127.0.0.1", port, on_start=tell, log_level="warning")
    except BridgeError as error:
        sys.exit(f"error: {error}")


def guide(url: str, thread: str, steps: Sequence[Say | Answer]) -> str:
    """Write the steps as shell commands to paste, one block each."""
    blocks = [f"# Serving {url} (Ctrl-C ends it)."]
    sender: list[str] = []
    for number, step in enumerate(steps, 1):
        lines = [f"# {number}. {step.why}"]
        sender = ["-H", f"Authorization: Bearer {step.token}"] if step.token else []
        body: dict[str, Any] = {
            "threadId": thread,
            "runId": f"run-{number}",
            "protocolVersion": "1.0",
            "messages": [],
        }
        if isinstance(step, Say):
            body["messages"] = [{"id": f"m{number}", "role": "user", "content": step.text}]
            data = shlex.quote(json.dumps(body))
        else:
            read = shlex.join(["curl", "-s", f"{url}/threads/{thread}", *sender])
            lines.append(f"ID=$({read} | {FIND_ID})")
            answer = {"interruptId": "$ID", "status": "resolved", "payload": step.payload}
            # Out of the quotes for as long as the shell's variable lasts.
            data = shlex.quote(json.dumps({**body, "resume": [answer]})).replace("$ID", "'$ID'")
        post = ["curl", "-sN", url, "-H", "Content-Type: application/json", *sender]
        lines.append(f"{shlex.join(post)} -d {data}")
        blocks.append("\n".join(lines))
    history = shlex.join(["curl", "-s", f"{url}/threads/{thread}/interrupts", *sender])
    blocks.append(f"# What was asked and answered, when and by whom.\n{history}")
    return "\n\n".join(blocks)


FIND_ID = """python3 -c 'import json, sys; print(json.load(sys.stdin)["interrupts"][0]["id"])'"""
