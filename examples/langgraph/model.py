"""A chat model without a network, so that the example runs without a key.

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
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

__all__ = ["OWN_TOOLS", "OfflineModel"]

OWN_TOOLS = ("send_email", "crash", "ask_quarter", "ask_yes_or_no")
TOKEN_SECONDS = 0.05
Call = tuple[str, dict[str, Any]]


class OfflineModel(BaseChatModel):
    """A model that does what the message says.

    Attributes:
        offered: names of the tools that it was given.
    """

    offered: tuple[str, ...] = ()

    @property
    def _llm_type(self) -> str:
        return "offline"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """The same model, with tools."""
        return OfflineModel(offered=tuple(map(_name_of, tools)))

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("It streams.")

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        last = messages[-1]
        text = str(last.text).strip()
        verb, _sep, rest = text.partition(" ")
        name = rest.strip() or "nobody"
        if isinstance(last, ToolMessage):
            yield _chunk(content=f"Outcome: {'; '.join(_results(messages))}.")
        elif calls := self._calls(verb, name):
            for number, (tool, args) in enumerate(calls):
                own = f"call_{uuid.uuid4().hex[:12]}"
                part = {"index": number, "id": own, "name": tool, "args": json.dumps(args)}
                yield _chunk(content="", tool_call_chunks=[part])
        elif verb == "slow":
            for number in range(int(name) if name.isdecimal() else 20):
                await asyncio.sleep(TOKEN_SECONDS)
                yield _chunk(content=f"{number} ")
        else:
            yield _chunk(content=f"You said: {text}")

    def _calls(self, verb: str, name: str) -> list[Call]:
        if verb in ("send", "both", "crash"):
            tool = "crash" if verb == "crash" else "send_email"
            numbers = range(2 if verb == "both" else 1)
            return [
                (tool, {"to": f"{name}-{number}@example.com", "body": "original"})
                for number in numbers
            ]
        if verb in ("form", "falsy"):
            return [("ask_quarter" if verb == "form" else "ask_yes_or_no", {"about": name})]
        if verb == "frontend":
            return [(next(tool for tool in self.offered if tool not in OWN_TOOLS), {})]
        return []


def _chunk(**told: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(**told))


def _results(messages: list[BaseMessage]) -> Iterator[str]:
    """What the calls of the last step gave."""
    first = len(messages)
    while isinstance(messages[first - 1], ToolMessage):
        first -= 1
    return (str(message.text) for message in messages[first:])


def _name_of(tool: Any) -> str:
    return str(tool["function"]["name"] if isinstance(tool, dict) else tool.name)
