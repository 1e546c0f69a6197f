"""A model of ADK without a network, so that the example runs without a key.

It heeds the messages of examples/approval_target.py, as far as they fit, and one more:

    send X      one gated call of send_email to X-0
    hand X      the same, by the courier, who has the conversation from then on
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
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from examples.approval_target import Quarter

__all__ = ["Call", "OfflineModel", "offline_model"]

OWN_TOOLS = ("send_email", "crash", "adk_request_input", "transfer_to_agent")
TOKEN_SECONDS = 0.05


@dataclass
class Call:
    """A tool call that a model decides on."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)


class OfflineModel(BaseLlm):
    """A model that streams what a function makes of each request: texts and calls."""

    model: str = "offline"
    reply: Callable[[LlmRequest], AsyncIterator[str | Call]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        text, calls = "", []
        async for one in self.reply(llm_request):
            if isinstance(one, Call):
                call = types.FunctionCall(name=one.name, args=one.args)
                calls.append(types.Part(function_call=call))
            else:
                text += one
                yield _response([types.Part(text=one)], partial=True)
        yield _response([*([types.Part(text=text)] if text else []), *calls], partial=False)


def offline_model() -> OfflineModel:
    """A model that does what the message says."""
    return OfflineModel(reply=_reply)


async def _reply(request: LlmRequest) -> AsyncIterator[str | Call]:
    responses = [part.function_response for part in request.contents[-1].parts or ()]
    outputs = [str(given.response) for given in responses if given is not None]
    text = _last_words(request)
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if outputs:
        yield f"Outcome: {'; '.join(outputs)}."
    elif verb == "hand" and "crash" in request.tools_dict:  # which the courier has not
        yield Call("transfer_to_agent", {"agent_name": "courier"})
    elif verb in ("send", "hand", "both", "crash"):
        tool = "crash" if verb == "crash" else "send_email"
        for number in range(2 if verb == "both" else 1):
            yield Call(tool, {"to": f"{name}-{number}@example.com", "body": "original"})
    elif verb == "form":
        schema = Quarter.model_json_schema()
        yield _question(f"Which quarter for {name}?", schema)
    elif verb == "falsy":
        yield _question(f"Is {name} here?", {"type": "boolean"})
    elif verb == "frontend":
        yield Call(next(tool for tool in request.tools_dict if tool not in OWN_TOOLS))
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"


def _question(message: str, schema: dict[str, Any]) -> Call:
    return Call("adk_request_input", {"message": message, "response_schema": schema})


def _last_words(request: LlmRequest) -> str:
    """What the user said last; what other agents said ADK tells as "For context: …"."""
    for content in reversed(request.contents):
        texts = [part.text for part in content.parts or () if part.text]
        if content.role == "user" and texts and not texts[0].startswith("For context"):
            return texts[-1]
    return ""


def _response(parts: list[types.Part], *, partial: bool) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=parts), partial=partial)
