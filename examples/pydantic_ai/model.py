"""A model without a network, so that the example runs without a key.

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
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

__all__ = ["OWN_TOOLS", "offline_model"]

OWN_TOOLS = ("send_email", "crash", "ask_quarter", "ask_yes_or_no")
TOKEN_SECONDS = 0.05


def offline_model() -> FunctionModel:
    """A model that does what the message says."""
    return FunctionModel(stream_function=_reply)


async def _reply(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    last = messages[-1]
    returned = [p for p in last.parts if isinstance(p, ToolReturnPart)]
    prompts = [p for p in last.parts if isinstance(p, UserPromptPart)]
    if isinstance(last, ModelRequest) and returned and not prompts:
        yield f"Outcome: {'; '.join(part.model_response_str() for part in returned)}."
        return
    text = str(prompts[-1].content) if prompts else ""
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if verb in ("send", "both", "crash"):
        tool = "crash" if verb == "crash" else "send_email"
        for number in range(2 if verb == "both" else 1):
            args = json.dumps({"to": f"{name}-{number}@example.com", "body": "original"})
            yield {number: DeltaToolCall(name=tool, json_args=args)}
    elif verb in ("form", "falsy"):
        tool = "ask_quarter" if verb == "form" else "ask_yes_or_no"
        yield {0: DeltaToolCall(name=tool, json_args=json.dumps({"about": name}))}
    elif verb == "frontend":
        theirs = next(tool for tool in info.function_tools if tool.name not in OWN_TOOLS)
        yield {0: DeltaToolCall(name=theirs.name, json_args="{}")}
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"
