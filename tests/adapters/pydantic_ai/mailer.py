"""An agent of Pydantic AI on a model without a network, whose effects are counted outside of it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic_ai import Agent, CallDeferred, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

__all__ = ["ANSWER_SCHEMA", "SIGNATURE", "Mailer"]

SIGNATURE = "signature-of-the-provider"
ANSWER_SCHEMA = {"type": "object", "required": ["answer"]}
Call = tuple[str, dict[str, Any]]


class Mailer:
    """The agent, what its model was sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.
        agent: further arguments of `Agent`.

    Attributes:
        requests: the messages of each request to the model.
        done: what was carried out.
    """

    def __init__(self, effect: Callable[[Any], None] | None = None, **agent: Any) -> None:
        self.requests: list[list[ModelMessage]] = []
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self._ids = itertools.count(1)
        model = FunctionModel(stream_function=self._reply)
        self.agent: Agent[Any, Any] = Agent(model, name="mailer", **agent)
        self.agent.tool_plain(requires_approval=True)(self.send_email)
        self.agent.tool_plain(self.look_up)
        self.agent.tool_plain(self.wait)
        self.agent.tool(self.ask_user)
        self.agent.tool_plain(self.fetch)

    async def send_email(self, to: str, body: str = "Hi") -> str:
        """Send an email."""
        if to.startswith("hang"):
            self._effect({"to": to, "body": body})
            await asyncio.sleep(600)
        self._effect({"to": to, "body": body})
        return f"sent to {to}"

    async def look_up(self, name: str) -> str:
        """Look somebody up."""
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def wait(self) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self._effect("waited")
        return "it is done"

    async def ask_user(self, ctx: RunContext[Any], question: str) -> str:
        """Ask the user."""
        schema = ANSWER_SCHEMA if question == "colour" else None
        raise CallDeferred(
            metadata={"message": f"Which {question}?", "response_schema": schema, "own": SIGNATURE}
        )

    async def fetch(self, key: str) -> str:
        """Have another system fetch something."""
        raise CallDeferred(metadata={"own": SIGNATURE})

    def told(self, request: int = -1) -> str:
        """All that the model was told in one request, as text."""
        return "\n".join(str(part) for m in self.requests[request] for part in m.parts)

    def results(self, name: str) -> list[Any]:
        """What the model was last told of the calls of a tool."""
        parts = [part for m in self.requests[-1] for part in m.parts]
        return [p.content for p in parts if isinstance(p, ToolReturnPart) and p.tool_name == name]

    async def _reply(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]]:
        self.requests.append(list(messages))
        asked, calls = _asked(messages)
        word, _, rest = asked.partition(" ")
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart) and part.tool_name == "ask_user":
                self._effect(part.content)
        if word == "think" and not calls:
            yield {0: DeltaThinkingPart(content="I think of ")}
            yield {0: DeltaThinkingPart(content=rest, signature=SIGNATURE)}
            yield f"I thought of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif wanted := _wanted(word, rest, calls):
            yield "I will do it. "
            for place, (name, args) in enumerate(wanted, 1):
                text, call_id = json.dumps(args), f"call-{id(self):x}-{next(self._ids)}"
                yield {place: DeltaToolCall(name=name, json_args=text[:5], tool_call_id=call_id)}
                yield {place: DeltaToolCall(json_args=text[5:], tool_call_id=call_id)}
        elif calls and info.output_tools:
            yield {0: DeltaToolCall(name=info.output_tools[0].name, json_args='{"sent": 1}')}
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


def _asked(messages: list[ModelMessage]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since."""
    text, calls = "", 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said = part.content
                texts = [said] if isinstance(said, str) else [s for s in said if isinstance(s, str)]
                text, calls = " ".join(texts), 0
        if isinstance(message, ModelResponse):
            calls += len(message.tool_calls)
    return text, calls


def _wanted(word: str, rest: str, calls: int) -> list[Call]:
    mail: Call = ("send_email", {"to": rest, "body": "original"})
    second: Call = ("send_email", {"to": f"second-{rest}", "body": "original"})
    steps: dict[str, list[list[Call]]] = {
        "send": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[("look_up", {"name": rest}), mail]],
        "ask": [[("ask_user", {"question": rest})]],
        "fetch": [[("fetch", {"key": rest})]],
        "look": [[("look_up", {"name": rest})]],
        "wait": [[("wait", {})]],
        "sendlook": [[mail], [("look_up", {"name": rest})]],
        "slowlytwice": [[("look_up_slowly", {"name": n})] for n in (rest, f"second-{rest}")],
        "slowly": [[("look_up_slowly", {"name": rest})]],
        "colour": [[("set_colour", {"colour": rest})]],
        "colourandsend": [[("set_colour", {"colour": rest}), mail]],
    }
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
