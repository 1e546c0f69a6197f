"""Every row of the admission table decides what it should, and only that."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Final, get_args

import pytest
from hypothesis import given, strategies as st

from agui_bridge.errors import CODES
from agui_bridge.protocol.contract import admission as contract
from agui_bridge.protocol.contract.admission import ROWS, admit
from agui_bridge.protocol.contract.requests import (
    AskAgain,
    AutoResume,
    Entry,
    Hold,
    Join,
    Recover,
    Reject,
    Replay,
    Request,
    Resume,
    Start,
)
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Json,
    Receipt,
    ReceiptOutcome,
    RecordedAnswer,
)
from tests.protocol.contract.admission_asleep import ASLEEP
from tests.protocol.contract.admission_before import BEFORE, Case
from tests.protocol.contract.admission_by_whom import BY_WHOM, COVERING, edited, ruled, sent, voted
from tests.protocol.contract.admission_lost import LOST
from tests.protocol.contract.admission_now import NOW_ASKED
from tests.protocol.loaded_threads import (
    ANSWERED,
    CLAIMED,
    MESSAGE,
    NOW,
    OPEN,
    RESOLVED,
    ask,
    closed_as,
    idle,
    interrupted,
    no,
    receipt,
    resume,
    running,
    yes,
)

CASES: Final = {
    number: {**BEFORE, **ASLEEP, **NOW_ASKED, **BY_WHOM}.get(number, ())
    + COVERING.get(number, ())
    + LOST.get(number, ())
    for number, _ in ROWS
}
FLAT: Final = [
    pytest.param(number, case, id=f"{number}: {case.outcome}")
    for number, cases in CASES.items()
    for case in cases
]


def deciding_row(loaded: Loaded, request: Request) -> str:
    """The number of the row that decides."""
    if request.skip_unknown:
        request = contract._without_unknown(loaded, request)
    return next(number for number, row in ROWS if row(loaded, request) is not None)


@pytest.mark.parametrize(("number", "case"), FLAT)
def test_row_decides(number: str, case: Case) -> None:
    decision = admit(case.loaded, case.request)

    assert (deciding_row(case.loaded, case.request) == number) is case.by_this_row
    if isinstance(case.decision, str):
        assert isinstance(decision, Reject), decision
        assert decision.code == case.decision
    else:
        assert isinstance(decision, case.decision), decision


def test_every_row_has_a_case_that_it_decides_and_a_neighbour_that_it_does_not() -> None:
    tables = (BEFORE, ASLEEP, NOW_ASKED, BY_WHOM, COVERING, LOST)
    assert CASES.keys() >= {number for table in tables for number in table}
    for number, cases in CASES.items():
        assert {case.by_this_row for case in cases} == {True, False}, number


# --- between rows ------------------------------------------------------------------------------

FIRST_WINS: Final = {
    ("0", "1"): (running(ask("a", CLAIMED, answer=yes("a")), left=0.0), resume(yes("a"))),
    ("1", "3"): (running(ask("a", CLAIMED, answer=yes("a"))), resume(yes("a"), yes("a"))),
    ("2", "3"): (interrupted(ask("a", ANSWERED, answer=yes("a"))), resume(no("a"), no("a"))),
    ("3", "8"): (idle(), resume(yes("x"), yes("x"))),
    ("4", "9"): (
        replace(
            running(),
            interrupts=closed_as("finished", yes("a")).interrupts,
            receipts=closed_as("finished", yes("a")).receipts,
        ),
        resume(yes("a")),
    ),
    ("6", "7"): (closed_as("expired", yes("a")), resume(no("a"))),
    ("7", "8"): (closed_as("finished", yes("a")), resume(no("a"), no("x"))),
    ("8", "15"): (interrupted(ask("a")), resume(yes("a", 1), no("x"))),
    ("10", "12"): (interrupted(ask("a", expires_at=NOW)), Request(auto_resume=AutoResume())),
    ("14", "15"): (interrupted(ask("a", expires_at=NOW), ask("b")), resume(yes("a"), yes("b", 1))),
    ("14", "16"): (interrupted(ask("a", expires_at=NOW), ask("b")), resume(yes("a"))),
    ("15", "16"): (interrupted(ask("a"), ask("b")), resume(yes("a", 1))),
    ("15", "17"): (interrupted(ask("a"), ask("b")), resume(yes("a", 1), answers_singly=True)),
}


@pytest.mark.parametrize(("first", "second"), FIRST_WINS, ids=lambda number: f"row {number}")
def test_first_row_that_holds_decides(first: str, second: str) -> None:
    loaded, request = FIRST_WINS[first, second]
    rows = dict(ROWS)

    assert deciding_row(loaded, request) == first
    if second != "1":  # rows 1 and on take for granted that the lease holds
        assert rows[second](loaded, request) is not None


# --- what a decision carries ---------------------------------------------------------------------


def test_resume_has_an_answer_for_every_interrupt_of_the_batch() -> None:
    held = ask("held", ANSWERED, answer=yes("held"))
    late, sent = ask("late", expires_at=NOW - 1), ask("sent")

    decision = admit(interrupted(held, late, sent), resume(no("sent")))

    assert decision == Resume(
        {"held": yes("held").answer, "late": no("late").answer, "sent": no("sent").answer},
        expired=frozenset({"late"}),
    )


def test_held_answer_is_discarded_by_its_own_expiry_only() -> None:
    late = ask("late", ANSWERED, answer=yes("late"), expires_at=NOW - 1)
    held = ask("held", ANSWERED, answer=yes("held"))

    decision = admit(interrupted(late, held), MESSAGE)

    assert decision == Resume(
        {"late": no("late").answer, "held": yes("held").answer}, expired=frozenset({"late"})
    )


def test_hold_keeps_what_was_sent() -> None:
    asked = interrupted(ask("a"), ask("b"), ask("c"))

    decision = admit(asked, resume(yes("a"), no("c"), answers_singly=True))

    assert decision == Hold({"a": yes("a").answer, "c": no("c").answer})


def test_left_out_asks_are_named() -> None:
    asked = interrupted(ask("a"), ask("b"), ask("c", ANSWERED, answer=yes("c")))

    decision = admit(asked, resume(yes("a")))

    assert isinstance(decision, Reject)
    assert decision.interrupt_ids == ("b",)
    assert "interrupt b" in decision.message


def test_pending_asks_are_named_but_not_those_that_expired() -> None:
    decision = admit(interrupted(ask("a", expires_at=NOW - 1), ask("b"), ask("c")), MESSAGE)

    assert isinstance(decision, Reject)
    assert decision.interrupt_ids == ("b", "c")


def test_an_answer_to_nothing_is_told_which_questions_are_over_and_not_of_answered_ones() -> None:
    held, late = ask("a", ANSWERED, answer=yes("a")), ask("b", expires_at=NOW - 1.0)
    ruling = admit(interrupted(held, late), Request(unnamed_answer=True))

    assert isinstance(ruling, Reject)
    assert (ruling.code, ruling.interrupt_ids) == ("INTERRUPT_EXPIRED", ("b",))


def test_expired_batch_is_closed_with_the_next_start() -> None:
    assert admit(interrupted(ask("a", expires_at=NOW - 1)), MESSAGE) == Start(closes_expired=True)
    assert admit(idle(), MESSAGE) == Start(closes_expired=False)


def test_replay_tells_a_stopped_run_from_a_finished_one() -> None:
    assert admit(closed_as("stopped", yes("a")), resume(yes("a"))) == Replay(stopped=True)
    assert admit(closed_as("finished", yes("a")), resume(yes("a"))) == Replay(stopped=False)


def test_stop_in_progress_is_waited_for_until_its_time_is_over() -> None:
    stopping = running(stop=NOW + 3)

    assert admit(stopping, MESSAGE) == Join(until=NOW + 3)
    assert isinstance(admit(replace(stopping, now=NOW + 2.9), MESSAGE), Join)
    late = admit(replace(stopping, now=NOW + 3), MESSAGE)
    assert isinstance(late, Reject)
    assert late.code == "RUN_IN_PROGRESS"


def test_stop_request_for_an_earlier_run_is_ignored() -> None:
    stopping = running(stop=NOW + 3)
    assert stopping.record is not None
    assert stopping.record.run is not None
    other = replace(stopping.record, run=replace(stopping.record.run, token="a later run"))

    decision = admit(replace(stopping, record=other), MESSAGE)

    assert isinstance(decision, Reject)


def test_what_was_misunderstood_is_said() -> None:
    auto = AutoResume(misunderstood="Is that a yes?")

    decision = admit(interrupted(ask("a")), replace(MESSAGE, auto_resume=auto))

    assert decision == AskAgain("Is that a yes?")


# --- identical: the same JSON, to the letter -----------------------------------------------------

DIFFERENT: Final[tuple[tuple[Json, Json], ...]] = (
    (True, 1), (False, 0), (1, 1.0), (None, False), (None, ""), (None, {}), ("1", 1), ([], {}),
    ({"a": 1}, {"a": True}), ({"a": [1]}, {"a": [1.0]}), ({"a": 1}, {"a": 1, "b": None}),
    ([1, 2], [2, 1]),
)  # fmt: skip


@pytest.mark.parametrize(("given_payload", "sent"), DIFFERENT)
def test_payloads_of_other_types_are_other_answers(given_payload: Json, sent: Json) -> None:
    for one, other in itertools.permutations((given_payload, sent)):
        decision = admit(closed_as("finished", yes("a", one)), resume(yes("a", other)))

        assert isinstance(decision, Reject)
        assert decision.code == "INTERRUPT_ALREADY_ANSWERED"


def test_order_of_keys_is_nothing() -> None:
    finished = closed_as("finished", yes("a", {"x": 1, "y": {"p": 1, "q": 2}}))

    decision = admit(finished, resume(yes("a", {"y": {"q": 2, "p": 1}, "x": 1})))

    assert decision == Replay()


def test_absent_payload_is_null() -> None:
    finished = closed_as("finished", Entry("a", RecordedAnswer("resolved", None)))

    assert admit(finished, resume(Entry("a", RecordedAnswer("resolved")))) == Replay()


def test_every_part_of_the_answers_in_any_order_is_told_as_done() -> None:
    answers = (yes("a"), no("b"), yes("c", {"approved": False}))
    finished = closed_as("finished", *answers)

    for size in (1, 2, 3):
        for part in itertools.permutations(answers, size):
            assert admit(finished, resume(*part)) == Replay()


def test_answers_of_two_batches_are_identical_to_neither() -> None:
    one = ask("a", RESOLVED, batch="old", answer=yes("a"))
    two = ask("b", RESOLVED, batch="older", answer=yes("b"))
    loaded = idle(one, two, old=receipt("finished", yes("a")), older=receipt("finished", yes("b")))

    decision = admit(loaded, resume(yes("a"), yes("b")))

    assert isinstance(decision, Reject)
    assert decision.code == "INTERRUPT_ALREADY_ANSWERED"


# --- total: a decision for everything ------------------------------------------------------------

OUTCOMES: Final[tuple[ReceiptOutcome, ...]] = get_args(ReceiptOutcome)
IDS: Final = ("a", "b", "c", "d", "old", "older", "never raised")

payloads: st.SearchStrategy[Json] = st.one_of(
    st.sampled_from(({"approved": True}, {"approved": False}, None, 1, "yes")),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=4,
    ),
)
entries = st.builds(
    lambda id, cancelled, payload: no(id) if cancelled else yes(id, payload),
    st.sampled_from(IDS),
    st.booleans(),
    payloads,
)
resumes = st.lists(entries, max_size=4).map(tuple)
requests = st.builds(
    Request,
    entries=resumes,
    has_new_message=st.booleans(),
    answers_singly=st.booleans(),
    auto_resume=st.none() | st.builds(AutoResume, resumes, st.booleans()),
    skip_unknown=st.booleans(),
)
expiries = st.sampled_from((None, NOW - 1, NOW, NOW + 1))


@st.composite
def asked(draw: st.DrawFn, id: str, claimed: bool) -> Interrupt:
    answer = no(id) if draw(st.booleans()) else yes(id)
    tool, expires_at = draw(st.booleans()), draw(expiries)
    status = CLAIMED if claimed else draw(st.sampled_from((OPEN, ANSWERED)))
    return ask(
        id,
        status,
        answer=None if status is OPEN else answer,
        tool=tool,
        expires_at=expires_at,
        schema=draw(st.sampled_from((None, {"type": "string"}, {}))),
    )


@st.composite
def threads(draw: st.DrawFn) -> Loaded:
    """Any thread that the transitions may lead to, with a past."""
    closed: list[Interrupt] = []
    receipts: dict[str, Receipt] = {}
    for batch in draw(st.sets(st.sampled_from(("old", "older")))):
        code = draw(st.sampled_from((None, "X", "AGENT_ERROR")))
        past = closed_as(draw(st.sampled_from(OUTCOMES)), yes(batch), code=code)
        closed += [replace(gone, batch=batch) for gone in past.interrupts.values()]
        receipts[batch] = replace(past.receipts["old"], batch=batch)
    status = draw(st.sampled_from(("missing", "idle", "interrupted", "running")))
    if status == "missing":
        return Loaded(None, NOW)
    if status == "idle":
        return idle(*closed, **receipts)
    claimed = status == "running"
    ids = draw(st.sets(st.sampled_from(IDS[:4]), min_size=0 if claimed else 1))
    asks = [draw(asked(id, claimed)) for id in sorted(ids)]
    if not claimed:
        return interrupted(*asks, *closed, **receipts)
    left, stop = draw(st.sampled_from((-1.0, 0.0, 1.0))), draw(expiries)
    loaded = running(*asks, left=left, stop=stop)
    earlier = {gone.id: gone for gone in closed}
    return replace(loaded, interrupts={**loaded.interrupts, **earlier}, receipts=receipts)


@given(threads(), requests)
def test_every_input_on_every_thread_gets_a_decision(loaded: Loaded, request: Request) -> None:
    match admit(loaded, request):
        case Reject(code, message):
            assert CODES[code].stream
            assert message
        case Resume(answers, expired):
            assert answers.keys() == {a.id for a in loaded.batch_interrupts()}
            assert expired == {a.id for a in loaded.batch_interrupts() if a.expired(NOW)}
        case Hold(answers):
            assert answers.keys() < {a.id for a in loaded.batch_interrupts()}
        case Recover():
            assert loaded.record is not None
        case Start(closes_expired):
            assert closes_expired == bool(loaded.batch_interrupts())
        case decision:
            assert isinstance(decision, Replay | Join | AskAgain)


@given(threads(), requests)
def test_order_of_entries_does_not_matter(loaded: Loaded, request: Request) -> None:
    backwards = replace(request, entries=request.entries[::-1])

    one, other = admit(loaded, request), admit(loaded, backwards)

    assert type(one) is type(other)
    if isinstance(one, Reject) and isinstance(other, Reject):
        assert one.code == other.code
    elif isinstance(one, Resume | Hold):
        assert one == other


def test_a_refusal_names_a_hundred_interrupts_however_many_an_input_names() -> None:
    ruling = admit(idle(), resume(*(yes(f"unknown-{n}") for n in range(10_000))))
    assert isinstance(ruling, Reject)
    assert ruling.message.endswith(", unknown-98, unknown-99 and 9900 more.")
    assert len(ruling.interrupt_ids) == 10_000


def test_a_held_answer_keeps_its_words_when_another_voter_repeats_theirs() -> None:
    own, last = edited("a", 1), yes("a")
    votes = (voted("bob", own), voted("cy", last))
    held = ruled("a", ApprovalRule(quorum=2), *votes, status=ANSWERED, answer=last)

    ruling = admit(interrupted(held, ask("b")), sent("bob", own, yes("b")))

    assert isinstance(ruling, Resume)
    assert ruling.answers["a"] == last.answer
