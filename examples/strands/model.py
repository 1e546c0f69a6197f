"""A model of Strands without a network, so that the example runs without a key.

It heeds the messages of examples/approval_target.py, as far as they fit, and one more:

    send X      one gated call of send_email to X-0
    hand X      the same, by the courier, who works inside a tool
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
import itertools
import json
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from strands.models import Model

__all__ = ["Call", "Message", "OfflineModel", "Reply", "Thought", "offline_model", "results_in"]

OWN_TOOLS = ("send_email", "crash", "ask_quarter", "ask_presence", "courier")
TOKEN_SECONDS = 0.05

Message = dict[str, Any]
"""A message as Strands has it: `{"role": …, "content": [blocks]}`."""


@dataclass
class Call:
    """A tool call that a model decides on."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    text: str | None = None


@dataclass
class Thought:
    """Something that a model thinks, and what its provider signs it with."""

    text: str
    signature: str = ""


Reply = Callable[[list[Message], Collection[str]], AsyncIterator[str | Thought | Call]]
"""What a model makes of messages and of the names of its tools."""


class OfflineModel(Model):
    """A model that streams what a function makes of each request: texts, thoughts and calls."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def update_config(self, **model_config: Any) -> None:
        """There is nothing to configure."""

    def get_config(self) -> Any:
        """Its name."""
        return {"model_id": "offline"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Strands asks by a tool."""
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any
    ) -> AsyncIterator[Any]:
        """One reply, as Strands' own models tell it."""
        names = [spec["name"] for spec in tool_specs or ()]
        kind: type | None = None
        called = False
        yield {"messageStart": {"role": "assistant"}}
        async for one in self._reply(messages, names):
            if kind is not None and (kind is not type(one) or kind is Call):
                yield {"contentBlockStop": {}}
            if kind is not type(one) or kind is Call:
                kind = type(one)
                start: Any = {}
                if isinstance(one, Call):
                    called = True
                    use = {"name": one.name, "toolUseId": one.id or f"call-{uuid4()}"}
                    start = {"toolUse": use}
                yield {"contentBlockStart": {"start": start}}
            for delta in _deltas(one):
                yield {"contentBlockDelta": {"delta": delta}}
        if kind is not None:
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if called else "end_turn"}}
        usage = {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def offline_model() -> OfflineModel:
    """A model that does what the message says."""
    return OfflineModel(_replied)


def results_in(message: Message) -> list[tuple[str, str]]:
    """The results in a message: the call's id, and its text."""
    return [
        (
            block["toolResult"]["toolUseId"],
            "".join(str(part.get("text", part)) for part in block["toolResult"]["content"]),
        )
        for block in message["content"]
        if "toolResult" in block
    ]


async def _replied(
    messages: list[Message], names: Collection[str]
) -> AsyncIterator[str | Thought | Call]:
    results = results_in(messages[-1])
    text = _last_words(messages)
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if results and not any("text" in block for block in messages[-1]["content"]):
        yield f"Outcome: {'; '.join(told for _, told in results)}."
    elif verb == "hand" and "courier" in names:
        yield Call("courier", {"input": f"send {name}"})
    elif verb in ("send", "hand", "both", "crash"):
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
        for number in itertools.islice(itertools.count(), int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"


def _last_words(messages: list[Message]) -> str:
    """What the user said last."""
    for message in reversed(messages):
        texts = [block["text"] for block in message["content"] if "text" in block]
        if message["role"] == "user" and texts:
            return str(texts[-1])
    return ""


def _deltas(one: str | Thought | Call) -> list[dict[str, Any]]:
    match one:
        case str():
            return [{"text": one}]
        case Thought(text=text, signature=signature):
            signed = [{"reasoningContent": {"signature": signature}}] if signature else []
            return [{"reasoningContent": {"text": text}}, *signed]
        case Call(args=args, text=text):
            written = json.dumps(args) if text is None else text
            half = len(written) // 2
            return [{"toolUse": {"input": part}} for part in (written[:half], written[half:])]
