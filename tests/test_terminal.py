"""What commands show is painted and wrapped for people, and plain for everything else."""

import io

import pytest

from agui_bridge.terminal import Terminal, paint

ROWS = [
    ("a", paint("pass", "green"), "one two three four five six seven eight nine ten"),
    ("longer", paint("FAIL", "red", "bold"), "[bold]as it is[/]"),
]


def shown(*, is_terminal: bool, width: int = 40) -> str:
    stream = io.StringIO()
    terminal = Terminal(stream, is_terminal=is_terminal, width=width if is_terminal else None)
    terminal.table(ROWS, head=("name", "", "told"))
    terminal.frame(paint("title", "bold"), ["line", ""], "yellow")
    return stream.getvalue()


def test_in_a_pipe_a_row_is_a_line_without_colours() -> None:
    assert shown(is_terminal=False).splitlines() == [
        "name          told",
        "a       pass  one two three four five six seven eight nine ten",
        "longer  FAIL  [bold]as it is[/]",
        "╭─ title",
        "│ line",
        "│",
        "╰─",
    ]


def test_in_a_terminal_the_last_cell_is_wrapped_below_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(is_terminal=True).splitlines()[:3] == [
        "name          told",
        "a       pass  one two three four five",
        "              six seven eight nine ten",
    ]


def test_a_terminal_has_colours_unless_they_are_not_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    coloured = shown(is_terminal=True)
    assert paint("FAIL", "red", "bold") in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(is_terminal=True)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown(is_terminal=True)


def test_cells_of_wide_letters_take_the_columns_that_they_take() -> None:
    stream = io.StringIO()
    Terminal(stream, is_terminal=False).table([("漢字", "a"), ("e\u0301", "b"), ("four", "c")])
    assert stream.getvalue().splitlines() == ["漢字  a", "e\u0301     b", "four  c"]


def test_the_width_is_that_of_the_window_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(io.StringIO(), is_terminal=True)
    widths = []
    for columns in ("40", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        widths.append(terminal.width)
    assert widths == [40, 120]


def test_a_table_without_rows_is_nothing() -> None:
    stream = io.StringIO()
    Terminal(stream).table([])
    assert stream.getvalue() == ""
