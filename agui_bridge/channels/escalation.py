"""What happens to a question that nobody has answered: more approvers, more time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.approvals.narrowing import escalated
from agui_bridge.protocol.contract.transitions import ESCALATED, Change
from agui_bridge.protocol.threads.approval_rule import Escalation
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import AuditEntry, Interrupt, InterruptStatus
from agui_bridge.stores.base import Expected, Store

__all__ = ["escalate", "escalated_times"]


def escalated_times(ask: Interrupt) -> int:
    """How many steps of its escalation a question has taken.

    Args:
        ask: the question.
    """
    return sum(entry.event == ESCALATED for entry in ask.audit)


def escalated_question(ask: Interrupt, step: Escalation, now: float) -> Interrupt:
    """The question after a step.

    Args:
        ask: an open one with a rule.
        step: whom it adds, and how much time.
        now: store time (seconds).
    """
    assert ask.rule is not None, "a step is one of a rule's"
    rule = escalated(ask.rule, step)
    expires_at = ask.expires_at
    if expires_at is not None:
        # A time that no calendar has would break every page that shows the question.
        expires_at = max(expires_at, min(expires_at + step.extend, now + LONGEST_WAIT))
    entry = AuditEntry(
        InterruptStatus.OPEN, now, "bridge", via="rule", rule=rule.name, event=ESCALATED
    )
    return replace(ask, rule=rule, expires_at=expires_at, audit=(*ask.audit, entry))


async def escalate(
    store: Store, loaded: Loaded, ask: Interrupt, step: Escalation, mint: Callable[[], str]
) -> None:
    """Take a step, on exactly what was loaded.

    Args:
        store: where the thread lives.
        loaded: the thread, which waits for the question.
        ask: the question.
        step: of its rule.
        mint: gives a new id.

    Raises:
        Conflict: the thread has changed meanwhile.
    """
    record = loaded.record
    assert record is not None, "a question has a thread"
    change = Change(record, (escalated_question(ask, step, loaded.now),))
    await store.commit(record.key, change, Expected(version=record.version), mint())
