"""What a thread keeps of its audit chain: the rows, and where the last one is.

`protocol.audit` makes and judges them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from agui_bridge.frozen import dataclass

__all__ = ["AuditRow", "ChainHead"]


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of a thread's chain, kept in its record.

    Attributes:
        chain: names the chain: a thread that is deleted and made anew begins another.
        seq: number of its last row, from 1.
        mac: of that row.
        batch: the pause whose questions are counted in `sealed`.
        sealed: how many entries of each question's history have a row, by interrupt id.
    """

    chain: str
    seq: int
    mac: str
    batch: str | None = None
    sealed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row of a chain. It is written once, and outlives its thread.

    Attributes:
        id: its name within the thread; names of one chain sort in its order.
        written_at: store time (seconds) of what it tells.
        data: the row as JSON; docs/audit.md has its members.
    """

    id: str
    written_at: float
    data: str
