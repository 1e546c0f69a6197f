"""A question as pages show it, and the page of one: what is asked, by whom, and its form."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from agui_bridge.errors import CODES, Refused
from agui_bridge.http.inbox.door import Form, Visit
from agui_bridge.http.inbox.forms import (
    CANCEL,
    UNDECIDED,
    Decided,
    Field,
    Offered,
    offered_by,
    read_decision,
)
from agui_bridge.http.inbox.wording import (
    AnswerResult,
    Conversation,
    Event,
    conversation_of,
    counted,
    history_of,
    state_of,
    tell,
    tell_decided,
)
from agui_bridge.inbox.answer_words import answer_words
from agui_bridge.inbox.answering import answer_question, said_gone
from agui_bridge.inbox.reference import Reference, find_question
from agui_bridge.protocol.answers.decisions import APPROVE
from agui_bridge.protocol.approvals import (
    edited_so_far,
    may_withdraw,
    needs_votes,
    vote_to_agree_with,
    why_not,
    wording,
)
from agui_bridge.protocol.grants import MEMBER, offered_words
from agui_bridge.protocol.shown_address import Misleading, host_of
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, Json, Principal
from agui_bridge.stores.base import InterruptRow
from agui_bridge.text.shown import (
    STALE,
    ShownCall,
    ShownLine,
    argument_by_argument,
    on_one_line,
    shown_lines,
    shown_name,
    shown_value,
    shown_word,
)
from agui_bridge.text.visible import visible

_LONG: Final = 1_500
"""Characters of a value beyond which it scrolls, so that the buttons stay near."""

_SHORT: Final = 120
_LISTED: Final = 4
"""Arguments that a list shows of each question."""

_FEW_LINES: Final = 12
"""Lines of a preview that a list shows."""

_MANY_LINES: Final = 30
"""Lines of a preview beyond which it scrolls."""


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
            return shown_name(call.name)
        return visible(self.ask.message or self.ask.reason)

    @property
    def kind(self) -> str:
        """What is asked, in a few words: whether a tool may run, or something else."""
        if self.is_approval:
            return "A tool wants to run"
        if self.ask.is_timer:
            return "A run sleeps"
        tool = self.ask.tool
        return "A question" if tool is None else f"A question about {shown_name(tool)}"

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
    def address(self) -> tuple[str, str] | None:
        """An address that the question asks people to open, and its host; None: it asks for none.

        Of an MCP server, by URL elicitation. Nothing here opens it but a click.
        """
        told = self.ask.metadata.get("mcp") if self.ask.metadata else None
        url = told.get("url") if isinstance(told, dict) else None
        if self.is_approval or not isinstance(url, str):
            return None
        try:
            return url, host_of(url)
        except Misleading:
            return None

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
    def stale(self) -> str:
        """What is said of the preview beside other arguments; "" where there is none."""
        return STALE if self.ask.preview is not None else ""

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
            lines=_FEW_LINES,
            is_latest=not self.changed_by,
            preview=self.ask.preview,
        )

    @property
    def preview(self) -> tuple[ShownLine, ...]:
        """What its call would do, line by line; empty where nobody has said."""
        return () if self.ask.preview is None else shown_lines(self.ask.preview)

    @property
    def scrolls(self) -> bool:
        """Whether that has many lines."""
        return self.ask.preview is not None and len(self.ask.preview.lines) > _MANY_LINES

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
    return [Argument(shown_word(name), shown_value(it)) for name, it in told.items()]


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


# --- one question's page: what is asked, by whom, after what; and its form ---

PATIENCE: Final = 20.0
"""Seconds that a page waits for the run that an answer sets off; it goes on without it."""


async def question_page(visit: Visit) -> Response:
    """`GET`, `POST /inbox/{reference}` and `/d/{reference}`: look at a question, and answer it."""
    written = visit.request.path_params["reference"]
    reference = visit.reference or visit.service.references.read(written)
    engine = await visit.service.open()
    row = await find_question(engine, reference, visit.principal)
    if not visit.is_form:
        return await _shown(visit, reference, row, told=tell_decided(row.interrupt))
    async with visit.form() as form:
        try:
            decided = read_decision(row.interrupt, form)
        except Refused as error:
            told = AnswerResult("Nothing was decided", error.message, "no", UNDECIDED)
            return await _shown(visit, reference, row, form=form, told=told)
        if decided.faults and row.interrupt.is_open:
            return await _shown(visit, reference, row, form=form, decided=decided)
        outcome = await answer_question(
            engine,
            visit.service.agents,
            reference,
            decided.answer,
            visit.principal,
            via="link" if visit.place.link else "inbox",
            wait=PATIENCE,
        )
        # A link may be passed on: who comes by it sees the question alone.
        known = outcome.result is not None and not visit.place.link
        result = Argument("Result", shown_value(outcome.result)) if known else None
        return await _shown(visit, reference, outcome.row, told=tell(outcome), result=result)


async def _shown(
    visit: Visit,
    reference: Reference,
    row: InterruptRow,
    *,
    form: Form | None = None,
    decided: Decided | None = None,
    told: AnswerResult | None = None,
    result: Argument | None = None,
) -> Response:
    """The page as it is now: as asked for, with a form's faults, or with what came of it."""
    view = view_of(
        row,
        visit.request.path_params["reference"],
        visit.principal,
        time.time(),
        visit.service.agents,
    )
    faults = decided.faults if decided is not None else {}
    status = told.status if told is not None else 200
    title = f"{told.heading if told is not None else view.state}: {view.title[:80]}"
    if faults:
        title, status = f"Error: {view.title[:80]}", CODES["INVALID_RESUME_PAYLOAD"].status
    return visit.page(
        "question",
        title,
        status=status,
        view=view,
        edit=_shown_fields(view, "edit", form, faults),
        answer=_shown_fields(view, "answer", form, faults),
        sent=form or {},
        faults=faults,
        told=told,
        result=result,
        conversation=await _conversation(visit, reference),
    )


def _shown_fields(
    view: QuestionView, group: str, form: Form | None, faults: Mapping[str, str]
) -> tuple[Field, ...]:
    fields = view.offered.arguments if group == "edit" else view.offered.answer
    if fields is None:
        return ()
    pressed = (form or {}).get("decision", [""])[0]
    return fields.shown(form, faults if pressed == group else {})


async def _conversation(visit: Visit, reference: Reference) -> Conversation | None:
    """What was said before; None for whoever sees the question alone.

    Those are who reviews another scope, and who comes by a link, which may be passed on.
    """
    if visit.place.link or reference.key.scope != visit.principal.scope:
        return None
    engine = await visit.service.open()
    async with engine.threads.whole(reference.key) as loaded:
        return conversation_of(loaded.messages)
