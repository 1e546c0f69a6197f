"""One thread as it is kept in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.records import (
    ClosedBatch,
    Interrupt,
    Json,
    Receipt,
    RecordedAnswer,
    ThreadRecord,
    ToolCall,
)
from agui_bridge.stores.codec import decode, encode
from agui_bridge.stores.deliveries import Delivery


@dataclass(slots=True)
class StoredThread:
    """A thread's rows.

    Attributes:
        record: the thread's own.
        interrupts: by id.
        raised_at: the time of each interrupt's first commit.
        receipts: by batch.
        messages: by id.
        superseded: ids of the messages that are not in context.
        announced: by interrupt whether its end is planned for too.
        deliveries: by id.
        words: what a run is saying, behind the token of its lease.
    """

    record: ThreadRecord
    interrupts: dict[str, Interrupt] = field(default_factory=dict)
    raised_at: dict[str, float] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    messages: dict[str, StoredMessage] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    announced: dict[str, bool] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    words: tuple[str, StoredMessage] | None = None

    def batch(self) -> list[Interrupt]:
        """The interrupts of the record's own batch."""
        batch = self.record.batch.id if self.record.batch else None
        return [ask for ask in self.interrupts.values() if ask.batch == batch]


# --- copies of records that share nothing mutable, and hold nothing but JSON ---
#
# For a store that keeps records as they are. Values that are not JSON raise `ValueError` or
# `TypeError`, as `codec` does, and what JSON can't tell apart (tuples, subclasses) comes out plain.

_LONGEST_INT = 14_000
"""Bits of an integer that is surely written as decimal digits."""


def copy_thread(record: ThreadRecord) -> ThreadRecord:
    """Copy a record; one that holds nothing mutable is returned as it is."""
    batch, state, handoff = record.batch, _copy(record.state), _copy(record.handoff)
    ended = record.ended
    memo = _copy(record.memo)
    point = record.checkpoint
    continuation = _copy(batch.continuation) if batch is not None else None
    if batch is not None and continuation is not batch.continuation:
        batch = replace(batch, continuation=continuation)
    if (
        batch is record.batch
        and state is record.state
        and handoff is record.handoff
        and memo is record.memo
        and not record.closed
        and (ended is None or ended.result is None)
        and not record.held_context
        and point is None
    ):
        return record
    return replace(
        record,
        batch=batch,
        state=state,
        handoff=handoff,
        memo=memo,
        ended=ended and replace(ended, result=_copy(ended.result)),
        held_context=tuple(_copy(dict(entry)) for entry in record.held_context),
        checkpoint=point
        and replace(point, input=_copy(dict(point.input)), standing=_copy(point.standing)),
        closed=tuple(ClosedBatch(_copy(one.continuation), one.cause) for one in record.closed),
    )


def copy_interrupt(interrupt: Interrupt) -> Interrupt:
    """Copy an interrupt."""
    call = interrupt.tool_call
    return replace(
        interrupt,
        tool_call=call and ToolCall(call.id, call.name, _copy(dict(call.args))),
        response_schema=_copy_mapping(interrupt.response_schema),
        metadata=_copy_mapping(interrupt.metadata),
        answer=interrupt.answer and _copy_answer(interrupt.answer),
    )


def copy_receipt(receipt: Receipt) -> Receipt:
    """Copy a receipt."""
    answers = {id: _copy_answer(answer) for id, answer in receipt.answers.items()}
    return replace(receipt, answers=answers)


def copy_message(message: StoredMessage) -> StoredMessage:
    """Copy a message."""
    return StoredMessage(message.id, message.position, _copy(message.message))


def _copy_answer(answer: RecordedAnswer) -> RecordedAnswer:
    return RecordedAnswer(answer.status, _copy(answer.payload))


def _copy_mapping(mapping: Mapping[str, Json] | None) -> Json:
    return None if mapping is None else _copy(dict(mapping))


def _copy(value: Json) -> Json:
    """A copy of a JSON value; whatever is not plainly JSON goes by its text."""
    try:
        return _plain_copy(value)
    except RecursionError:
        return decode(encode(value))


def _plain_copy(value: Json) -> Json:
    # Twice as fast as by way of text, and a thread has many messages.
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is dict:
        copied = {}
        for key, item in value.items():
            if type(key) is not str:
                return decode(encode(value))
            copied[key] = item if type(item) is str else _plain_copy(item)
        return copied
    if kind is list:
        return [item if type(item) is str else _plain_copy(item) for item in value]
    if kind is int and value.bit_length() <= _LONGEST_INT:
        return value
    if kind is float and math.isfinite(value):
        return value
    return decode(encode(value))
