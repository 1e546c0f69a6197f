"""A page that comes back to a run that goes on: it ends up with what the server has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.clients import OpenPage, Page, resolved
from tests.e2e.target import Target

TOKENS = 60
WHOLE = "".join(f"{number} " for number in range(TOKENS))


@pytest.mark.feature("HttpAgent", "follow", "state")
def test_a_run_goes_on_without_its_page_and_the_page_that_comes_back_is_told_the_rest_live(
    open_page: OpenPage, steady: Target, name: str
) -> None:
    first = open_page(steady)
    first.begin_say(f"count {name} {TOKENS}").until("TEXT_MESSAGE_CONTENT", 3)
    first.abort()
    second = open_page(steady)
    following = second.begin_to_come_back().until("TEXT_MESSAGE_CONTENT", 3)
    assert steady.thread(first.thread)["status"] == "running"
    second.take(following)
    second.agrees()
    assert (following.outcome, second.last_text) == ("success", WHOLE)
    assert second.state == {"counted": TOKENS}
    assert len(steady.executed(name)) == TOKENS


def test_a_page_that_comes_in_the_middle_of_a_run_is_told_the_rest_live(
    open_page: OpenPage,
) -> None:
    first = open_page(state={"draft": 1})
    first.say("hello")
    running = first.begin_say(f"slow {TOKENS}").until("TEXT_MESSAGE_CONTENT", 3)
    second = open_page()
    # Before the end of the run: what was said so far at once, then as it is said.
    following = second.begin_to_come_back().until("TEXT_MESSAGE_CONTENT", 3)
    assert first.target.thread(first.thread)["status"] == "running"
    for page, run in ((first, running), (second, following)):
        page.take(run)
        page.agrees()
        assert page.last_text == WHOLE
    assert following.kinds.count("MESSAGES_SNAPSHOT") == 1
    assert (following.outcome, second.pending) == ("success", [])
    assert second.state == {"draft": 1}
    second.say("and on")
    assert second.last_text == "You said: and on"


def test_an_agent_whose_address_is_the_threads_connect_does_as_well(
    open_page: OpenPage, target: Target
) -> None:
    first = open_page()
    running = first.begin_say(f"slow {TOKENS}").until("TEXT_MESSAGE_CONTENT")
    watching = open_page(url=f"{target.url}/threads/{first.thread}/connect")
    following = watching.begin_again().until("TEXT_MESSAGE_CONTENT")
    first.take(running)
    watching.take(following)
    watching.agrees()
    assert watching.last_text == WHOLE


def test_a_run_outlives_the_page_that_began_it_while_another_one_listens(
    open_page: OpenPage,
) -> None:
    first, second = open_page(), open_page()
    first.begin_say(f"slow {TOKENS}").until("TEXT_MESSAGE_CONTENT")
    following = second.begin_to_come_back().until("TEXT_MESSAGE_CONTENT")
    first.abort()
    second.take(following)
    second.agrees()
    assert second.last_text == WHOLE


def test_a_page_of_another_process_has_the_whole_run_at_its_end(
    open_page: OpenPage, target: Target, tmp_path: Path
) -> None:
    first = open_page(state={"draft": 1})
    with Target(tmp_path, store=target.store) as other:
        running = first.begin_say(f"slow {TOKENS}").until("TEXT_MESSAGE_CONTENT", 3)
        second = open_page(other)
        following = second.begin_to_come_back().until("MESSAGES_SNAPSHOT")
        assert other.thread(first.thread)["status"] == "running"
        first.take(running)
        second.take(following)
        second.agrees()
        assert second.messages == first.messages
        assert second.last_text == WHOLE
        assert second.state == {"draft": 1}
        assert following.outcome == "success"


@pytest.mark.feature("HttpAgent", "reload")
def test_a_page_that_comes_back_to_a_question_answers_it(
    open_page: OpenPage, target: Target, name: str
) -> None:
    asking = open_page()
    asking.say(f"send {name}")
    page = open_page()
    assert page.come_back().outcome == "interrupt"
    assert page.pending == asking.pending
    page.answer(resolved(page.pending[0], {"approved": True}))
    assert page.last_text == f"Outcome: sent to {name}-0@example.com."
    assert len(target.executed(name)) == 1


def test_coming_back_twice_changes_nothing(page: Page) -> None:
    page.say("hello")
    before = page.messages
    for _ in range(2):
        assert page.come_back().outcome == "success"
        assert page.messages == before
