"""A model of Anthropic's on 127.0.0.1 for Claude Code: what the user says last makes it act."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.servers.model.anthropic import Messages
from tests.servers.model.script import Json, Reply, Requested, ToolUse
from tests.support.server import serve

__all__ = ["FakeClaude"]

_ASIDE = re.compile(r"(?s)<system-reminder>.*?</system-reminder>")
_ANSWERED = re.compile(r'have been answered: .*?"="([^"]*)"')
_MAIL = "mcp__mail__"

_USED = {
    "input_tokens": 1,
    "cache_creation_input_tokens": 2,
    "cache_read_input_tokens": 1,
    "output_tokens": 1,
}

_DELEGATED = {
    "inside": "send",
    "lookinside": "lookandsend",
}


class FakeClaude:
    """The server.

    Attributes:
        requests: the bodies that it was sent, of those that talk with tools.
        answers: what people have answered to its questions, each time that it was told of one.
    """

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self.base_url = ""
        self.answers: list[str] = []
        self._number = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeClaude]:
        """Listen on a free port."""
        routes = [Route("/v1/messages", self._answer, methods=["POST"])]
        async with serve(Starlette(routes=routes)) as base:
            self.base_url = base
            yield self

    def serve_in_thread(self) -> None:
        """The same from a thread, until the process ends."""
        up = threading.Event()

        async def forever() -> None:
            async with self.serving():
                up.set()
                await asyncio.Event().wait()

        threading.Thread(target=asyncio.run, args=[forever()], daemon=True).start()
        assert up.wait(60), "the model did not start"

    async def _answer(self, request: Request) -> Response:
        requested = Requested(self._number, await request.json(), dict(request.headers))
        self._number += 1
        body = requested.body
        if body.get("tools"):
            self.requests.append(body)
        dialect = Messages(_USED)
        reply = self.reply(body)
        if not dialect.wants_stream(requested):
            return JSONResponse(dialect.whole(requested, reply))
        return StreamingResponse(
            self._stream(dialect, requested, reply), media_type="text/event-stream"
        )

    async def _stream(
        self, dialect: Messages, requested: Requested, reply: Reply
    ) -> AsyncIterator[str]:
        for frame in dialect.said(requested, reply):
            if frame is not None:
                yield frame
            elif reply.hold is not None:
                await reply.hold.wait()
        for frame in dialect.ended(requested, reply):
            yield frame

    def reply(self, body: Json) -> Reply:
        """What it says to a request."""
        names = {tool["name"] for tool in body.get("tools") or ()}
        asked, calls, own = _asked(body["messages"])
        self.answers += _ANSWERED.findall(str(body["messages"][-1]))
        word, _, rest = asked.partition(" ")
        if word == "think" and not calls:
            return Reply(["I thought ", f"of {rest}."], thoughts=["I think of ", rest])
        if word == "slow":
            return Reply(["Working. ", "more"], hold=asyncio.Event())
        if word == "both" and calls == 2 and "Call this tool again" in str(body["messages"][-1]):
            word, rest, calls = "send", f"second-{rest}", 0
        if wanted := _wanted(word, rest, calls, names):
            said = [
                ToolUse(call.name, call.args, f"toolu_{self._number}_{n}_{own}")
                for n, call in enumerate(wanted)
            ]
            return Reply(["I will do it. "], said)
        return Reply(f"Done with {calls} calls." if calls else "Hello.")


_OWN = ("Continue from where", "[Request interrupted")
"""What Claude Code itself says in the user's place."""


def _said(block: Json) -> str:
    """What a user says in a block, without what Claude Code says beside it."""
    text = _ASIDE.sub("", block.get("text", "")).strip()
    return "" if text.startswith(_OWN) else text


def _asked(messages: list[Json]) -> tuple[str, int, int]:
    """What the user said last, how many calls were answered since, and of how many messages."""
    text, calls = "", 0
    for message in messages:
        if message["role"] != "user":
            continue
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            calls += block["type"] == "tool_result"
            if said := _said(block):
                text, calls = said.splitlines()[-1], 0
    return text, calls, len(messages)


def _wanted(word: str, rest: str, calls: int, names: set[str]) -> list[ToolUse]:
    mail = ToolUse(_MAIL + "send_email", {"to": rest, "body": "original"})
    second = ToolUse(_MAIL + "send_email", {"to": f"second-{rest}", "body": "original"})
    look = ToolUse(_MAIL + "look_up", {"name": rest})
    slow = [ToolUse(_MAIL + "look_up_slowly", {"name": n}) for n in (rest, f"second-{rest}")]
    question = {
        "question": f"When on {rest}?",
        "header": "Hour",
        "multiSelect": False,
        "options": [{"label": "5", "description": "late"}, {"label": "3", "description": "early"}],
    }
    steps: dict[str, list[list[ToolUse]]] = {
        "send": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "mixedback": [[mail, look]],
        "look": [[look]],
        "lookandsend": [[look], [mail]],
        "sendlook": [[mail], [look]],
        "wait": [[ToolUse(_MAIL + "wait", {})]],
        "crash": [[ToolUse(_MAIL + "crash", {"to": rest, "body": "original"})]],
        "book": [[ToolUse("AskUserQuestion", {"questions": [question]})]],
        "slowlytwice": [[call] for call in slow],
        "refund": [[ToolUse("mcp__shop__refund", {"order": rest, "cents": 5})]],
        "run": [[ToolUse("Bash", {"command": rest, "description": "as asked"})]],
        "write": [[ToolUse("Write", {"file_path": rest, "content": "written"})]],
    }
    agent = next((n for n in ("Agent", "Task") if n in names), None)
    if word in _DELEGATED and agent:
        args = {
            "description": "mail",
            "prompt": f"{_DELEGATED[word]} {rest}",
            "subagent_type": "helper",
        }
        return [] if calls else [ToolUse(agent, args)]
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
