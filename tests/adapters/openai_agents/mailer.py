"""An agent of the OpenAI Agents SDK on a model without a network, its effects counted outside.

What the user says last makes the model act; agents that it uses or hands over to have the same one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from agents import Agent, FunctionTool, RunContextWrapper, Tool, function_tool, set_tracing_disabled

from examples.openai_agents.offline import Call, Item, OfflineModel, Thought

__all__ = ["SIGNATURE", "Mailer"]

set_tracing_disabled(True)

SIGNATURE = "signature-of-the-provider"
_MOMENT = 0.2
"""Seconds that the slow tool works."""

_DELEGATED = {
    "inside": "send",
    "twoinside": "send",
    "lookinside": "lookandsend",
    "waitinside": "wait",
    "slowlyinside": "slowlytwice",
}
"""What the inner agent is told, by what the user says."""


@dataclass
class _Step:
    """One reply: calls, each with its arguments."""

    calls: list[Call]


class _Whole(OfflineModel):
    """A model that is asked to stream and has all to say in its last event."""

    async def stream_response(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        async for event in super().stream_response(*arguments, **options):
            if event.type == "response.completed":
                yield event


class Mailer:
    """The agent, what its models were sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.
        streams: whether its models stream; else they tell their whole replies alone.
        **agent: further arguments of `Agent`.

    Attributes:
        requests: the items of each request to a model.
        done: what was carried out.
        contexts: the contexts that tools were given.
    """

    def __init__(
        self, effect: Callable[[Any], None] | None = None, *, streams: bool = True, **agent: Any
    ) -> None:
        self.requests: list[list[Item]] = []
        self.done: list[Any] = []
        self.contexts: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self.model = (OfflineModel if streams else _Whole)(self._reply)
        self.tools: list[Tool] = [
            function_tool(self.send_email, needs_approval=True),
            function_tool(self.look_up),
            function_tool(self.look_up_slowly),
            function_tool(self.greet),
            function_tool(self.wait),
        ]
        self.inner: Agent[Any] = Agent("inner", model=self.model, tools=[*self.tools])
        self.sales: Agent[Any] = Agent("sales", model=self.model, tools=[*self.tools])
        delegate = self.inner.as_tool("delegate", "Have somebody else do it.")
        self.agent: Agent[Any] = Agent(
            "mailer",
            model=self.model,
            tools=[*self.tools, delegate, *agent.pop("tools", ())],
            handoffs=[self.sales, *agent.pop("handoffs", ())],
            **agent,
        )

    async def send_email(self, context: RunContextWrapper[Any], to: str, body: str) -> str:
        """Send an email."""
        self.contexts.append(context.context)
        self._effect({"to": to, "body": body})
        if to.startswith("hang"):
            await asyncio.sleep(600)
        return f"sent to {to}"

    async def look_up(self, name: str) -> str:
        """Look somebody up."""
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def look_up_slowly(self, name: str) -> str:
        """Look somebody up who is hard to find."""
        await asyncio.sleep(_MOMENT)
        return await self.look_up(name)

    async def greet(self, name: str = "you") -> str:
        """Greet somebody; without a name, whoever asks."""
        self._effect(f"greeted {name}")
        return f"Hello {name}"

    async def wait(self) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self._effect("waited")
        return "it is done"

    def told(self, request: int = -1) -> str:
        """All that a model was told in one request, as text."""
        return "\n".join(map(str, self.requests[request]))

    def results(self, name: str) -> list[Any]:
        """What a model was last told of the calls of a tool."""
        items = self.requests[-1]
        calls = {i["call_id"] for i in items if i.get("name") == name and "arguments" in i}
        return [i["output"] for i in items if "output" in i and i.get("call_id") in calls]

    async def _reply(self, items: list[Item], tools: list[Tool]) -> AsyncIterator[Any]:
        self.requests.append(items)
        asked, calls = _asked(items)
        word, _, rest = asked.partition(" ")
        named = {tool.name for tool in tools if isinstance(tool, FunctionTool)}
        if word == "think" and not calls:
            yield Thought(f"I think of {rest}", SIGNATURE)
            yield "I thought "
            yield f"of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif word == "handoff" and not any("transfer_to" in str(i.get("name")) for i in items):
            yield Call("transfer_to_sales")
        elif wanted := _wanted(word, rest, calls, named):
            yield "I will do it. "
            for call in wanted:
                yield call
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


def _asked(items: list[Item]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since, handoffs aside."""
    text, calls = "", 0
    for item in items:
        if item.get("role") == "user":
            content = item["content"]
            parts = content if isinstance(content, list) else [{"text": content}]
            text, calls = " ".join(str(part.get("text", "")) for part in parts), 0
        elif item.get("type") == "function_call_output":
            calls += '"assistant"' not in str(item["output"])
    return text, calls


def _wanted(word: str, rest: str, calls: int, named: set[str]) -> list[Call]:
    mail = Call("send_email", {"to": rest, "body": "original"})
    second = Call("send_email", {"to": f"second-{rest}", "body": "original"})
    look = Call("look_up", {"name": rest})
    steps: dict[str, list[list[Call]]] = {
        "send": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "look": [[look]],
        "slowlytwice": [[Call("look_up_slowly", {"name": rest})]] * 2,
        "lookandsend": [[look], [mail]],
        "sendlook": [[mail], [look]],
        "greet": [[Call("greet")]],
        "broken": [[Call("send_email", '{"to": ')]],
        "wait": [[Call("wait")]],
        "handoff": [[mail]],
        "colour": [[Call("set_colour", {"colour": rest})]],
        "colourandsend": [[Call("set_colour", {"colour": rest}), mail]],
    }
    if "delegate" in named and word in _DELEGATED:
        one = Call("delegate", {"input": f"{_DELEGATED[word]} {rest}"})
        other = Call("delegate", {"input": f"send other-{rest}"})
        steps[word] = [[one, other] if word == "twoinside" else [one]]
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
