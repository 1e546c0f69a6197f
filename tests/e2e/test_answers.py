"""A pause is answered in each way there is, and the action happens exactly as it was allowed."""

from pathlib import Path

import pytest

from tests.e2e.clients import OpenPage, Page, cancelled, resolved
from tests.e2e.target import Target


@pytest.mark.feature("HttpAgent", "approve")
def test_an_approved_call_is_executed_once_with_the_arguments_shown(
    page: Page, target: Target, name: str
) -> None:
    asking = page.say(f"send {name}")
    [ask] = page.pending
    call = page.messages[-1]["toolCalls"][0]
    assert asking.outcome == "interrupt"
    assert (ask["reason"], ask["toolCallId"]) == ("tool_call", call["id"])
    assert target.executed(name) == []

    resumed = page.answer(resolved(ask, {"approved": True}))

    sent = {"tool": "send_email", "to": f"{name}-0@example.com", "body": "original"}
    assert target.executed(name) == [sent]
    assert resumed.results == [(call["id"], f"sent to {name}-0@example.com")]
    assert "TOOL_CALL_START" not in resumed.kinds
    assert resumed.kinds[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert page.last_text == f"Outcome: sent to {name}-0@example.com."
    assert page.pending == []


@pytest.mark.feature("HttpAgent", "deny")
def test_a_denied_call_is_not_executed_and_its_result_gives_the_reason(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    resumed = page.answer(resolved(ask, {"approved": False, "reason": "wrong address"}))
    [(call_id, content)] = resumed.results
    assert call_id == ask["toolCallId"]
    assert "wrong address" in content
    assert page.last_text == "Outcome: not sent."
    assert page.pending == []
    assert target.executed(name) == []


@pytest.mark.feature("HttpAgent", "cancel")
def test_a_cancelled_call_is_not_executed_and_its_result_says_so(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    resumed = page.answer(cancelled(ask))
    assert [call_id for call_id, _ in resumed.results] == [ask["toolCallId"]]
    assert page.last_text == "Outcome: not sent."
    assert page.pending == []
    assert target.executed(name) == []
    assert target.statuses(page.thread) == ["cancelled"]


@pytest.mark.feature("HttpAgent", "edit")
def test_edited_arguments_replace_those_of_the_model_whole(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    [ask] = page.pending
    edited = {"to": f"{name}-edited@example.com", "body": "shorter"}
    page.answer(resolved(ask, {"approved": True, "editedArgs": edited}))
    assert target.executed(name) == [{"tool": "send_email", **edited}]
    assert page.last_text == f"Outcome: sent to {name}-edited@example.com."


@pytest.mark.feature("HttpAgent", "form")
def test_a_form_reaches_the_agent_as_it_was_filled_in(page: Page, name: str) -> None:
    page.say(f"form {name}")
    [ask] = page.pending
    assert ask["reason"] == "input_required"
    assert sorted(ask["responseSchema"]["properties"]) == ["quarter", "year"]
    page.answer(resolved(ask, {"quarter": "Q3", "year": 2026}))
    assert page.last_text == "Quarter: Q3 2026."
    assert page.pending == []


def test_a_form_that_is_cancelled_leaves_the_agent_without_an_answer(page: Page, name: str) -> None:
    page.say(f"form {name}")
    page.answer(cancelled(page.pending[0]))
    assert page.last_text == "No quarter."


@pytest.mark.feature("HttpAgent", "confirm")
@pytest.mark.parametrize(("yes", "told"), [(True, "Confirmed."), (False, "Not confirmed.")])
def test_a_confirmation_is_a_yes_or_a_no(page: Page, name: str, yes: bool, told: str) -> None:
    page.say(f"confirm {name}")
    [ask] = page.pending
    assert ask["reason"] == "confirmation"
    page.answer(resolved(ask, {"confirm": yes}))
    assert (page.last_text, page.pending) == (told, [])


@pytest.mark.feature("HttpAgent", "several")
def test_of_two_parallel_calls_the_approved_one_runs_and_the_cancelled_one_does_not(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"both {name}")
    first, second = page.pending
    resumed = page.answer(resolved(first, {"approved": True}), cancelled(second))
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]
    assert {i for i, _ in resumed.results} == {first["toolCallId"], second["toolCallId"]}
    assert page.last_text == f"Outcomes: sent to {name}-0@example.com, not sent."
    assert page.pending == []


def test_of_two_parallel_calls_the_edited_one_runs_edited_and_the_denied_one_does_not(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"both {name}")
    first, second = page.pending
    edited = {"to": f"{name}-edited@example.com", "body": "shorter"}
    page.answer(
        resolved(second, {"approved": True, "editedArgs": edited}),
        resolved(first, {"approved": False}),
    )
    assert target.executed(name) == [{"tool": "send_email", **edited}]
    assert page.last_text == f"Outcomes: not sent, sent to {name}-edited@example.com."


def test_a_thread_goes_on_after_an_answer_and_pauses_again(
    page: Page, target: Target, name: str
) -> None:
    page.say(f"send {name}")
    page.answer(resolved(page.pending[0], {"approved": True}))
    page.say("thanks")
    assert page.last_text == "You said: thanks"
    page.say(f"send {name}")
    page.answer(resolved(page.pending[0], {"approved": True}))
    assert len(target.executed(name)) == 2


def test_a_question_outlives_the_server_that_asked_it(
    open_page: OpenPage, tmp_path: Path, name: str
) -> None:
    with Target(tmp_path) as first:
        asking = open_page(first)
        asking.say(f"send {name}")
        first.kill()
    with Target(tmp_path) as second:
        page = open_page(second, messages=asking.messages, pendingInterrupts=asking.pending)
        page.answer(resolved(page.pending[0], {"approved": True}))
        assert page.last_text == f"Outcome: sent to {name}-0@example.com."
        assert len(second.executed(name)) == 1


@pytest.mark.feature("HttpAgent", "page tool")
def test_a_tool_of_the_page_runs_there_and_its_result_goes_on(page: Page, name: str) -> None:
    page.say(f"frontend {name}")
    [call] = page.messages[-1]["toolCalls"]
    assert call["function"]["name"] == "show_page"
    result = {"id": f"result-{name}", "role": "tool", "toolCallId": call["id"]}
    page.rewrite([*page.messages, {**result, "content": f"the page {name}"}])
    page.rerun()
    assert page.last_text == f"Shown: the page {name}."


@pytest.mark.feature("HttpAgent", "page state")
def test_a_state_that_the_client_sends_is_kept(open_page: OpenPage, name: str) -> None:
    page = open_page(state={"theme": "dark"})
    page.say(f"confirm {name}")
    page.answer(resolved(page.pending[0], {"confirm": True}))
    assert page.state == {"theme": "dark"}
