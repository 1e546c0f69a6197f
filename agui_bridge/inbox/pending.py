"""Lists of questions as those see them who may answer: page by page, with who may and why not."""

from __future__ import annotations

import base64
import binascii
import functools
import heapq
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from agui_bridge.engine.engine import Engine
from agui_bridge.errors import Refused
from agui_bridge.inbox.answering import said_decided, said_gone
from agui_bridge.inbox.reference import Reference, References, scopes_of
from agui_bridge.protocol.approvals import why_not
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import InterruptStatus, Principal
from agui_bridge.stores.base import InterruptRow, Place, QuestionFilter, Store

_CHUNK: Final = 500
"""Rows that are read at a time where each is looked at."""

_MOST_COUNTED: Final = 1_000
"""Questions that one list counts; beyond that it tells no count, and costs no more."""

_LONGEST_CURSOR: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Why:
    """Why somebody may not answer a question.

    Attributes:
        code: NOT_AN_APPROVER, SELF_APPROVAL, INTERRUPT_EXPIRED or INTERRUPT_ALREADY_ANSWERED.
        message: the same for people.
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A question as somebody sees it.

    Attributes:
        row: the question as it is stored.
        ref: its reference, for `Bridge.answer` and for paths.
        why: why they may not answer it; None where they may.
        voted: whether they have voted on it, and it waits for others.
    """

    row: InterruptRow
    ref: str
    why: Why | None
    voted: bool = False

    @property
    def may_answer(self) -> bool:
        """Whether they may answer it."""
        return self.why is None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the questions that somebody sees, oldest first.

    Attributes:
        rows: the questions.
        cursor: `after` of the next page; None on the last.
        count: how many fit on all pages together; None where they are more than a thousand, or
            where it would take more than that to tell.
    """

    rows: tuple[Listed, ...]
    cursor: str | None
    count: int | None


@dataclass(frozen=True, slots=True)
class Filters:
    """Which questions are wanted.

    Attributes:
        agent: of this agent; None: of any.
        tool: about a call of this tool; None: about anything.
        thread: of threads of this id; None: of any.
        status: with this status; OPEN leaves out what has expired. None: with any.
        mine: only those that the caller may still answer or vote on.
    """

    agent: str | None = None
    tool: str | None = None
    thread: str | None = None
    status: InterruptStatus | None = InterruptStatus.OPEN
    mine: bool = False

    @property
    def stored(self) -> QuestionFilter:
        """What the store judges of them."""
        status = InterruptStatus.OPEN if self.mine else self.status
        return QuestionFilter(self.agent, self.tool, self.thread, status)


def listed(
    row: InterruptRow, principal: Principal, references: References, agents: Collection[str]
) -> Listed:
    """A question as a principal sees it, who is known to see it.

    Args:
        row: the question.
        principal: who looks.
        references: write its reference.
        agents: the names of those that there are.
    """
    ask = row.interrupt
    why = None
    # No store says the time with a list. This tells who may; whether they did in time, admission.
    if not ask.is_open:
        why = Why("INTERRUPT_ALREADY_ANSWERED", said_decided(ask))
    elif ask.expired(time.time()):
        why = Why("INTERRUPT_EXPIRED", "The time to answer is over.")
    elif row.key.agent not in agents:
        why = Why("AGENT_NOT_FOUND", said_gone(row.key.agent))
    elif (refusal := why_not(ask, principal)) is not None:
        why = Why(refusal.code, refusal.message)
    voted = ask.is_open and any(vote.actor == principal.actor for vote in ask.votes)
    return Listed(row, references.write(Reference(row.key, ask.id)), why, voted)


async def find_page(
    engine: Engine,
    references: References,
    principal: Principal,
    filters: Filters,
    *,
    agents: Collection[str],
    after: str | None = None,
    limit: int = 50,
) -> Page:
    """Find the questions that a principal sees, of its scope and those that it reviews.

    Args:
        engine: its store has them.
        references: write their references.
        principal: the caller.
        filters: which are wanted.
        agents: the names of those that there are: nobody can answer the questions of others.
        after: the cursor of the page before; None: from the first.
        limit: as many at most.

    Raises:
        Refused: INVALID_INPUT: the cursor is none.
        StoreUnavailable: the store did not answer.
    """
    begin = None if after is None else _read_cursor(after)
    scopes, store = scopes_of(principal), engine.store
    if filters.mine:
        waits = functools.partial(_waits_for, principal, agents)
        rows = await _waiting_for(waits, store, scopes, filters, begin, limit + 1)
        count = await _count_waiting_for(waits, store, scopes, filters)
    else:
        lists = [
            await store.list_interrupts(scope, filters.stored, after=begin, limit=limit + 1)
            for scope in scopes
        ]
        rows = list(heapq.merge(*lists, key=lambda row: row.place))[: limit + 1]
        count = 0
        for scope in scopes:
            most = _MOST_COUNTED + 1 - count
            count += await store.count_interrupts(scope, filters.stored, most=most)
    cursor = _write_cursor(rows[limit - 1].place) if len(rows) > limit else None
    seen = await engine.as_seen(rows[:limit])
    found = tuple(listed(row, principal, references, agents) for row in seen)
    return Page(found, cursor, count if count <= _MOST_COUNTED else None)


Waits = Callable[[InterruptRow], bool]
"""Whether a question waits for somebody."""


async def _waiting_for(
    waits: Waits,
    store: Store,
    scopes: Iterable[str],
    filters: Filters,
    begin: Place | None,
    limit: int,
) -> list[InterruptRow]:
    """The first questions behind a place that wait for somebody."""
    rows: list[InterruptRow] = []
    for scope in scopes:
        some: list[InterruptRow] = []
        async for row in _each(store, scope, filters, begin, limit):
            if waits(row):
                some.append(row)
                if len(some) == limit:
                    break
        rows = list(heapq.merge(rows, some, key=lambda row: row.place))[:limit]
    return rows


async def _count_waiting_for(
    waits: Waits, store: Store, scopes: Iterable[str], filters: Filters
) -> int:
    """How many questions wait for somebody; more than are counted where too many would be read."""
    count, read = 0, 0
    for scope in scopes:
        async for row in _each(store, scope, filters):
            if read == _MOST_COUNTED:
                return _MOST_COUNTED + 1
            read += 1
            count += waits(row)
    return count


def _waits_for(principal: Principal, agents: Collection[str], row: InterruptRow) -> bool:
    ask = row.interrupt
    if ask.is_timer or row.key.agent not in agents:
        return False
    voted = any(vote.actor == principal.actor for vote in ask.votes)
    return not voted and why_not(ask, principal) is None


async def _each(
    store: Store, scope: str, filters: Filters, after: Place | None = None, first: int = _CHUNK
) -> AsyncIterator[InterruptRow]:
    """The questions behind a place; `first` are read at first, then as many as fit in a chunk."""
    size = first
    while True:
        rows = await store.list_interrupts(scope, filters.stored, after=after, limit=size)
        for row in rows:
            yield row
        if len(rows) < size:
            return
        after, size = rows[-1].place, _CHUNK


def _write_cursor(place: Place) -> str:
    text = json.dumps(place, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode("ascii")


def _read_cursor(text: str) -> Place:
    """Read a cursor; one that anybody made up is a place like any other."""
    try:
        parts = json.loads(
            base64.urlsafe_b64decode(text[:_LONGEST_CURSOR] + "=" * (-len(text) % 4))
        )
        raised, agent, thread, position, id = parts
        fits = (
            isinstance(raised, float)
            and math.isfinite(raised)
            and type(position) is int
            and abs(position) < 2**63
            and all(isinstance(part, str) for part in (agent, thread, id))
            and find_forbidden(parts) is None
        )
    except (binascii.Error, ValueError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise Refused("INVALID_INPUT", "after: must be the cursor of the page before.")
    return raised, agent, thread, position, id
