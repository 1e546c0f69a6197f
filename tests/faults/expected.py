"""What has to be seen of every fault, on each store: the table of docs/faults.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.faults.clocks import CLOCKS
from tests.faults.connections import CONNECTIONS
from tests.faults.crashes import FREEZES, KILLS
from tests.faults.disks import DISKS, LOCKS
from tests.faults.restarts import RESTARTS
from tests.faults.scenario import Scenario
from tests.faults.seen import Seen

__all__ = ["GROUPS", "Group"]

EVERY: Final = ("sqlite", "postgres", "redis")
SERVERS: Final = ("postgres", "redis")
SQLITE: Final = ("sqlite",)

DONE: Final = Seen("success", "success", "resolved", 1)
CUT: Final = "cut off"
LOST: Final = "RUN_INDETERMINATE"
GONE: Final = "STORE_UNAVAILABLE"
REFUSED: Final = "503 STORE_UNAVAILABLE"
EXPIRED: Final = Seen("INTERRUPT_EXPIRED", "INTERRUPT_EXPIRED", "expired", 0)


def _lost(client: str, executed: int, stored: str = "indeterminate") -> Seen:
    return Seen(client, LOST, stored, executed)


@dataclass(frozen=True)
class Group:
    """Faults of one kind.

    Attributes:
        title: of its table.
        scenarios: what is played.
        seen: what has to be seen, by the scenario's name; of the stores in `otherwise` what
            stands there.
        stores: where it can happen.
        apart: whether each takes the store from the others, so that they are played one by one.
        restarts: whether the store's server is ended.
        otherwise: exceptions, by store and name.
    """

    title: str
    scenarios: Sequence[Scenario]
    seen: Mapping[str, Seen]
    stores: Sequence[str] = EVERY
    apart: bool = False
    restarts: bool = False
    otherwise: Mapping[tuple[str, str], Seen] = field(default_factory=dict)

    def on(self, store: str) -> dict[str, Seen]:
        """What has to be seen on a store."""
        return {name: self.otherwise.get((store, name), seen) for name, seen in self.seen.items()}


GROUPS: Final[Mapping[str, Group]] = {
    "kill": Group(
        "A replica is killed",
        KILLS,
        {
            "kill -9 before the claim": Seen(CUT, "success", "resolved", 1),
            "kill -9 after the claim": _lost(CUT, 0),
            "kill -9 in the tool": _lost(CUT, 0),
            "kill -9 after its effect": _lost(CUT, 1),
            "kill -9 before the result is stored": _lost(CUT, 1),
            "kill -9 after the result is stored": _lost(CUT, 1, "resolved"),
            "kill -9 before the final commit": _lost(CUT, 1, "resolved"),
            "kill -9 after the final commit": Seen(CUT, "success", "resolved", 1),
        },
    ),
    "freeze": Group(
        "A replica stands still, and comes back",
        FREEZES,
        {
            "SIGSTOP before the claim, past the lease": DONE,
            "SIGSTOP after the claim, past the lease": _lost(LOST, 0),
            "SIGSTOP in the tool, past the lease": _lost(LOST, 1),
            "SIGSTOP before the result is stored, past the lease": _lost(LOST, 1),
            "SIGSTOP before the final commit, past the lease": _lost(LOST, 1, "resolved"),
            "SIGSTOP before the claim, until the ask has expired": EXPIRED,
        },
    ),
    "connection": Group(
        "The way to the store is cut, slow or gone",
        CONNECTIONS,
        {
            "connection cut, the claim does not arrive": DONE,
            "connection cut, the claim's acknowledgement is lost": DONE,
            "connection cut in the tool": DONE,
            "connection cut, the result does not arrive": DONE,
            "connection cut, the result's acknowledgement is lost": DONE,
            "connection cut, the end's acknowledgement is lost": DONE,
            "store gone for a moment at the claim": DONE,
            "store gone at the claim": Seen(REFUSED, "success", "resolved", 1),
            "store gone, the claim's acknowledgement with it": Seen(
                REFUSED, "success", "resolved", 1
            ),
            "store gone before the result is stored": _lost(GONE, 1),
            "store gone, the end's acknowledgement with it": Seen(GONE, "success", "resolved", 1),
            "store silent past the lease, from before the result is stored": _lost(LOST, 1),
            "store slow: 0.2 s for each round trip": DONE,
        },
        SERVERS,
    ),
    "restart": Group(
        "The store is restarted",
        RESTARTS,
        {
            "store restarted before the claim": DONE,
            "store down for a moment at the claim": DONE,
            "store restarted after the claim": DONE,
            "store restarted in the tool": DONE,
            "store restarted before the end": DONE,
        },
        SERVERS,
        apart=True,
        restarts=True,
    ),
    "disk": Group(
        "The disk is full",
        DISKS,
        {
            "disk full for a moment at the claim": DONE,
            "disk full at the claim": Seen(REFUSED, "success", "resolved", 1),
            "disk full for a moment before the result is stored": DONE,
            "disk full before the result is stored": _lost(GONE, 1),
            "disk full at the end": _lost(GONE, 1, "resolved"),
        },
        SQLITE,
    ),
    "lock": Group(
        "The file is locked",
        LOCKS,
        {
            "file locked for half a second at the claim": DONE,
            "file locked past the lease, from before the result is stored": _lost(LOST, 1),
        },
        SQLITE,
        apart=True,
    ),
    "clock": Group(
        "A replica's clock is wrong",
        CLOCKS,
        {
            "clock an hour ahead": DONE,
            "clock an hour behind": DONE,
            "clock jumps an hour ahead in the tool": DONE,
            "clock jumps an hour ahead, the ask had ten minutes left": DONE,
        },
        otherwise={
            ("sqlite", "clock an hour behind"): _lost(LOST, 0),
            ("sqlite", "clock jumps an hour ahead in the tool"): _lost(LOST, 0),
            ("sqlite", "clock jumps an hour ahead, the ask had ten minutes left"): EXPIRED,
        },
    ),
}
"""All faults, by a short name of their kind."""
