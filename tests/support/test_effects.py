"""A file of effects is read while another process writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.effects import lines_of


@pytest.mark.parametrize(
    ("text", "lines"),
    [(None, []), ("", []), ("{", []), ("one\n", ["one"]), ('{"a": 1}\n{"a"', ['{"a": 1}'])],
)
def test_a_line_counts_once_it_is_whole(text: str | None, lines: list[str], tmp_path: Path) -> None:
    file = tmp_path / "effects"
    if text is not None:
        file.write_text(text)
    assert lines_of(file) == lines
