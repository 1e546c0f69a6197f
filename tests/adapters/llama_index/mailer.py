"""An agent of LlamaIndex on a model without a network, its effects counted outside.

What the user says last makes the model act. The agent that it hands over to has the same one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from workflows import Context
from workflows.events import HumanResponseEvent, InputRequiredEvent

from agui_bridge_llama_index import LlamaIndexAdapter
from examples.llama_index.model import Call, OfflineModel, Thought
from tests.adapters.mails import MailBridges

__all__ = ["BRIDGES", "SIGNATURE", "Mailer", "Team"]

SIGNATURE = "signature-of-the-provider"


class Mailer:
    """The agent, what its models were sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.
        **agent: further arguments of `FunctionAgent`.

    Attributes:
        requests: the messages of each request to a model.
        done: what was carried out.
        entered: the days of which `book` has begun to ask, each time.
    """

    def __init__(self, effect: Callable[[Any], None] | None = None, **agent: Any) -> None:
        self.requests: list[list[ChatMessage]] = []
        self.done: list[Any] = []
        self.entered: list[str] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self.model = OfflineModel(self._reply)
        self.tools: list[Any] = [
            *(self.send_email, self.look_up, self.look_up_slowly, self.wait, self.book),
            *(self.set_mood, self.break_down),
        ]
        self.agent: Any = self.make("mailer", **agent)

    def make(self, name: str, **options: Any) -> FunctionAgent:
        """An agent on the same model, with the same tools."""
        options = {"tools": list(self.tools), **options}
        return FunctionAgent(name=name, description=f"Is {name}.", llm=self.model, **options)

    async def send_email(self, to: str, body: str) -> str:
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
        return await self.look_up(name)

    async def wait(self) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self._effect("waited")
        return "it is done"

    async def book(self, ctx: Context, day: str) -> str:
        """Book a day, at an hour that a person names."""
        self.entered.append(day)
        answer = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_id="hour",
            waiter_event=InputRequiredEvent(prefix=f"When on {day}?"),
        )
        self._effect(answer.response)
        return f"booked {answer.response!r}"

    async def set_mood(self, ctx: Context, mood: str) -> str:
        """Choose a mood."""
        state = await ctx.store.get("state")
        await ctx.store.set("state", {**state, "mood": mood})
        return f"it was {state.get('mood')}"

    async def break_down(self) -> str:
        """Fail."""
        raise RuntimeError("no network")

    @property
    def heard(self) -> Any:
        """What the last model was sent, as JSON."""
        return [message.model_dump(mode="json") for message in self.requests[-1]]

    def told(self, request: int = -1) -> str:
        """All that a model was told in one request, as text."""
        return str(self.requests[request])

    def results(self, name: str) -> list[str]:
        """What a model was last told of the calls of a tool."""
        messages = self.requests[-1]
        blocks = [block for message in messages for block in message.blocks]
        calls = {
            one.tool_call_id
            for one in blocks
            if isinstance(one, ToolCallBlock) and one.tool_name == name
        }
        return [
            str(message.content)
            for message in messages
            if message.additional_kwargs.get("tool_call_id") in calls
        ]

    async def _reply(
        self, messages: list[ChatMessage], names: Collection[str]
    ) -> AsyncIterator[str | Thought | Call]:
        self.requests.append([message.model_copy(deep=True) for message in messages])
        asked, calls = _asked(messages)
        word, _, rest = asked.partition(" ")
        if word == "think" and not calls:
            yield Thought(f"I think of {rest}", SIGNATURE)
            yield "I thought "
            yield f"of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif word == "handoff" and "handoff" not in str(messages[-3:]):
            yield Call("handoff", {"to_agent": "sales", "reason": "sales"})
        elif wanted := _wanted(word, rest, calls):
            yield "I will do it. "
            for call in wanted:
                yield call
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


class Team(Mailer):
    """The same agent, among several: it may hand the conversation over to one of them."""

    def __init__(self, effect: Callable[[Any], None] | None = None, **options: Any) -> None:
        super().__init__(effect)
        self.agent = AgentWorkflow(
            agents=[self.make("mailer"), self.make("sales")], root_agent="mailer", **options
        )


BRIDGES = MailBridges(
    lambda mailer, **options: LlamaIndexAdapter(
        mailer.agent, **{"approve": ["send_email"], **options}
    )
)


def _asked(messages: list[ChatMessage]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since, handoffs aside."""
    text, calls = "", 0
    for message in messages:
        if message.role.value == "user":
            # LlamaIndex puts the state before what the user says.
            text, calls = str(message.content).rpartition("Current message:")[2].strip(), 0
        elif message.role.value == "tool":
            calls += "is now handling" not in str(message.content)
    return text, calls


def _wanted(word: str, rest: str, calls: int) -> list[Call]:
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
        "sendlook": [[mail], [look]],
        "wait": [[Call("wait")]],
        "book": [[Call("book", {"day": rest})]],
        "booktwo": [[Call("book", {"day": rest}), Call("book", {"day": f"second-{rest}"})]],
        "booksend": [[Call("book", {"day": rest}), mail]],
        "mood": [[Call("set_mood", {"mood": rest})]],
        "moodandsend": [[Call("set_mood", {"mood": rest})], [mail]],
        "fail": [[Call("break_down")]],
        "unknown": [[Call("no_such_tool", {"name": rest})]],
        "slowlytwice": [[call] for call in slow],
        "handoff": [[mail]],
        "colour": [[colour]],
        "colourandsend": [[colour, mail]],
    }
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
