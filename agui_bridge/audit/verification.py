"""Whether the audit chains of a store, or of an export, are whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agui_bridge.audit.export import threads_of
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.audit.keys import AuditKeys
from agui_bridge.protocol.audit.sealing import row_id
from agui_bridge.protocol.audit.verifying import (
    Fault,
    Mark,
    read_row,
    verify_chain,
    verify_questions,
)
from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

__all__ = ["Anchor", "Verdict", "read_anchor", "verify_export", "verify_store"]

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
        faults: what is wrong, thread by thread.
    """

    threads: int = 0
    rows: int = 0
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
    """Verify the chains of a store, and what its questions say against them.

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
        questions = await store.list_interrupts(
            key.scope, agent=key.agent, thread=key.thread, limit=_ALL
        )
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
        verdict.faults += verify_questions(key, chains[head.chain], asks, keys)
    verdict.threads += 1
    verdict.rows += len(rows)
    verdict.gone += after is None
    return {(key, chain) for chain in chains}


def _key_of(row: Mapping[str, Any]) -> ThreadKey:
    return ThreadKey(row["scope"], row["agent"], row["thread"])


def _is_row(row: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(row.get(name), str) for name in ("scope", "agent", "thread", "chain"))
        and type(row.get("seq")) is int
        and isinstance(row.get("at"), int | float)
    )
