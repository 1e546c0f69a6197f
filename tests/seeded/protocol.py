"""Faults of the pure core: what is admitted, compared, let in and written."""

from __future__ import annotations

from typing import Final

from tests.seeded.fault import Fault

__all__ = ["PROTOCOL"]

PROTOCOL: Final = (
    Fault(
        id="payload-unchecked",
        broken="The row of admission that checks payloads is gone: any answer resolves a question.",
        file="agui_bridge/protocol/contract/admission.py",
        before='    ("15", _invalid_payload),\n',
        after="",
        tests="tests/protocol/contract/test_admission.py",
    ),
    Fault(
        id="approved-as-text",
        broken='`"approved": "true"` counts as a decision about a tool call.',
        file="agui_bridge/protocol/answers/decisions.py",
        before='not isinstance(payload.get("approved"), bool)',
        after='not isinstance(payload.get("approved"), bool | str)',
        tests="tests/protocol/answers/test_decisions.py",
    ),
    Fault(
        id="answers-compared-loosely",
        broken="An answer of 1 is the same as one of true, so that a changed answer is replayed.",
        file="agui_bridge/protocol/approvals.py",
        before="same_json(answer.payload, other.payload)",
        after="answer.payload == other.payload",
        tests="tests/protocol/contract/test_admission.py",
    ),
    Fault(
        id="infinity-accepted",
        broken="A number that JSON can't say, such as 1e999 when it is read, is let in.",
        file="agui_bridge/protocol/json_values.py",
        before="if not math.isfinite(node):\n                    return False",
        after="if math.isnan(node):\n                    return False",
        tests="tests/protocol/test_json_values.py",
    ),
    Fault(
        id="sse-drops-members",
        broken="The short path for deltas is taken for events with more members, which get lost.",
        file="agui_bridge/protocol/wire/sse.py",
        before="if len(event) == 3 and (prefixes",
        after="if (prefixes",
        tests="tests/protocol/wire/test_sse.py",
    ),
    Fault(
        id="form-loses-required",
        broken="A form made of a schema does not say which fields must be filled in.",
        file="agui_bridge/protocol/answers/forms.py",
        before="required=name in required)",
        after="required=False)",
        tests="tests/protocol/answers/test_forms.py",
    ),
    Fault(
        id="lost-run-resolved",
        broken="What a crashed run was carrying out counts as done, though nobody knows.",
        file="agui_bridge/protocol/contract/lost_transitions.py",
        before='moved(ask, InterruptStatus.INDETERMINATE, loaded.now, "bridge")\n            for',
        after='closed_by_answer(ask, loaded.now, "bridge")\n            for',
        tests="tests/protocol/contract/test_transitions.py",
    ),
    Fault(
        id="receipt-missing",
        broken="A finished run leaves no receipt: the same answer again begins another run.",
        file="agui_bridge/protocol/contract/end_transitions.py",
        before="    if record.batch is not None:\n        receipts = (",
        after="    if record.batch is not None and end.batch is not None:\n        receipts = (",
        tests="tests/protocol/contract/test_transitions.py",
    ),
)
