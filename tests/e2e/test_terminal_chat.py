"""The terminal chat, as the page of the frontends compares it with other clients."""

from __future__ import annotations

import pytest

from tests.cli.terminal import CTRL_C, terminal
from tests.e2e.target import Target


def server(target: Target) -> str:
    """What the command is given."""
    return f"http://127.0.0.1:{target.port}"


@pytest.mark.feature("terminal", "confirm")
@pytest.mark.parametrize(("key", "told"), [("y", "\nConfirmed."), ("n", "\nNot confirmed.")])
def test_a_confirmation_is_a_yes_or_a_no(target: Target, name: str, key: str, told: str) -> None:
    with terminal("chat", server(target)) as chat:
        chat.answer("you > ", f"confirm {name}")
        chat.answer("[n]o > ", key)
        chat.wait_for(told)
        chat.answer("you > ", "/quit")
        assert chat.end() == 0


@pytest.mark.feature("terminal", "follow")
def test_a_run_goes_on_without_its_terminal_and_another_one_is_told_all_of_it(
    steady: Target, name: str
) -> None:
    with terminal("chat", server(steady), "--thread", name) as first:
        first.answer("you > ", f"count {name} 100")
        first.wait_for("2 3 4")
    # It was killed, as a terminal is that somebody closes.
    with terminal("chat", server(steady), "--thread", name) as second:
        second.wait_for("0 1 2 3")
        assert steady.thread(name)["status"] == "running"
        second.wait_for("97 98 99")
        second.answer("you > ", "/quit")
        assert second.end() == 0
    assert len(steady.executed(name)) == 100


@pytest.mark.feature("terminal", "stop")
def test_ctrl_c_ends_a_run_that_goes_on_without_its_terminal_and_what_was_said_is_kept(
    steady: Target, name: str
) -> None:
    with terminal("chat", server(steady), "--thread", name) as chat:
        chat.answer("you > ", f"count {name} 200")
        chat.wait_for("2 3 4")
        chat.type(CTRL_C, enter=False)
        chat.wait_for("stopped")
        kept = steady.thread(name)
        steps = len(steady.executed(name))
        assert kept["status"] == "idle"
        assert kept["messages"][-1]["content"].startswith("0 1 2 3 4")
        assert steps < 200
        chat.answer("you > ", "hello")
        chat.wait_for("You said: hello")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert len(steady.executed(name)) == steps


@pytest.mark.feature("terminal", "state")
def test_the_state_that_the_agent_keeps_is_shown(steady: Target, name: str) -> None:
    with terminal("chat", server(steady)) as chat:
        chat.answer("you > ", f"count {name} 3")
        chat.wait_for("0 1 2")
        chat.answer("\nyou > ", "/state")
        assert '"counted": 3' in chat.wait_for("\nyou > ")
        chat.type("/quit")
        assert chat.end() == 0
