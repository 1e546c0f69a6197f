"""Verifying: what is wrong with a thread's audit chain, and where.

What a chain proves and what it does not is in docs/audit.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.audit.sealing import (
    LATE,
    REDACTED,
    AuditKeys,
    plain_vote,
    row_id,
    told_of,
)
from agui_bridge.protocol.contract.transitions import ESCALATED, UNSEALED, VOTED
from agui_bridge.protocol.threads.messages.entries import words_of
from agui_bridge.protocol.threads.record_parts import AuditRow, ChainHead
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
    ThreadKey,
    Vote,
)
from agui_bridge.protocol.turns import proposed_arguments, with_proposed

# --- counting: what was said to an open question counts if a sealed row tells of it ---
#
# Who writes to the store without a key can write a vote, or an answer that waits for the batch's
# others, into a question. They can't write its row. A later commit would seal the entry that they
# put into its history; that row is `late`, and counts no more than none.
#
# A question whose own first row is missing or late was asked before there were keys. What was said
# to it counts as it does without keys; `verify` names it.

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


# --- the verdict ---


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a chain.

    Attributes:
        key: the thread.
        chain: which of its chains; empty where none is concerned.
        seq: the row's place, from 1; None where no single row is concerned.
        what: for people.
    """

    key: ThreadKey
    chain: str
    seq: int | None
    what: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A row that was there: the end of a chain as a record, or an earlier export, has it.

    Attributes:
        seq: its place.
        mac: its seal.
        source: who says so, for people.
    """

    seq: int
    mac: str
    source: str

    @classmethod
    def of(cls, head: ChainHead) -> Mark:
        """The end of a chain that a thread's record names."""
        return cls(head.seq, head.mac, "the thread's record")


def read_row(text: str) -> dict[str, Any] | None:
    """A row's members; None where it is no JSON object, or has a member twice."""
    try:
        row = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def sealed_rows(key: ThreadKey, rows: Sequence[AuditRow], keys: AuditKeys) -> list[dict[str, Any]]:
    """The rows of a thread that a key has sealed for it, in their order.

    Args:
        key: the thread.
        rows: all that it has; those that are damaged are left out.
        keys: all that may have sealed them.
    """
    found = []
    for stored in rows:
        row = read_row(stored.data)
        if row is None or not keys.knows(row.get("key")):
            continue
        mac = row.pop("mac", None)
        place = (row.get("scope"), row.get("agent"), row.get("thread"))
        if mac == keys.mac(row["key"], row) and place == (key.scope, key.agent, key.thread):
            found.append(row)
    return found


def verify_chain(
    key: ThreadKey,
    chain: str,
    rows: Sequence[AuditRow],
    keys: AuditKeys,
    marks: Sequence[Mark] = (),
    *,
    is_whole: bool = False,
) -> list[Fault]:
    """Say what is wrong with one chain.

    Args:
        key: the thread.
        chain: names it.
        rows: those that there are, by their ids.
        keys: all that may have sealed it.
        marks: rows that must be there.
        is_whole: whether nothing may follow the last of the marks.
    """
    faults: list[Fault] = []

    def fault(seq: int | None, what: str) -> None:
        faults.append(Fault(key, chain, seq, what))

    macs: dict[int, object] = {}
    expected, before = 1, ""
    follows = True
    for stored in rows:
        seq = _place(stored.id, chain)
        if seq is None:
            fault(None, f"a row has the id {stored.id!r}, which no row of this chain can have")
            continue
        if seq < expected:
            fault(seq, "it stands behind a later one, or twice")
            continue
        if seq > expected:
            fault(expected, f"{_rows(expected, seq - 1)} missing")
            follows = False
        row = read_row(stored.data)
        expected = seq + 1
        if row is None:
            fault(seq, "it is no JSON object")
            follows = False
            continue
        mac = macs[seq] = row.pop("mac", None)
        wrong, is_in_place = _wrong_with(key, chain, seq, stored, row, mac, keys)
        if wrong is not None:
            fault(seq, wrong)
        elif follows and row["prev"] != before:
            fault(seq, "it was not sealed behind the row that stands before it")
        follows, before = is_in_place and isinstance(mac, str), str(mac)
    for mark in marks:
        if mark.seq not in macs:
            if mark.seq >= expected:
                fault(expected, f"{_rows(expected, mark.seq)} missing: {mark.source} has them")
        elif macs[mark.seq] != mark.mac:
            fault(mark.seq, f"it is another row than the one that {mark.source} has")
    last = max((mark.seq for mark in marks), default=0)
    if is_whole and expected - 1 > last:
        fault(last + 1, f"{_rows(last + 1, expected - 1)} beyond the end that the record has")
    return faults


def verify_questions(
    key: ThreadKey,
    rows: Sequence[AuditRow],
    asks: Mapping[str, Interrupt],
    keys: AuditKeys,
) -> Iterator[Fault]:
    """Say where a thread's stored questions differ from what its chain tells of them.

    Args:
        key: the thread.
        rows: of its chain; those that are damaged are left out.
        asks: its questions as they are stored, by id.
        keys: all that may have sealed it.
    """
    sealed = [row for row in sealed_rows(key, rows, keys) if row["interrupt"] is not None]
    told: dict[tuple[str, int], dict[str, Any]] = {}
    for found in sealed:
        # The first one: what was sealed again is no better than what was there.
        told.setdefault((found["interrupt"], found["entry"]), found)
    for ask in asks.values():
        for vote in unsealed_votes(ask, sealed, keys):
            what = f"no row tells of the vote of {vote.actor} on question {ask.id}"
            yield Fault(key, "", None, what)
        escalated = max((at for at, it in enumerate(ask.audit) if it.event == ESCALATED), default=0)
        for index, entry in enumerate(ask.audit):
            row = told.get((ask.id, index))
            if row is None:
                continue
            now = told_of(key, ask, index, entry, keys, row["key"])
            if index < len(ask.audit) - 1:
                # What was said is stored once, and told with the entry that it came with.
                now = {name: value for name, value in now.items() if name not in _OF_THE_LAST}
            if index < escalated:
                del now["ruling"]
            for name, value in now.items():
                # Rows of earlier versions have fewer members.
                if name in row and row[name] != value:
                    what = f"question {ask.id} was changed since: its {_MEANT.get(name, name)}"
                    yield Fault(key, str(row["chain"]), row["seq"], what)
    for row in sealed:
        if row["event"] == UNSEALED:
            what = f"question {row['interrupt']} had a vote or an answer without a row: taken back"
            yield Fault(key, str(row["chain"]), row["seq"], what)
    yield from _untold(key, asks, told)
    for (id, index), row in told.items():
        if id in asks and index >= len(asks[id].audit):
            what = f"question {id} has lost entry {index} of its history"
            yield Fault(key, str(row["chain"]), row["seq"], what)


def verify_redactions(
    key: ThreadKey,
    rows: Sequence[AuditRow],
    messages: Iterable[Mapping[str, Json]],
    keys: AuditKeys,
) -> Iterator[Fault]:
    """Say which messages do not say what was put into them in place of other words.

    Args:
        key: the thread.
        rows: of its chain; those that are damaged are left out.
        messages: of the thread, as they are stored. One that is gone can't be compared.
        keys: all that may have sealed it.
    """
    sealed = sealed_rows(key, rows, keys)
    last = {row["messageId"]: row for row in sealed if row["event"] == REDACTED}
    for message in messages:
        row = last.get(message["id"])
        if row is None:
            continue
        # People may have edited its calls since. What the agent proposed is kept beside.
        proposed = message
        for call in proposed_arguments(message.get("metadata")):
            proposed = with_proposed(proposed, call)
        said = {keys.digest(row["key"], words_of(it)) for it in (message, proposed)}
        if row["after"] not in said:
            what = f"message {message['id']} was changed since it was redacted"
            yield Fault(key, str(row["chain"]), row["seq"], what)


def _untold(
    key: ThreadKey, asks: Mapping[str, Interrupt], told: Mapping[tuple[str, int], dict[str, Json]]
) -> Iterator[Fault]:
    """Entries that no row tells of, though the chain had begun."""
    began = min((row["at"] for row in told.values()), default=math.inf)
    for ask in asks.values():
        first = min((index for id, index in told if id == ask.id), default=0)
        for index, entry in enumerate(ask.audit):
            if index >= first and entry.at >= began and (ask.id, index) not in told:
                what = (
                    f"no row tells of entry {index} of question {ask.id} ({entry.status.value} by "
                    f"{entry.actor}): it was written without a key, or not by the bridge"
                )
                yield Fault(key, "", None, what)


_OF_THE_LAST: Final = frozenset({"answer", "vote", "votes"})
_MEANT: Mapping[str, str] = {
    "args": "arguments",
    "at": "time",
    "askedBy": "asker",
    "terms": "response schema, the decisions it offers, or who joined in asking",
    "ruling": "approval rule",
}


def _wrong_with(
    key: ThreadKey,
    chain: str,
    seq: int,
    stored: AuditRow,
    row: dict[str, Any],
    mac: object,
    keys: AuditKeys,
) -> tuple[str | None, bool]:
    """What is wrong with a row by itself, and whether it is the one that belongs there."""
    if not keys.knows(row.get("key")):
        return f"it is sealed with key {row.get('key')}, which is not among those given", True
    if mac != keys.mac(row["key"], row):
        return "it was changed after it was sealed", True
    place = (row.get("scope"), row.get("agent"), row.get("thread"))
    if place != (key.scope, key.agent, key.thread) or row["chain"] != chain:
        return "the row of another thread or chain stands here", False
    if row["seq"] != seq:
        return f"row {row['seq']} stands here", False
    if row["at"] != stored.written_at:
        return "its time was changed beside it", True
    return None, True


def _place(id: str, chain: str) -> int | None:
    """The place that a row's id says, from 1."""
    digits = id.removeprefix(f"{chain}.")
    if not digits.isascii() or not digits.isdigit() or row_id(chain, int(digits)) != id:
        return None
    return int(digits)


def _rows(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member stands there twice")
    return members
