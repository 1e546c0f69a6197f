"""An agno agent behind agno's AG-UI interface: `python -m tests.servers.peers.agno --port 8000`.

Its runs are posted to /agui; its sessions are in a SQLite file. When the file is locked for
longer than SQLite waits, Agno logs that a run was not saved and goes on, and an answer to that run
finds nothing. So the file is never locked for long: not with `AsyncSqliteDb`, of which a cancelled
run's connection keeps its lock, and as long as a slow disk takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.os.interfaces.agui import AGUI
from agno.tools import tool

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve

_DISK_SECONDS: Final = 60.0
"""How long a write waits for others' writes; the kit waits as long for a run."""


class Scripted(Model):
    """What a language model would do with the last message."""

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def ainvoke(self, messages: list[Message], *args: Any, **kwargs: Any) -> ModelResponse:
        whole = ModelResponse(content="")
        async for part in self.ainvoke_stream(messages, **kwargs):
            whole.content = (whole.content or "") + (part.content or "")
            whole.tool_calls += part.tool_calls or []
        return whole

    async def ainvoke_stream(
        self, messages: list[Message], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ModelResponse]:
        results: list[str] = []
        for message in reversed(messages):
            if message.role == "tool":
                results.insert(0, str(message.content))
            elif message.role == "user":
                break
        text = next(str(m.content) for m in reversed(messages) if m.role == "user")
        names = [t["function"]["name"] for t in kwargs.get("tools") or [] if "function" in t]
        calls = [] if results else calls_of(text, [n for n in names if n != "send_email"])
        if calls:
            made = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.args)},
                }
                for call in calls
            ]
            yield ModelResponse(tool_calls=made)
            return
        for piece in (pieces := reply_to(text, results)):
            if len(pieces) > 1:
                await asyncio.sleep(TOKEN_SECONDS)
            yield ModelResponse(content=piece)

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def make_app(options: argparse.Namespace) -> Any:
    """The agent at /agui."""
    effects = Effects(options.effects)

    @tool(requires_confirmation=True)
    def send_email(to: str, body: str) -> str:
        """Send an email."""
        return effects.send_email(to, body)

    sessions = f"sqlite:///{options.folder / 'agno.db'}?timeout={_DISK_SECONDS}"
    agent = Agent(
        name="peer",
        model=Scripted(id="scripted"),
        tools=[send_email],
        db=SqliteDb(db_url=sessions),
        add_history_to_context=True,
        telemetry=False,
    )
    return AgentOS(agents=[agent], interfaces=[AGUI(agent=agent)], telemetry=False).get_app()


if __name__ == "__main__":
    serve(make_app)
