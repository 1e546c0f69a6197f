"""An agent of the Agent Framework on a model without a network; its effects are counted outside.

What the user says last makes the model act.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_framework import Agent, FunctionInvocationContext, FunctionTool, Message, tool

from tests.adapters.agent_framework.scripted import Call, Scripted, Thought

__all__ = ["SIGNATURE", "Mailer"]

SIGNATURE = "signature-of-the-provider"


class Mailer:
    """The agent, what its model was sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.
        agent: further arguments of `Agent`.

    Attributes:
        requests: the messages of each request to the model, as JSON.
        options: the options of the last one.
        done: what was carried out.
        agent: the agent.
    """

    def __init__(self, effect: Callable[[Any], None] | None = None, **agent: Any) -> None:
        self.requests: list[list[dict[str, Any]]] = []
        self.options: Mapping[str, Any] = {}
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self.client = Scripted(self._reply)
        self.tools: list[Any] = [
            tool(self.send_email, approval_mode="always_require"),
            tool(self.look_up),
            tool(self.look_up_slowly),
            tool(self.wait),
            tool(self.meet, approval_mode="always_require"),
            tool(self.count),
            tool(self.fail),
            FunctionTool(
                name="ask_user",
                description="Ask the user.",
                input_model={"type": "object", "properties": {"question": {"type": "string"}}},
            ),
        ]
        agent = {"name": "mailer", "tools": self.tools, **agent}
        self.agent = Agent(self.client, **agent)

    async def send_email(self, to: str, body: str = "Hi") -> str:
        """Send an email."""
        self._effect({"to": to, "body": body})
        if to.startswith("hang"):
            await asyncio.sleep(600)
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

    async def meet(self, when: datetime.datetime, day: datetime.date) -> str:
        """Arrange a meeting."""
        self._effect((when, day))
        return "it is arranged"

    async def count(self, ctx: FunctionInvocationContext) -> str:
        """Count how often this was called in the conversation."""
        assert ctx.session is not None
        state = ctx.session.state
        state["count"] = state.get("count", 0) + 1
        self._effect((state["count"], ctx.kwargs.get("who")))
        return str(state["count"])

    async def fail(self) -> str:
        """Fail after it has acted."""
        self._effect("failed")
        raise RuntimeError("no such luck")

    @property
    def heard(self) -> Any:
        """What the model was sent last."""
        return self.requests[-1]

    def told(self, request: int = -1) -> str:
        """All that the model was told in one request, as text."""
        return json.dumps(self.requests[request])

    def results(self, name: str) -> list[Any]:
        """What the model was last told of the calls of a tool."""
        contents = [content for message in self.requests[-1] for content in message["contents"]]
        called = {c["call_id"]: c["name"] for c in contents if c["type"] == "function_call"}
        results = [c for c in contents if c["type"] == "function_result"]
        return [c["result"] for c in results if called.get(c["call_id"]) == name]

    def _note_answer(self, text: str) -> None:
        try:
            self._effect(json.loads(text))
        except ValueError:
            # A text as it is; a sentence says why there is none.
            if not text.endswith("."):
                self._effect(text)

    async def _reply(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[str | Thought | Call]:
        self.requests.append([message.to_dict() for message in messages])
        # The framework changes it later.
        self.options = dict(options)
        asked, calls = _asked(messages)
        word, _, rest = asked.partition(" ")
        if word == "ask" and calls:
            self._note_answer(self.results("ask_user")[-1])
        if word == "think" and not calls:
            yield Thought("I think of ")
            yield Thought(rest, SIGNATURE)
            yield f"I thought of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif word == "data":
            yield '{"sent": 1}'
        elif word == "break" and calls:
            raise RuntimeError("the model is gone")
        elif wanted := _wanted(word, rest, calls):
            yield "I will do it. "
            for call in wanted:
                yield call
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


def _asked(messages: Sequence[Message]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since."""
    text, calls = "", 0
    for message in messages:
        if message.role == "user" and message.text:
            text, calls = message.text, 0
        calls += sum(content.type == "function_result" for content in message.contents)
    return text, calls


def _wanted(word: str, rest: str, calls: int) -> list[Call]:
    mail = Call("send_email", {"to": rest, "body": "original"})
    second = Call("send_email", {"to": f"second-{rest}", "body": "original"})
    look = Call("look_up", {"name": rest})
    # Some clients give calls the ids of their tools.
    same = [replace(call, id=call.name) for call in (mail, second)]
    steps: dict[str, list[list[Call]]] = {
        "same": [same],
        "sametwice": [[same[0]], [same[1]]],
        "sendsame": [[same[0]]],
        "samedelegate": [[same[0], Call("helper", {"task": f"sendsame eve-{rest}"})]],
        "send": [[mail]],
        "break": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "invent": [[Call("fly", {"to": rest}), mail]],
        "inventcolour": [[Call("fly", {"to": rest}), Call("set_colour", {"colour": rest})]],
        "look": [[look]],
        "bothlook": [[look, Call("look_up", {"name": f"second-{rest}"})]],
        "sendlook": [[mail], [look]],
        "wait": [[Call("wait")]],
        "waitlook": [[Call("wait"), look]],
        "meet": [[Call("meet", {"when": "2026-11-23T09:00:00Z", "day": rest})]],
        "count": [[Call("count")]],
        "fail": [[Call("fail")]],
        "ask": [[Call("ask_user", {"question": rest})]],
        "askandsend": [[Call("ask_user", {"question": rest}), mail]],
        "delegate": [[Call("helper", {"task": f"send {rest}"})]],
        "delegatelook": [[Call("helper", {"task": f"look {rest}"})]],
        "colour": [[Call("set_colour", {"colour": rest})]],
        "colourandsend": [[Call("set_colour", {"colour": rest}), mail]],
        "colourandlook": [[Call("set_colour", {"colour": rest}), look]],
        "slowlytwice": [
            [Call("look_up_slowly", {"name": name})] for name in (rest, f"second-{rest}")
        ],
    }
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
