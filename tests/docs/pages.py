"""The Python of a page, run as its reader would, and conversations with what it defines."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from agui_bridge import Bridge, Principal
from agui_bridge.engine.engine import mint
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.wire.sse import Decoder
from tests.support.streams import check_stream

__all__ = ["PAGES", "Conversation", "run_page", "snippets_of"]

ROOT: Final = Path(__file__).parent.parent.parent
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

Event = dict[str, Any]


def snippets_of(page: Path, language: str = "python") -> list[tuple[int, str]]:
    """The code blocks of a language, each with the line of its first line."""
    text = page.read_text(encoding="utf-8")
    pattern = rf"^```{language}\n(.*?)^```$"
    return [
        (text[: match.start(1)].count("\n") + 1, match[1])
        for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE)
    ]


async def run_page(page: Path) -> dict[str, Any]:
    """Run a page's Python blocks in order, as one module; `await` is allowed at the top."""
    module = ModuleType(f"page_{page.stem}")
    names = vars(module)
    # Dataclasses and pydantic models look their module up.
    sys.modules[module.__name__] = module
    for line, code in snippets_of(page):
        # Blank lines before it, so that a traceback names the line of the page. Its annotations are
        # no texts, as they are here.
        compiled = compile(
            "\n" * (line - 1) + code,
            str(page),
            "exec",
            flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        outcome = eval(compiled, names)
        if inspect.isawaitable(outcome):
            await outcome
    return names


class Conversation:
    """One thread of one agent, on a bridge as it is.

    Its client sends what is new, or with `keeps_list` the whole conversation as it has it.
    """

    def __init__(
        self,
        bridge: Bridge,
        agent: str,
        thread: str = "t",
        *,
        keeps_list: bool = False,
        props: Any = None,
    ) -> None:
        self._bridge = bridge
        self._agent = bridge.agents[agent]
        self.thread = thread
        self._props = props
        self._sent = 0
        self._keeps_list = keeps_list
        self._listed: list[dict[str, Any]] = []
        self.events: list[Event] = []

    async def say(self, text: str, **members: Any) -> str:
        """Send a message, and other members of the input; gives the text that came back."""
        self._sent += 1
        message = {"id": f"u{self._sent}", "role": "user", "content": text}
        return await self._send(messages=[*self._listed, message], **members)

    async def answer(self, *payloads: Any) -> str:
        """Answer the open interrupts in their order; None cancels."""
        entries = [
            {"interruptId": ask["id"], "status": "cancelled"}
            if payload is None
            else {"interruptId": ask["id"], "status": "resolved", "payload": payload}
            for ask, payload in zip(self.asks, payloads, strict=True)
        ]
        return await self._send(resume=entries)

    async def hand_back(self, content: str) -> str:
        """Send the result of the pending frontend tool."""
        (call_id,) = self.events[-1]["outcome"]["pendingToolCallIds"]
        message = {"id": f"f{self._sent}", "role": "tool", "toolCallId": call_id}
        return await self._send(messages=[{**message, "content": content}])

    @property
    def asks(self) -> list[Mapping[str, Any]]:
        """The interrupts that the last run ended with."""
        return list(self.events[-1].get("outcome", {}).get("interrupts", []))

    async def _send(self, principal: Principal | None = None, **members: Any) -> str:
        body: dict[str, Any] = {
            "threadId": self.thread,
            "runId": mint(),
            "protocolVersion": "1.0",
            "messages": [],
        }
        if self._props is not None:
            body["forwardedProps"] = self._props
        engine = await self._bridge.open()
        call = Submission(self._agent, principal or Principal(), parse_input({**body, **members}))
        pipe, _ = engine.submit(call)
        decoder, self.events = Decoder(), []
        while chunk := await pipe.read():
            self.events += [json.loads(frame.data) for frame in decoder.feed(chunk)]
        for event in self.events:
            # Each run has an id of its own; what a test compares with knows one.
            if event.get("runId") == body["runId"]:
                event["runId"] = "r"
        if self._keeps_list:
            shown = [e["messages"] for e in self.events if e["type"] == "MESSAGES_SNAPSHOT"]
            self._listed = shown[-1] if shown else self._listed
        kinds = {event["type"] for event in self.events}
        check_stream(self.events, refused={"RUN_FINISHED", "RUN_ERROR"} <= kinds)
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")
