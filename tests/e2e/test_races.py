"""Several pages answer the same question: one answer counts, and every page ends up sane."""

import pytest

from tests.e2e.clients import OpenPage, Page, cancelled, resolved
from tests.e2e.target import Target

APPROVE = {"approved": True}
DENY = {"approved": False}


def two_pages_asked(open_page: OpenPage, name: str) -> tuple[Page, Page]:
    """Two pages that both wait for an answer to the same question."""
    first, second = open_page(), open_page()
    first.say(f"send {name}")
    second.say("hello?")
    assert first.pending == second.pending != []
    return first, second


def test_the_same_answer_again_executes_nothing_and_tells_how_it_ended(
    open_page: OpenPage, target: Target, name: str
) -> None:
    first, second = two_pages_asked(open_page, name)
    [ask] = first.pending
    first.answer(resolved(ask, APPROVE))
    again = second.answer(resolved(ask, APPROVE))
    assert (again.refused, again.outcome) == (None, "success")
    assert again.kinds == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert second.pending == []
    assert second.messages == first.messages
    assert len(target.executed(name)) == 1


def test_the_same_cancel_again_tells_how_it_ended(
    open_page: OpenPage, target: Target, name: str
) -> None:
    first, second = two_pages_asked(open_page, name)
    [ask] = first.pending
    first.answer(cancelled(ask))
    again = second.answer(cancelled(ask))
    assert (again.refused, again.outcome, second.pending) == (None, "success", [])
    assert target.executed(name) == []


def test_the_same_answer_again_while_a_later_question_is_open_brings_that_question(
    open_page: OpenPage, target: Target, name: str
) -> None:
    first, second = two_pages_asked(open_page, name)
    [ask] = first.pending
    first.answer(resolved(ask, APPROVE))
    first.say(f"confirm {name}")
    again = second.answer(resolved(ask, APPROVE))
    assert (again.refused, again.outcome) == (None, "interrupt")
    assert second.pending == first.pending
    second.answer(resolved(second.pending[0], {"confirm": True}))
    assert second.last_text == "Confirmed."
    assert len(target.executed(name)) == 1


@pytest.mark.feature("HttpAgent", "elsewhere")
@pytest.mark.parametrize("late", [DENY, {**APPROVE, "reason": "sure"}, None], ids=repr)
def test_another_answer_afterwards_is_refused_and_the_page_goes_on(
    open_page: OpenPage, target: Target, name: str, late: dict[str, object] | None
) -> None:
    first, second = two_pages_asked(open_page, name)
    [ask] = first.pending
    first.answer(resolved(ask, APPROVE))
    refused = second.answer(cancelled(ask) if late is None else resolved(ask, late))
    assert (refused.refused, refused.outcome) == ("INTERRUPT_ALREADY_ANSWERED", "success")
    assert second.pending == []
    assert second.messages == first.messages
    assert len(target.executed(name)) == 1
    second.say("hello?")
    assert second.last_text == "You said: hello?"


def test_two_pages_that_approve_at_once_cause_one_execution(
    open_page: OpenPage, target: Target, name: str
) -> None:
    first, second = two_pages_asked(open_page, name)
    [ask] = first.pending
    runs = [(page, page.begin_answer(resolved(ask, APPROVE))) for page in (first, second)]
    for page, run in runs:
        page.take(run)
        assert (run.refused, run.outcome) == (None, "success")
        assert page.pending == []
        page.agrees()
    assert len(target.executed(name)) == 1
    told = sorted(len(run.results) for _, run in runs)
    assert told == [0, 1]


@pytest.mark.parametrize("order", [(APPROVE, DENY), (DENY, APPROVE)], ids=["approve", "deny"])
def test_of_two_different_answers_at_once_one_counts_and_the_other_is_refused(
    open_page: OpenPage, target: Target, name: str, order: tuple[dict[str, bool], dict[str, bool]]
) -> None:
    pages = two_pages_asked(open_page, name)
    [ask] = pages[0].pending
    runs = [
        page.begin_answer(resolved(ask, answer)) for page, answer in zip(pages, order, strict=True)
    ]
    for page, run in zip(pages, runs, strict=True):
        page.take(run)
        page.agrees()
        assert (run.outcome, page.pending) == ("success", [])
    refusals = [run.refused for run in runs]
    assert sorted(refusals, key=str) == ["INTERRUPT_ALREADY_ANSWERED", None]
    counted = order[refusals.index(None)]
    assert len(target.executed(name)) == (1 if counted == APPROVE else 0)
    outcome = f"sent to {name}-0@example.com" if counted == APPROVE else "not sent"
    assert {page.last_text for page in pages} == {f"Outcome: {outcome}."}


def test_a_message_while_another_page_runs_is_refused_and_can_be_sent_again(
    open_page: OpenPage,
) -> None:
    first = open_page()
    first.say("hello")
    second = open_page(messages=first.messages)
    running = first.begin_say("slow 20").until("TEXT_MESSAGE_CONTENT")
    refused = second.take(second.begin_say("hello?"))
    assert refused.refused == "RUN_IN_PROGRESS"
    assert refused.kinds == ["RUN_STARTED", "RUN_ERROR"]
    assert first.take(running).outcome == "success"
    second.take(second.begin_again())
    assert second.last_text == "You said: hello?"
