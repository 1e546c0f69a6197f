"""`build_resume`: every check of the TypeScript helpers, and the schema."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from ag_ui.core import Interrupt

from agui_bridge.client import AnswerFault, Cancelled, Resolved, build_resume, is_expired

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
APPROVAL = {
    "type": "object",
    "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}},
}
A = Interrupt(id="a", reason="tool_call", response_schema=APPROVAL)
B = Interrupt(id="b", reason="input_required")
LATE = Interrupt(id="late", reason="confirmation", expires_at="2026-01-01T11:59:59.000Z")
YES = Resolved({"approved": True})


def test_entries_come_in_the_order_of_the_questions_falsy_payloads_and_metadata_included() -> None:
    answers = {"b": Resolved(0, {"signed": "x"}), "a": YES}
    assert build_resume([A, B], answers) == [
        {"interruptId": "a", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "b", "status": "resolved", "payload": 0, "metadata": {"signed": "x"}},
    ]


def test_what_expired_can_be_cancelled() -> None:
    assert build_resume([LATE], {"late": Cancelled()}, now=NOW) == [
        {"interruptId": "late", "status": "cancelled"}
    ]


@pytest.mark.parametrize(
    ("interrupts", "answers", "code", "ids"),
    [
        ([A, B], {"a": YES}, "INTERRUPT_NOT_COVERED", ("b",)),
        ([B], {"b": YES, "c": YES}, "INTERRUPT_NOT_FOUND", ("c",)),
        ([], {"c": YES}, "INTERRUPT_NOT_FOUND", ("c",)),
        ([A], {"a-typo": YES}, "INTERRUPT_NOT_FOUND", ("a-typo",)),
        ([A], [("a", YES), ("a", YES)], "INTERRUPT_DUPLICATE", ("a",)),
        ([LATE], {"late": Resolved()}, "INTERRUPT_EXPIRED", ("late",)),
        ([A], {"a": Resolved({"approved": "true"})}, "INVALID_RESUME_PAYLOAD", ("a",)),
        ([A], {"a": Resolved()}, "INVALID_RESUME_PAYLOAD", ("a",)),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    interrupts: list[Interrupt], answers: Any, code: str, ids: tuple[str, ...]
) -> None:
    with pytest.raises(AnswerFault) as fault:
        build_resume(interrupts, answers, now=NOW)
    assert (fault.value.code, fault.value.interrupt_ids) == (code, ids)


def test_an_answer_without_its_class_says_which_one_it_lacks() -> None:
    bare: Any = {"a": {"approved": True}}
    with pytest.raises(TypeError, match=r"a is a dict: write Resolved\(payload\), or Cancelled"):
        build_resume([A], bare)


def test_a_schema_that_could_do_harm_is_left_to_its_producer() -> None:
    elsewhere = Interrupt(id="x", reason="a", response_schema={"$ref": "https://example.com/s"})
    assert build_resume([elsewhere], {"x": Resolved(1)})[0]["payload"] == 1


@pytest.mark.parametrize(
    ("time", "expired"),
    [
        ("2026-01-01T12:00:00Z", True),
        ("2026-01-01T13:30:00+02:00", True),
        ("2026-01-01T12:00:01Z", False),
        ("2026-01-01T12:00:00", True),
        ("soon", False),
        (None, False),
    ],
)
def test_expiry(time: str | None, expired: bool) -> None:
    assert is_expired(Interrupt(id="x", reason="a", expires_at=time), NOW) is expired
