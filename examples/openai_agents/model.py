"""A model without a network, so that the example runs without a key.

It heeds the messages of examples/approval_target.py, as far as they fit:

    send X      one gated call of send_email to X-0
    both X      two of them in parallel, to X-0 and X-1
    inside X    the same as send, by the agent that is a tool
    frontend X  a call of the first of the application's tools
    slow N      streams N tokens, one every 50 ms
    crash X     a gated call whose tool appends its line, then kills the process

Anything else is answered with text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agents import Tool

from examples.openai_agents.offline import Call, Item, OfflineModel

__all__ = ["OWN_TOOLS", "offline_model"]

OWN_TOOLS = ("send_email", "crash", "clerk")
TOKEN_SECONDS = 0.05


def offline_model() -> OfflineModel:
    """A model that does what the message says."""
    return OfflineModel(_reply)


async def _reply(items: list[Item], tools: list[Tool]) -> AsyncIterator[str | Call]:
    outputs: list[str] = []
    for item in reversed(items):
        if item.get("type") != "function_call_output":
            break
        outputs.insert(0, str(item["output"]))
    if outputs:
        yield f"Outcome: {'; '.join(outputs)}."
        return
    text = _text(items[-1])
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if verb in ("send", "both", "crash"):
        tool = "crash" if verb == "crash" else "send_email"
        for number in range(2 if verb == "both" else 1):
            yield Call(tool, {"to": f"{name}-{number}@example.com", "body": "original"})
    elif verb == "inside":
        yield Call("clerk", {"input": f"send {name}"})
    elif verb == "frontend":
        theirs = next(tool.name for tool in tools if tool.name not in OWN_TOOLS)
        yield Call(theirs)
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"


def _text(item: Item) -> str:
    content = item.get("content", "")
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(str(part.get("text", "")) for part in parts)
