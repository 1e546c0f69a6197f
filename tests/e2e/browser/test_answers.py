"""Questions are answered on the page, in each way to reach the bridge."""

import pytest

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import Tab, Via
from tests.e2e.target import Target


@pytest.mark.feature("CopilotKit", "approve")
def test_nothing_runs_before_the_approval_and_once_after_it(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"send {name}")
    tab.is_asked(f"Send an email to {name}-0@example.com?")
    assert target.executed(name) == []
    tab.press("Approve")
    tab.sees(f"Outcome: sent to {name}-0@example.com.")
    tab.is_asked_nothing()
    [line] = target.executed(name)
    assert line["body"] == "original"
    assert target.statuses(tab.thread) == ["resolved"]


@pytest.mark.feature("CopilotKit", "deny")
def test_a_denied_call_does_not_run_and_the_reason_is_kept(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"send {name}")
    tab.press("Deny")
    tab.fill(Reason="not on a Sunday")
    tab.press("Deny")
    tab.sees("Outcome: not sent.")
    tab.is_asked_nothing()
    assert target.executed(name) == []
    [ask] = target.audit(tab.thread)
    assert ask["answer"]["payload"] == {"approved": False, "reason": "not on a Sunday"}


@pytest.mark.feature("CopilotKit", "cancel")
def test_a_cancelled_call_does_not_run_and_the_chat_goes_on(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"send {name}")
    tab.press("Cancel")
    tab.sees("Outcome: not sent.")
    assert target.executed(name) == []
    assert target.statuses(tab.thread) == ["cancelled"]
    tab.say("hello")
    tab.sees("You said: hello")


@pytest.mark.feature("CopilotKit", "edit")
def test_edited_arguments_are_those_that_run(tab: Tab, target: Target, name: str) -> None:
    tab.say(f"send {name}")
    tab.press("Edit")
    tab.fill(Body="shorter")
    tab.press("Approve with changes")
    tab.sees(f"Outcome: sent to {name}-0@example.com.")
    [line] = target.executed(name)
    assert (line["to"], line["body"]) == (f"{name}-0@example.com", "shorter")


@pytest.mark.feature("CopilotKit", "form")
def test_a_form_is_made_from_the_schema_and_checked_before_it_is_sent(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"form {name}")
    tab.is_asked(f"Which quarter for {name}?")
    tab.fill(Quarter="Q3")
    tab.press("Send")
    tab.sees("Year is missing.")
    assert target.statuses(tab.thread) == ["open"]
    tab.fill(Year="2026")
    tab.press("Send")
    tab.sees("Quarter: Q3 2026.")


@pytest.mark.feature("CopilotKit", "confirm")
def test_a_confirmation_is_a_yes_or_a_no(tab: Tab, name: str) -> None:
    tab.say(f"confirm {name}")
    tab.press("No")
    tab.sees("Not confirmed.")
    tab.say(f"confirm {name}")
    tab.press("Yes")
    tab.sees("Confirmed.")


@pytest.mark.feature("CopilotKit", "several")
def test_parallel_questions_are_shown_and_sent_together(
    tab: Tab, target: Target, name: str
) -> None:
    tab.say(f"both {name}")
    tab.is_asked(f"Send an email to {name}-1@example.com?", count=2)
    tab.press("Approve")
    tab.is_asked(f"Send an email to {name}-1@example.com?", count=1)
    assert target.statuses(tab.thread) == ["open", "open"]
    tab.press("Deny")
    tab.press("Deny")
    tab.sees(f"Outcomes: sent to {name}-0@example.com, not sent.")
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]


@pytest.mark.feature("CopilotKit", "refused")
def test_after_a_refused_answer_the_question_is_back_and_a_good_one_is_taken(
    open_tab: OpenTab, via: Via, target: Target, name: str
) -> None:
    tab = open_tab(via, check="off")
    tab.say(f"form {name}")
    tab.fill(Quarter="Q2")
    tab.press("Send")
    tab.is_told("INVALID_RESUME_PAYLOAD")
    tab.is_asked(f"Which quarter for {name}?")
    assert target.statuses(tab.thread) == ["open"]
    tab.fill(Quarter="Q2", Year="2026")
    tab.press("Send")
    tab.sees("Quarter: Q2 2026.")
