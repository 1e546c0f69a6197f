"""The audit chain for those who read it: exported and verified."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.audit.sealing import REDACTED, AuditKeys, row_id
from agui_bridge.protocol.audit.verifying import (
    Fault,
    Mark,
    read_row,
    verify_chain,
    verify_questions,
    verify_redactions,
)
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import QuestionFilter, Store

Anchor = Mapping[tuple[ThreadKey, str], Mark]
"""The last row of each chain of an earlier export."""

_ALL = 2**31 - 1
_NOWHERE = ThreadKey("", "", "")


@dataclass
class Verdict:
    """What was found.

    Attributes:
        threads: how many were looked at.
        rows: how many of theirs.
        gone: threads that were deleted: whether the end of their chain is complete is told by an
            anchor alone.
        redactions: rows that tell of words which an agent took back.
        faults: what is wrong, thread by thread.
    """

    threads: int = 0
    rows: int = 0
    redactions: int = 0
    gone: int = 0
    faults: list[Fault] = field(default_factory=list)


def read_anchor(lines: Iterable[str], source: str, keys: AuditKeys) -> Anchor:
    """The ends of the chains of an earlier export.

    Args:
        lines: of a JSONL export.
        source: what the export is called in faults.
        keys: all that may have sealed its rows.

    Raises:
        ConfigurationError: a line is no row that one of the keys has sealed.
    """
    ends: dict[tuple[ThreadKey, str], Mark] = {}
    for number, line in enumerate(lines, 1):
        row = read_row(line)
        mac = row.pop("mac", None) if row is not None else None
        if row is None or not _is_row(row) or not keys.knows(row.get("key")):
            raise ConfigurationError(f"{source}: line {number} is no row of a key that was given.")
        if mac != keys.mac(row["key"], row):
            raise ConfigurationError(f"{source}: line {number} was changed after it was sealed.")
        place = (_key_of(row), row["chain"])
        if place not in ends or ends[place].seq < row["seq"]:
            ends[place] = Mark(row["seq"], mac, source)
    return ends


async def verify_store(
    store: Store,
    keys: AuditKeys,
    *,
    anchor: Anchor | None = None,
    scope: str | None = None,
    only: ThreadKey | None = None,
) -> Verdict:
    """Verify the chains of a store, and what its questions and messages say against them.

    Args:
        store: an open one.
        keys: all that may have sealed rows.
        anchor: what must be there, from an earlier export.
        scope: only its threads; None is all.
        only: a single thread, also where none of its rows are left.
    """
    verdict, anchor = Verdict(), anchor or {}
    seen: set[tuple[ThreadKey, str]] = set()
    if only is not None:
        seen |= await _verify_thread(store, only, keys, anchor, verdict)
    else:
        async for key in threads_of(store, scope):
            seen |= await _verify_thread(store, key, keys, anchor, verdict)
    for (key, chain), mark in anchor.items():
        wanted = key == only if only is not None else scope in (None, key.scope)
        if wanted and (key, chain) not in seen:
            what = f"all of its rows are missing: {mark.source} has {mark.seq} of them"
            verdict.faults.append(Fault(key, chain, 1, what))
    return verdict


def verify_export(lines: Iterable[str], keys: AuditKeys, anchor: Anchor | None = None) -> Verdict:
    """Verify a JSONL export by itself. That its chains are complete is told by an anchor alone.

    Args:
        lines: of the export.
        keys: all that may have sealed rows.
        anchor: what must be there, from an earlier export.
    """
    verdict = Verdict()
    chains: defaultdict[tuple[ThreadKey, str], list[AuditRow]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        row = read_row(line)
        if row is None or not _is_row(row):
            verdict.faults.append(Fault(_NOWHERE, "", None, f"line {number} is no row"))
            continue
        id = row_id(row["chain"], row["seq"])
        chains[_key_of(row), row["chain"]].append(AuditRow(id, row["at"], line))
        verdict.rows += 1
        verdict.redactions += _redacts(row)
    marks = anchor or {}
    for place in (*chains, *(place for place in marks if place not in chains)):
        expected = [marks[place]] if place in marks else []
        verdict.faults += verify_chain(*place, chains.get(place, []), keys, expected)
    verdict.threads = len({key for key, _ in chains})
    return verdict


async def _verify_thread(
    store: Store, key: ThreadKey, keys: AuditKeys, anchor: Anchor, verdict: Verdict
) -> set[tuple[ThreadKey, str]]:
    """Verify a thread, and give the chains that it has."""
    while True:
        before = (await store.load(key)).record
        rows = await store.audit.rows(key)
        redacts = any(REDACTED in row.data for row in rows)
        stored = (await store.load(key, messages=True)).messages if redacts else ()
        which = QuestionFilter(agent=key.agent, thread=key.thread)
        questions = await store.list_interrupts(key.scope, which, limit=_ALL)
        after = (await store.load(key)).record
        # Else somebody wrote in between, and what was read is of two times.
        if (before and before.version) == (after and after.version):
            break
    chains: defaultdict[str, list[AuditRow]] = defaultdict(list)
    for row in rows:
        chains[row.id.rpartition(".")[0]].append(row)
    head = after.chain if after is not None else None
    if head is not None:
        chains.setdefault(head.chain, [])
    for chain, its in chains.items():
        marks = [anchor[key, chain]] if (key, chain) in anchor else []
        ends = head is not None and head.chain == chain
        if head is not None and ends:
            marks.append(Mark.of(head))
        verdict.faults += verify_chain(key, chain, its, keys, marks, is_whole=ends)
    if head is not None:
        asks = {row.interrupt.id: row.interrupt for row in questions}
        messages = [row.message for row in stored]
        verdict.faults += verify_questions(key, chains[head.chain], asks, keys)
        verdict.faults += verify_redactions(key, chains[head.chain], messages, keys)
    verdict.threads += 1
    verdict.rows += len(rows)
    verdict.redactions += sum(_redacts(read_row(row.data)) for row in rows)
    verdict.gone += after is None
    return {(key, chain) for chain in chains}


def _key_of(row: Mapping[str, Any]) -> ThreadKey:
    return ThreadKey(row["scope"], row["agent"], row["thread"])


def _redacts(row: Mapping[str, Any] | None) -> bool:
    return row is not None and row.get("event") == REDACTED


def _is_row(row: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(row.get(name), str) for name in ("scope", "agent", "thread", "chain"))
        and type(row.get("seq")) is int
        and isinstance(row.get("at"), int | float)
    )


ExportFormat = Literal["jsonl", "csv"]

COLUMNS: Final = (
    *("at", "scope", "agent", "thread", "interrupt", "entry", "status", "event"),
    *("actor", "via", "rule", "askedBy", "tool", "args", "message", "answer"),
    *("terms", "ruling", "votes", "vote", "late"),
    *("run", "messageId", "before", "after"),
    *("chain", "seq", "prev", "key", "mac"),
)
"""The columns of a CSV file; the members of a row have the same names."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets carry out."""


async def export_lines(
    store: Store, format: ExportFormat, *, scope: str | None = None, heads: bool = False
) -> AsyncIterator[str]:
    """The rows of a store, one a line, those of a thread together.

    Args:
        store: an open one.
        format: `jsonl` gives the rows as they are stored, which can be verified; `csv` is for
            spreadsheets, begins with the names of the columns, and marks what would be a formula
            with an apostrophe.
        scope: only its rows; None is all.
        heads: only the last row of each chain.
    """
    if format == "csv":
        yield _csv(COLUMNS)
    async for key in threads_of(store, scope):
        rows = await store.audit.rows(key)
        if heads:
            rows = list({row.id.rpartition(".")[0]: row for row in rows}.values())
        for row in rows:
            yield csv_line(row) if format == "csv" else f"{row.data}\n"


async def threads_of(store: Store, scope: str | None = None) -> AsyncIterator[ThreadKey]:
    """All threads that have rows, a page at a time.

    Args:
        store: an open one.
        scope: only those of one; None is all.
    """
    after: ThreadKey | None = None
    while page := await store.audit.threads(scope=scope, after=after):
        for key in page:
            yield key
        after = page[-1]


def csv_line(row: AuditRow) -> str:
    """A row as a line of CSV; one that is damaged has nothing but its time.

    Args:
        row: as it is stored.
    """
    members: Mapping[str, Any] = read_row(row.data) or {"at": row.written_at}
    return _csv(tuple(_cell(members.get(name)) for name in COLUMNS))


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv(cells: tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
