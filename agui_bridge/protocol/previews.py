"""What a call would do, for people to read before they approve it: a change of files, or a command.

A preview stands beside the arguments and never for them. It is made once, when the question is
asked, and is stored with it. Source: docs/contract.md, Y1 to Y8.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.field_rules import FieldRule, check_fields, is_a, sequence_of

LONGEST_DIFF: Final = 50_000
"""Characters of a diff."""

LONGEST_COMMAND: Final = 10_000
"""Characters of a command."""

LONGEST_PATH: Final = 1_000
MOST_PATHS: Final = 100
LONGEST_FILE: Final = 500_000
"""Characters of a file that `DiffPreview.of` compares."""

LineKind = Literal["path", "folder", "command", "head", "place", "added", "removed", "same", "note"]
"""What a line says: a file or a folder, a line of a command, or one of a diff: its head, the place
of a hunk, a line that is added, removed or stays, or a note of its own."""


class PreviewLine(NamedTuple):
    """One line of a preview, without its end.

    Attributes:
        kind: what it says.
        text: of a diff with the sign that it begins with.
    """

    kind: LineKind
    text: str


@dataclass(frozen=True, slots=True)
class DiffPreview:
    """What a call would change in files.

    Attributes:
        paths: of the files, as the person knows them; one at least, 100 at most.
        diff: a unified diff of at most 50,000 characters, as `diff -u` and `git diff` write it;
            "" where nothing would change. Lines end with a newline alone: what stands before it,
            such as a carriage return, is part of the line.
        is_cut: whether it lacks its end. Nobody can approve the call then.

    Raises:
        AgentMistake: a field can't be so, or the diff is none; it names the line.
    """

    paths: Sequence[str]
    diff: str
    is_cut: bool = False

    def __post_init__(self) -> None:
        check_fields(self, _DIFF, error=AgentMistake)
        object.__setattr__(self, "paths", tuple(self.paths))
        for _ in _diff_lines(self.diff, self.is_cut):
            pass

    @classmethod
    def of(cls, path: str, before: str | None, after: str | None) -> DiffPreview:
        """The preview of one file's change, cut where it would be too long.

        Args:
            path: of the file.
            before: what is in it; None where there is none.
            after: what will be in it; None where it will be removed.

        Raises:
            AgentMistake: a file has more than 500,000 characters.
        """
        for text in (before, after):
            if text is not None and len(text) > LONGEST_FILE:
                raise AgentMistake(
                    f"DiffPreview.of compares files of at most {LONGEST_FILE:,} characters, and "
                    f"one has {len(text):,}: give DiffPreview a diff of your own."
                )
        name = path.replace("\n", "\\n")  # a head has one line
        old = "/dev/null" if before is None else f"a/{name}"
        new = "/dev/null" if after is None else f"b/{name}"
        told = difflib.unified_diff(_lines_of(before), _lines_of(after), old, new)
        lines = [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in told
        ]
        kept, room = list[str](), LONGEST_DIFF
        for line in lines:
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        return cls((path,), "".join(kept), is_cut=len(kept) < len(lines))

    @property
    def lines(self) -> tuple[PreviewLine, ...]:
        """All that it says, line by line, the paths first."""
        named = (PreviewLine("path", path) for path in self.paths)
        return (*named, *_diff_lines(self.diff, self.is_cut))

    @property
    def hunks(self) -> Iterator[tuple[str, str]]:
        """Of each hunk what stands in the file before and after, with the lines around it."""
        found = list[tuple[list[str], list[str]]]()
        for kind, line in self.lines:
            if kind == "place":
                found.append(([], []))
            elif found and kind in ("same", "removed", "added"):
                old, new = found[-1]
                for side, other in ((old, "added"), (new, "removed")):
                    side += [line[1:]] if kind != other else []
        for old, new in found:
            yield "\n".join(old), "\n".join(new)

    def to_json(self) -> dict[str, Any]:
        """It on the wire, as `schemas/preview.json` describes it."""
        paths = list(self.paths)
        return {"type": "diff", "paths": paths, "diff": self.diff, "cut": self.is_cut}


@dataclass(frozen=True, slots=True)
class CommandPreview:
    """The command that a call would run.

    Attributes:
        command: as a person would type it, at most 10,000 characters, perhaps on several lines.
        folder: where it would run, as the person knows it.
        is_cut: whether it lacks its end. Nobody can approve the call then.

    Raises:
        AgentMistake: a field can't be so.
    """

    command: str
    folder: str
    is_cut: bool = False

    def __post_init__(self) -> None:
        check_fields(self, _COMMAND, error=AgentMistake)

    @property
    def lines(self) -> tuple[PreviewLine, ...]:
        """All that it says, line by line, the folder first."""
        typed = (PreviewLine("command", line) for line in self.command.split("\n"))
        return (PreviewLine("folder", self.folder), *typed)

    def to_json(self) -> dict[str, Any]:
        """It on the wire, as `schemas/preview.json` describes it."""
        return {
            "type": "command",
            "command": self.command,
            "folder": self.folder,
            "cut": self.is_cut,
        }


Preview = DiffPreview | CommandPreview
"""What people read before a yes, beside the arguments."""

MakePreview = Callable[[dict[str, Any]], Preview | Awaitable[Preview | None] | None]
"""Makes the preview of a call from its arguments (JSON), async, or sync and then in a thread; None
where there is nothing to show besides."""


def read_preview(value: object) -> Preview:
    """The preview that `to_json` has written.

    Args:
        value: JSON.

    Raises:
        AgentMistake: it is none, or breaks a bound.
    """
    match value:
        case {"type": "diff", "paths": list(paths), "diff": diff, "cut": cut}:
            return DiffPreview(paths, diff, cut)
        case {"type": "command", "command": command, "folder": folder, "cut": cut}:
            return CommandPreview(command, folder, cut)
    raise AgentMistake("A preview must be a DiffPreview or a CommandPreview, as JSON.")


# --- a diff ---

_PLACE: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADS: Final = (
    *("--- ", "+++ ", "diff ", "index ", "Index: ", "====", "Binary files ", "old mode "),
    *("new mode ", "new file mode ", "deleted file mode ", "similarity index "),
    *("dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to "),
)
_SIGNS: Final[Mapping[str, LineKind]] = {" ": "same", "": "same", "-": "removed", "+": "added"}


def _diff_lines(diff: str, is_cut: bool) -> Iterator[PreviewLine]:
    """The lines of a unified diff.

    Raises:
        AgentMistake: at the line that can't stand there.
    """
    old = new = 0
    lines = diff.removesuffix("\n").split("\n") if diff else []
    for number, line in enumerate(lines, start=1):
        if line.startswith("\\ "):
            yield PreviewLine("note", line)
        elif old or new:
            kind = _SIGNS.get(line[:1])
            old -= kind in ("same", "removed")
            new -= kind in ("same", "added")
            if kind is None or old < 0 or new < 0:
                raise _no_diff(number, line, "does not fit the numbers of its hunk")
            yield PreviewLine(kind, line)
        elif found := _PLACE.match(line):
            old, new = (1 if count is None else int(count) for count in found.groups())
            yield PreviewLine("place", line)
        elif not line or line.startswith(_HEADS):
            yield PreviewLine("head", line)
        else:
            raise _no_diff(number, line, "stands in no hunk")
    if (old or new) and not is_cut:
        raise AgentMistake(
            f"DiffPreview.diff lacks the end of its last hunk: {old} lines of the old file and "
            f"{new} of the new one. Say is_cut=True of one that is cut."
        )


def _no_diff(number: int, line: str, why: str) -> AgentMistake:
    return AgentMistake(f"DiffPreview.diff is no unified diff: line {number} {why}: {line!r:.80}.")


def _lines_of(text: str | None) -> list[str]:
    """A file's lines with their ends; of the characters that end one only the newline does."""
    return re.findall(r"[^\n]*\n|[^\n]+", text or "")


# --- what the fields may be ---


def _text(most: int, *, least: int = 0) -> FieldRule:
    words = f"a str of {least} to {most:,} characters" if least else f"a str of {most:,} at most"
    return FieldRule(words, lambda it: isinstance(it, str) and least <= len(it) <= most)


_FLAG: Final = FieldRule("a bool", is_a(bool))
_PATH: Final = _text(LONGEST_PATH, least=1)
_PATHS: Final = sequence_of("a sequence of paths", _PATH.fits, least=1)
_DIFF: Final[Mapping[str, FieldRule]] = {
    "paths": FieldRule(
        f"a sequence of 1 to {MOST_PATHS} paths, each {_PATH.words}",
        lambda paths: _PATHS.fits(paths) and len(paths) <= MOST_PATHS,
        _PATH.fits,
    ),
    "diff": _text(LONGEST_DIFF),
    "is_cut": _FLAG,
}
_COMMAND: Final[Mapping[str, FieldRule]] = {
    "command": _text(LONGEST_COMMAND, least=1),
    "folder": _PATH,
    "is_cut": _FLAG,
}
