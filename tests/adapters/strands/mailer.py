"""An agent of Strands on a model without a network, whose effects are counted outside of it.

What the user says last makes the model act; the agent inside its tool has the same one.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any

from strands import Agent, ToolContext, tool
from strands.types.session import encode_bytes_values
from strands.vended_interventions.hitl import HumanInTheLoop

from examples.strands.model import Call, Message, OfflineModel, Thought, results_in

__all__ = ["SIGNATURE", "Mailer"]

SIGNATURE = "signature-of-the-provider"
GATED = ("send_email",)

_DELEGATED = {
    "inside": "send",
    "insideinside": "inside",
    "lookinside": "lookandsend",
    "askinside": "book",
    "mixedinside": "mixed",
    "waitinside": "wait",
}
"""What the inner agent is told, by what the user says."""


class Mailer:
    """The agent, what its models were sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.
        gated: names of the tools that an intervention wants confirmed.
        **agent: further arguments of `Agent`.

    Attributes:
        requests: the messages of each request to a model.
        done: what was carried out.
    """

    def __init__(
        self,
        effect: Callable[[Any], None] | None = None,
        gated: Collection[str] = GATED,
        **agent: Any,
    ) -> None:
        self.requests: list[list[Message]] = []
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self._gated = gated
        self._numbers = itertools.count(1)
        self.model = OfflineModel(self._reply)
        self.tools: list[Any] = [
            tool(self.send_email),
            tool(self.look_up),
            tool(self.look_up_slowly),
            tool(self.wait),
            tool(context=True)(self.book),
            tool(context=True)(self.set_mood),
            tool(self.break_down),
        ]
        self.helper = self.make("helper")
        self.agent = self.make("mailer", tools=[*self.tools, self.helper.as_tool()], **agent)

    def make(self, name: str, **options: Any) -> Agent:
        """An agent on the same model, with the same tools."""
        options = {"tools": list(self.tools), **options}
        allowed = ["*", *(f"!{name}" for name in self._gated)]
        options.setdefault("interventions", [HumanInTheLoop(allowed_tools=allowed)])
        return Agent(
            model=self.model,
            name=name,
            description=f"Does {name}.",
            callback_handler=None,
            **options,
        )

    async def send_email(self, to: str, body: str = "Hi") -> str:
        """Send an email."""
        self._effect({"to": to, "body": body})
        return f"sent to {to}"

    async def look_up(self, name: str) -> str:
        """Look somebody up."""
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def look_up_slowly(self, name: str) -> str:
        """Look somebody up, for a moment."""
        await asyncio.sleep(0.25)
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def wait(self) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self._effect("waited")
        return "it is done"

    async def book(self, day: str, tool_context: ToolContext) -> str:
        """Book a day, at an hour that a person names."""
        answer = tool_context.interrupt("book", reason={"message": f"When on {day}?"})
        self._effect(answer)
        return f"booked {answer!r}"

    async def set_mood(self, mood: str, tool_context: ToolContext) -> str:
        """Choose a mood."""
        before = tool_context.agent.state.get("mood")
        tool_context.agent.state.set("mood", mood)
        return f"it was {before}"

    async def break_down(self) -> str:
        """Fail."""
        raise RuntimeError("no network")

    @property
    def heard(self) -> Any:
        """What the last model was sent, as JSON."""
        return encode_bytes_values(self.requests[-1])

    def told(self, request: int = -1) -> str:
        """All that a model was told in one request, as text."""
        return str(self.requests[request])

    def results(self, name: str) -> list[str]:
        """What a model was last told of the calls of a tool."""
        blocks = [block for message in self.requests[-1] for block in message["content"]]
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        calls = {use["toolUseId"] for use in uses if use["name"] == name}
        found = [one for message in self.requests[-1] for one in results_in(message)]
        return [text for call, text in found if call in calls]

    async def _reply(
        self, messages: list[Message], names: Collection[str]
    ) -> AsyncIterator[str | Thought | Call]:
        self.requests.append(copy.deepcopy(messages))
        asked, calls = _asked(messages)
        word, _, rest = asked.partition(" ")
        if word == "think" and not calls:
            yield Thought("I think of ")
            yield Thought(rest, SIGNATURE)
            yield "I thought "
            yield f"of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif word == "broken" and not calls:
            yield Call("look_up", text='{"name": "bo')
        elif word == "same" and calls < 2:
            yield Call("send_email", {"to": f"{rest}-{calls}"}, id="send_email")
        elif wanted := _wanted(word, rest, calls, names):
            yield "I will do it. "
            for call in wanted:
                yield call
        elif word == "lookandfail":
            raise RuntimeError("the provider is gone")
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


def _asked(messages: list[Message]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since."""
    text, calls = "", 0
    for message in messages:
        for block in message["content"]:
            if message["role"] == "user" and "text" in block:
                text, calls = block["text"], 0
            calls += "toolResult" in block
    return text, calls


def _wanted(word: str, rest: str, calls: int, names: Collection[str]) -> list[Call]:
    mail = Call("send_email", {"to": rest, "body": "original"})
    second = Call("send_email", {"to": f"second-{rest}", "body": "original"})
    look = Call("look_up", {"name": rest})
    colour = Call("set_colour", {"colour": rest})
    slow = [Call("look_up_slowly", {"name": name}) for name in (rest, f"second-{rest}")]
    steps: dict[str, list[list[Call]]] = {
        "send": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "look": [[look]],
        "lookandsend": [[look], [mail]],
        "lookandfail": [[look]],
        "sendlook": [[mail], [look]],
        "wait": [[Call("wait")]],
        "book": [[Call("book", {"day": rest})]],
        "booktwo": [[Call("book", {"day": rest}), mail]],
        "mood": [[Call("set_mood", {"mood": rest})]],
        "moodandsend": [[Call("set_mood", {"mood": rest})], [mail]],
        "fail": [[Call("break_down")]],
        "unknown": [[Call("no_such_tool", {"name": rest})]],
        "sendunknown": [[mail, Call("no_such_tool")]],
        "unknownsend": [[Call("no_such_tool"), mail]],
        "slowlytwice": [[call] for call in slow],
        "colour": [[colour]],
        "colourandsend": [[colour, mail]],
    }
    if word in _DELEGATED and "helper" in names:
        return [] if calls else [Call("helper", {"input": f"{_DELEGATED[word]} {rest}"})]
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
