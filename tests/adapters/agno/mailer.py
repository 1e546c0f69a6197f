"""An agent of Agno on a model without a network, and a team of two, their effects counted outside.

What the user says last makes the model act; members of the team have the same one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from agno.agent import Agent
from agno.models.message import Message
from agno.team import Team
from agno.tools import tool
from agno.tools.user_control_flow import UserControlFlowTools
from agno.tools.user_feedback import UserFeedbackTools

from examples.agno.offline import Call, OfflineModel, Thought

__all__ = ["SIGNATURE", "Mailer"]

SIGNATURE = "signature-of-the-provider"
_MOMENT = 0.2
"""Seconds that the slow tool works."""

_DELEGATED = {
    "inside": "send",
    "bothinside": "both",
    "twiceinside": "twice",
    "twoinside": "send",
    "besideinside": "both",
    "lookinside": "lookandsend",
    "knowninside": "look",
    "waitinside": "wait",
    "slowinside": "slow",
    "bookinside": "book",
    "slowlyinside": "slowlytwice",
}
"""What the member is told, by what the user says."""


class Mailer:
    """The agent, the team, what their models were sent, and what their tools did.

    Args:
        effect: told of everything that is carried out.
        **agent: further arguments of `Agent`.

    Attributes:
        requests: the messages of each request to a model.
        done: what was carried out.
        arrived: what models were told that others had carried out.
    """

    def __init__(self, effect: Callable[[Any], None] | None = None, **agent: Any) -> None:
        self.requests: list[list[Message]] = []
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self.arrived: list[Any] = []
        self._effect = effect or self.done.append
        self.model = OfflineModel(reply=self._reply)
        self.tools: list[Any] = self._tools()
        more = agent.pop("tools", [])
        self.agent = Agent(
            name="mailer", model=self.model, tools=[*self.tools, *more], telemetry=False, **agent
        )
        self.team = self.make_team()

    def make_team(self, **options: Any) -> Team:
        """A team whose members are `clerk` and `aide`."""
        members: list[Any] = [
            Agent(name=name, id=name, model=self.model, tools=[*self.tools], telemetry=False)
            for name in ("clerk", "aide")
        ]
        return Team(
            name="office",
            members=members,
            model=self.model,
            tools=[*self.tools],
            telemetry=False,
            **options,
        )

    def _tools(self) -> list[Any]:
        @tool(requires_confirmation=True)
        async def send_email(to: str, body: str = "Hi") -> str:
            """Send an email."""
            self._effect({"to": to, "body": body})
            if to.startswith("hang"):
                await asyncio.sleep(600)
            return f"sent to {to}"

        async def look_up(name: str) -> str:
            """Look somebody up."""
            self._effect(f"looked up {name}")
            return f"{name} is known"

        def greet(name: str) -> str:
            """Greet somebody; not async."""
            self._effect(f"greeted {name}")
            return f"Hello {name}"

        async def look_up_slowly(name: str) -> str:
            """Look somebody up who is hard to find."""
            await asyncio.sleep(_MOMENT)
            return await look_up(name)

        async def wait() -> str:
            """Work until somebody says that it is enough."""
            self.begun.set()
            await self.finish.wait()
            self._effect("waited")
            return "it is done"

        async def spell(word: str) -> AsyncIterator[str]:
            """Spell a word, letter by letter."""
            for letter in word:
                self._effect(letter)
                yield letter

        async def fail(name: str) -> str:
            """Look somebody up who is not there."""
            self._effect(f"failed {name}")
            raise LookupError(name)

        @tool(requires_user_input=True, user_input_fields=["hour", "note"])
        async def book(day: str, hour: int, note: str = "") -> str:
            """Book a table on a day."""
            self._effect({"hour": hour, "note": note})
            return f"booked {day} at {hour}"

        @tool(external_execution=True)
        async def fetch(key: str) -> str:
            """Have another system fetch something."""
            self._effect(f"fetched {key} here")
            return "unreachable"

        return [
            *(send_email, look_up, greet, look_up_slowly, wait, spell, fail, book, fetch),
            *(UserControlFlowTools(), UserFeedbackTools()),
        ]

    @property
    def heard(self) -> Any:
        """What the last model was sent."""
        return [message.to_dict() for message in self.requests[-1]]

    def told(self, request: int = -1) -> str:
        """All that a model was told in one request, as text."""
        return "\n".join(str(message.to_dict()) for message in self.requests[request])

    def results(self, name: str) -> list[Any]:
        """What a model was last told of the calls of a tool."""
        calls = {
            call["id"]
            for message in self.requests[-1]
            for call in message.tool_calls or ()
            if call["function"]["name"] == name
        }
        return [m.content for m in self.requests[-1] if m.tool_call_id in calls]

    async def _reply(self, messages: list[Message], named: set[str]) -> AsyncIterator[Any]:
        self.requests.append([message.model_copy(deep=True) for message in messages])
        if messages[-1].tool_name == "fetch":
            self.arrived.append(_json_or_text(str(messages[-1].content)))
        asked, calls = _asked(messages)
        word, _, rest = asked.partition(" ")
        if word == "think" and not calls:
            yield Thought("I think of ", SIGNATURE)
            yield Thought(rest, SIGNATURE)
            yield "I thought "
            yield f"of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif wanted := _wanted(word, rest, calls, named):
            yield "I will do it. "
            for call in wanted:
                yield call
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _asked(messages: list[Message]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since."""
    text, calls = "", 0
    for message in messages:
        if message.role == "user":
            text, calls = str(message.content), 0
        calls += message.role == "tool"
    return text, calls


def _wanted(word: str, rest: str, calls: int, named: set[str]) -> list[Call]:
    mail = Call("send_email", {"to": rest, "body": "original"})
    second = Call("send_email", {"to": f"second-{rest}", "body": "original"})
    look = Call("look_up", {"name": rest})
    field = {"field_name": "answer", "field_type": "str", "field_description": f"Which {rest}?"}
    options = [{"label": "red"}, {"label": "blue", "description": "like the sky"}]
    steps: dict[str, list[list[Call]]] = {
        "send": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "look": [[look]],
        "greet": [[Call("greet", {"name": rest})]],
        "lookandsend": [[look], [mail]],
        "sendlook": [[mail], [look]],
        "slowlytwice": [[Call("look_up_slowly", {"name": n})] for n in (rest, f"second-{rest}")],
        "wait": [[Call("wait")]],
        "spell": [[Call("spell", {"word": rest})]],
        "fail": [[Call("fail", {"name": rest})]],
        "failmixed": [[Call("fail", {"name": rest}), look]],
        "broken": [[Call("send_email", '{"to": ')]],
        "missing": [[Call("nothing", {"to": rest})]],
        "book": [[Call("book", {"day": rest})]],
        "bookat": [[Call("book", {"day": rest, "note": "by the window"})]],
        "booktwice": [
            [Call("book", {"day": rest, "note": "one"}), Call("book", {"day": f"next {rest}"})]
        ],
        "fetch": [[Call("fetch", {"key": rest})]],
        "ask": [[Call("get_user_input", {"user_input_fields": [field]})]],
        "choose": [
            [
                Call(
                    "ask_user",
                    {
                        "questions": [
                            {"question": f"Which {rest}?", "header": rest, "options": options}
                        ]
                    },
                )
            ]
        ],
        "all": [[mail, Call("book", {"day": rest}), Call("fetch", {"key": rest}), look]],
        "colour": [[Call("set_colour", {"colour": rest})]],
        "colourandsend": [[Call("set_colour", {"colour": rest}), mail]],
    }
    if "delegate_task_to_member" in named and word in _DELEGATED:
        one = Call(
            "delegate_task_to_member", {"member_id": "clerk", "task": f"{_DELEGATED[word]} {rest}"}
        )
        other = Call("delegate_task_to_member", {"member_id": "aide", "task": f"send other-{rest}"})
        steps[word] = [[one, other] if word == "twoinside" else [one]]
        if word == "besideinside":
            steps[word] = [[one, mail]]
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return step
        done += len(step)
    return []
