"""A chat client of the Agent Framework without a network, so that the example needs no key.

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
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

__all__ = ["Call", "OfflineClient", "offline_client"]

OWN_TOOLS = ("send_email", "crash", "ask_quarter", "ask_whether")
TOKEN_SECONDS = 0.05

Reply = Callable[[Sequence[Message], Mapping[str, Any]], AsyncIterator["str | Call"]]


@dataclass
class Call:
    """A tool call that a model decides on."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)


class OfflineClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """A client that streams what a function makes of each request: texts and calls.

    Args:
        reply: the function, of the messages and the options.
    """

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self._reply = reply

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        updates = self._updates(messages, options)
        if stream:
            return self._build_response_stream(updates)
        return ChatResponse.from_update_generator(updates)

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        async for one in self._reply(messages, options):
            if isinstance(one, str):
                content = Content.from_text(one)
            else:
                own = f"call-{uuid4()}"
                content = Content.from_function_call(own, one.name, arguments=json.dumps(one.args))
            yield ChatResponseUpdate(contents=[content], role="assistant")


def offline_client() -> OfflineClient:
    """A client that does what the message says."""
    return OfflineClient(_reply)


async def _reply(
    messages: Sequence[Message], options: Mapping[str, Any]
) -> AsyncIterator[str | Call]:
    outputs = [c.result for c in messages[-1].contents if c.type == "function_result"]
    text = next((m.text for m in reversed(messages) if m.role == "user" and m.text), "")
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if outputs:
        yield f"Outcome: {'; '.join(map(str, outputs))}."
    elif verb in ("send", "both", "crash"):
        tool = "crash" if verb == "crash" else "send_email"
        for number in range(2 if verb == "both" else 1):
            yield Call(tool, {"to": f"{name}-{number}@example.com", "body": "original"})
    elif verb == "form":
        yield Call("ask_quarter", {"message": f"Which quarter for {name}?"})
    elif verb == "falsy":
        yield Call("ask_whether", {"message": f"Is {name} here?"})
    elif verb == "frontend":
        yield Call(next(t.name for t in options["tools"] if t.name not in OWN_TOOLS))
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"
