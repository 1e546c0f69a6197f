"""What a tool returns that must ask people before it can finish, and what it is given then.

A call that asks in its middle has begun and is not over: it keeps its place on the wire, and is
carried out again, from the top of its function, once people have answered. `answered` tells that
round from the first one. It is no argument: nothing that people may edit can look like an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Answer, Cancel, Decision, Decline
from agui_bridge.protocol.field_rules import FieldRule, check_fields, is_a, sequence_of
from agui_bridge.protocol.json_values import copied, jsonable
from agui_bridge.protocol.schemas.checking import check_schema
from agui_bridge.protocol.threads.records import Json

MAX_ROUNDS: Final = 10
"""How often one call may ask. MCP's clients ask as often."""


_MADE: Final[ContextVar[list[NeedsInput] | None]] = ContextVar("agui_bridge_made", default=None)


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """Returned by a tool of `run.call` or `run.tool` that must ask before it can finish.

    The run ends with the questions, at this very call. Once all are answered the function is called
    again with the same arguments, and `answered()` gives it the answers and the state. The call has
    one result, which the last round returns. What a round did before it asked is done: note in
    `state` what the next round needs to know of it.

    Attributes:
        asks: the questions, each with a `native_id` under which its answer comes back. They belong
            to the call: leave `tool_call` and `about` out.
        state: JSON for the next round. It is stored with the pause and never shown.

    Raises:
        AgentMistake: a field is of another type, a question belongs to another call, or two have
            one name.
        UnsafeSchema: a question's schema is invalid or could do harm.
    """

    asks: Sequence[Ask]
    state: Json = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, _NEEDS_INPUT, error=AgentMistake)
        names = [ask.native_id for ask in self.asks]
        if len(set(names)) < len(names):
            raise AgentMistake("NeedsInput.asks has two questions of one native_id.")
        for ask in self.asks:
            if ask.calls:
                raise AgentMistake(
                    f"The question {ask.native_id!r} of NeedsInput belongs to the call that asks: "
                    "leave tool_call and about out."
                )
            if ask.response_schema is not None:
                check_schema(ask.response_schema)
        object.__setattr__(self, "state", jsonable("NeedsInput.state", self.state))
        made = _MADE.get()
        if made is not None:
            made.append(self)


@contextmanager
def collecting(made: list[NeedsInput]) -> Iterator[None]:
    """Have each that is made in here collected.

    For frameworks that give nobody what a tool returned, but what they made of it.
    """
    token = _MADE.set(made)
    try:
        yield
    finally:
        _MADE.reset(token)


def only_one(found: Iterable[NeedsInput]) -> NeedsInput | None:
    """What was returned, of those that look like it; None where they differ in what is not seen."""
    all_found = [*found]
    return all_found[0] if all_found and all_found.count(all_found[0]) == len(all_found) else None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a tool gets that has asked.

    Attributes:
        answers: by the question's `native_id`: an Answer, a Decline where the question offers one,
            or a Cancel with its cause.
        state: as `NeedsInput` had it.
        round: how often this call has asked, from 1.
    """

    answers: Mapping[str, Answer | Decline | Cancel]
    state: Json = field(default=None, repr=False)
    round: int = 1

    @classmethod
    def of(cls, decisions: Mapping[str, Decision], state: Json, round: int) -> Answered:
        """Make it of what is kept, whose copies it has.

        Args:
            decisions: by the question's `native_id`.
            state: see above.
            round: see above.
        """
        found: dict[str, Answer | Decline | Cancel] = {}
        for name, decision in decisions.items():
            if isinstance(decision, Answer):
                decision = Answer(copied(decision.payload))
            if isinstance(decision, Answer | Decline | Cancel):
                found[name] = decision
        return cls(found, copied(state), round)


_GIVEN: Final[ContextVar[Answered | None]] = ContextVar("agui_bridge_answered", default=None)


def answered() -> Answered | None:
    """What people answered to the tool that is running here; None in its first round.

    It works in async tools, in sync ones that run in a thread, and in what these call.
    """
    return _GIVEN.get()


def give(given: Answered | None) -> None:
    """Have `answered` tell it in this task from now on: where no `with` stands around a tool."""
    _GIVEN.set(given)


@contextmanager
def answering(given: Answered | None) -> Iterator[None]:
    """Have `answered` tell a tool what it is given."""
    token = _GIVEN.set(given)
    try:
        yield
    finally:
        _GIVEN.reset(token)


_NEEDS_INPUT: Final[Mapping[str, FieldRule]] = {
    "asks": sequence_of("a sequence of one or more Ask", is_a(Ask), least=1),
}
