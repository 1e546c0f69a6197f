"""A preview is what it says it is, or it is refused where it is built."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.previews import (
    LONGEST_COMMAND,
    LONGEST_DIFF,
    LONGEST_FILE,
    CommandPreview,
    DiffPreview,
    read_preview,
)
from agui_bridge.text.shown import CUT, GOES_ON, NOTHING, shown_preview
from tests.text.reading import hides_nothing

SMALL = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no diff": ({"diff": "rm -rf /"}, "line 1 stands in no hunk: 'rm -rf /'"),
    "a line too many": ({"diff": SMALL + "+more\n"}, "line 7 stands in no hunk: '+more'"),
    "a line too few": ({"diff": SMALL[:-5]}, "lacks the end of its last hunk: 0 lines of the old"),
    "numbers that don't fit": (
        {"diff": "@@ -1 +1,2 @@\n-a\n-b\n"},
        "line 3 does not fit the numbers of its hunk: '-b'",
    ),
    "no sign": ({"diff": "@@ -1 +1 @@\nab\n"}, "line 2 does not fit the numbers"),
    "one path as text": ({"paths": "src/app.py"}, "DiffPreview.paths must be a sequence of 1 to"),
    "no path": ({"paths": []}, "DiffPreview.paths must be"),
    "an empty path": ({"paths": ["x", ""]}, "with str ''"),
    "many paths": ({"paths": ["x"] * 101}, "DiffPreview.paths must be a sequence of 1 to 100"),
    "a long path": ({"paths": ["x" * 1_001]}, "DiffPreview.paths must be"),
    "a long diff": ({"diff": "x" * (LONGEST_DIFF + 1)}, "DiffPreview.diff must be a str of 50,000"),
    "lines": ({"diff": ["+a"]}, "DiffPreview.diff must be a str of 50,000 at most, not list"),
    "a word for cut": ({"is_cut": "no"}, "DiffPreview.is_cut must be a bool, not str 'no'"),
}


@pytest.mark.parametrize(("fields", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_diff_is_refused_at_its_line(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(AgentMistake) as refused:
        DiffPreview(**{"paths": ["x"], "diff": SMALL, **fields})
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"command": ""}, "CommandPreview.command must be a str of 1 to 10,000 characters, not"),
        ({"command": "x" * (LONGEST_COMMAND + 1)}, "CommandPreview.command must be"),
        ({"command": ["rm"]}, "CommandPreview.command must be"),
        (
            {"folder": None},
            "CommandPreview.folder must be a str of 1 to 1,000 characters, not None",
        ),
    ],
)
def test_what_is_no_command_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(AgentMistake) as refused:
        CommandPreview(**{"command": "ls", "folder": "/", **fields})
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"type": "picture"}, {"type": "diff", "paths": ["x"]}, {"type": "command"}],
)
def test_what_is_no_preview_is_not_read_as_one(value: Any) -> None:
    with pytest.raises(AgentMistake, match="A preview must be"):
        read_preview(value)


def test_a_diff_that_git_makes_is_one(tmp_path: Path) -> None:
    def git(*args: str) -> str:
        given = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args]
        return subprocess.run(
            given, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    (tmp_path / "a").write_text("".join(f"{n}\n" for n in range(40)))
    (tmp_path / "b").write_text("one")
    (tmp_path / "c").write_bytes(b"\0\1")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "a").write_text("".join(f"{n}\n" for n in range(40) if n not in (3, 30)))
    (tmp_path / "b").write_text("--- two\n+++ \n\n")
    (tmp_path / "c").write_bytes(b"\0\2")
    (tmp_path / "d").write_text("new")
    git("add", ".")
    git("mv", "d", "e")
    told = git("diff", "--cached")
    kinds = [kind for kind, _ in DiffPreview(["a", "b", "c", "e"], told).lines]
    assert (kinds.count("place"), kinds.count("path"), kinds.count("note")) == (4, 4, 2)


LINES = st.lists(
    st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=8)
    | st.sampled_from(["", " ", "\t", "a ", "a\t", "→", "a\r", "-- a", "@@ -1 +1 @@", "\\ x"]),
    max_size=12,
).map("\n".join)


def patched(text: str, made: DiffPreview) -> str:
    """What a text becomes by a change, as `patch` makes it."""
    lines, done, at, last = re.findall(r"[^\n]*\n|[^\n]+", text), list[str](), 0, ""
    for kind, line in made.lines:
        if kind == "place":
            first, *count = map(int, line.split()[1][1:].split(","))
            start = first - (count != [0])
            done, at = done + lines[at:start], start
        elif kind in ("same", "removed"):
            assert lines[at].removesuffix("\n") == line[1:]
            done += [lines[at]] if kind == "same" else []
            at += 1
        elif kind == "added":
            done.append(f"{line[1:]}\n")
        elif kind == "note" and last == "added":
            done[-1] = done[-1].removesuffix("\n")
        last = kind
    return "".join((*done, *lines[at:]))


@given(before=st.none() | LINES, after=st.none() | LINES)
def test_a_change_is_told_so_that_what_comes_of_it_can_be_read(
    before: str | None, after: str | None
) -> None:
    made = DiffPreview.of("x", before, after)
    assert read_preview(json.loads(json.dumps(made.to_json()))) == made
    assert not made.is_cut
    shown = shown_preview(made)
    assert hides_nothing(shown)
    assert (NOTHING in shown) is ((before or "") == (after or ""))
    assert patched(before or "", made) == (after or "")


def test_a_change_of_blanks_alone_can_be_seen() -> None:
    for one, other in [
        ("a", "a "),
        ("\ta", "    a"),
        ("→   a", "\ta"),
        ("a", "a\r"),
        ("a\t", "a "),
    ]:
        _, _, _, _, removed, added, *_ = shown_preview(
            DiffPreview.of("x", f"{one}\n", f"{other}\n")
        ).split("\n")
        assert (removed[0], added[0]) == ("-", "+")
        assert " ".join(removed[1:].split()) != " ".join(added[1:].split())


def test_no_line_of_a_preview_begins_as_the_rest_of_one_does() -> None:
    made = CommandPreview(f"{GOES_ON}a\n{GOES_ON}b", f"{GOES_ON}c")
    assert not [line for line in shown_preview(made).split("\n") if line.startswith(GOES_ON)]
    assert shown_preview(made).split("\n")[1:] == [f"$ {GOES_ON}a", f"> {GOES_ON}b"]


def test_a_change_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    after = "".join(f"line {n} of many\n" for n in range(5_000))
    made = DiffPreview.of("x", None, after)
    assert made.is_cut and LONGEST_DIFF - 100 < len(made.diff) <= LONGEST_DIFF
    assert made.diff.endswith(" of many\n") and made.diff.startswith("--- /dev/null\n+++ b/x\n")
    assert shown_preview(made).endswith(CUT)
    with pytest.raises(AgentMistake, match="at most 500,000 characters, and one has 500,001"):
        DiffPreview.of("x", None, "a" * (LONGEST_FILE + 1))
