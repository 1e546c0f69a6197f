"""The terminal chat with an answer that comes too late: it is told, and the chat goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.terminal import terminal
from tests.support.target import Target, approve
from tests.support.waiting import wait_until

YES_NO = "[c]ancel > "


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(tmp_path_factory.mktemp("late"))
    yield target
    target.close()


@pytest.fixture
def url(target: Target) -> str:
    return f"http://127.0.0.1:{target.port}"


@pytest.mark.feature("terminal", "elsewhere")
def test_that_somebody_else_has_answered_is_told(target: Target, url: str) -> None:
    with terminal("chat", url, "--thread", "shared") as chat:
        chat.answer("you > ", "send ivy")
        chat.wait_for(YES_NO)
        [ask] = target.thread("shared")["interrupts"]
        target.send("shared", resume=[approve(ask)])
        chat.type("n")
        chat.answer("no reason) > ", "too late")
        shown = chat.wait_for("you > ")
        assert "INTERRUPT_ALREADY_ANSWERED" in shown
        # What the other answer led to is shown, and nothing twice.
        assert "Outcome: sent to ivy-0@example.com." in shown and "send ivy" not in shown
        chat.type("hello")
        chat.wait_for("You said: hello")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert len(target.effects) == 1


@pytest.mark.feature("terminal", "expired")
def test_that_the_time_is_over_is_told(target: Target, url: str) -> None:
    before = target.effects
    with terminal("chat", url, "--thread", "short") as chat:
        chat.answer("you > ", "brief joe")
        chat.wait_for(YES_NO)
        wait_until(lambda: not target.thread("short")["interrupts"])
        chat.type("y")
        chat.wait_for("The time to answer is over. Enter: cancel it > ")
        chat.type("")
        chat.answer("you > ", "hello")
        chat.wait_for("You said: hello")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert target.effects == before


def test_the_same_answer_from_two_terminals_shows_both_what_became_of_it(
    target: Target, url: str
) -> None:
    with terminal("chat", url, "--thread", "twice") as first:
        first.answer("you > ", "send olga")
        first.wait_for(YES_NO)
        with terminal("chat", url, "--thread", "twice") as second:
            second.wait_for(YES_NO)
            first.type("y")
            first.wait_for("Outcome: sent to olga-0@example.com.")
            second.type("y")
            second.wait_for("Outcome: sent to olga-0@example.com.")
            second.answer("you > ", "/quit")
            assert second.end() == 0
        first.answer("you > ", "/quit")
        assert first.end() == 0
    assert [line["to"] for line in target.effects].count("olga-0@example.com") == 1
