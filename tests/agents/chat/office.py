"""An agent with an office's tools, whose executions are counted, and its scripted model."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from agui_bridge import Bridge
from agui_bridge.agents.chat import AskUser, ChatAgent, tool
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.server import Streamed, post, run_input, serve

MAIL = {"to": "ann@example.com", "copies": 1}
SEND = ToolUse("send", MAIL)
LOOK = ToolUse("look", {"day": "monday"}, id="call_2")


class Office:
    """An agent, its model, and what was executed."""

    def __init__(self, base: str, model: ScriptedModel, executed: list[Any]) -> None:
        self.base = base
        self.model = model
        self.executed = executed
        self._runs = 0

    async def say(self, text: str | None = "go", **more: Any) -> Streamed:
        self._runs += 1
        return await post(self.base, **run_input(text, run=f"r{self._runs}", **more))

    async def answer(self, asked: Streamed, **payload: Any) -> Streamed:
        interrupts = asked.events[-1]["outcome"]["interrupts"]
        resume = [
            {"interruptId": each["id"], "status": "resolved", "payload": payload}
            for each in interrupts
        ]
        return await self.say(None, resume=resume)

    def heard(self, request: int = -1) -> list[tuple[str, Any]]:
        """The conversation as the model got it, without instructions."""
        messages = self.model.requests[request].messages
        return [(m["role"], m["content"]) for m in messages if m["role"] != "system"]


@contextlib.asynccontextmanager
async def office(
    *replies: Reply, policy: Any = None, settings: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Office]:
    executed: list[Any] = []

    preview = options.pop("preview", None)

    @tool(approval=options.pop("approval", "always"), destructive=True, preview=preview)
    async def send(to: str, copies: int = 1) -> str:
        executed.append({"to": to, "copies": copies})
        return f"sent to {to}"

    @tool
    def look(day: str) -> list[str]:
        executed.append(day)
        if day == "never":
            raise LookupError("secret")
        return ["09:00"]

    async with ScriptedModel(*replies) as model:
        agent = ChatAgent(
            "scripted",
            tools=[send, look, AskUser(), *options.pop("tools", ())],
            base_url=model.base_url,
            api_key="k",
            retries=0,
            **options,
        )
        bridge = Bridge()
        bridge.add("agent", agent, **(settings or {}))
        if policy is not None:
            bridge.policy(policy)
        async with serve(bridge.app(anonymous=True)) as base:
            yield Office(base, model, executed)


def kinds(stream: Streamed) -> list[str]:
    return [e["type"] for e in stream.events]


def results(stream: Streamed) -> list[str]:
    return [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]


def snapshot(stream: Streamed) -> list[dict[str, Any]]:
    """The conversation as the stream told it last."""
    *_, last = (e for e in stream.events if e["type"] == "MESSAGES_SNAPSHOT")
    return list(last["messages"])
