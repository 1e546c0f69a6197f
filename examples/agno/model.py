"""A model without a network, so that the example runs without a key.

It heeds the messages of examples/approval_target.py, as far as they fit, and two more:

    send X      one gated call of send_email to X-0
    inside X    the same, by the clerk, a member of the team
    both X      two of them in parallel, to X-0 and X-1
    form X      a question: the arguments quarter and year of a tool
    falsy X     a question that `false` answers: what came of a tool that runs elsewhere
    frontend X  a call of the first of the application's tools
    slow N      streams N tokens, one every 50 ms
    crash X     a gated call whose tool appends its line, then kills the process

Anything else is answered with text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from agno.models.message import Message

from examples.agno.offline import Call, OfflineModel

__all__ = ["OWN_TOOLS", "offline_model"]

OWN_TOOLS = ("send_email", "crash", "report", "is_here", "delegate_task_to_member")
TOKEN_SECONDS = 0.05


def offline_model() -> OfflineModel:
    """A model that does what the message says."""
    return OfflineModel(reply=_reply)


async def _reply(messages: list[Message], tools: set[str]) -> AsyncIterator[str | Call]:
    outputs: list[str] = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        outputs.insert(0, str(message.content))
    if outputs:
        yield f"Outcome: {'; '.join(outputs)}."
        return
    text = str(messages[-1].content)
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if verb in ("send", "both", "crash"):
        tool = "crash" if verb == "crash" else "send_email"
        for number in range(2 if verb == "both" else 1):
            yield Call(tool, {"to": f"{name}-{number}@example.com", "body": "original"})
    elif verb == "inside":
        yield Call("delegate_task_to_member", {"member_id": "clerk", "task": f"send {name}"})
    elif verb == "form":
        yield Call("report", {"name": name})
    elif verb == "falsy":
        yield Call("is_here", {"name": name})
    elif verb == "frontend":
        yield Call(next(tool for tool in sorted(tools) if tool not in OWN_TOOLS))
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"
