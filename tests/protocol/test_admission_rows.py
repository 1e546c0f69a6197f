"""Every row of the admission table of docs/contract.md, each with a neighbour that it is not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agui_bridge.errors import CODES
from agui_bridge.protocol.admission import (
    AskAgain,
    AutoResume,
    Decision,
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
from agui_bridge.protocol.contract import ROWS, admit
from agui_bridge.protocol.decisions import CONFIRM_SCHEMA, approval_schema
from agui_bridge.protocol.records import (
    Batch,
    Interrupt,
    InterruptStatus,
    Json,
    Loaded,
    Receipt,
    RecordedAnswer,
    RunLease,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
    ToolCall,
)

NOW = 1000.0
KEY = ThreadKey("scope", "agent", "thread")
YES = RecordedAnswer("resolved", {"confirm": True})
NO = RecordedAnswer("resolved", {"confirm": False})
GONE = RecordedAnswer("cancelled")
S = InterruptStatus


def ask(id: str, status: InterruptStatus = S.OPEN, **members: Any) -> Interrupt:
    batch = members.pop("batch", "now")
    members.setdefault("response_schema", CONFIRM_SCHEMA)
    return Interrupt(id, batch, int(id[1:]), f"native-{id}", "confirmation", status, **members)


def gated(id: str, **members: Any) -> Interrupt:
    return ask(
        id,
        tool_call=ToolCall("c", "send", {}),
        allowed=("approve", "decline"),
        response_schema=approval_schema(None, editable=False),
        **members,
    )


def thread(
    status: ThreadStatus, *asks: Interrupt, receipts: tuple[Receipt, ...] = (), **members: Any
) -> Loaded:
    lease_ends = members.pop("lease_ends", NOW + 30)
    run = RunLease("r", "token", lease_ends) if status is ThreadStatus.RUNNING else None
    own = any(a.batch == "now" for a in asks)
    record = ThreadRecord(KEY, status, 7, Batch("now") if own else None, run, **members)
    return Loaded(record, NOW, {a.id: a for a in asks}, {r.batch: r for r in receipts})


def idle(*asks: Interrupt, receipts: tuple[Receipt, ...] = ()) -> Loaded:
    return thread(ThreadStatus.IDLE, *asks, receipts=receipts)


def waiting(*asks: Interrupt, receipts: tuple[Receipt, ...] = ()) -> Loaded:
    return thread(ThreadStatus.INTERRUPTED, *asks, receipts=receipts)


def running(*asks: Interrupt, **members: Any) -> Loaded:
    return thread(ThreadStatus.RUNNING, *asks, **members)


def says(**answers: RecordedAnswer) -> Request:
    return Request(tuple(Entry(id, answer) for id, answer in answers.items()))


def closed(outcome: Any, status: InterruptStatus = S.RESOLVED, code: str | None = None) -> Any:
    """An interrupt of a batch that was closed, and its receipt."""
    answers = {"i1": YES} if outcome in ("finished", "stopped", "failed", "lost") else {}
    answer = YES if answers else None
    return {
        "asks": [ask("i1", status, batch="old", answer=answer)],
        "receipts": (Receipt("old", outcome, answers, code),),
    }


def past(outcome: Any, status: InterruptStatus = S.RESOLVED, code: str | None = None) -> Loaded:
    rows = closed(outcome, status, code)
    return idle(*rows["asks"], receipts=rows["receipts"])


CLAIMED = ask("i1", S.CLAIMED, answer=YES)
LATE = ask("i1", expires_at=NOW)
STOPPING = {"stop": StopRequest("token", False, NOW + 5)}
UNDERSTOOD = AutoResume((Entry("i1", YES),), follows_ask=True)


@dataclass(frozen=True)
class Case:
    """A thread, an input, and what becomes of it."""

    row: str
    why: str
    loaded: Loaded
    request: Request
    expected: Decision | str
    """The decision, or the code of a Reject."""
    neighbour: tuple[Loaded, Request] = field(kw_only=True)
    """Something alike that this row does not decide."""


def case(row: str, why: str, loaded: Loaded, request: Request, expected: Any, near: Any) -> Case:
    return Case(row, why, loaded, request, expected, neighbour=near)


OLD_LEASE = running(lease_ends=NOW)
CASES = [
    case("0", "the lease is over", OLD_LEASE, Request(), Recover(), (running(), Request())),
    case("0", "also for a resume", running(CLAIMED, lease_ends=NOW), says(i1=YES), Recover(),
         (running(CLAIMED), says(i1=YES))),
    case("1", "the same answer is being carried out", running(CLAIMED), says(i1=YES), Join(),
         (running(CLAIMED), says(i1=NO))),
    case("1", "a subset of it is the same too",
         running(CLAIMED, ask("i2", S.RESOLVED, answer=NO)), says(i2=NO), Join(),
         (running(CLAIMED), Request())),
    case("2", "another answer waits for the run", running(CLAIMED), says(i1=NO), Join(),
         (running(CLAIMED), says(i1=YES))),
    case("2", "another answer than the one held is refused",
         waiting(ask("i1", S.ANSWERED, answer=YES), ask("i2")), says(i1=NO),
         "INTERRUPT_ALREADY_ANSWERED",
         (waiting(ask("i1", S.ANSWERED, answer=YES), ask("i2")), says(i1=YES, i2=NO))),
    case("3", "an id twice", waiting(ask("i1")),
         Request((Entry("i1", YES), Entry("i1", YES))), "INTERRUPT_DUPLICATE",
         (waiting(ask("i1")), says(i1=YES))),
    case("4", "carried out before", past("finished"), says(i1=YES), Replay(),
         (past("finished"), says(i1=NO))),
    case("4", "carried out and stopped", past("stopped"), says(i1=YES), Replay(stopped=True),
         (past("failed", code="AGENT_ERROR"), says(i1=YES))),
    case("4", "with a new message: the rest is admitted", past("finished"),
         replace(says(i1=YES), has_new_message=True), Start(), (past("finished"), says(i1=NO))),
    case("5", "its run failed", past("failed", code="AGENT_ERROR"), says(i1=YES), "AGENT_ERROR",
         (past("finished"), says(i1=YES))),
    case("5", "its run was lost", past("lost", S.INDETERMINATE, "RUN_INDETERMINATE"),
         says(i1=YES), "RUN_INDETERMINATE", (past("finished"), says(i1=YES))),
    case("6", "cancelled after it expired", past("expired", S.EXPIRED), says(i1=GONE), Replay(),
         (past("expired", S.EXPIRED), says(i1=YES))),
    case("6", "cancelled after it expired, with a new message: that is admitted",
         past("expired", S.EXPIRED), replace(says(i1=GONE), has_new_message=True), Start(),
         (past("expired", S.EXPIRED), says(i1=YES))),
    case("7", "answered after it expired", past("expired", S.EXPIRED), says(i1=YES),
         "INTERRUPT_EXPIRED", (past("expired", S.EXPIRED), says(i1=GONE))),
    case("7", "answered after it was stopped", past("cancelled", S.CANCELLED), says(i1=YES),
         "INTERRUPT_ALREADY_ANSWERED", (past("finished"), says(i1=YES))),
    case("7", "another answer than the one carried out", past("finished"), says(i1=NO),
         "INTERRUPT_ALREADY_ANSWERED", (past("finished"), says(i1=YES))),
    case("8", "never raised here", waiting(ask("i1")), says(i9=YES), "INTERRUPT_NOT_FOUND",
         (waiting(ask("i1")), says(i1=YES))),
    case("8", "nor on a thread that does not exist", Loaded(None, NOW), says(i1=YES),
         "INTERRUPT_NOT_FOUND", (Loaded(None, NOW), Request())),
    case("9", "busy", running(), Request(), "RUN_IN_PROGRESS", (idle(), Request())),
    case("9", "being stopped: waited for", running(**STOPPING), Request(), Join(NOW + 5),
         (running(CLAIMED), says(i1=YES))),
    case("9", "stopped too long: no more", running(stop=StopRequest("token", False, NOW)),
         Request(), "RUN_IN_PROGRESS", (idle(), Request())),
    case("9", "a stop of another run counts for nothing",
         running(stop=StopRequest("other", False, NOW + 5)), Request(), "RUN_IN_PROGRESS",
         (idle(), Request())),
    case("10", "all has expired", waiting(LATE), Request(), Start(closes_expired=True),
         (waiting(LATE, ask("i2")), Request())),
    case("10b", "what was held goes on without the expired rest",
         waiting(ask("i1", S.ANSWERED, answer=YES), ask("i2", expires_at=NOW)), Request(),
         Resume({"i1": YES, "i2": GONE}, frozenset({"i2"})),
         (waiting(ask("i1", S.ANSWERED, answer=YES), ask("i2")), Request())),
    case("11", "understood from a message", waiting(ask("i1")), Request(auto_resume=UNDERSTOOD),
         Resume({"i1": YES}), (waiting(ask("i1")), Request())),
    case("12", "not understood", waiting(ask("i1")), Request(auto_resume=AutoResume()),
         AskAgain(AutoResume().misunderstood), (waiting(ask("i1")), Request())),
    case("12", "typed before the question", waiting(ask("i1")),
         Request(auto_resume=replace(UNDERSTOOD, follows_ask=False)),
         AskAgain(AutoResume().misunderstood),
         (waiting(ask("i1")), Request(auto_resume=UNDERSTOOD))),
    case("12", "free text never approves a tool", waiting(gated("i1")),
         Request(auto_resume=AutoResume(
             (Entry("i1", RecordedAnswer("resolved", {"approved": True})),), True)),
         AskAgain(AutoResume().misunderstood), (waiting(gated("i1")), Request())),
    case("12", "an answer against the schema is none", waiting(ask("i1")),
         Request(auto_resume=AutoResume((Entry("i1", RecordedAnswer("resolved", 1)),), True)),
         AskAgain(AutoResume().misunderstood), (waiting(LATE), Request())),
    case("13", "a message while it waits", waiting(ask("i1")), Request(), "INTERRUPT_PENDING",
         (waiting(LATE), Request())),
    case("14", "resolves what has expired", waiting(LATE, ask("i2")), says(i1=YES, i2=YES),
         "INTERRUPT_EXPIRED", (waiting(LATE, ask("i2")), says(i1=GONE, i2=YES))),
    case("15", "against the schema", waiting(ask("i1")),
         says(i1=RecordedAnswer("resolved", {"confirm": "yes"})), "INVALID_RESUME_PAYLOAD",
         (waiting(ask("i1")), says(i1=NO))),
    case("15", "a near miss is no approval", waiting(gated("i1")),
         says(i1=RecordedAnswer("resolved", {"approved": "true"})), "INVALID_RESUME_PAYLOAD",
         (waiting(gated("i1")), says(i1=RecordedAnswer("resolved", {"approved": False})))),
    case("16", "leaves one open", waiting(ask("i1"), ask("i2")), says(i1=YES),
         "INTERRUPT_NOT_COVERED", (waiting(ask("i1"), ask("i2")), says(i1=YES, i2=GONE))),
    case("17", "one of several is held", waiting(ask("i1"), ask("i2")),
         replace(says(i1=YES), answers_singly=True), Hold({"i1": YES}),
         (waiting(ask("i1", S.ANSWERED, answer=YES), ask("i2")),
          replace(says(i2=NO), answers_singly=True))),
    case("18", "complete", waiting(ask("i1"), ask("i2")), says(i2=GONE, i1=NO),
         Resume({"i1": NO, "i2": GONE}), (waiting(ask("i1"), ask("i2")), says(i1=NO))),
    case("18", "the last of singly given answers",
         waiting(ask("i1", S.ANSWERED, answer=YES), ask("i2")),
         replace(says(i2=NO), answers_singly=True), Resume({"i1": YES, "i2": NO}),
         (waiting(ask("i1"), ask("i2")), replace(says(i2=NO), answers_singly=True))),
    case("18", "what has expired counts as cancelled", waiting(LATE, ask("i2")), says(i2=YES),
         Resume({"i1": GONE, "i2": YES}, frozenset({"i1"})),
         (waiting(ask("i1"), ask("i2")), says(i2=YES))),
    case("18", "falsy payloads are payloads", waiting(ask("i1", response_schema=None)),
         says(i1=RecordedAnswer("resolved", 0)),
         Resume({"i1": RecordedAnswer("resolved", 0)}), (idle(), Request())),
    case("19", "nothing is in the way", idle(), Request(), Start(), (running(), Request())),
    case("19", "nor does the thread exist", Loaded(None, NOW), Request(), Start(),
         (Loaded(None, NOW), says(i1=YES))),
]  # fmt: skip


def deciding_row(loaded: Loaded, request: Request) -> str:
    return next(name for name, row in ROWS if row(loaded, request) is not None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"row {case.row}: {case.why}")
def test_a_row_decides_its_case_and_not_its_neighbour(case: Case) -> None:
    decision = admit(case.loaded, case.request)
    if isinstance(case.expected, str):
        assert isinstance(decision, Reject)
        assert decision.code == case.expected
        assert decision.code in CODES
        assert decision.message
    else:
        assert decision == case.expected
    assert deciding_row(case.loaded, case.request) == case.row
    assert deciding_row(*case.neighbour) != case.row


def test_every_row_of_the_table_has_a_case() -> None:
    assert {case.row for case in CASES} == {name for name, _ in ROWS}


@pytest.mark.parametrize(
    ("given", "sent", "same"),
    [
        (True, 1, False),
        (1, 1.0, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (None, None, True),
        ({"a": None}, {}, False),
        ("1", 1, False),
    ],
)
def test_answers_are_identical_only_as_the_same_json(given: Json, sent: Json, same: bool) -> None:
    held = RecordedAnswer("resolved", given)
    loaded = idle(
        ask("i1", S.RESOLVED, batch="old", answer=held),
        receipts=(Receipt("old", "finished", {"i1": held}),),
    )
    decision = admit(loaded, says(i1=RecordedAnswer("resolved", sent)))
    assert isinstance(decision, Replay) is same


def test_unknown_entries_can_be_skipped_instead_of_refused() -> None:
    request = replace(says(i1=YES, i9=NO), skip_unknown=True)
    assert admit(waiting(ask("i1")), request) == Resume({"i1": YES})
    only_unknown = replace(says(i9=NO), skip_unknown=True)
    assert admit(idle(), only_unknown) == Start()


def test_the_order_of_entries_does_not_matter() -> None:
    answers = {"i1": YES, "i2": NO}
    rows = [ask(id, S.RESOLVED, batch="old", answer=answers[id]) for id in answers]
    loaded = idle(*rows, receipts=(Receipt("old", "finished", answers),))
    assert admit(loaded, says(i2=NO, i1=YES)) == admit(loaded, says(i1=YES, i2=NO)) == Replay()


def test_a_refusal_names_the_interrupts_that_it_is_about() -> None:
    decision = admit(waiting(ask("i1"), ask("i2")), says(i1=YES))
    assert isinstance(decision, Reject)
    assert decision.interrupt_ids == ("i2",)
    assert "i2" in decision.message
