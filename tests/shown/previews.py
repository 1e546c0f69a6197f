"""Previews that nobody has chosen, and what people read off of one."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from hypothesis import strategies as st

from agui_bridge.protocol.previews import CommandPreview, DiffPreview, Preview
from tests.shown.calls import LONG, TEXTS
from tests.text.reading import logical, unmarked, word_of

__all__ = ["lines_read", "lines_wanted", "previews", "rows_read"]

_TRICKS: Final = st.sampled_from(
    [
        "- rm",
        "+ok",
        "$ ls",
        "> x",
        "↪ x",
        "→   x",
        "\tx ",
        "x\t",
        "File: /etc",
        "@@ -1 +1 @@",
        "```",
    ]
)
_LINES: Final = st.lists(TEXTS | _TRICKS | LONG, max_size=8).map("\n".join)
_PATHS: Final = (TEXTS | _TRICKS).filter(bool)


def previews() -> st.SearchStrategy[Preview]:
    """Previews that are whole."""
    diffs = st.builds(
        lambda path, before, after: DiffPreview.of(path, before[:9_000], after[:9_000]),
        _PATHS,
        _LINES,
        _LINES,
    )
    commands = st.builds(CommandPreview, _LINES.map(lambda it: it[:9_000] or "ls"), _PATHS)
    return st.one_of(diffs, commands)


def lines_read(shown: str) -> list[str]:
    """The lines of a preview, as they are read where it is shown: labels and signs left out."""
    lines = shown.split("\n")
    path = re.sub("^(File|Folder): ", "", lines.pop(0))
    return [word_of(path), *(unmarked(logical(line).replace("→   ", "\t")) for line in lines)]


def lines_wanted(preview: Preview) -> list[str]:
    """What has to be read of a preview."""
    lines = [text for _, text in preview.lines]
    if isinstance(preview, CommandPreview):
        first, *more = lines[1:]
        return [lines[0], f"$ {first}", *(f"> {line}" for line in more)]
    return lines if lines[1:] else [*lines, "Nothing would change."]


def rows_read(told: str) -> str:
    """What the rows of `inbox answer` say that a call would do; "" where they don't."""
    _, found, rest = told.partition("\nwould do    ")
    first, *more = rest.split("\n")
    goes_on = takewhile(lambda line: line.startswith(" " * 12), more)
    return "\n".join((first, *(line[12:] for line in goes_on))) if found else ""
