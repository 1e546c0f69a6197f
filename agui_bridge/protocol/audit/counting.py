"""Counting: what was said to an open question counts if a sealed row tells of it.

Who writes to the store without a key can write a vote, or an answer that waits for the batch's
others, into a question. They can't write its row. A later commit would seal the entry that they
put into its history; that row is `late`, and counts no more than none.

A question whose own first row is missing or late was asked before there were keys. What was said to
it counts as it does without keys; `verify` names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agui_bridge.frozen import replace
from agui_bridge.protocol.audit.keys import AuditKeys
from agui_bridge.protocol.audit.sealing import LATE, plain_vote
from agui_bridge.protocol.contract.transitions import UNSEALED, VOTED
from agui_bridge.protocol.threads.records import AuditEntry, Interrupt, InterruptStatus, Json, Vote

__all__ = ["Row", "counted", "taken_back", "unsealed_votes", "waits_for_others"]

Row = Mapping[str, Any]
"""A row whose seal was checked."""

_SAID_WITH: Final = ("answered", "claimed")
"""The statuses that the last vote, or an answer, brings about."""


def waits_for_others(ask: Interrupt) -> bool:
    """Whether something was said to a question that is not carried out yet."""
    return (ask.is_open and bool(ask.votes)) or ask.status is InterruptStatus.ANSWERED


def counted(ask: Interrupt, rows: Sequence[Row], keys: AuditKeys) -> Interrupt:
    """A question with what counts of what was said to it; itself if that is all.

    Args:
        ask: a question, as it is stored.
        rows: of its thread's chain, in their order.
        keys: all that may have sealed them.
    """
    its = _rows_of(ask, rows)
    if its is None:
        return ask
    if forged := unsealed_votes(ask, rows, keys):
        ask = replace(ask, votes=tuple(vote for vote in ask.votes if vote not in forged))
    if ask.status is InterruptStatus.ANSWERED and (
        forged or not any(_answers(row, ask, keys) for row in its)
    ):
        ask = replace(ask, status=InterruptStatus.OPEN, answer=None)
    return ask


def taken_back(ask: Interrupt, now: float) -> Interrupt:
    """A question without what did not count, and its history, which says so.

    Args:
        ask: what `counted` left of it.
        now: store time (seconds).
    """
    rule = ask.rule.name if ask.rule is not None else None
    entry = AuditEntry(InterruptStatus.OPEN, now, "bridge", None, rule, UNSEALED)
    return replace(ask, audit=(*ask.audit, entry))


def unsealed_votes(ask: Interrupt, rows: Sequence[Row], keys: AuditKeys) -> tuple[Vote, ...]:
    """The votes of a question that no sealed row tells of.

    Args:
        ask: the question, as it is stored.
        rows: of its thread's chain, in their order.
        keys: all that may have sealed them.
    """
    its = _rows_of(ask, rows) or ()
    if not its:
        return ()
    return tuple(vote for vote in ask.votes if not any(_casts(row, vote, keys) for row in its))


def _rows_of(ask: Interrupt, rows: Iterable[Row]) -> list[Row] | None:
    """The rows of a question that was asked with keys; None of any other."""
    its = [row for row in rows if row["interrupt"] == ask.id]
    asked = next((row for row in its if row["entry"] == 0), None)
    if asked is None or asked.get(LATE):
        return None
    return [row for row in its if not row.get(LATE)]


def _casts(row: Row, vote: Vote, keys: AuditKeys) -> bool:
    """Whether a row tells of a vote."""
    says = row["event"] == VOTED or (row["event"] is None and row["status"] in _SAID_WITH)
    if not says or row["actor"] != vote.actor:
        return False
    # Rows of earlier versions tell of the answer alone.
    given: list[Json] = [vote.answer.status, vote.answer.payload]
    told, said = ("vote", plain_vote(vote)) if "vote" in row else ("answer", given)
    return bool(row[told] == keys.digest(row["key"], said))


def _answers(row: Row, ask: Interrupt, keys: AuditKeys) -> bool:
    """Whether a row tells of a question's answer, which waits for others."""
    assert ask.answer is not None, "an answered question has an answer"
    given: Json = [ask.answer.status, ask.answer.payload]
    says = row["event"] is None and row["status"] == InterruptStatus.ANSWERED.value
    return bool(says and row["answer"] == keys.digest(row["key"], given))
