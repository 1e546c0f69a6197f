"""A question that nobody answered in time can't be answered any more, and the thread goes on."""

from collections.abc import Iterator

import pytest

from tests.e2e.clients import Driver, OpenPage, Page, cancelled, resolved
from tests.e2e.target import Target


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server whose questions stand for one second."""
    with Target(tmp_path_factory.mktemp("target"), expires_in=1) as target:
        yield target


def test_an_answer_within_the_time_counts(page: Page, target: Target, name: str) -> None:
    page.say(f"send {name}")
    page.answer(resolved(page.pending[0], {"approved": True}))
    assert page.last_text == f"Outcome: sent to {name}-0@example.com."
    assert len(target.executed(name)) == 1


def test_only_a_client_that_can_cancel_what_has_expired_is_told_when(
    page: Page, target: Target, driver: Driver, name: str
) -> None:
    page.say(f"send {name}")
    told = "expiresAt" in page.pending[0]
    assert told is (driver.version == "1.0.0")
    assert "expiresAt" in target.audit(page.thread)[0]


@pytest.mark.feature("HttpAgent", "expired")
def test_an_answer_after_the_time_is_refused_and_a_new_message_starts_anew(
    open_page: OpenPage, target: Target, name: str
) -> None:
    asking = open_page()
    asking.say(f"send {name}")
    [ask] = asking.pending
    target.wait_for_expiry(asking.thread)
    # 1.0.0 would refuse by itself, if it knew the time.
    page = open_page(messages=asking.messages)

    late = page.answer(resolved(ask, {"approved": True}))

    assert (late.refused, late.outcome) == ("INTERRUPT_EXPIRED", "success")
    assert page.pending == []
    assert target.statuses(page.thread) == ["expired"]
    assert [m["role"] for m in page.messages] == ["user", "assistant", "tool"]
    page.say("never mind")
    assert page.last_text == "You said: never mind"
    assert page.answer(resolved(ask, {"approved": True})).refused == "INTERRUPT_EXPIRED"
    assert target.executed(name) == []


def test_a_new_message_after_the_time_starts_anew(
    open_page: OpenPage, target: Target, name: str
) -> None:
    asking = open_page()
    asking.say(f"send {name}")
    target.wait_for_expiry(asking.thread)
    page = open_page(messages=asking.messages)
    page.say(f"send {name}")
    [ask] = page.pending
    assert ask["id"] != asking.pending[0]["id"]
    page.answer(resolved(ask, {"approved": True}))
    assert len(target.executed(name)) == 1
    assert target.statuses(page.thread) == ["expired", "resolved"]


def test_after_an_expired_question_one_can_go_back_and_regenerate(
    open_page: OpenPage, target: Target, name: str
) -> None:
    asking = open_page()
    asking.say(f"send {name}")
    target.wait_for_expiry(asking.thread)
    page = open_page(messages=asking.messages)
    page.say("never mind")
    page.rewrite(page.messages[:-1])
    page.rerun()
    assert page.last_text == "You said: never mind"
    assert [m["role"] for m in page.messages].count("assistant") == 2


def test_what_has_expired_can_be_cancelled_by_the_page_that_was_asked(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    target.wait_for_expiry(page.thread)
    cancelling = page.answer(cancelled(ask))
    assert (cancelling.refused, cancelling.outcome) == (None, "success")
    assert page.pending == []
    assert target.executed(name) == []
    page.say("never mind")
    assert page.last_text == "You said: never mind"
