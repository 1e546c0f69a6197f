"""Texts as a place shows them: every character is seen, and they are read in the order they have.

Letters that are read from right to left turn the order of what stands between them, such as commas
and numbers: a list of two Hebrew words is read with its last word first. So each text that has such
letters stands in an isolate of its own, and of JSON each string. The two characters that make one
are marked where a text has them itself: no text ends its isolate.
`examples/cards/src/visible.ts` does the same in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from agui_bridge.text.visible import (
    visible,
    visible_json,
    visible_json_text,
    visible_line,
    visible_name,
    visible_value,
    visible_word,
)

_BEGIN: Final = "\u2068"
"""FIRST STRONG ISOLATE: what follows has the direction of its first letter."""

_END: Final = "\u2069"
"""POP DIRECTIONAL ISOLATE."""

_TURNING: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Blocks of scripts that are read from right to left, their digits among them."""

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)("?)')


def isolated(text: str) -> str:
    """A text that is visible, each of its lines in an isolate where its letters turn others.

    Args:
        text: such a text.
    """
    if text.isascii():
        return text
    return "\n".join(_isolated(line) for line in text.split("\n"))


def shown_line(text: str) -> str:
    """`visible_line` in its isolate.

    Args:
        text: an agent's, or of somebody else.
    """
    return isolated(visible_line(text))


def shown_name(name: str) -> str:
    """`visible_name` in its isolate.

    Args:
        name: of a tool.
    """
    return isolated(visible_name(name))


def shown_word(text: str) -> str:
    """`visible_word` in its isolate.

    Args:
        text: a name or a label.
    """
    return isolated(visible_word(text))


def shown_json(value: object, indent: int | None = None) -> str:
    """`visible_json`, each string in its isolate: to read, and not to parse.

    Args:
        value: of JSON.
        indent: as for `json.dumps`.
    """
    return _with_isolated_strings(visible_json(value, indent))


def shown_json_text(text: str) -> str:
    """`visible_json_text`, each string in its isolate.

    Args:
        text: JSON, or as much of it as there is.
    """
    return _with_isolated_strings(visible_json_text(text))


def shown_value(value: object) -> str:
    """`visible_value`: a text in its isolate, of JSON each string.

    Args:
        value: of JSON.
    """
    shown = visible_value(value)
    if isinstance(value, str) and shown == visible(value):
        return isolated(shown)
    return _with_isolated_strings(shown)


def closed(text: str) -> str:
    """The beginning of such a text, whose last isolate ends where it was cut off.

    Args:
        text: as much of it as there is.
    """
    text = text.removesuffix(_BEGIN)
    return text + _END if text.rfind(_BEGIN) > text.rfind(_END) else text


def _with_isolated_strings(text: str) -> str:
    if text.isascii():
        return text
    return _STRING.sub(lambda found: f'"{_isolated(found[1])}{found[2]}', text)


def _isolated(text: str) -> str:
    return f"{_BEGIN}{text}{_END}" if _TURNING.search(text) else text


# --- where somebody can approve, all that will run is there to be read ---
#
# One rule for every place.
#
# An approval is worth what could be seen of it. A place shows a call as a `ShownCall`, and has what
# approves it only where that `is_whole`: the tool's name, all arguments, the preview where there is
# one, the asker, and nobody has approved other arguments meanwhile. Where it is not, there is
# "Open" in its stead, which leads to a place that shows all of it: the question's page, or in a
# terminal the next lines. A preview that is cut is whole nowhere, and its call can't be approved.
#
# Slack and the inbox's list have too little room for some calls; the inbox's page, the terminal and
# `examples/cards` show every call whole, and a question of the playground, the chat API and of
# stdio says it (`surfaces/reading.py`). An MCP client's window is asked only what it shows whole
# (`mcp_server/elicitations.py`). Mail and Teams have nothing that approves.

_ANY: Final = 2**62
_LOOSE: Final = "\u200c\u200d\ufe0f" + "".join(map(chr, range(0xE0020, 0xE0080)))
"""What is seen only by what follows, or belongs to what came before: no text ends with it."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text as a place shows it.

    Attributes:
        text: of which every character can be seen.
        is_whole: whether nothing is left out.
    """

    text: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call as a place shows it.

    Attributes:
        tool: the tool's name, in the words in which the place has it.
        args: the arguments: all in one text without a name, or each under its own.
        asked_by: the asker; "" where nobody is known.
        more: arguments of which nothing is shown.
        is_latest: whether what is shown is what people agree to: nobody has approved other
            arguments, whose vote would fall.
        preview: what it would do; "" where nobody has said.
    """

    tool: ShownText
    args: tuple[tuple[str, ShownText], ...]
    asked_by: ShownText
    more: int = 0
    is_latest: bool = True
    preview: ShownText = ShownText("")

    @property
    def is_whole(self) -> bool:
        """Whether somebody who has read it may approve it."""
        texts = (self.tool, self.asked_by, self.preview, *(text for _, text in self.args))
        return self.is_latest and not self.more and all(text.is_whole for text in texts)


def as_json(
    tool: str,
    args: Mapping[str, object],
    asked_by: str | None,
    *,
    words: str = "{}",
    title: int = _ANY,
    text: int = _ANY,
    name: int = _ANY,
    is_latest: bool = True,
    preview: Previewed | None = None,
) -> ShownCall:
    """A call with its arguments in one text of JSON.

    Args:
        tool: its name.
        args: its arguments.
        asked_by: the asker.
        words: what the place says of the tool, `{}` for its name.
        title: room for that, in UTF-16 code units.
        text: room for the arguments, and as much for the preview.
        name: room for the asker.
        is_latest: see `ShownCall`.
        preview: what it would do.
    """
    shown = in_room(shown_json(dict(args), 2), text)
    asker = in_room(shown_word(asked_by) if asked_by else "", name)
    called = in_room(words.replace("{}", shown_name(tool)), title)
    told = in_room(shown_preview(preview), text)
    return ShownCall(called, (("", shown),), asker, is_latest=is_latest, preview=told)


def argument_by_argument(
    tool: str,
    args: Mapping[str, object],
    asked_by: str | None,
    *,
    most: int,
    length: int,
    lines: int,
    is_latest: bool = True,
    preview: Previewed | None = None,
) -> ShownCall:
    """A call with each argument on a line of its own, the first ones of them.

    Args:
        tool: its name.
        args: its arguments.
        asked_by: the asker.
        most: arguments that there is room for.
        length: characters of a value, or of a preview's line, that there is room for.
        lines: of a preview that there is room for.
        is_latest: see `ShownCall`.
        preview: what it would do.
    """
    shown = tuple(
        (shown_word(name), on_one_line(shown_value(value), length))
        for name, value in list(args.items())[:most]
    )
    told = _in_lines(preview, lines, length)
    return ShownCall(
        ShownText(shown_name(tool)),
        shown,
        ShownText(shown_word(asked_by) if asked_by else ""),
        max(0, len(args) - most),
        is_latest,
        told,
    )


def _in_lines(preview: Previewed | None, most: int, length: int) -> ShownText:
    """A preview, all of it or nothing."""
    if preview is None:
        return ShownText("")
    # Nothing is shorter when every character of it is seen.
    lines = preview.lines
    if len(lines) <= most and all(len(text) <= length for _, text in lines):
        told = shown_preview(preview)
        if told.count("\n") < most and all(len(line) <= length for line in told.split("\n")):
            return ShownText(told)
    return ShownText("", is_whole=False)


def on_one_line(text: str, most: int) -> ShownText:
    """A text that is visible, as its beginning on one line.

    Args:
        text: any.
        most: how many characters.
    """
    line = " ".join(text.split())
    line = line if len(line) <= most else _ended(line[: most - 1])
    return ShownText(line, line == text)


def in_room(text: str, most: int) -> ShownText:
    """A text of at most so many UTF-16 code units, which is how most services count.

    Args:
        text: any.
        most: how many; 1 at least.
    """
    if len(text) * 2 <= most or len(text.encode("utf-16-le")) <= 2 * most:
        return ShownText(text)
    kept = text.encode("utf-16-le")[: 2 * (most - 1)].decode("utf-16-le", "ignore")
    return ShownText(_ended(kept), is_whole=False)


def _ended(text: str) -> str:
    """The beginning of a longer text, with the sign that there is more."""
    kept = text.rstrip(_LOOSE)
    # What ends an isolate takes room, too.
    return (kept if closed(kept) == kept else closed(kept[:-1].rstrip(_LOOSE))) + "…"


# --- a preview as a place shows it: line by line, each with its sign, and every character seen ---
#
# A command's lines begin with `$` and `>`, a diff's with the signs that it has. A tab is an
# arrow, and blanks that end a line are marked: else a change of them alone would look like none.

STALE: Final = (
    "The preview is of the call as it was proposed. Nobody has previewed it with other arguments."
)
"""What is said where arguments are edited, and where they have been."""

CUT: Final = "… The preview is cut here: nobody can approve what is not shown whole."
NOTHING: Final = "Nothing would change."

GOES_ON: Final = "↪ "
"""Stands where a place breaks a long line: no line of a preview begins so."""

_TAB: Final = "→   "
_LABELS: Final[Mapping[str, str]] = {"path": "File: ", "folder": "Folder: "}
_SIGNED: Final = frozenset({"added", "removed", "same"})
_LAST_BLANKS: Final = re.compile(r"[ \t]+\Z")


class Previewed(Protocol):
    """What a call would do, as `agui_bridge.protocol.previews` has it."""

    @property
    def lines(self) -> Sequence[tuple[str, str]]:
        """All that it says: what each line says, and the line."""
        ...

    @property
    def is_cut(self) -> bool:
        """Whether it lacks its end."""
        ...


class ShownLine(NamedTuple):
    """One line of a preview as a place shows it.

    Attributes:
        kind: what it says: of `Previewed.lines`, or `cut` or `nothing`.
        text: of which every character can be seen.
    """

    kind: str
    text: str


def shown_lines(preview: Previewed) -> tuple[ShownLine, ...]:
    """A preview's lines, whole.

    Args:
        preview: what a call would do.
    """
    shown = list[ShownLine]()
    for kind, text in preview.lines:
        goes_on = bool(shown) and shown[-1].kind == "command"
        shown.append(ShownLine(kind, _shown(kind, text, goes_on)))
    if preview.is_cut:
        shown.append(ShownLine("cut", CUT))
    elif all(line.kind == "path" for line in shown):
        shown.append(ShownLine("nothing", NOTHING))
    return tuple(shown)


def shown_preview(preview: Previewed | None) -> str:
    """The same as one text; "" of none.

    Args:
        preview: what a call would do.
    """
    return "" if preview is None else "\n".join(line.text for line in shown_lines(preview))


def _shown(kind: str, text: str, goes_on: bool) -> str:
    if kind in _LABELS:
        return _LABELS[kind] + shown_word(text)
    if kind == "command":
        return ("> " if goes_on else "$ ") + _blanks_seen(text)
    if kind in _SIGNED:
        return text[:1] + _blanks_seen(text[1:])
    return _blanks_seen(text)


def _blanks_seen(line: str) -> str:
    shown = visible(line).replace(_TAB[0], f"\\u{ord(_TAB[0]):04x}")
    shown = _LAST_BLANKS.sub(lambda found: "".join(f"\\u{ord(c):04x}" for c in found[0]), shown)
    return isolated(shown.replace("\t", _TAB))
