"""Answers to open interrupts, checked before they are sent.

The checks are those of `buildResumeArray` and `HttpAgent` in `@ag-ui/client` 1.0.0, and besides
the payload against the interrupt's schema. The server checks again: its clock and its record of
what is open decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ag_ui.core import Interrupt

from agui_bridge.client.errors import AnswerFault
from agui_bridge.protocol.answers.question_schemas import find_answer_fault
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema

__all__ = ["Answers", "Cancelled", "Resolved", "build_resume", "is_expired"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Somebody decided. A refusal is a decision: `{"approved": False}`.

    Attributes:
        payload: the answer, any JSON value; falsy ones are answers too.
        metadata: about the answer, such as a signature.
    """

    payload: Any = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nobody decided.

    Attributes:
        metadata: goes with the answer, as JSON.
    """

    metadata: Mapping[str, Any] | None = None


Answers = Mapping[str, Resolved | Cancelled] | Iterable[tuple[str, Resolved | Cancelled]]
"""By interrupt id what was decided, or pairs of both."""


def is_expired(interrupt: Interrupt, now: datetime | None = None) -> bool:
    """Whether an interrupt can't be resolved any more; one whose time can't be read never is.

    Args:
        interrupt: its `expires_at` is ISO 8601, in UTC where it names no zone.
        now: by default the time of this machine.
    """
    try:
        end = datetime.fromisoformat(interrupt.expires_at or "")
    except ValueError:
        return False
    end = end if end.tzinfo else end.replace(tzinfo=UTC)
    return end <= (now or datetime.now(UTC))


def build_resume(
    interrupts: Sequence[Interrupt], answers: Answers, *, now: datetime | None = None
) -> list[dict[str, Any]]:
    """Make the `resume` of an input that answers all open interrupts.

    Args:
        interrupts: what is open, as `Client.pending_interrupts` has it.
        answers: one for each of them.
        now: by which they expire; by default this machine's time.

    Returns:
        One entry for each interrupt, in their order.

    Raises:
        AnswerFault: INTERRUPT_DUPLICATE, two answers for one; INTERRUPT_NOT_COVERED, one
            without an answer; INTERRUPT_NOT_FOUND, an answer to none of them;
            INTERRUPT_EXPIRED, resolved too late (cancelling is still possible);
            INVALID_RESUME_PAYLOAD, the payload does not satisfy the schema.
    """
    given = _by_id(answers)
    known = {interrupt.id for interrupt in interrupts}
    _check_none(
        [interrupt.id for interrupt in interrupts if interrupt.id not in given],
        "INTERRUPT_NOT_COVERED",
        "There is no answer to",
    )
    _check_none(
        [interrupt_id for interrupt_id in given if interrupt_id not in known],
        "INTERRUPT_NOT_FOUND",
        "There is no open interrupt",
    )
    return [_entry(interrupt, given[interrupt.id], now) for interrupt in interrupts]


def _by_id(answers: Answers) -> dict[str, Resolved | Cancelled]:
    if isinstance(answers, Mapping):
        return dict(answers)
    given: dict[str, Resolved | Cancelled] = {}
    for interrupt_id, answer in answers:
        if interrupt_id in given:
            _check_none([interrupt_id], "INTERRUPT_DUPLICATE", "There are two answers to")
        given[interrupt_id] = answer
    return given


def _check_none(ids: Sequence[str], code: str, what: str) -> None:
    if ids:
        raise AnswerFault(code, f"{what} {', '.join(ids)}.", tuple(ids))


def _entry(
    interrupt: Interrupt, answer: Resolved | Cancelled, now: datetime | None
) -> dict[str, Any]:
    entry: dict[str, Any] = {"interruptId": interrupt.id}
    if isinstance(answer, Cancelled):
        entry["status"] = "cancelled"
    else:
        if is_expired(interrupt, now):
            raise AnswerFault(
                "INTERRUPT_EXPIRED",
                f"{interrupt.id} expired at {interrupt.expires_at}; it can only be cancelled.",
                (interrupt.id,),
            )
        if fault := _fault(interrupt, answer.payload):
            raise AnswerFault(
                "INVALID_RESUME_PAYLOAD", f"The answer to {interrupt.id}: {fault}", (interrupt.id,)
            )
        entry |= {"status": "resolved", "payload": answer.payload}
    if answer.metadata is not None:
        entry["metadata"] = dict(answer.metadata)
    return entry


def _fault(interrupt: Interrupt, payload: Any) -> str | None:
    if interrupt.response_schema is None:
        return None
    try:
        # It may be anybody's: one that could do harm is not tried.
        check_schema(interrupt.response_schema)
    except UnsafeSchema:
        return None  # its producer checks the answer itself
    return find_answer_fault(interrupt.response_schema, payload)
