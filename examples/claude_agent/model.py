"""A model of Anthropic's without a network: it wants to note in notes.txt what it is told.

It is a server on 127.0.0.1 which Claude Code asks in place of Anthropic's.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

Json = dict[str, Any]

ASIDE = re.compile(r"(?s)<system-reminder>.*?</system-reminder>")
OWN = "Continue from where"
"""What Claude Code itself says in the user's place, once a person has decided."""

USAGE = {"input_tokens": 4, "output_tokens": 3}


def serve_model() -> str:
    """Serve it from a thread until the process ends; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def reply(messages: list[Json]) -> list[Json]:
    """What it says to a conversation, as blocks of content."""
    text, result = "", None
    for message in messages:
        if message["role"] != "user":
            continue
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            said = ASIDE.sub("", block.get("text", "")).strip()
            if block["type"] == "tool_result":
                result = block
            elif said and not said.startswith(OWN):
                text, result = said, None
    if result is not None:
        told = "I leave it, then." if result.get("is_error") else "It is noted."
        return [{"type": "text", "text": told}]
    command = f"echo {shlex.quote(text)} >> notes.txt"
    call: Json = {"name": "Bash", "input": {"command": command, "description": "Note it"}}
    call |= {"type": "tool_use", "id": f"toolu_{uuid4().hex}"}
    return [{"type": "text", "text": "I will note it. "}, call]


def stream(model: str, blocks: list[Json]) -> Iterator[Json]:
    """The events of a reply, as Anthropic's API streams them."""
    begun: Json = {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model,
    }
    begun |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            delta: Json = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": USAGE}
    yield {"type": "message_stop"}


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        blocks = reply(asked["messages"])
        if asked.get("stream"):
            events = stream(asked["model"], blocks)
            told = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
            kind = "text/event-stream"
        else:
            whole = {
                "id": f"msg_{uuid4().hex}",
                "type": "message",
                "role": "assistant",
                "content": blocks,
            }
            ends = {"stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE}
            told, kind = json.dumps({**whole, "model": asked["model"], **ends}), "application/json"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(told.encode())))
        self.end_headers()
        self.wfile.write(told.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing: what is asked is no matter of the terminal's."""
