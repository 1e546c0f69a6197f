"""How far a long command is: one line that changes for people, few lines for logs."""

from __future__ import annotations

import io
from pathlib import Path

from agui_bridge.terminal import Progress, Terminal
from tests.cli.terminal import terminal


def test_a_terminal_has_one_line_which_is_gone_at_the_end() -> None:
    stream = io.StringIO()
    with Progress(Terminal(stream, is_terminal=True, width=12)) as progress:
        progress.tell("1 of 3")
        progress.tell("2 of 3, and more than fits")

    assert stream.getvalue() == "\r\x1b[2K1 of 3\r\x1b[2K2 of 3, and\r\x1b[2K"


def test_a_line_that_stays_stands_above_the_one_that_changes() -> None:
    stream = io.StringIO()
    with Progress(Terminal(stream, is_terminal=True)) as progress:
        progress.tell("1 of 3")
        progress.say("a result")

    assert stream.getvalue() == "\r\x1b[2K1 of 3\r\x1b[2Ka result\n"


def test_a_log_gets_a_whole_line_every_ten_seconds() -> None:
    stream, now = io.StringIO(), 0.0
    with Progress(Terminal(stream, is_terminal=False), clock=lambda: now) as progress:
        for number in range(25):
            now = float(number)
            progress.tell(f"{number} of 25")

    assert stream.getvalue() == "10 of 25\n20 of 25\n"


def test_a_command_shows_it_in_a_real_terminal_and_leaves_its_result(tmp_path: Path) -> None:
    with terminal("migrate", "--store", f"sqlite:///{tmp_path / 'a.db'}", width=200) as screen:
        screen.wait_for("Opening the store sqlite:///")
        screen.wait_for("was made, with schema ")
        assert screen.end() == 0
