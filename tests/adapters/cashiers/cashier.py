"""An agent that pays, whose models give ids to their calls anew in each reply.

Some servers name a call by its tool and its place in the reply (`functions.pay:0`), or by the tool
alone: each turn has the ids of the one before. What the models say, and what they were told, is
written here once, in no framework's words.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from ag_ui.core import BaseEvent

from agui_bridge import Adapter, emit

__all__ = ["PAINT", "Cashier", "Heard", "Use", "by_place", "by_tool", "called"]

PAINT = {
    "name": "paint",
    "description": "Paint the page.",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}}},
}
"""A tool of the application."""


@dataclass(frozen=True)
class Heard:
    """What a model was told: by whom, the id of the call that it is about, and what."""

    by: Literal["user", "call", "tool"]
    id: str
    text: str


@dataclass(frozen=True)
class Use:
    """A call that a model makes."""

    id: str
    name: str
    to: str

    @property
    def args(self) -> dict[str, Any]:
        """Its arguments; an agent in a tool is told what it is to do."""
        return {"input": f"pay {self.to}"} if self.name == "clerk" else {"to": self.to}

    @property
    def text(self) -> str:
        """These as JSON."""
        return json.dumps(self.args)


def by_place(tool: str, place: int) -> str:
    """The id of a call as Kimi K2 has it."""
    return f"functions.{tool}:{place}"


def by_tool(tool: str, place: int) -> str:
    """The id of a call as some local servers have it: two of one reply have the same."""
    return tool


def called(own: str, args: Mapping[str, Any]) -> Heard:
    """A call that a model was told of, by its id and its arguments."""
    return Heard("call", own, str(args.get("to", args.get("input", ""))))


_STEPS: Final[Mapping[str, list[list[str]]]] = {
    "pay": [["pay"]],
    "look": [["look"]],
    "paint": [["paint"]],
    "paytwice": [["pay"], ["pay"]],
    "looktwice": [["look"], ["look"]],
    "lookpay": [["look"], ["pay"]],
    "paintpay": [["paint", "pay"]],
    "paintpaint": [["paint", "paint"]],
    "paypay": [["pay", "pay"]],
    "paylook": [["pay", "look"]],
    "clerk": [["clerk"]],
    "clerks": [["clerk", "clerk"]],
}
"""The tools of each reply, by what the user wants."""


def _replied(heard: Sequence[Heard], naming: Callable[[str, int], str]) -> list[Use]:
    """The calls that a model makes next; none: it says that it is done."""
    said = max(place for place, one in enumerate(heard) if one.by == "user")
    done = sum(one.by == "tool" for one in heard[said:])
    verb, to = _command(heard[said].text)
    before = 0
    for step in _STEPS.get(verb, []):
        if before == done:
            return [
                Use(
                    naming(name, place),
                    name,
                    to if before + place == 0 else f"{to}-{before + place}",
                )
                for place, name in enumerate(step)
            ]
        before += len(step)
    return []


def _command(text: str) -> tuple[str, str]:
    """What a user wants, and for whom: the application's words may stand before it."""
    lines = (line.partition(" ") for line in text.splitlines())
    return next(((verb, to) for verb, _, to in lines if verb in _STEPS), ("", ""))


@dataclass
class Cashier(ABC):
    """One framework's agent.

    Attributes:
        naming: the id of a call, from the tool's name and the place in the reply.
        gated: whether the agent itself has payments approved; else the bridge's policy has to.
        done: what was carried out, counted here alone.
        requests: what the models were told, one request after the other.
        options: of the adapter.
        model: of the framework's own, in place of the one that is written here; None: that one.
        is_lacking: whether the tool that pays is gone, as after a deploy.
        tells: what a look tells the page itself, before its result.
        edits: with which values of `gated` its approvals take edited arguments.
        explains: whether its model reads why a person declined.
        notes_edits: whether its model may read what it called, and in the result what ran instead.
        hands_over: whether it takes tools of the application's.
        nests: how many agents inside tools may work at once whose calls people are asked about.
        remembers: whether it knows the ids of calls that were taken back.
    """

    naming: Callable[[str, int], str]
    gated: bool = True
    done: list[str] = field(default_factory=list)
    requests: list[list[Heard]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    model: Any = None
    is_lacking: bool = False
    tells: Sequence[BaseEvent] = ()
    edits: ClassVar[tuple[bool, ...]] = (True, False)
    explains: ClassVar[bool] = True
    notes_edits: ClassVar[bool] = False
    hands_over: ClassVar[bool] = True
    nests: ClassVar[int] = 0
    remembers: ClassVar[bool] = True

    @abstractmethod
    def adapter(self) -> Adapter:
        """The adapter, made anew: as in another process."""

    def tools(self, pay: Any, *others: Any) -> list[Any]:
        """The agent's tools, as the framework has them."""
        return [*(() if self.is_lacking else (pay,)), *others]

    def pay(self, to: str) -> str:
        """Pay somebody."""
        self.done.append(f"pay {to}")
        return f"paid {to}"

    def look(self, to: str) -> str:
        """Look somebody up."""
        self.done.append(f"look {to}")
        for event in self.tells:
            emit(event)
        return f"saw {to}"

    def reply(self, heard: list[Heard]) -> list[Use]:
        """What the model answers to a request."""
        self.requests.append(heard)
        return _replied(heard, self.naming)
