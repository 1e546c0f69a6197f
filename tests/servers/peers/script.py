"""What every peer's scripted model heeds, what its tool leaves behind, and how it is served.

    send X      one gated call of send_email to X-0
    both X      two of them in parallel, to X-0 and X-1
    fail X      one gated call whose tool appends its line, then raises
    slow N      streams N tokens, one every 50 ms
    paint X     calls the first tool of the frontend's

Anything else is answered with text. It needs nothing of agui-bridge: peers run in environments of
their own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["TOKEN_SECONDS", "Call", "Effects", "calls_of", "reply_to", "serve"]

TOOL_SECONDS = 0.2
TOKEN_SECONDS = 0.05


@dataclass(frozen=True)
class Call:
    """A call that the model makes."""

    name: str
    args: dict[str, Any]

    @property
    def id(self) -> str:
        """The same for every framework that lets the model choose, and new for each call."""
        return f"call_{os.urandom(6).hex()}"


def calls_of(text: str, frontend: Sequence[str] = ()) -> list[Call]:
    """The calls that the model makes for a user's message; none is a text."""
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if verb in ("send", "both"):
        return [
            Call("send_email", {"to": f"{name}-{n}@example.com", "body": "original"})
            for n in range(1 if verb == "send" else 2)
        ]
    if verb == "fail":
        return [Call("send_email", {"to": f"{name}-0@example.com", "body": "fail"})]
    if verb == "paint" and frontend:
        return [Call(frontend[0], {})]
    return []


def reply_to(text: str, results: Sequence[str]) -> list[str]:
    """The pieces of the text that the model says: of the results, if there are any."""
    if results:
        return [f"Outcome: {'; '.join(results)}."]
    verb, _, rest = text.strip().partition(" ")
    if verb == "slow":
        return [f"{n} " for n in range(int(rest) if rest.isdecimal() else 20)]
    return [f"You said: {text}"]


class Effects:
    """What the tool did, as lines of a file that no stream can embellish."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send_email(self, to: str, body: str) -> str:
        """Append a line; of the body `fail`, fail thereafter."""
        time.sleep(TOOL_SECONDS)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"tool": "send_email", "to": to, "body": body}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if body == "fail":
            raise RuntimeError("the mail server broke off")
        return f"sent to {to}"


def serve(make_app: Callable[[argparse.Namespace], Any], *options: tuple[str, str]) -> None:
    """Serve a peer until interrupted.

    Args:
        make_app: gives the ASGI application; `effects` and `folder` are among its options.
        options: further ones of the command line: name and default.
    """
    import uvicorn

    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--effects", type=Path, default=Path("effects.jsonl"))
    parser.add_argument("--folder", type=Path, default=Path(), help="where it keeps its own data")
    parser.add_argument("--pipe", action="store_true", help="end when standard input is closed")
    for name, default in options:
        parser.add_argument(f"--{name}", default=default)
    given = parser.parse_args()
    if given.pipe:
        threading.Thread(target=_end_with_input, daemon=True).start()
    uvicorn.run(make_app(given), host="127.0.0.1", port=given.port, log_level="warning")


def _end_with_input() -> None:
    """Whoever started it is gone, however that came."""
    sys.stdin.read()
    os._exit(0)
