"""What a tool returns that must ask people before it can finish, and what it is given then.

A call that asks in its middle has begun and is not over: it keeps its place on the wire, and is
carried out again, from the top of its function, once people have answered. `answered` tells that
round from the first one. It is no argument: nothing that people may edit can look like an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn

from ag_ui.core import BaseEvent

from agui_bridge.agents.replay.continuation import Asking, Decided, EntryKey
from agui_bridge.agents.replay.journal import copied, jsonable
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Answer, Cancel, Decline
from agui_bridge.protocol.field_rules import FieldRule, check_fields, is_a, sequence_of
from agui_bridge.protocol.schemas.checking import check_schema
from agui_bridge.protocol.threads.records import Json

# --- events that a tool tells the page right after its result, such as a view of what it returned
# ---

Later = Callable[[str], BaseEvent]
"""Makes an event of the id of the call."""

_LATER: Final[ContextVar[list[Later] | None]] = ContextVar("agui_bridge_after", default=None)


def tell_after(event: Later) -> None:
    """Have an event told once the result of the tool that is running here has been told.

    Args:
        event: makes it; called with the call's id.
    """
    later = _LATER.get()
    if later is not None:
        later.append(event)


@contextmanager
def telling_after(later: list[Later]) -> Iterator[None]:
    """Have `tell_after` collect what is told after a tool's result.

    Args:
        later: gets it.
    """
    token = _LATER.set(later)
    try:
        yield
    finally:
        _LATER.reset(token)


# --- the approval that `run.approve` hands back, and the arguments that it shows ---


class ReadOnlyArgs(dict[str, Json]):
    """Arguments that were decided on: a dict to read, compare and serialise, not to change.

    It is a dict, not a mappingproxy, so that json, pydantic and `run.step` take it.
    """

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "An approval's args are read-only: run.tool executes what was approved. "
            "Change a copy, dict(approval.args), and have that approved."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as a plain dict."""
        return dict, (dict(self),)


@dataclass(frozen=True, slots=True)
class Approval:
    """The decision on one proposed tool call; true only when it was approved.

    Attributes:
        name: the tool.
        tool_call_id: the call on the wire.
        approved: whether a person approved it.
        args: the arguments that may be executed: as proposed, or as edited. Read-only; what
            `run.tool` executes comes from the journal, whatever becomes of this copy.
        edited: whether the person changed them.
        reason: why it was declined, if the person said so.
        payload: the whole answer, as it was sent.
        cause: why nobody decided: cancelled or expired; None when somebody did.
        entry: where the decision stands in the run's journal.
    """

    name: str
    tool_call_id: str
    approved: bool
    args: Mapping[str, Json]
    edited: bool
    reason: str | None
    payload: Json
    cause: Literal["cancelled", "expired"] | None
    entry: EntryKey = field(repr=False)

    def __bool__(self) -> bool:
        """Whether it was approved, so that `if await run.approve(…)` can't mislead."""
        return self.approved

    @property
    def cancelled(self) -> bool:
        """Whether nobody decided; `cause` says why."""
        return self.cause is not None

    @classmethod
    def of(cls, entry: EntryKey, proposed: Mapping[str, Json], decided: Decided) -> Approval:
        """Make the approval from the journal's entry and the arguments as proposed.

        Args:
            entry: where the decision stands in the journal.
            proposed: the arguments as the agent gave them.
            decided: what stands there.
        """
        approved = decided.verdict == "approve"
        return cls(
            name=entry.name,
            tool_call_id=decided.tool_call_id or "",
            approved=approved,
            args=ReadOnlyArgs(copied((decided.args or {}) if approved else dict(proposed))),
            edited=decided.edited,
            reason=decided.reason,
            payload=copied(decided.payload),
            cause=decided.cause,
            entry=entry,
        )


MAX_ROUNDS: Final = 10
"""How often one call may ask. MCP's clients ask as often."""


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
    def of(cls, asking: Asking) -> Answered:
        """Make it from the journal's entry, once that has its answers.

        Args:
            asking: the entry.
        """
        found: dict[str, Answer | Decline | Cancel] = {}
        for name, decided in asking.decided.items():
            decision = decided.decision
            if isinstance(decision, Answer):
                decision = Answer(copied(decision.payload))
            if isinstance(decision, Answer | Decline | Cancel):
                found[name] = decision
        return cls(found, copied(asking.state), asking.round)


_GIVEN: Final[ContextVar[Answered | None]] = ContextVar("agui_bridge_answered", default=None)


def answered() -> Answered | None:
    """What people answered to the tool that is running here; None in its first round.

    It works in async tools, in sync ones that run in a thread, and in what these call.
    """
    return _GIVEN.get()


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
