"""`admit()`: what becomes of an input, given what the store knows of the thread.

A pure function and total: every input on every thread gets exactly one ruling, that of the
first row of the table that holds. The rows are those of docs/contract.md, "Admission", and
carry its numbers; `ROWS` at the end is the table.

The engine carries a ruling out. All that it changes in the store goes through a
compare-and-swap on the very look that was decided on, so that of two inputs at once one wins
and the other is admitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agui_bridge.errors import CODES
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.decisions import find_fault
from agui_bridge.protocol.contract.requests import (
    AskAgain,
    Entry,
    Hold,
    Join,
    Keep,
    Recover,
    Reject,
    Replay,
    Request,
    Resume,
    Ruling,
    Start,
    TakeUp,
    Wake,
)
from agui_bridge.protocol.contract.settling import (
    is_answer_of,
    refusals,
    repeats_votes,
    resume_of,
    settle,
    to_cover,
)
from agui_bridge.protocol.schemas.check_work import CheckWork
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    InterruptStatus,
    Receipt,
    RecordedAnswer,
    ThreadStatus,
)
from agui_bridge.protocol.wire.run_events import iso_time

_TAKEN = "This answer was taken before, and is not carried out again."

_CARRIED_OUT = "This input was taken before, and is not carried out again."

_MOST_NAMED = 100
"""Interrupts that a refusal names: an input may name thousands that there are not."""


def admit(loaded: Loaded, request: Request) -> Ruling:
    """Decide what becomes of `request` on the thread that `loaded` shows.

    Args:
        loaded: one consistent look at the thread, with the interrupts that the request names.
        request: the normalised input.

    Returns:
        The ruling of the first row of `ROWS` that holds.

    Source: docs/contract.md, "Admission".
    """
    if request.skip_unknown:
        request = _without_unknown(loaded, request)
    for _, row in ROWS:
        ruling = row(loaded, request)
        if ruling is not None:
            return ruling
    raise AssertionError("unreachable: row 19b or a row before it holds for every input")


def _lease_over(loaded: Loaded, request: Request) -> Ruling | None:
    if not loaded.run_lost or loaded.way_on == "later":
        return None
    return TakeUp() if loaded.way_on == "now" else Recover()


def _slept(loaded: Loaded, request: Request) -> Ruling | None:
    if not (request.wakes or request.takes_up):
        return None
    # Whatever else the thread does by now, somebody was faster.
    due = request.wakes and (loaded.timer_due or loaded.only_answered)
    return resume_of(loaded, settle(loaded, request)) if due else Replay()


def _same_as_running(loaded: Loaded, request: Request) -> Ruling | None:
    if loaded.status is ThreadStatus.RUNNING and _identical(loaded, request, _given(loaded)):
        return Join()
    return None


def _other_than_given(loaded: Loaded, request: Request) -> Ruling | None:
    given = _given(loaded)
    changed = [
        entry.interrupt_id
        for entry in request.entries
        if entry.interrupt_id in given and not _repeats(loaded, request, entry, given)
    ]
    if not changed:
        return None
    if loaded.status is ThreadStatus.RUNNING:
        return Join()
    return _already_answered(changed)


def _named_twice(loaded: Loaded, request: Request) -> Ruling | None:
    seen: set[str] = set()
    for entry in request.entries:
        if entry.interrupt_id in seen:
            return _reject(
                "INTERRUPT_DUPLICATE",
                f"The resume names interrupt {entry.interrupt_id} more than once.",
                [entry.interrupt_id],
            )
        seen.add(entry.interrupt_id)
    return None


def _answered_before(loaded: Loaded, request: Request) -> Ruling | None:
    receipt = _identical_receipt(loaded, request)
    if receipt is None or receipt.outcome not in ("finished", "stopped"):
        return None
    if request.has_new_message:
        return admit(loaded, replace(request, entries=()))
    return Replay(stopped=receipt.outcome == "stopped")


def _failed_before(loaded: Loaded, request: Request) -> Ruling | None:
    receipt = _identical_receipt(loaded, request)
    if receipt is None or receipt.outcome not in ("failed", "lost"):
        return None
    code = _code_of(receipt)
    return _reject(code, f"{_TAKEN} {CODES[code].cause}", _ids(request))


def _cancels_expired(loaded: Loaded, request: Request) -> Ruling | None:
    if request.entries and all(
        entry.answer.status == "cancelled"
        and (receipt := _receipt_of(loaded, entry.interrupt_id)) is not None
        and receipt.outcome == "expired"
        for entry in request.entries
    ):
        # A 1.0 client can't send a message without covering what has expired meanwhile.
        if request.has_new_message:
            return admit(loaded, replace(request, entries=()))
        return Replay()
    return None


def _batch_closed(loaded: Loaded, request: Request) -> Ruling | None:
    closed = [i for i in _ids(request) if _receipt_of(loaded, i) is not None]
    if not closed:
        return None
    expired = [i for i in closed if loaded.interrupts[i].status is InterruptStatus.EXPIRED]
    if len(expired) == len(closed):
        return _expired(closed)
    withdrawn = [i for i in closed if i not in expired and _was_withdrawn(loaded, i)]
    if len(expired) + len(withdrawn) == len(closed):
        return _reject(
            "INTERRUPT_ALREADY_ANSWERED",
            f"The thread was stopped before {_names(withdrawn)} had an answer; it can have none.",
            closed,
        )
    return _already_answered([i for i in closed if i not in expired and i not in withdrawn])


def _never_raised(loaded: Loaded, request: Request) -> Ruling | None:
    unknown = [i for i in _ids(request) if i not in loaded.interrupts]
    if unknown:
        return _reject(
            "INTERRUPT_NOT_FOUND", f"This thread never raised {_names(unknown)}.", unknown
        )
    return None


def _repeated(loaded: Loaded, request: Request) -> Ruling | None:
    receipt = loaded.receipts.get(request.receipt or "")
    if receipt is None or request.entries or receipt.outcome == "undelivered":
        return None
    if loaded.only_answered:
        # What carries a pause on that nobody has to answer is the input that paused, again.
        return None
    if loaded.status is ThreadStatus.RUNNING:
        return Join()
    if receipt.outcome in ("failed", "lost"):
        code = _code_of(receipt)
        return _reject(code, f"{_CARRIED_OUT} {CODES[code].cause}", ())
    return Replay(stopped=receipt.outcome == "stopped")


def _running(loaded: Loaded, request: Request) -> Ruling | None:
    if loaded.status is not ThreadStatus.RUNNING or loaded.record is None:
        return None
    stop = loaded.record.stop_requested
    if stop is not None and loaded.now < stop.until:
        return Join(until=stop.until)
    return _reject("RUN_IN_PROGRESS", "Another run of this thread is in progress.", ())


def _time_to_wake(loaded: Loaded, request: Request) -> Ruling | None:
    return Wake() if loaded.timer_due else None


def _held_elsewhere(loaded: Loaded, request: Request) -> Ruling | None:
    if not request.elsewhere or loaded.hold is None:
        return None
    if loaded.only_answered and not request.entries:
        return Join()
    ruling = admit(loaded, replace(request, elsewhere=False))
    if not isinstance(ruling, Resume) or not request.entries:
        return ruling
    settled = settle(loaded, request)
    return Hold(settled.answers, settled.votes, joins=True)


def _unnamed(loaded: Loaded, request: Request) -> Ruling | None:
    if not request.unnamed_answer:
        return None
    names = [ask.id for ask in loaded.waiting]
    if names:
        return _reject(
            "INTERRUPT_NOT_COVERED",
            f"The answer does not say to what it is one; {_names(names)} is to be named.",
            names,
        )
    if loaded.asks:
        return _expired(ask.id for ask in loaded.asks if ask.expired(loaded.now))
    return _reject("INTERRUPT_NOT_FOUND", "The answer names no interrupt, and none is open.", ())


def _all_expired(loaded: Loaded, request: Request) -> Ruling | None:
    if not loaded.all_expired or request.entries:
        return None
    return Start(closes_expired=True) if _begins(request) else Replay()


def _rest_expired(loaded: Loaded, request: Request) -> Ruling | None:
    if loaded.only_answered and not request.entries:
        return resume_of(loaded, settle(loaded, request))
    return None


def _auto_answer(loaded: Loaded, request: Request) -> Ruling | None:
    asks, auto = loaded.asks, request.auto_resume
    if not asks or request.entries or auto is None or not auto.follows_ask or not auto.entries:
        return None
    if any(ask.expired(loaded.now) or not ask.takes_message for ask in asks):
        return None
    # The extractor's answer passes the very rows that a client's would.
    verdict = admit(loaded, replace(request, entries=auto.entries, auto_resume=None))
    if isinstance(verdict, Reject) and verdict.code in ("NOT_AN_APPROVER", "SELF_APPROVAL"):
        return AskAgain(verdict.message)
    is_vote = isinstance(verdict, Hold) and bool(verdict.votes)
    return verdict if is_vote or isinstance(verdict, Resume) else None


def _auto_misunderstood(loaded: Loaded, request: Request) -> Ruling | None:
    if loaded.asks and not request.entries and request.auto_resume is not None:
        return AskAgain(request.auto_resume.misunderstood)
    return None


def _pending(loaded: Loaded, request: Request) -> Ruling | None:
    if not loaded.asks or request.entries:
        return None
    names = [ask.id for ask in loaded.waiting]
    said = f"The thread waits for an answer to {_names(names)}: send it, or a cancel, in `resume`."
    for ask in loaded.waiting:
        if ask.is_timer and ask.expires_at is not None:
            said = (
                f"The run sleeps until {iso_time(ask.expires_at)}. Send the message then, or wake "
                f"the run: answer {_names(names)} in `resume`."
            )
    return _reject("INTERRUPT_PENDING", said, names)


def _resolves_expired(loaded: Loaded, request: Request) -> Ruling | None:
    late = [
        entry.interrupt_id
        for entry in request.entries
        if entry.answer.status == "resolved"
        and loaded.interrupts[entry.interrupt_id].expired(loaded.now)
    ]
    return _expired(late) if late else None


def _invalid_payload(loaded: Loaded, request: Request) -> Ruling | None:
    work = CheckWork()
    for entry in request.entries:
        if entry.answer.status == "resolved":
            asked = loaded.interrupts[entry.interrupt_id]
            fault = entry.fault or find_fault(asked, entry.answer.payload, work)
            if fault is not None:
                said = f"{fault.rstrip('.')}."
                return _reject(
                    "INVALID_RESUME_PAYLOAD",
                    f"The answer to interrupt {entry.interrupt_id} is refused: {said}",
                    [entry.interrupt_id],
                )
    return None


def _not_entitled(loaded: Loaded, request: Request) -> Ruling | None:
    found = refusals(loaded, request)
    if not found:
        return None
    # Of several reasons the first; all that are refused are named.
    _, first = found[0]
    return _reject(first.code, first.message, [ask.id for ask, _ in found])


def _voted_again(loaded: Loaded, request: Request) -> Ruling | None:
    return Replay() if repeats_votes(loaded, request) else None


def _left_out(loaded: Loaded, request: Request) -> Ruling | None:
    missing = [] if request.answers_singly else [ask.id for ask in to_cover(loaded, request)]
    if not missing:
        return None
    return _reject(
        "INTERRUPT_NOT_COVERED",
        f"The resume leaves {_names(missing)} open: answer all interrupts at once.",
        missing,
    )


def _some_of_several(loaded: Loaded, request: Request) -> Ruling | None:
    settled = settle(loaded, request)
    if not settled.unsettled or settled.votes.keys() - settled.answers.keys():
        return None
    return Hold(settled.answers, settled.votes)


def _vote_of_several(loaded: Loaded, request: Request) -> Ruling | None:
    settled = settle(loaded, request)
    return Hold(settled.answers, settled.votes) if settled.unsettled else None


def _complete(loaded: Loaded, request: Request) -> Ruling | None:
    return resume_of(loaded, settle(loaded, request)) if loaded.asks else None


def _part_of_results(loaded: Loaded, request: Request) -> Ruling | None:
    return Keep() if request.brings_part else None


def _looked(loaded: Loaded, request: Request) -> Ruling | None:
    if not request.looks:
        return None
    return Start() if loaded.may_look else Replay()


def _idle(loaded: Loaded, request: Request) -> Ruling | None:
    return Start() if request.brings else None


def _nothing_after_input(loaded: Loaded, request: Request) -> Ruling | None:
    return Replay() if request.ends_with_input else None


def _nothing(loaded: Loaded, request: Request) -> Ruling | None:
    # On a thread that never was, nothing can be executed again: an agent may speak first.
    begins = request.acts_on_state or loaded.record is None
    return Start() if begins else Replay()


Row = Callable[[Loaded, Request], Ruling | None]

ROWS: tuple[tuple[str, Row], ...] = (
    ("0", _lease_over),
    ("0a", _slept),
    ("1", _same_as_running),
    ("2", _other_than_given),
    ("3", _named_twice),
    ("4", _answered_before),
    ("5", _failed_before),
    ("6", _cancels_expired),
    ("7", _batch_closed),
    ("8", _never_raised),
    ("8a", _repeated),
    ("9", _running),
    ("9a", _time_to_wake),
    ("9b", _unnamed),
    ("9c", _held_elsewhere),
    ("10", _all_expired),
    ("10b", _rest_expired),
    ("11", _auto_answer),
    ("12", _auto_misunderstood),
    ("13", _pending),
    ("14", _resolves_expired),
    ("15", _invalid_payload),
    ("15a", _not_entitled),
    ("15b", _voted_again),
    ("16", _left_out),
    ("17", _some_of_several),
    ("17b", _vote_of_several),
    ("18", _complete),
    ("18b", _part_of_results),
    ("18c", _looked),
    ("19", _idle),
    ("19a", _nothing_after_input),
    ("19b", _nothing),
)
"""Row number and rule; the first that returns a ruling decides."""


# --- what the rows are made of ---------------------------------------------------------------


def _ids(request: Request) -> list[str]:
    return [entry.interrupt_id for entry in request.entries]


def _names(ids: Iterable[str]) -> str:
    listed = list(ids)
    more = len(listed) - _MOST_NAMED
    return (
        ("interrupt " if len(listed) == 1 else "interrupts ")
        + ", ".join(listed[:_MOST_NAMED])
        + (f" and {more} more" if more > 0 else "")
    )


def _repeats(
    loaded: Loaded, request: Request, entry: Entry, given: Mapping[str, RecordedAnswer]
) -> bool:
    """Whether an entry says what its interrupt was answered with."""
    id, actor = entry.interrupt_id, request.principal.actor
    return id in given and is_answer_of(loaded.interrupts.get(id), entry, given[id], actor)


def _identical(loaded: Loaded, request: Request, given: Mapping[str, RecordedAnswer]) -> bool:
    return bool(request.entries) and all(
        _repeats(loaded, request, entry, given) for entry in request.entries
    )


def _given(loaded: Loaded) -> dict[str, RecordedAnswer]:
    """Answers that are held or being carried out; the answers of closed batches are receipts."""
    return {i.id: i.answer for i in loaded.batch_interrupts() if i.answer is not None}


def _begins(request: Request) -> bool:
    """Whether an input begins a run on an idle thread."""
    return request.brings or (request.acts_on_state and not request.ends_with_input)


def _code_of(receipt: Receipt) -> str:
    code = receipt.code or ("AGENT_ERROR" if receipt.outcome == "failed" else "RUN_INDETERMINATE")
    # It may be of another version of the bridge.
    return code if code in CODES else "AGENT_ERROR"


def _receipt_of(loaded: Loaded, interrupt_id: str) -> Receipt | None:
    interrupt = loaded.interrupts.get(interrupt_id)
    return loaded.receipts.get(interrupt.batch) if interrupt is not None else None


def _was_withdrawn(loaded: Loaded, interrupt_id: str) -> bool:
    """Whether a stop closed an interrupt's batch before it was answered."""
    receipt = _receipt_of(loaded, interrupt_id)
    return receipt is not None and receipt.outcome == "cancelled"


def _identical_receipt(loaded: Loaded, request: Request) -> Receipt | None:
    entries = request.entries
    receipt = _receipt_of(loaded, entries[0].interrupt_id) if entries else None
    return receipt if receipt and _identical(loaded, request, receipt.answers) else None


def _without_unknown(loaded: Loaded, request: Request) -> Request:
    known = tuple(e for e in request.entries if e.interrupt_id in loaded.interrupts)
    return replace(request, entries=known)


def _reject(code: str, message: str, ids: Iterable[str]) -> Reject:
    return Reject(code, message, tuple(ids))


def _already_answered(ids: Iterable[str]) -> Reject:
    listed = list(ids)
    return _reject(
        "INTERRUPT_ALREADY_ANSWERED", f"Another answer was given to {_names(listed)}.", listed
    )


def _expired(ids: Iterable[str]) -> Reject:
    listed = list(ids)
    return _reject("INTERRUPT_EXPIRED", f"The time to answer {_names(listed)} is over.", listed)
