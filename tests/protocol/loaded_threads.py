"""Words for threads and requests, so that a test of admission reads as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, approval_schema
from agui_bridge.protocol.contract.requests import Entry, Request
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Batch,
    Interrupt,
    InterruptStatus,
    Json,
    Receipt,
    ReceiptOutcome,
    RecordedAnswer,
    RunLease,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
    ToolCall,
)

__all__ = [
    "ANSWERED", "APPROVED", "CANCELLED", "CLAIMED", "EXPIRED", "INDETERMINATE", "KEY", "MESSAGE",
    "NOW", "OPEN", "RESOLVED", "ask", "closed_as", "idle", "interrupted", "no", "receipt", "resume",
    "running", "yes",
]  # fmt: skip

NOW: Final = 1000.0
KEY: Final = ThreadKey("scope", "agent", "thread")
APPROVED: Final = {"approved": True}
OPEN, ANSWERED, CLAIMED = InterruptStatus.OPEN, InterruptStatus.ANSWERED, InterruptStatus.CLAIMED
RESOLVED, EXPIRED = InterruptStatus.RESOLVED, InterruptStatus.EXPIRED
CANCELLED, INDETERMINATE = InterruptStatus.CANCELLED, InterruptStatus.INDETERMINATE


def yes(id: str, payload: Json = APPROVED) -> Entry:
    return Entry(id, RecordedAnswer("resolved", payload))


def no(id: str) -> Entry:
    return Entry(id, RecordedAnswer("cancelled"))


def resume(*entries: Entry, **options: Any) -> Request:
    return Request(entries, **options)


MESSAGE: Final = Request(has_new_message=True)


def ask(
    id: str,
    status: InterruptStatus = OPEN,
    *,
    batch: str = "now",
    answer: Entry | None = None,
    expires_at: float | None = None,
    tool: bool = True,
    schema: Mapping[str, Json] | None = None,
) -> Interrupt:
    """An interrupt; a tool approval unless told otherwise."""
    return Interrupt(
        id=id,
        batch=batch,
        position=0,
        native_id=id,
        reason="tool_call" if tool else "input_required",
        status=status,
        tool_call=ToolCall("call", "delete", {"n": 1}) if tool else None,
        response_schema=approval_schema(None, editable=False) if tool else schema,
        allowed=(APPROVE, DECLINE) if tool else (),
        expires_at=expires_at,
        answer=answer.answer if answer else None,
    )


def idle(*closed: Interrupt, **receipts: Receipt) -> Loaded:
    """A thread that does nothing, with interrupts of closed batches."""
    return _thread(ThreadStatus.IDLE, closed, receipts)


def interrupted(*asks: Interrupt, **receipts: Receipt) -> Loaded:
    """A thread that waits for answers to the asks of batch "now"."""
    return _thread(ThreadStatus.INTERRUPTED, asks, receipts, Batch("now"))


def running(
    *asks: Interrupt, left: float = 10.0, stop: float | None = None, **r: Receipt
) -> Loaded:
    """A thread that runs for `left` more seconds, and is being stopped until `stop`."""
    loaded = _thread(ThreadStatus.RUNNING, asks, r, Batch("now") if asks else None)
    assert loaded.record is not None
    record = replace(
        loaded.record,
        run=RunLease("run", "token", NOW + left),
        stop=StopRequest("token", False, stop) if stop is not None else None,
    )
    return replace(loaded, record=record)


def _thread(
    status: ThreadStatus,
    asks: tuple[Interrupt, ...],
    receipts: Mapping[str, Receipt],
    batch: Batch | None = None,
) -> Loaded:
    record = ThreadRecord(KEY, status, version=7, batch=batch)
    placed = {a.id: replace(a, position=at) for at, a in enumerate(asks)}
    return Loaded(record, NOW, placed, dict(receipts))


def receipt(outcome: ReceiptOutcome, *answers: Entry, code: str | None = None) -> Receipt:
    return Receipt("old", outcome, {e.interrupt_id: e.answer for e in answers}, code)


def closed_as(outcome: ReceiptOutcome, *answers: Entry, code: str | None = None) -> Loaded:
    """An idle thread whose batch "old", of these asks, was closed so."""
    status = {"lost": INDETERMINATE, "expired": EXPIRED, "cancelled": CANCELLED}.get(
        outcome, RESOLVED
    )
    asks = [ask(entry.interrupt_id, status, batch="old", answer=entry) for entry in answers]
    answered = () if outcome in ("expired", "cancelled") else answers
    return idle(*asks, old=receipt(outcome, *answered, code=code))
