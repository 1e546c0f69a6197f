"""A run is stopped in each phase: nothing is lost, nothing runs twice, and the thread goes on."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import Driver, OpenPage, Page, Run, cancelled, resolved
from tests.e2e.target import Target
from tests.support.waiting import PATIENCE, wait_until

APPROVE = {"approved": True}
WHOLE = "".join(f"{number} " for number in range(100))
"""What `slow 100` says if nobody stops it, after five seconds."""


def went_on(page: Page) -> None:
    """The next message is taken and answered, and both sides have the same conversation."""
    page.say("go on")
    assert page.last_text == "You said: go on"


def told_of_the_stop(run: Run, driver: Driver) -> bool:
    """Whether the client was told, in the shape that its version accepts, that it was stopped."""
    if driver.version == "1.0.0":
        return run.wire[-1]["outcome"] == {"type": "cancelled"} and run.outcome == "cancelled"
    return (
        "outcome" not in run.wire[-1]
        and run.outcome == "success"
        and run.stop_reason == "USER_INTERRUPTED"
    )


def is_part(text: str) -> bool:
    """Whether a text is a beginning of the whole, and not all of it."""
    return WHOLE.startswith(text) and len(text) < len(WHOLE)


# By the client, who closes the connection.


def test_aborted_before_the_first_token_the_user_message_is_kept(
    page: Page, target: Target
) -> None:
    page.begin_say("slow 100").until("RUN_STARTED")
    page.abort()
    thread = target.settled(page.thread)
    said, *rest = thread["messages"]
    assert said == page.messages[0]
    # A token may have been on its way.
    assert all(is_part(message["content"]) for message in rest)
    page.rewrite(thread["messages"])
    went_on(page)


@pytest.mark.feature("HttpAgent", "stop")
def test_aborted_mid_text_the_thread_keeps_what_was_streamed(page: Page, target: Target) -> None:
    page.begin_say("slow 100").until("TEXT_MESSAGE_CONTENT", 3)
    page.abort()
    thread = target.settled(page.thread)
    seen, kept = page.messages[-1], thread["messages"][-1]
    assert is_part(kept["content"])
    assert kept["id"] == seen["id"]
    assert kept["content"].startswith(seen["content"])
    assert seen["content"].startswith("0 1 2 ")
    assert kept["metadata"] == {"agui_bridge": {"truncated": True}}
    assert thread["status"] == "idle"
    page.rewrite(thread["messages"])
    went_on(page)


@pytest.mark.feature("HttpAgent", "stop")
def test_a_run_that_goes_on_without_its_page_ends_by_the_stop_request(
    open_page: OpenPage, steady: Target, name: str
) -> None:
    page = open_page(steady)
    page.begin_say(f"count {name} 200").until("TEXT_MESSAGE_CONTENT", 3)
    page.abort()
    before = len(steady.executed(name))
    wait_until(lambda: len(steady.executed(name)) > before)
    assert steady.stop(page.thread)["status"] == "success"
    thread = steady.thread(page.thread)
    steps = len(steady.executed(name))
    assert thread["status"] == "idle"
    assert thread["messages"][-1]["content"].startswith("0 1 2 ")
    assert steps < 200
    page.rewrite(thread["messages"])
    went_on(page)
    assert len(steady.executed(name)) == steps


def test_a_run_that_another_page_follows_ends_for_both_by_the_stop_request(
    open_page: OpenPage, target: Target, driver: Driver
) -> None:
    first, second = open_page(), open_page()
    first.begin_say("slow 100").until("TEXT_MESSAGE_CONTENT", 3)
    following = second.begin_to_come_back().until("TEXT_MESSAGE_CONTENT")
    first.abort()
    assert target.thread(first.thread)["status"] == "running"
    assert target.stop(first.thread)["status"] == "success"
    assert told_of_the_stop(second.take(following), driver)
    assert target.thread(first.thread)["status"] == "idle"
    assert is_part(second.last_text)


def test_a_message_right_after_an_abort_waits_for_the_stop(
    open_page: OpenPage, tmp_path: Path
) -> None:
    # It waits a quarter of a second by default, in which a slow machine does not hear of an abort.
    with Target(tmp_path, options=("--busy-patience", str(PATIENCE))) as target:
        page = open_page(target)
        page.begin_say("slow 100").until("TEXT_MESSAGE_CONTENT", 3)
        page.abort()
        following = page.take(page.begin_say("go on"))
        assert (following.refused, following.outcome) == (None, "success")
        assert page.last_text == "You said: go on"
        assert is_part(target.thread(page.thread)["messages"][1]["content"])


def test_aborted_while_an_approved_tool_runs_it_gets_its_result_exactly_once(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    page.begin_answer(resolved(ask, APPROVE)).until("MESSAGES_SNAPSHOT")
    page.abort()

    thread = target.settled(page.thread)
    results = [m for m in thread["messages"] if m.get("toolCallId") == ask["toolCallId"]]
    assert [m["content"] for m in results] == [f"sent to {name}-0@example.com"]
    assert len(target.executed(name)) == 1

    # The client still waits for an answer to its question: sending it again is safe.
    assert page.pending == [ask]
    again = page.answer(resolved(ask, APPROVE))
    assert (again.refused, page.pending) == (None, [])
    assert len(target.executed(name)) == 1
    went_on(page)


def test_an_approval_whose_connection_broke_at_once_is_carried_out_exactly_once(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    page.begin_answer(resolved(ask, APPROVE))
    page.abort()
    # Whether the first one arrived or not: the second is the same.
    again = page.answer(resolved(ask, APPROVE))
    assert (again.refused, page.pending) == (None, [])
    results = [m["content"] for m in page.messages if m.get("toolCallId") == ask["toolCallId"]]
    assert results == [f"sent to {name}-0@example.com"]
    assert len(target.executed(name)) == 1


# By the stop request.


def test_stopped_before_the_first_token(page: Page, target: Target, driver: Driver) -> None:
    run = page.begin_say("slow 100").until("RUN_STARTED")
    result = target.stop(page.thread)
    page.take(run)
    assert (result["status"], result["stopReason"]) == ("success", "USER_INTERRUPTED")
    assert told_of_the_stop(run, driver)
    said, *rest = kept = target.thread(page.thread)["messages"]
    assert said == page.messages[0]
    assert run.text == "".join(message["content"] for message in rest)
    # A token may have been on its way; that it is no whole answer, its client does not know.
    if rest:
        assert is_part(run.text)
        page.rewrite(kept)
    went_on(page)


def test_stopped_mid_text_the_client_and_the_thread_keep_what_was_streamed(
    page: Page, target: Target, driver: Driver
) -> None:
    run = page.begin_say("slow 100").until("TEXT_MESSAGE_CONTENT", 3)
    result = target.stop(page.thread)
    page.take(run)

    assert (result["status"], result["stopReason"]) == ("success", "USER_INTERRUPTED")
    assert told_of_the_stop(run, driver)
    kept = target.thread(page.thread)["messages"]
    assert is_part(run.text)
    assert result["partialResponse"] == run.text == page.last_text == kept[-1]["content"]
    assert kept[-1]["metadata"] == {"agui_bridge": {"truncated": True}}
    assert result["messages"] == kept
    assert result["messageCount"] == 2
    page.rewrite(kept)
    went_on(page)


def test_stopped_by_force_mid_text(page: Page, target: Target, driver: Driver) -> None:
    run = page.begin_say("slow 100").until("TEXT_MESSAGE_CONTENT", 3)
    result = target.stop(page.thread, force=True)
    page.take(run)
    assert result["status"] == "success"
    assert told_of_the_stop(run, driver)
    assert result["partialResponse"] == run.text == page.last_text
    page.rewrite(target.thread(page.thread)["messages"])
    went_on(page)


def test_stopped_while_an_approved_tool_runs_it_finishes_and_its_result_is_kept(
    page: Page, target: Target, driver: Driver, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    run = page.begin_answer(resolved(ask, APPROVE)).until("MESSAGES_SNAPSHOT")
    result = target.stop(page.thread)
    page.take(run)
    page.agrees()

    assert result["status"] == "success"
    assert run.results == [(ask["toolCallId"], f"sent to {name}-0@example.com")]
    assert told_of_the_stop(run, driver)
    assert page.pending == []
    assert len(target.executed(name)) == 1
    went_on(page)


def test_stopped_by_force_while_an_approved_tool_runs_its_call_is_still_answered(
    page: Page, target: Target, driver: Driver, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    run = page.begin_answer(resolved(ask, APPROVE)).until("MESSAGES_SNAPSHOT")
    result = target.stop(page.thread, force=True)
    page.take(run)
    page.agrees()

    assert result["status"] == "success"
    assert [call_id for call_id, _ in run.results] == [ask["toolCallId"]]
    assert told_of_the_stop(run, driver)
    assert page.pending == []
    assert len(target.executed(name)) <= 1
    went_on(page)


def test_the_same_answer_again_after_a_stop_executes_nothing_and_tells_of_the_stop(
    open_page: OpenPage, target: Target, driver: Driver, name: str
) -> None:
    page, second = open_page(), open_page()
    page.say(f"send {name}")
    second.say("hello?")
    [ask] = second.pending
    run = page.begin_answer(resolved(ask, APPROVE)).until("MESSAGES_SNAPSHOT")
    target.stop(page.thread)
    page.take(run)
    again = second.answer(resolved(ask, APPROVE))
    assert again.refused is None
    assert told_of_the_stop(again, driver)
    assert second.pending == []
    assert len(target.executed(name)) == 1


def test_a_question_whose_thread_was_stopped_can_not_be_approved_any_more(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    assert target.stop(page.thread)["status"] == "success"

    late = page.answer(resolved(ask, APPROVE))

    assert (late.refused, late.outcome) == ("INTERRUPT_ALREADY_ANSWERED", "success")
    assert page.pending == []
    assert target.executed(name) == []
    assert target.statuses(page.thread) == ["cancelled"]
    answers = [m["content"] for m in page.messages if m.get("toolCallId") == ask["toolCallId"]]
    assert len(answers) == 1
    went_on(page)


def test_a_question_whose_thread_was_stopped_can_be_cancelled_or_left(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    target.stop(page.thread)
    page.answer(cancelled(ask))
    assert page.pending == []
    went_on(page)


def test_a_second_stop_and_one_after_the_end_have_their_answers(page: Page, target: Target) -> None:
    run = page.begin_say("slow 100").until("TEXT_MESSAGE_CONTENT")
    first = target.stop(page.thread)
    page.take(run)
    second = target.stop(page.thread)
    assert (first["status"], second["status"]) == ("success", "success")
    page.rewrite(target.thread(page.thread)["messages"])
    went_on(page)
    late: dict[str, Any] = target.stop(page.thread)
    assert late["status"] == "error"
    assert late["stopReason"] is None
    assert late["messages"] == page.messages
