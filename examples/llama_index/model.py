"""A model of LlamaIndex without a network, so that the example runs without a key.

It heeds the messages of examples/approval_target.py, as far as they fit:

    send X      one gated call of send_email to X-0
    both X      two of them in parallel, to X-0 and X-1
    form X      a question: {quarter: Q1..Q4, year: integer}
    falsy X     a question that `false` answers
    frontend X  a call of the first of the application's tools
    slow N      streams N tokens, one every 50 ms
    crash X     a gated call whose tool appends its line, then kills the process

Anything else is answered with text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    LLMMetadata,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import PrivateAttr

__all__ = ["Call", "OfflineModel", "Reply", "Thought", "offline_model"]

OWN_TOOLS = ("send_email", "crash", "ask_quarter", "ask_presence", "handoff")
TOKEN_SECONDS = 0.05


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Thought:
    """What the model thinks before it says something; `signature` is what it wants back."""

    text: str
    signature: str = "thought"


Said = str | Call | Thought
Reply = Callable[[list[ChatMessage], Collection[str]], AsyncIterator[Said]]
"""What a model says to the messages so far, piece by piece, given the names of its tools."""


class OfflineModel(FunctionCallingLLM):
    """Streams what a function says, as the models of LlamaIndex do.

    Args:
        reply: the function.
    """

    _reply: Reply = PrivateAttr()

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self._reply = reply

    @property
    def metadata(self) -> LLMMetadata:
        """What it can do."""
        return LLMMetadata(
            is_chat_model=True,
            is_function_calling_model=True,
            context_window=1_000_000,
            model_name="offline",
        )

    def _prepare_chat_with_tools(
        self, tools: Sequence[Any], *_: Any, chat_history: Any = None, **__: Any
    ) -> dict[str, Any]:
        names = [tool.metadata.get_name() for tool in tools]
        return {"messages": chat_history or [], "names": names}

    async def astream_chat(self, messages: Sequence[ChatMessage], **options: Any) -> Any:
        """One reply, as it grows."""
        return self._grown(list(messages), options.get("names", ()))

    async def achat(self, messages: Sequence[ChatMessage], **options: Any) -> ChatResponse:
        """One reply, whole."""
        said = [one async for one in self._grown(list(messages), options.get("names", ()))]
        return said[-1]

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **_: Any
    ) -> list[ToolSelection]:
        """The calls of a reply."""
        blocks = [one for one in response.message.blocks if isinstance(one, ToolCallBlock)]
        return [
            ToolSelection(
                tool_id=one.tool_call_id or "",
                tool_name=one.tool_name,
                tool_kwargs=dict(one.tool_kwargs) if isinstance(one.tool_kwargs, dict) else {},
            )
            for one in blocks
        ]

    async def _grown(
        self, messages: list[ChatMessage], names: Collection[str]
    ) -> AsyncIterator[ChatResponse]:
        text, thoughts, calls = "", list[Any](), list[Any]()
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        async for one in self._reply(messages, names):
            delta, thought = "", None
            if isinstance(one, str):
                delta = one
                text += one
            elif isinstance(one, Thought):
                thought = one.text
                signed = {"signature": one.signature}
                thoughts.append(ThinkingBlock(content=thought, additional_information=signed))
            else:
                own = one.id or f"call-{uuid4()}"
                calls.append(
                    ToolCallBlock(tool_call_id=own, tool_name=one.name, tool_kwargs=one.args)
                )
            said = [TextBlock(text=text)] if text else []
            yield ChatResponse(
                message=ChatMessage(role="assistant", blocks=[*thoughts, *said, *calls]),
                delta=delta,
                raw={"model": "offline", "usage": usage},
                additional_kwargs={"thinking_delta": thought} if thought else {},
            )

    def chat(self, *_: Any, **__: Any) -> Any:
        """Nobody asks for this: agents have it stream."""
        raise NotImplementedError

    def stream_chat(self, *_: Any, **__: Any) -> Any:
        """Nor for this."""
        raise NotImplementedError

    def complete(self, *_: Any, **__: Any) -> Any:
        """Nor for this."""
        raise NotImplementedError

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Nor for this."""
        raise NotImplementedError

    async def acomplete(self, *_: Any, **__: Any) -> Any:
        """Nor for this."""
        raise NotImplementedError

    async def astream_complete(self, *_: Any, **__: Any) -> Any:
        """Nor for this."""
        raise NotImplementedError


def offline_model() -> OfflineModel:
    """A model that does what the message says."""
    return OfflineModel(_replied)


async def _replied(messages: list[ChatMessage], names: Collection[str]) -> AsyncIterator[Said]:
    outputs: list[str] = []
    for message in reversed(messages):
        if message.role.value != "tool":
            break
        outputs.insert(0, str(message.content))
    text = next((str(m.content) for m in reversed(messages) if m.role.value == "user"), "")
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if outputs:
        yield f"Outcome: {'; '.join(outputs)}."
    elif verb in ("send", "both", "crash"):
        tool = "crash" if verb == "crash" else "send_email"
        for number in range(2 if verb == "both" else 1):
            yield Call(tool, {"to": f"{name}-{number}@example.com", "body": "original"})
    elif verb == "form":
        yield Call("ask_quarter", {"about": name})
    elif verb == "falsy":
        yield Call("ask_presence", {"who": name})
    elif verb == "frontend":
        yield Call(next(tool for tool in names if tool not in OWN_TOOLS))
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"
