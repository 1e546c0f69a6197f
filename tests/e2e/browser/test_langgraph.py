"""The CopilotKit page before an agent of LangChain, in each way to reach the bridge."""

from collections.abc import Iterator

import pytest

from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.tab import Tab, Via
from tests.e2e.target import Target


@pytest.fixture(scope="module")
def mailer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The example of LangGraph, whose checkpoints outlive a page."""
    folder = tmp_path_factory.mktemp("langgraph")
    checkpoints = ("--checkpoints", str(folder / "checkpoints.db"))
    with Target(folder, module="examples.langgraph.__main__", options=checkpoints) as server:
        yield server


@pytest.fixture
def tab(open_tab: OpenTab, via: Via, mailer: Target) -> Tab:
    """A tab on a new thread with the agent."""
    return open_tab(via, port=mailer.port, agent="mailer")


def test_an_approval_on_the_page_has_the_tool_run_once(tab: Tab, mailer: Target, name: str) -> None:
    tab.say(f"send {name}")
    tab.is_asked("send_email")
    assert mailer.executed(name) == []
    tab.press("Approve")
    tab.sees(f"Outcome: sent to {name}-0@example.com.")
    tab.is_asked_nothing()
    [line] = mailer.executed(name)
    assert line["body"] == "original"


@pytest.mark.parametrize("via", ["rest", "single"])
def test_arguments_edited_after_a_reload_are_those_that_run(
    tab: Tab, mailer: Target, name: str
) -> None:
    tab.say(f"send {name}")
    tab.is_asked("send_email")
    tab.reload()
    tab.is_asked("send_email")
    tab.press("Edit")
    tab.fill(body="shorter")
    tab.press("Approve with changes")
    # LangChain puts before the result that a person has changed the call.
    tab.sees("Tool response: sent to")
    [line] = mailer.executed(name)
    assert (line["to"], line["body"]) == (f"{name}-0@example.com", "shorter")
    tab.reload()
    tab.sees("Tool response: sent to")
    tab.is_asked_nothing()
    assert len(mailer.executed(name)) == 1


def test_of_two_calls_the_one_that_is_declined_does_not_run(
    tab: Tab, mailer: Target, name: str
) -> None:
    tab.say(f"both {name}")
    tab.is_asked("send_email", count=2)
    tab.press("Approve")
    tab.is_asked(f"{name}-1@example.com", count=1)
    tab.press("Deny")
    tab.fill(Reason="not on a Sunday")
    tab.press("Deny")
    tab.sees("Outcome: sent to")
    tab.sees("not on a Sunday")
    tab.is_asked_nothing()
    assert [line["to"] for line in mailer.executed(name)] == [f"{name}-0@example.com"]
    tab.say("hello")
    tab.sees("You said: hello")
