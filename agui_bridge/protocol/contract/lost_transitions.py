"""How a thread changes whose run is lost: it is given up, or taken up by another process.

Source: docs/contract.md, "Crash, lease, lost runs, failed delivery" and "Checkpoints".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.transitions import (
    Change,
    answers_of,
    closed_as,
    existing,
    input_receipt,
    moved,
)
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Receipt,
    RunEnding,
    ThreadStatus,
)


def recover(loaded: Loaded, messages: Sequence[StoredMessage] = ()) -> Change:
    """Row 0: the owner is gone. What it may have done is unknown and never done again.

    Claimed interrupts whose result was stored are closed already (see `flush`). A run that was
    taken up as often as may be has failed.
    """
    record = existing(loaded)
    failed = record.checkpoint is not None and record.checkpoint.is_given_up
    outcome: Literal["failed", "lost"] = "failed" if failed else "lost"
    code = "RUN_GIVEN_UP" if failed else "RUN_INDETERMINATE"
    ended = RunEnding(record.run.token, outcome) if record.run else record.ended
    idle = replace(
        record,
        status=ThreadStatus.IDLE,
        run=None,
        batch=None,
        ended=ended,
        # What an adapter noted is of the run before the lost one, which may have changed all of it.
        memo=None,
        checkpoint=None,
    )
    lost = input_receipt(record.run, outcome, loaded.now, code=code)
    if record.batch is None:
        return Change(record=idle, receipts=lost, messages=tuple(messages))
    asks = loaded.batch_interrupts()
    return Change(
        record=replace(idle, closed=(*record.closed, closed_as(record.batch, "lost"))),
        interrupts=tuple(
            moved(ask, InterruptStatus.INDETERMINATE, loaded.now, "bridge")
            for ask in asks
            if ask.status is InterruptStatus.CLAIMED
        ),
        receipts=(
            Receipt(
                batch=record.batch.id,
                outcome=outcome,
                answers=answers_of(asks),
                code=code,
                lease=record.run.token if record.run else None,
                at=loaded.now,
            ),
            *lost,
        ),
        messages=tuple(messages),
    )


def take_up(loaded: Loaded, token: str, lease_seconds: float) -> Change:
    """Row 0: the run goes on under a new lease, from where it stands; what is claimed stays so.

    Args:
        loaded: the thread; its run is lost and can go on.
        token: of the new lease.
        lease_seconds: how long that is.
    """
    record = existing(loaded)
    run, point = record.run, record.checkpoint
    assert run is not None and point is not None, "only such a run can go on"
    return Change(
        record=replace(
            record,
            run=replace(run, token=token),
            checkpoint=point.taken_up(run.token, loaded.now, lease_seconds),
        ),
        lease_seconds=lease_seconds,
        # What was said since the checkpoint is said again.
        drops_words=True,
    )


def close_stranded(loaded: Loaded, asks: Iterable[Interrupt]) -> Change:
    """Questions that are claimed on a thread that does not run: what became of them is unknown.

    A store that lost its last writes may hold such, and one that an older version wrote to.
    """
    return Change(
        record=existing(loaded),
        interrupts=tuple(
            moved(ask, InterruptStatus.INDETERMINATE, loaded.now, "bridge") for ask in asks
        ),
    )
