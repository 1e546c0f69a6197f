"""What each decision and each end of a run writes, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from agui_bridge.protocol.contract.end_transitions import FinalWrite, end_run, reopen
from agui_bridge.protocol.contract.lost_transitions import recover
from agui_bridge.protocol.contract.requests import Hold, Resume
from agui_bridge.protocol.contract.transitions import (
    Change,
    claim_resume,
    claim_start,
    close_unanswered,
    flush,
    hold,
)
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Batch,
    ClosedBatch,
    Interrupt,
    InterruptStatus,
    RecordedAnswer,
    RunEnding,
    RunLease,
    ThreadRecord,
    ThreadStatus,
)
from tests.protocol.loaded_threads import (
    ANSWERED,
    CANCELLED,
    CLAIMED,
    EXPIRED,
    INDETERMINATE,
    KEY,
    NOW,
    OPEN,
    RESOLVED,
    ask,
    idle,
    interrupted,
    no,
    running,
    yes,
)

LEASE = RunLease("run", "token", NOW + 10, "ada")
MESSAGE = StoredMessage("m", 0, {"id": "m", "role": "user", "content": "hello"})


def statuses(change: Change) -> dict[str, InterruptStatus]:
    return {row.id: row.status for row in change.interrupts}


def trail(rows: Iterable[Interrupt]) -> list[tuple[InterruptStatus, float, str]]:
    return [(entry.status, entry.at, entry.actor) for row in rows for entry in row.audit]


def claimed_run(*asks: Interrupt, **answers: RecordedAnswer) -> tuple[Change, ThreadRecord]:
    """The claim of a batch, and the record that its owner then has."""
    loaded = interrupted(*asks)
    expired = frozenset(a.id for a in asks if a.expired(NOW))
    change = claim_resume(loaded, Resume(answers, expired), LEASE, state={"x": 1})
    return change, change.record


class TestClaims:
    def test_first_message_makes_a_thread_that_runs(self) -> None:
        change = claim_start(
            Loaded(None, NOW), KEY, LEASE, fresh_version=77, closes_expired=False,
            messages=[MESSAGE], superseded=["old"], state={"x": 1},
        )  # fmt: skip

        assert change.record == ThreadRecord(
            KEY,
            ThreadStatus.RUNNING,
            version=77,
            run=LEASE,
            state={"x": 1},
            rewound=("old",),
            begun_by=LEASE.actor,
            past=True,
        )
        assert (change.messages, change.superseded) == ((MESSAGE,), ("old",))
        assert (change.interrupts, change.receipts) == ((), ())

    def test_start_after_expiry_closes_the_batch_with_the_same_commit(self) -> None:
        loaded = interrupted(ask("a", expires_at=NOW), ask("b", ANSWERED, answer=yes("b")))

        change = claim_start(loaded, KEY, LEASE, fresh_version=1, closes_expired=True, state=None)

        assert change.record.status is ThreadStatus.RUNNING
        assert change.record.batch is None
        assert change.record.closed == (ClosedBatch(None, "expired"),)
        assert statuses(change) == {"a": EXPIRED, "b": EXPIRED}
        assert [(r.batch, r.outcome, dict(r.answers)) for r in change.receipts] == [
            ("now", "expired", {})
        ]

    def test_start_on_a_known_thread_keeps_what_it_does_not_concern(self) -> None:
        loaded = idle()
        assert loaded.record is not None
        before = replace(loaded.record, pending_calls=("call",), handoff=1, state={"old": 1})

        change = claim_start(
            replace(loaded, record=before), KEY, LEASE,
            fresh_version=1, closes_expired=False, state={"old": 1},
        )  # fmt: skip

        assert change.record == replace(before, status=ThreadStatus.RUNNING, run=LEASE)

    def test_calls_that_a_client_takes_back_are_remembered(self) -> None:
        def said(own: str, *calls: str) -> StoredMessage:
            made = [{"id": call} for call in calls]
            return StoredMessage(own, 0, {"id": own, "role": "assistant", "toolCalls": made})

        loaded = idle()
        assert loaded.record is not None
        loaded = replace(
            loaded,
            record=replace(loaded.record, gone_calls=("call-0",)),
            messages=(said("kept", "call-1"), said("gone", "call-2", "call-3")),
        )

        change = claim_start(
            loaded, KEY, LEASE,
            fresh_version=1, closes_expired=False, superseded=["gone"], state=None,
        )  # fmt: skip

        assert change.record.gone_calls == ("call-0", "call-2", "call-3")

    def test_resume_claims_every_interrupt_with_its_answer(self) -> None:
        change, record = claimed_run(ask("a"), ask("b"), a=yes("a").answer, b=no("b").answer)

        assert record.status is ThreadStatus.RUNNING
        assert (record.run, record.batch, record.state) == (LEASE, Batch("now"), {"x": 1})
        assert [(row.id, row.status, row.answer) for row in change.interrupts] == [
            ("a", CLAIMED, yes("a").answer),
            ("b", CLAIMED, no("b").answer),
        ]
        assert trail(change.interrupts) == [(CLAIMED, NOW, "ada")] * 2
        assert change.receipts == ()

    def test_held_answers_are_stored_and_nothing_else_changes(self) -> None:
        loaded = interrupted(ask("a"), ask("b"), ask("c", ANSWERED, answer=yes("c")))

        change = hold(loaded, Hold({"a": yes("a").answer, "c": yes("c").answer}), "ada")

        assert change.record == loaded.record
        assert statuses(change) == {"a": ANSWERED}
        assert change.interrupts[0].answer == yes("a").answer
        assert trail(change.interrupts) == [(ANSWERED, NOW, "ada")]


class TestLostRuns:
    def test_lost_resume_is_indeterminate_and_leaves_its_answers(self) -> None:
        loaded = running(
            ask("a", CLAIMED, answer=yes("a")), ask("b", RESOLVED, answer=yes("b")), left=-1.0
        )

        change = recover(loaded, [MESSAGE])

        assert (change.record.status, change.record.run, change.record.batch) == (
            "idle",
            None,
            None,
        )
        assert change.record.closed == (ClosedBatch(None, "lost"),)
        assert change.record.ended == RunEnding("token", "lost")
        # The result of b was stored: its status stays what its answer meant.
        assert statuses(change) == {"a": INDETERMINATE}
        (receipt,) = change.receipts
        assert (receipt.outcome, receipt.code) == ("lost", "RUN_INDETERMINATE")
        assert receipt.lease == "token"
        assert receipt.answers == {"a": yes("a").answer, "b": yes("b").answer}
        assert change.messages == (MESSAGE,)

    def test_lost_fresh_run_leaves_an_idle_thread(self) -> None:
        change = recover(running(left=0.0))

        assert change.record.status is ThreadStatus.IDLE
        assert (change.interrupts, change.receipts, change.record.closed) == ((), (), ())


class TestClosing:
    @pytest.mark.parametrize(
        ("cause", "status", "outcome"),
        [("expired", EXPIRED, "expired"), ("stopped", CANCELLED, "cancelled")],
    )
    def test_batch_closes_without_answers(
        self, cause: str, status: InterruptStatus, outcome: str
    ) -> None:
        loaded = interrupted(ask("a"), ask("b", ANSWERED, answer=yes("b")))

        change = close_unanswered(loaded, "expired" if cause == "expired" else "stopped", "ada")

        assert (change.record.status, change.record.batch) == (ThreadStatus.IDLE, None)
        assert change.record.closed == (ClosedBatch(None, cause),)  # type: ignore[arg-type]  # each of the literals
        assert statuses(change) == {"a": status, "b": status}
        assert trail(change.interrupts) == [(status, NOW, "ada")] * 2
        (receipt,) = change.receipts
        assert (receipt.outcome, dict(receipt.answers)) == (outcome, {})


class TestOwner:
    def test_result_that_is_stored_closes_its_interrupt(self) -> None:
        claim, record = claimed_run(ask("a"), ask("b"), a=yes("a").answer, b=no("b").answer)

        change = flush(
            record, messages=[MESSAGE], state={"y": 2}, settled=claim.interrupts, now=NOW + 1
        )

        assert statuses(change) == {"a": RESOLVED, "b": CANCELLED}
        assert change.record == replace(record, state={"y": 2})
        assert change.messages == (MESSAGE,)

    def test_expired_ask_is_expired_in_the_history_not_cancelled(self) -> None:
        late = ask("late", expires_at=NOW - 1)
        claim, record = claimed_run(late, ask("b"), late=no("late").answer, b=yes("b").answer)

        stored = flush(record, messages=(), state=None, settled=claim.interrupts[:1], now=NOW + 1)
        ended = end_run(record, claim.interrupts, FinalWrite("finished"), state=None, now=NOW + 1)

        assert statuses(stored) == {"late": EXPIRED}
        assert statuses(ended) == {"late": EXPIRED, "b": RESOLVED}

    def test_ask_that_expires_while_it_is_carried_out_was_answered_in_time(self) -> None:
        claim, record = claimed_run(ask("a", expires_at=NOW + 1), a=yes("a").answer)

        ended = end_run(record, claim.interrupts, FinalWrite("finished"), state=None, now=NOW + 60)

        assert statuses(ended) == {"a": RESOLVED}

    @pytest.mark.parametrize(
        ("outcome", "code"), [("finished", None), ("stopped", None), ("failed", "UPSTREAM_ERROR")]
    )
    def test_end_leaves_a_receipt_with_answers_and_outcome(
        self, outcome: str, code: str | None
    ) -> None:
        claim, record = claimed_run(ask("a"), a=yes("a").answer)
        end = FinalWrite(outcome, code=code)  # type: ignore[arg-type]  # each of the literals

        change = end_run(record, claim.interrupts, end, state=None, now=NOW + 1)

        assert (change.record.status, change.record.run, change.record.batch) == (
            "idle",
            None,
            None,
        )
        assert change.record.ended == RunEnding("token", outcome)  # type: ignore[arg-type]  # each of the literals
        (receipt,) = change.receipts
        assert (receipt.batch, receipt.outcome, receipt.code) == ("now", outcome, code)
        assert (receipt.lease, receipt.at) == ("token", NOW + 1)
        assert receipt.answers == {"a": yes("a").answer}

    def test_pause_raises_the_next_batch_and_closes_the_one_before(self) -> None:
        claim, record = claimed_run(ask("a"), a=yes("a").answer)
        asked = ask("b", batch="next")
        end = FinalWrite("finished", batch=Batch("next", {"k": 1}), interrupts=(asked,))

        change = end_run(record, claim.interrupts, end, state=None, now=NOW + 1)

        assert change.record.status is ThreadStatus.INTERRUPTED
        assert change.record.batch == Batch("next", {"k": 1})
        assert statuses(change) == {"a": RESOLVED, "b": OPEN}
        assert [receipt.batch for receipt in change.receipts] == ["now"]

    def test_settled_interrupt_is_not_closed_twice(self) -> None:
        claim, record = claimed_run(ask("a"), a=yes("a").answer)
        stored = flush(record, messages=(), state=None, settled=claim.interrupts, now=NOW + 1)

        change = end_run(record, stored.interrupts, FinalWrite("failed"), state=None, now=NOW + 2)

        assert change.interrupts == ()
        assert change.receipts[0].answers == {"a": yes("a").answer}

    def test_fresh_run_leaves_no_receipt(self) -> None:
        loaded = running()
        assert loaded.record is not None

        change = end_run(loaded.record, (), FinalWrite("finished"), state=None, now=NOW)

        assert change.receipts == ()
        assert change.record.ended == RunEnding("token", "finished")

    def test_closed_batches_are_forgotten_once_the_adapter_was_told(self) -> None:
        loaded = running()
        assert loaded.record is not None
        told, news = ClosedBatch({"k": 1}, "expired"), ClosedBatch({"k": 2}, "lost")
        record = replace(loaded.record, closed=(told, news))

        change = end_run(record, (), FinalWrite("finished"), state=None, told=[told], now=NOW)

        assert change.record.closed == (news,)

    def test_handoff_waits_for_frontend_calls(self) -> None:
        loaded = running()
        assert loaded.record is not None
        end = FinalWrite("finished", pending_calls=("call",), handoff={"k": 1})

        change = end_run(loaded.record, (), end, state=None, now=NOW)

        assert (change.record.pending_calls, change.record.handoff) == (("call",), {"k": 1})

    def test_undelivered_batch_is_open_again_without_answers(self) -> None:
        claim, record = claimed_run(ask("a"), ask("b"), a=yes("a").answer, b=no("b").answer)

        change = reopen(record, claim.interrupts, now=NOW + 1)

        assert (change.record.status, change.record.run) == (ThreadStatus.INTERRUPTED, None)
        assert change.record.batch == record.batch
        assert [(row.status, row.answer) for row in change.interrupts] == [(OPEN, None)] * 2
        assert trail(change.interrupts[:1]) == [(CLAIMED, NOW, "ada"), (OPEN, NOW + 1, "bridge")]
        assert change.receipts == ()
