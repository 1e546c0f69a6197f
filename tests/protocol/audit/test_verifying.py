"""The audit chain: whatever is done to its rows is found, and said where."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.audit.verifying import (
    Fault,
    Mark,
    verify_chain,
    verify_questions,
    verify_redactions,
)
from agui_bridge.protocol.contract.transitions import Change, moved
from agui_bridge.protocol.threads.record_parts import AuditRow, Redaction
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Batch,
    Interrupt,
    InterruptStatus,
    RecordedAnswer,
    ThreadKey,
    ToolCall,
)
from agui_bridge.protocol.turns import with_executed
from tests.protocol.audit.sealed import KEY, KEYS, Chain

OPEN, CLAIMED, RESOLVED = InterruptStatus.OPEN, InterruptStatus.CLAIMED, InterruptStatus.RESOLVED
OLD, NEW = "o" * 32, "n" * 32
MAIL = "eve@home.example"
Rows = list[AuditRow]


def question(id: str = "i-1", batch: str = "b-1") -> Interrupt:
    return Interrupt(
        id=id,
        batch=batch,
        position=0,
        native_id=id,
        reason="tool_call",
        message="Delete 3 rows?",
        tool_call=ToolCall("call", "delete_rows", {"table": "users", "limit": 3}),
        audit=(AuditEntry(OPEN, 1.0, "agent"),),
        asked_by="ann",
    )


def decided(keys: AuditKeys = KEYS) -> Chain:
    """A chain of six rows: two questions asked, claimed, and resolved."""
    chain = Chain()
    asks: tuple[Interrupt, ...] = (question(), question("i-2"))
    record = replace(chain.record, batch=Batch("b-1"))
    chain.commit(Change(record, asks), keys)
    yes = RecordedAnswer("resolved", {"approved": True})
    asks = tuple(moved(replace(ask, answer=yes), CLAIMED, 2.0, "bob") for ask in asks)
    chain.commit(Change(record, asks), keys)
    asks = tuple(moved(ask, RESOLVED, 3.0, "bob") for ask in asks)
    chain.commit(Change(replace(record, batch=None), asks), keys)
    return chain


def verified(chain: Chain, rows: Rows | None = None, keys: AuditKeys = KEYS) -> list[Fault]:
    assert chain.record.chain is not None
    return verify_chain(
        KEY,
        chain.record.chain.chain,
        chain.rows if rows is None else rows,
        keys,
        [Mark.of(chain.record.chain)],
        is_whole=True,
    )


def data_of(row: AuditRow) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row.data)
    return found


def edited(row: AuditRow, **members: Any) -> AuditRow:
    return replace(row, data=json.dumps({**data_of(row), **members}))


def test_a_chain_that_nobody_touched_is_whole() -> None:
    chain = decided()
    assert verified(chain) == []
    told = [(row["interrupt"], row["status"]) for row in map(data_of, chain.rows)]
    assert told == [
        (id, status) for status in ("open", "claimed", "resolved") for id in ("i-1", "i-2")
    ]


def test_a_row_tells_no_content() -> None:
    text = " ".join(row.data for row in decided().rows)
    assert "users" not in text
    assert "approved" not in text
    assert "Delete" not in text


def changed(rows: Rows) -> Rows:
    return [*rows[:2], edited(rows[2], actor="eve"), *rows[3:]]


def resealed_with_another_key(rows: Rows) -> Rows:
    keys = AuditKeys(["e" * 32])
    row = data_of(rows[2]) | {"actor": "eve", "key": keys.newest}
    del row["mac"]
    row["mac"] = keys.mac(keys.newest, row)
    return [*rows[:2], replace(rows[2], data=json.dumps(row)), *rows[3:]]


def a_member_twice(rows: Rows) -> Rows:
    text = '{"actor":"eve",' + rows[2].data[1:]
    return [*rows[:2], replace(rows[2], data=text), *rows[3:]]


def dropped(rows: Rows) -> Rows:
    return [*rows[:2], *rows[3:]]


def first_dropped(rows: Rows) -> Rows:
    return rows[1:]


def swapped(rows: Rows) -> Rows:
    two, three = rows[2], rows[3]
    there = [replace(two, data=three.data), replace(three, data=two.data)]
    return [*rows[:2], *there, *rows[4:]]


def truncated(rows: Rows) -> Rows:
    return rows[:4]


def emptied(_rows: Rows) -> Rows:
    return []


def moved_up(rows: Rows) -> Rows:
    """A row is dropped, and those after it close the gap."""
    ids = [row.id for row in rows]
    return [replace(row, id=id) for id, row in zip(ids, dropped(rows), strict=False)]


def time_changed(rows: Rows) -> Rows:
    return [*rows[:2], replace(rows[2], written_at=9.0), *rows[3:]]


@pytest.mark.parametrize(
    ("harm", "first", "said"),
    [
        (changed, 3, "changed after it was sealed"),
        (resealed_with_another_key, 3, "not among those given"),
        (a_member_twice, 3, "no JSON object"),
        (dropped, 3, "row 3 is missing"),
        (first_dropped, 1, "row 1 is missing"),
        (swapped, 3, "row 4 stands here"),
        (truncated, 5, "rows 5 to 6 are missing"),
        (emptied, 1, "rows 1 to 6 are missing"),
        (moved_up, 3, "row 4 stands here"),
        (time_changed, 3, "time was changed"),
    ],
)
def test_harm_to_rows_is_found_where_it_is(
    harm: Callable[[Rows], Rows], first: int, said: str
) -> None:
    chain = decided()
    found = verified(chain, harm(chain.rows))
    assert found[0].seq == first
    assert said in found[0].what


@pytest.mark.parametrize("harm", [changed, dropped, swapped])
def test_harm_to_one_place_is_not_told_of_the_rest(harm: Callable[[Rows], Rows]) -> None:
    chain = decided()
    assert {fault.seq for fault in verified(chain, harm(chain.rows))} <= {3, 4}


def test_a_row_of_another_thread_is_found() -> None:
    chain = decided()
    elsewhere = ThreadKey("scope", "agent", "another")
    found = verify_chain(elsewhere, "write-1", chain.rows, KEYS)
    assert "another thread" in found[0].what


def test_rows_beyond_the_end_that_the_record_has_are_found() -> None:
    chain = decided()
    longer = list(chain.rows)
    assert chain.record.chain is not None
    chain.record = replace(chain.record, chain=replace(chain.record.chain, seq=4))
    assert "beyond the end" in verified(chain, longer)[-1].what


def test_a_chain_set_back_together_with_its_record_passes_and_fails_by_an_earlier_export() -> None:
    """What docs/audit.md says is not found without an anchor, and is with one."""
    chain = decided()
    last = data_of(chain.rows[-1])
    rows, end = chain.rows[:4], data_of(chain.rows[3])
    head = Mark(4, end["mac"], "the thread's record")
    assert verify_chain(KEY, "write-1", rows, KEYS, [head], is_whole=True) == []
    anchor = Mark(6, last["mac"], "the earlier export")
    found = verify_chain(KEY, "write-1", rows, KEYS, [head, anchor])
    assert [fault.what for fault in found] == [
        "rows 5 to 6 are missing: the earlier export has them"
    ]


def test_keys_rotate() -> None:
    chain = decided(AuditKeys([OLD]))
    ask = moved(question("i-3", "b-2"), OPEN, 4.0, "agent")
    chain.commit(Change(replace(chain.record, batch=Batch("b-2")), (ask,)), AuditKeys([NEW, OLD]))
    assert verified(chain, keys=AuditKeys([NEW, OLD])) == []
    found = verified(chain, keys=AuditKeys([NEW]))
    assert [fault.seq for fault in found] == [1, 2, 3, 4, 5, 6]
    assert {row["key"] for row in map(data_of, chain.rows)} == {
        AuditKeys([OLD]).newest,
        AuditKeys([NEW]).newest,
    }


def test_every_entry_of_a_history_has_one_row() -> None:
    """Also where a commit adds several, and where the run that claimed holds older copies."""
    chain = Chain()
    record = replace(chain.record, batch=Batch("b-1"))
    ask = question()
    chain.commit(Change(record, (ask,)))
    voted = replace(ask, audit=(*ask.audit, AuditEntry(OPEN, 2.0, "bob", "slack", "r", "voted")))
    claimed = moved(voted, CLAIMED, 2.0, "bob")
    chain.commit(Change(record, (claimed,)))
    late = moved(claimed, InterruptStatus.INDETERMINATE, 3.0, "bridge")
    chain.commit(Change(replace(record, batch=None), (late,)))
    chain.commit(Change(replace(record, batch=None), (moved(late, RESOLVED, 4.0, "bob"),)))
    told = [(row["entry"], row["status"], row["event"]) for row in map(data_of, chain.rows)]
    assert told == [
        (0, "open", None),
        (1, "open", "voted"),
        (2, "claimed", None),
        (3, "indeterminate", None),
        (4, "resolved", None),
    ]


def test_a_change_without_news_of_a_question_adds_no_row() -> None:
    chain = decided()
    before = chain.record.chain
    assert chain.commit(Change(chain.record)).audit == ()
    assert chain.record.chain == before


def test_a_retry_of_a_commit_writes_the_same_rows() -> None:
    one, other = decided(), decided()
    assert one.rows == other.rows


def redaction(after: Any, at: float = 1.5) -> Redaction:
    return Redaction("m", "run-1", "ann", at, [MAIL, []], after)


def test_a_redaction_has_a_row_without_a_word_of_what_was_said() -> None:
    chain = Chain()
    record = replace(chain.record, batch=Batch("b-1"))
    chain.commit(Change(record, (question(),)))
    told = chain.commit(Change(record, redactions=(redaction(["[mail]", []]),)))
    (row,) = map(data_of, told.audit)
    assert {name: row[name] for name in ("event", "messageId", "run", "askedBy", "at")} == {
        **{"event": "redacted", "messageId": "m", "run": "run-1", "askedBy": "ann", "at": 1.5}
    }
    assert row["before"] == KEYS.digest(row["key"], [MAIL, []])
    assert row["after"] == KEYS.digest(row["key"], ["[mail]", []])
    assert not any(word in told.audit[0].data for word in (MAIL, "[mail]"))
    # The question's history goes on behind it.
    chain.commit(Change(record, (moved(question(), CLAIMED, 2.0, "bob"),)))
    assert [row["seq"] for row in map(data_of, chain.rows)] == [1, 2, 3]
    assert chain.record.chain is not None
    head = chain.record.chain
    assert verify_chain(KEY, head.chain, chain.rows, KEYS, [Mark.of(head)], is_whole=True) == []
    assert list(verify_questions(KEY, chain.rows, chain.asks, KEYS)) == []


CALL = {"id": "c", "function": {"name": "pay", "arguments": '{"to":"eve"}'}}
REDACTED = {"id": "m", "content": "[mail]", "toolCalls": [CALL]}


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        ([REDACTED], 0),
        ([], 0),
        ([{**REDACTED, "id": "another", "content": MAIL}], 0),
        ([{**REDACTED, "metadata": {"agui_bridge": {"truncated": True}}}], 0),
        ([with_executed(REDACTED, "c", '{"to":"bob"}')], 0),
        ([{**REDACTED, "content": MAIL}], 1),
        ([{**REDACTED, "toolCalls": []}], 1),
    ],
    ids=["as it was", "gone", "another", "cut off", "edited by people", "put back", "without call"],
)
def test_a_message_must_say_what_it_was_redacted_to(messages: Any, faults: int) -> None:
    chain = Chain()
    chain.commit(Change(chain.record, redactions=(redaction(["[all]", []]),)))
    after = ["[mail]", [["pay", '{"to":"eve"}']]]
    chain.commit(Change(chain.record, redactions=(redaction(after, 2.0),)))
    found = list(verify_redactions(KEY, chain.rows, messages, KEYS))
    assert [fault.seq for fault in found] == [2] * faults


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"message": "Delete 9 rows?"}, "message"),
        ({"tool_call": ToolCall("call", "delete_rows", {"table": "users", "limit": 9})}, "argum"),
        ({"answer": RecordedAnswer("resolved", {"approved": False})}, "answer"),
        ({"asked_by": "eve"}, "asker"),
        ({"audit": question().audit}, "lost entry 1"),
    ],
)
def test_a_question_that_was_changed_beside_its_chain_is_found(
    change: dict[str, Any], said: str
) -> None:
    chain = decided()
    assert list(verify_questions(KEY, chain.rows, chain.asks, KEYS)) == []
    asks = chain.asks | {"i-1": replace(chain.asks["i-1"], **change)}
    found = list(verify_questions(KEY, chain.rows, asks, KEYS))
    assert any(said in fault.what for fault in found)


def test_an_entry_that_was_put_into_a_history_is_found() -> None:
    chain = decided()
    asks = chain.asks | {"i-1": moved(chain.asks["i-1"], RESOLVED, 4.0, "eve")}
    found = list(verify_questions(KEY, chain.rows, asks, KEYS))
    assert "no row tells of entry 3 of question i-1 (resolved by eve)" in found[-1].what


def test_a_question_that_was_put_beside_the_chain_is_found() -> None:
    chain = decided()
    asks = chain.asks | {"i-9": question("i-9", "b-9")}
    found = list(verify_questions(KEY, chain.rows, asks, KEYS))
    assert "no row tells of entry 0 of question i-9" in found[0].what


def test_questions_from_before_the_chain_are_no_fault() -> None:
    chain = decided()
    early = replace(question("i-0", "b-0"), audit=(AuditEntry(OPEN, 0.5, "agent"),))
    assert list(verify_questions(KEY, chain.rows, chain.asks | {"i-0": early}, KEYS)) == []


@pytest.mark.parametrize("keys", [[], ["short"], [OLD, OLD], OLD])
def test_unfit_keys_are_refused(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match="audit keys"):
        AuditKeys(keys)


def test_keys_are_not_shown() -> None:
    assert OLD not in repr(AuditKeys([OLD]))
