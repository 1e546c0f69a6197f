"""Sealing: what a change does to questions, as rows of the thread's audit chain.

The rows go into the very commit that they tell of, so that neither can be without the other. Their
order is the thread's: whoever commits holds its last row, by compare-and-swap or by the lease.

A commit also seals what it finds of a question's history without a row. Such a row is `late`: the
bridge did not see it happen, and `counting` does not believe it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Final

from agui_bridge.frozen import replace
from agui_bridge.protocol.audit.keys import AuditKeys
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.audit_chain import AuditRow, ChainHead
from agui_bridge.protocol.threads.records import AuditEntry, Interrupt, Json, ThreadKey, Vote

__all__ = ["LATE", "plain_vote", "row_id", "seal", "told_of"]

LATE: Final = "late"
"""A member that is true in the row of an entry from before the commit that sealed it."""

# ASCII, since every database takes it; what is sealed is the row's canonical form.
_text: Final[Callable[[Json], str]] = json.JSONEncoder(separators=(",", ":")).encode


def seal(key: ThreadKey, change: Change, write_id: str, keys: AuditKeys) -> Change:
    """Add the rows of a change to it, and the chain's new end to its record.

    Args:
        key: the thread.
        change: what is about to be committed, made from the record as it is stored.
        write_id: of the commit; names a chain that begins, so that a retry writes the same rows.
        keys: the newest seals.

    Returns:
        The change itself where it has nothing new about any question.
    """
    record = change.record
    batch = record.batch.id if record.batch is not None else None
    before = record.chain or ChainHead(write_id, 0, "")
    sealed = dict(before.sealed) if before.batch == batch else {}
    rows: list[AuditRow] = []
    seq, mac = before.seq, before.mac
    for ask in {ask.id: ask for ask in change.interrupts}.values():
        first = _sealed_of(ask, before, batch)
        for index, entry in _from(ask, first):
            seq += 1
            row: dict[str, Json] = {
                "chain": before.chain,
                "seq": seq,
                "prev": mac,
                "key": keys.newest,
                **told_of(key, ask, index, entry, keys, keys.newest),
            }
            if entry.at != ask.audit[-1].at:
                row[LATE] = True
            row["mac"] = mac = keys.mac(keys.newest, row)
            rows.append(AuditRow(row_id(before.chain, seq), entry.at, _text(row)))
        if ask.batch == batch:
            sealed[ask.id] = len(ask.audit)
    if not rows:
        return change
    head = ChainHead(before.chain, seq, mac, batch, sealed)
    return replace(change, record=replace(record, chain=head), audit=tuple(rows))


def told_of(
    key: ThreadKey,
    ask: Interrupt,
    index: int,
    entry: AuditEntry,
    keys: AuditKeys,
    key_id: str,
) -> dict[str, Json]:
    """What a row tells of one entry of a question's history.

    Args:
        key: the thread.
        ask: the question, as it is after the entry.
        index: the entry's place in its history.
        entry: the entry.
        keys: make the digests.
        key_id: which of them.
    """
    call = ask.tool_call
    answer = _answer_of(ask, index, entry)
    terms = [list(ask.allowed), _plain(ask.response_schema), list(ask.joined_by)]
    votes: list[Json] = [plain_vote(vote) for vote in ask.votes]
    return {
        "scope": key.scope,
        "agent": key.agent,
        "thread": key.thread,
        "interrupt": ask.id,
        "entry": index,
        "status": entry.status.value,
        "event": entry.event,
        "at": entry.at,
        "actor": entry.actor,
        "via": entry.via,
        "rule": entry.rule,
        "askedBy": ask.asked_by,
        "tool": call and call.name,
        "args": call and keys.digest(key_id, dict(call.args)),
        "message": ask.message and keys.digest(key_id, ask.message),
        "answer": answer and keys.digest(key_id, answer),
        "terms": keys.digest(key_id, terms),
        "ruling": ask.rule and keys.digest(key_id, _plain_rule(ask.rule)),
        "votes": votes and keys.digest(key_id, votes),
        "vote": next((keys.digest(key_id, v) for v in votes if v[0] == entry.actor), None),
    }


def plain_vote(vote: Vote) -> list[Json]:
    """All that a vote says, as JSON."""
    given = [vote.answer.status, vote.answer.payload]
    return [vote.actor, sorted(vote.roles), given, vote.args_digest, vote.at, vote.via]


def _plain_rule(rule: ApprovalRule) -> Json:
    """What a rule says beyond the defaults: a field that a later version adds changes nothing."""
    said = asdict(rule)
    return {it.name: said[it.name] for it in fields(rule) if said[it.name] != it.default}


def _plain(schema: Mapping[str, Json] | None) -> Json:
    return None if schema is None else dict(schema)


def row_id(chain: str, seq: int) -> str:
    """The name of a row within its thread."""
    return f"{chain}.{seq:09d}"


def _sealed_of(ask: Interrupt, before: ChainHead, batch: str | None) -> int:
    """How many entries of a question's history have rows already."""
    if ask.batch == before.batch:
        return before.sealed.get(ask.id, 0)
    if ask.batch == batch:
        return 0
    # Its pause was over before: a result that was late is one entry.
    return len(ask.audit) - 1


def _from(ask: Interrupt, first: int) -> Iterator[tuple[int, AuditEntry]]:
    return iter(list(enumerate(ask.audit))[max(first, 0) :])


def _answer_of(ask: Interrupt, index: int, entry: AuditEntry) -> list[Json] | None:
    """The answer that an entry is about: a vote's, else the question's where it is the last."""
    given = ask.answer if index == len(ask.audit) - 1 else None
    if entry.event == "voted":
        votes = [vote.answer for vote in ask.votes if vote.actor == entry.actor]
        given = votes[-1] if votes else None
    return None if given is None else [given.status, given.payload]
