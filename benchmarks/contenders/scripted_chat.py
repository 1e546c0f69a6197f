"""A chat-model agent whose model is no server: what a run costs besides the model's own request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from openai.types.chat import ChatCompletionChunk
from starlette.types import ASGIApp

from agui_bridge import Bridge
from agui_bridge.agents.chat.agent import ChatAgent
from agui_bridge.agents.chat.endpoint import ChatEndpoint, ChatMessage
from agui_bridge.agents.chat.tools import tool


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> ChatCompletionChunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    return ChatCompletionChunk.model_validate({**head, "choices": [choice]})


_CALL = {
    "index": 0,
    "id": "call",
    "type": "function",
    "function": {"name": "delete_rows", "arguments": '{"table":"users","limit":10}'},
}


class _Scripted(ChatEndpoint):
    """Asks for the tool until it reads a result, and then is done."""

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Mapping[str, Any]],
        headers: Mapping[str, str],
        must_call: str = "",
    ) -> AsyncGenerator[ChatCompletionChunk, None]:
        if messages[-1]["role"] == "tool":
            yield _chunk({"role": "assistant", "content": "Done."}, "stop")
        else:
            yield _chunk({"role": "assistant", "tool_calls": [_CALL]}, "tool_calls")


@tool(destructive=True)
async def delete_rows(table: str, limit: int) -> str:
    """Delete rows of a table."""
    return f"{limit} rows of {table} deleted"


def chatting(store: str, count: int) -> ASGIApp:
    """agui-bridge with a chat model that calls a tool, which needs an approval."""
    agent = ChatAgent("scripted", tools=[delete_rows], api_key="none")
    agent.endpoint = _Scripted("scripted", api_key="none")
    bridge = Bridge(store)
    bridge.add("ask", agent)
    return bridge.app(anonymous=True)
