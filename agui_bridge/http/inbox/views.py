"""A question as a page shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.http.inbox.forms.deciding import CANCEL, Offered, offered_by
from agui_bridge.http.inbox.telling.history import Event, answer_words, history_of, state_of
from agui_bridge.http.inbox.telling.words import counted
from agui_bridge.inbox.answering import said_gone
from agui_bridge.protocol.answers.decisions import APPROVE
from agui_bridge.protocol.approvals.entitlement import may_withdraw, why_not, wording
from agui_bridge.protocol.approvals.voting import (
    edited_so_far,
    needs_votes,
    vote_to_agree_with,
)
from agui_bridge.protocol.grants.remembering import MEMBER, offered_words
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, Json, Principal
from agui_bridge.stores.base import InterruptRow
from agui_bridge.text.shown_call import ShownCall, argument_by_argument, on_one_line
from agui_bridge.text.visible import visible, visible_name, visible_value, visible_word

__all__ = ["Argument", "QuestionView", "view_of"]

_LONG: Final = 1_500
"""Characters of a value beyond which it scrolls, so that the buttons stay near."""

_SHORT: Final = 120
_LISTED: Final = 4
"""Arguments that a list shows of each question."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A named value.

    Attributes:
        name: its name, as it is shown.
        text: the value, whole, as it is shown.
    """

    name: str
    text: str

    @property
    def is_long(self) -> bool:
        """Whether it scrolls."""
        return len(self.text) > _LONG

    @property
    def short(self) -> str:
        """Its beginning, on one line."""
        return on_one_line(self.text, _SHORT).text


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question, to somebody who looks at it.

    Attributes:
        ask: the question.
        agent: the one that asks.
        thread: where.
        scope: whose; "" where it is that of who looks.
        reference: its address.
        waits: whether it still can be answered.
        state: what became of it, in a few words.
        offered: what may be decided on it.
        why: why who looks may not answer; None where they may.
        may_cancel: whether they may withdraw it.
    """

    ask: Interrupt
    agent: str
    thread: str
    scope: str
    reference: str
    waits: bool
    state: str
    offered: Offered
    why: str | None
    may_cancel: bool

    @property
    def title(self) -> str:
        """The tool's name, or what kind of question it is, as it is shown."""
        call = self.ask.tool_call
        if call is not None:
            return visible_name(call.name)
        return visible(self.ask.message or self.ask.reason)

    @property
    def kind(self) -> str:
        """What is asked, in a few words: whether a tool may run, or something else."""
        if self.is_approval:
            return "A tool wants to run"
        tool = self.ask.tool
        return "A question" if tool is None else f"A question about {visible_name(tool)}"

    @property
    def remember(self) -> list[tuple[str, str]]:
        """For whom its approval may be remembered, each with all that this covers, in words."""
        properties = (self.ask.response_schema or {}).get("properties", {})
        offered = properties.get(MEMBER, {}).get("enum", ())
        words = offered_words(self.ask)
        return [(name, words[name]) for name in offered if name in words]

    @property
    def is_approval(self) -> bool:
        """Whether it asks if a tool may run."""
        return self.ask.tool_call is not None

    @property
    def message(self) -> str:
        """What the agent says, where the title does not say it."""
        return (self.ask.message or "") if self.is_approval else ""

    @property
    def arguments(self) -> list[Argument]:
        """The tool call's arguments, as they were voted for where somebody changed them.

        Of another question what its agent tells besides.
        """
        return _named(self._told)

    @property
    def proposed(self) -> list[Argument]:
        """The tool call's arguments as the agent proposed them."""
        call = self.ask.tool_call
        return _named(call.args) if call is not None else []

    @property
    def _told(self) -> Mapping[str, Json]:
        if self.ask.tool_call is not None:
            edited = edited_so_far(self.ask)
            return self.ask.tool_call.args if edited is None else edited
        told = self.ask.metadata or {}
        return {name: it for name, it in told.items() if name != "agui_bridge"}

    @property
    def agreed(self) -> str | None:
        """Names the arguments that were voted for."""
        vote = vote_to_agree_with(self.ask)
        return vote.args_digest if vote is not None else None

    @property
    def listed(self) -> ShownCall:
        """Its call as a list shows it."""
        call = self.ask.tool_call
        return argument_by_argument(
            call.name if call is not None else "",
            self._told,
            self.ask.asked_by,
            most=_LISTED,
            length=_SHORT,
            is_latest=not self.changed_by,
        )

    @property
    def may_tick(self) -> bool:
        """Whether who looks may decide on it in a list, together with others."""
        return self.may and self.can(APPROVE) and self.listed.is_whole

    @property
    def asked_at(self) -> float:
        """When it was asked, in seconds since the epoch."""
        return self.ask.audit[0].at if self.ask.audit else 0.0

    @property
    def tone(self) -> str:
        """How its state is coloured: `open`, `yes`, `no` or `quiet`."""
        if self.waits:
            return "open"
        word = self.state.partition(" ")[0]
        if word in ("Approved", "Answered", "Done"):
            return "yes"
        return "no" if word in ("Declined", "Outcome") else "quiet"

    @property
    def rule(self) -> str:
        """Who may answer, and how many must, in words; "" where anybody may."""
        rule = self.ask.rule
        if rule is None:
            return ""
        needed = f"{counted(rule.votes, 'approval')} of " if rule.votes > 1 else ""
        each = [" or ".join(group) for group in rule.each_of]
        return f"{needed}{wording(self.ask)}{'; one of each: ' if each else ''}{'; '.join(each)}"

    @property
    def changed_by(self) -> str:
        """Who changed the arguments that others have approved since; "" where nobody did."""
        vote = vote_to_agree_with(self.ask)
        return vote.actor if vote is not None and edited_so_far(self.ask) is not None else ""

    @property
    def agreeing(self) -> list[str]:
        """Who has approved so far: whose votes fall when somebody approves other arguments."""
        return [vote.actor for vote in self.ask.votes if vote.args_digest is not None]

    @property
    def votes(self) -> Iterator[tuple[str, str, float]]:
        """Who has answered so far where several must: who, what, and when."""
        for vote in self.ask.votes:
            yield vote.actor, answer_words(self.ask, vote.answer)[0], vote.at

    @property
    def vote_count(self) -> str:
        """How many approvals there are, of how many; "" where one is enough."""
        rule = self.ask.rule
        if rule is None or not needs_votes(self.ask):
            return ""
        agreed = [vote for vote in self.ask.votes if vote.args_digest is not None]
        return f"{len(agreed)} of {counted(rule.votes, 'approval')}"

    @property
    def history(self) -> Iterator[Event]:
        """All that happened to it."""
        return history_of(self.ask)

    @property
    def may(self) -> bool:
        """Whether who looks may answer it now."""
        return self.waits and self.why is None

    def can(self, decision: str) -> bool:
        """Whether a button is there."""
        return decision in self.offered.decisions

    def enabled(self, decision: str) -> bool:
        """Whether it can be pressed."""
        return self.waits and (self.may_cancel if decision == CANCEL else self.why is None)


def _named(told: Mapping[str, Json]) -> list[Argument]:
    return [Argument(visible_word(name), visible_value(it)) for name, it in told.items()]


def view_of(
    row: InterruptRow, reference: str, principal: Principal, now: float, agents: Collection[str]
) -> QuestionView:
    """Show a question to somebody.

    Args:
        row: the question.
        reference: its address.
        principal: who looks.
        now: the time, in seconds since the epoch.
        agents: the names of those that there are.
    """
    ask, key = row.interrupt, row.key
    refusal = why_not(ask, principal)
    why = refusal.message if refusal is not None else None
    return QuestionView(
        ask,
        key.agent,
        key.thread,
        "" if key.scope == principal.scope else key.scope,
        reference,
        ask.status is InterruptStatus.OPEN and not ask.expired(now),
        state_of(ask, now),
        offered_by(ask),
        why if key.agent in agents else said_gone(key.agent),
        refusal is None or may_withdraw(ask, principal),
    )
