"""Records that an earlier version wrote are read: what it did not know has its default."""

import json
from dataclasses import replace

from agui_bridge.protocol.threads.records import AuditEntry
from agui_bridge.stores.codec import (
    decode_interrupt,
    decode_thread,
    encode_interrupt,
    encode_thread,
)
from tests.stores.samples import full_interrupt, full_record


def test_a_record_without_its_newest_members_is_read() -> None:
    record = full_record()
    assert record.batch is not None
    written = json.loads(encode_thread(record))
    for member in (
        "unheard",
        "held_context",
        "iteration",
        "memo",
        "rewound",
        "gone_calls",
        "kept",
        "askers",
        "archived",
        "archived_until",
    ):
        del written[member]
    written["batch"] = written["batch"][:2]

    read = decode_thread(json.dumps(written), record.key)

    assert read.batch == replace(record.batch, trace=None, run_id="")
    assert (read.unheard, read.held_context) == ((), ())
    assert (read.closed, read.memo) == (record.closed, None)
    assert (read.rewound, read.gone_calls, read.kept, read.askers) == ((), (), None, ())
    assert (read.archived, read.archived_until) == ((), None)
    assert record.ended is not None
    assert read.ended == replace(record.ended, iteration=None)


def test_an_interrupt_without_its_newest_members_is_read() -> None:
    whole = full_interrupt()
    written = json.loads(encode_interrupt(whole))
    for member in (
        "about",
        "about_tool",
        "about_tools",
        "permits",
        "audited",
        "asked_by",
        "joined_by",
        "rule",
        "votes",
    ):
        del written[member]

    assert decode_interrupt(json.dumps(written)) == replace(
        whole,
        about=None,
        about_tool=None,
        about_tools=(),
        permits=False,
        audit=tuple(AuditEntry(entry.status, entry.at, entry.actor) for entry in whole.audit),
        asked_by=None,
        joined_by=(),
        rule=None,
        votes=(),
    )


def test_what_a_later_version_adds_to_a_rule_is_left_out() -> None:
    written = json.loads(encode_interrupt(full_interrupt()))
    written["rule"]["weekdays"] = ["monday"]

    assert decode_interrupt(json.dumps(written)) == full_interrupt()
