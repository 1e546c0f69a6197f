"""What it takes to tell whether a resume may be carried out."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, approval_schema
from agui_bridge.protocol.contract.admission import admit
from agui_bridge.protocol.contract.requests import Request, Resume
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Batch,
    Interrupt,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
    ToolCall,
)
from benchmarks.measuring.plan import Plan
from benchmarks.measuring.requests import run_input
from benchmarks.measuring.rounds import interleave, no_collection
from benchmarks.rows import BenchmarkBroken, Row

_PARAMETERS = {
    "type": "object",
    "required": ["table", "limit"],
    "properties": {"table": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}


def _interrupted(asks: int) -> Loaded:
    """A thread that waits for approvals of calls whose arguments may be edited."""
    schema = approval_schema(_PARAMETERS, editable=True)
    interrupts = {
        f"interrupt-{number}": Interrupt(
            id=f"interrupt-{number}",
            batch="batch",
            position=number,
            native_id=f"native-{number}",
            reason="tool_call",
            tool_call=ToolCall(f"call-{number}", "delete_rows", {"table": "users", "limit": 10}),
            response_schema=schema,
            allowed=(APPROVE, DECLINE, EDIT),
        )
        for number in range(asks)
    }
    record = ThreadRecord(
        ThreadKey("default", "agent", "t"),
        status=ThreadStatus.INTERRUPTED,
        version=1,
        batch=Batch("batch"),
    )
    return Loaded(record, 1_000.0, interrupts=interrupts)


def _validate(loaded: Loaded, body: dict[str, Any]) -> None:
    decision = admit(loaded, Request(parse_input(body).entries))
    if not isinstance(decision, Resume):
        raise BenchmarkBroken(f"a valid resume was not admitted: {decision}")


def _per_entry(asks: int, plan: Plan) -> float:
    payload = {"approved": True, "editedArgs": {"table": "users", "limit": 5}}
    entries = [
        {"interruptId": f"interrupt-{number}", "status": "resolved", "payload": payload}
        for number in range(asks)
    ]
    loaded, body = _interrupted(asks), run_input("t", None, resume=entries)

    with no_collection():
        began = time.process_time()
        for _ in range(plan.validations):
            _validate(loaded, body)
        return (time.process_time() - began) / plan.validations / asks


def validation(plan: Plan) -> list[Row]:
    """Parsing, admission and the check against a schema that is compiled already."""
    samples = interleave(
        {"one": partial(_per_entry, 1, plan), "ten": partial(_per_entry, 10, plan)}, plan.rounds
    )
    words = {"one": "a resume of one entry", "ten": "a resume of ten entries, each"}
    return [
        Row(
            f"validation/{name}",
            f"{words[name]}: parse, admit, check against its schema",
            "µs",
            tuple(1e6 * seconds for seconds in samples[name]),
            at_most=40,
        )
        for name in ("one", "ten")
    ]
