"""Chains for the tests of the audit: a thread's commits, sealed one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agui_bridge.protocol.audit.sealing import AuditKeys, seal
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey, ThreadRecord

KEYS = AuditKeys(["k" * 32])
KEY = ThreadKey("scope", "agent", "thread")


@dataclass
class Chain:
    """A thread whose commits are sealed.

    Attributes:
        record: as it is stored.
        rows: all that were written.
    """

    record: ThreadRecord = field(default_factory=lambda: ThreadRecord(KEY))
    rows: list[AuditRow] = field(default_factory=list)
    asks: dict[str, Interrupt] = field(default_factory=dict)
    commits: int = 0

    def commit(self, change: Change, keys: AuditKeys = KEYS) -> Change:
        """Seal a change and store it."""
        change = replace(change, record=replace(change.record, chain=self.record.chain))
        self.commits += 1
        change = seal(KEY, change, f"write-{self.commits}", keys)
        self.record = change.record
        self.rows += change.audit
        self.asks |= {ask.id: ask for ask in change.interrupts}
        return change
