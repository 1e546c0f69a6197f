"""An agent of Microsoft's Agent Framework behind agent-framework-ag-ui.

    python -m tests.servers.peers.agent_framework --port 8000

The package keeps what waits, and the conversation, in its process alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from agent_framework_ag_ui import (
    AgentFrameworkAgent,
    add_agent_framework_fastapi_endpoint,
)
from fastapi import FastAPI

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """What a language model would do with the last message."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        told = _told(messages, options)
        if stream:
            return self._build_response_stream(told)

        async def whole() -> ChatResponse:
            return ChatResponse.from_updates([update async for update in told])

        return whole()


async def _told(
    messages: Sequence[Message], options: Mapping[str, Any]
) -> AsyncIterator[ChatResponseUpdate]:
    results: list[str] = []
    text = ""
    for message in reversed(messages):
        returned = [c for c in message.contents if c.type == "function_result"]
        results[:0] = [str(content.result) for content in returned]
        if message.role == "user" and message.text:
            text = message.text
            break
    names = [t.name for t in options.get("tools") or () if t.name != "send_email"]
    calls = [] if results else calls_of(text, names)
    for call in calls:
        made = Content.from_function_call(call.id, call.name, arguments=json.dumps(call.args))
        yield ChatResponseUpdate(role="assistant", contents=[made])
    pieces = [] if calls else reply_to(text, results)
    for piece in pieces:
        if len(pieces) > 1:
            await asyncio.sleep(TOKEN_SECONDS)
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(piece)])


def make_app(options: argparse.Namespace) -> FastAPI:
    """The agent at `/`."""
    effects = Effects(options.effects)

    @tool(approval_mode="always_require")
    def send_email(to: str, body: str) -> str:
        """Send an email."""
        return effects.send_email(to, body)

    # `confirm_changes` would be a second call that asks about the first, for pages that know it.
    agent = AgentFrameworkAgent(
        Agent(client=Scripted(), name="peer", tools=[send_email]), require_confirmation=False
    )
    served = FastAPI()
    add_agent_framework_fastapi_endpoint(served, agent, "/", single_user=True)
    return served


if __name__ == "__main__":
    serve(make_app)
