"""Lists of questions as those see them who may answer: page by page, with who may and why not."""

from __future__ import annotations

import base64
import binascii
import heapq
import json
import math
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.engine.engine import Engine
from agui_bridge.errors import Refused
from agui_bridge.inbox.access import scopes_of
from agui_bridge.inbox.answering import said_decided
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.protocol.approvals.entitlement import why_not
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import InterruptStatus, Principal
from agui_bridge.stores.base import InterruptRow, Place, Store

__all__ = ["Filters", "Listed", "Page", "Why", "find_page", "listed"]

_CHUNK: Final = 500
"""Rows that are read at a time where each is looked at."""

_MOST_LOOKED_AT: Final = 10_000
"""Rows that one list looks at; beyond that it tells no count."""

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
        count: how many fit on all pages together; None where they are too many to look at each.
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
        mine: only those that wait for who asks: open, theirs to answer, and without their vote.
    """

    agent: str | None = None
    tool: str | None = None
    thread: str | None = None
    status: InterruptStatus | None = InterruptStatus.OPEN
    mine: bool = False

    @property
    def stored(self) -> Mapping[str, Any]:
        """What the store judges of them."""
        status = InterruptStatus.OPEN if self.mine else self.status
        return {
            "agent": self.agent,
            "tool": self.tool,
            "thread": self.thread,
            "status": status,
        }


def listed(row: InterruptRow, principal: Principal, references: References) -> Listed:
    """A question as a principal sees it, who is known to see it."""
    ask = row.interrupt
    why = None
    # No store says the time with a list. This tells who may; whether they did in time, admission.
    if not ask.is_open:
        why = Why("INTERRUPT_ALREADY_ANSWERED", said_decided(ask))
    elif ask.expired(time.time()):
        why = Why("INTERRUPT_EXPIRED", "The time to answer is over.")
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
    after: str | None = None,
    limit: int = 50,
) -> Page:
    """Find the questions that a principal sees, of its scope and those that it reviews.

    Args:
        engine: its store has them.
        references: write their references.
        principal: who asks.
        filters: which are wanted.
        after: the cursor of the page before; None: from the first.
        limit: as many at most.

    Raises:
        Refused: INVALID_INPUT: the cursor is none.
        StoreUnavailable: the store did not answer.
    """
    begin = None if after is None else _read_cursor(after)
    scopes, store = scopes_of(principal), engine.store
    if filters.mine:
        rows, count = await _waiting_for(principal, store, scopes, filters, begin, limit + 1)
    else:
        found = [
            await store.list_interrupts(scope, **filters.stored, after=begin, limit=limit + 1)
            for scope in scopes
        ]
        rows = list(heapq.merge(*found, key=lambda row: row.place))[: limit + 1]
        count = sum([await store.count_interrupts(s, **filters.stored) for s in scopes])
    cursor = _write_cursor(rows[limit - 1].place) if len(rows) > limit else None
    return Page(tuple(listed(row, principal, references) for row in rows[:limit]), cursor, count)


async def _waiting_for(
    principal: Principal,
    store: Store,
    scopes: Iterable[str],
    filters: Filters,
    begin: Place | None,
    limit: int,
) -> tuple[list[InterruptRow], int | None]:
    """The first questions behind a place that wait for somebody, and how many do in all."""

    def waits(row: InterruptRow) -> bool:
        ask = row.interrupt
        voted = any(vote.actor == principal.actor for vote in ask.votes)
        return not voted and why_not(ask, principal) is None

    rows: list[InterruptRow] = []
    count, looked_at = 0, 0
    for scope in scopes:
        some: list[InterruptRow] = []
        async for row in _each(store, scope, filters):
            looked_at += 1
            if waits(row):
                count += 1
                if len(some) < limit and (begin is None or row.place > begin):
                    some.append(row)
            if looked_at > _MOST_LOOKED_AT and len(some) == limit:
                break
        rows = list(heapq.merge(rows, some, key=lambda row: row.place))[:limit]
    return rows, count if looked_at <= _MOST_LOOKED_AT else None


async def _each(store: Store, scope: str, filters: Filters) -> AsyncIterator[InterruptRow]:
    after: Place | None = None
    while True:
        rows = await store.list_interrupts(scope, **filters.stored, after=after, limit=_CHUNK)
        for row in rows:
            yield row
        if len(rows) < _CHUNK:
            return
        after = rows[-1].place


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
