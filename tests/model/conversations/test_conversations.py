"""Whatever pages send, whoever is behind: nothing is done twice, nothing that was told is lost.

Source: docs/contract.md, row 8a, rows 18b to 19b, "What an input brings", "Going back".
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest

from tests.model.conversations.schedule import Schedule

pytestmark = pytest.mark.soak

FEW = 60
MANY = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "1000"))

HAPPENS = (
    "executed", "went back", "executed and taken back", "repeats", "runs lost",
    "compared with the thread", "runs that reached nobody", "said twice without ids",
    "looked up and taken back",
    "went back over text at the end", "went back over a call at the end",
)  # fmt: skip
"""What must have happened for the promises to be worth something."""


async def _try(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        schedule = Schedule(seed)
        ledger = await schedule.carry_out()
        assert not ledger.faults, _told(seed, schedule)
        seen += ledger.seen
    return seen


def _told(seed: int, schedule: Schedule) -> str:
    lines = [f"seed {seed}, going_back {schedule.ledger.policy}", *schedule.ledger.faults]
    return "\n".join([*lines, "what led to it:", *schedule.log])


async def test_conversations_of_stale_and_repeating_pages_keep_their_promises() -> None:
    await _try(range(FEW))


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_conversations_keep_their_promises_in_many_schedules(
    record_property: Callable[[str, object], None],
) -> None:
    seen = await _try(range(MANY))

    assert [what for what in HAPPENS if not seen[what]] == []
    record_property("told", f"conversations: {MANY} schedules, 0 faults ({dict(seen)})")
