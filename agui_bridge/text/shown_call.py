"""Where somebody can approve, all that will run is there to be read: one rule for every place.

An approval is worth what could be seen of it. A place shows a call as a `ShownCall`, and has what
approves it only where that `is_whole`: the tool's name, all arguments, the asker, and nobody has
approved other arguments meanwhile. Where it is not, there is "Open" in its stead, which leads to a
place that shows all of it: the question's page, or in a terminal the next lines.

Slack and the inbox's list have too little room for some calls; the inbox's page, the terminal and
`examples/cards` show every call whole. Mail and Teams have nothing that approves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.text.visible import visible_json, visible_name, visible_value, visible_word

__all__ = ["ShownCall", "ShownText", "argument_by_argument", "as_json", "in_room", "on_one_line"]

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
    """

    tool: ShownText
    args: tuple[tuple[str, ShownText], ...]
    asked_by: ShownText
    more: int = 0
    is_latest: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether somebody who has read it may approve it."""
        texts = (self.tool, self.asked_by, *(text for _, text in self.args))
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
) -> ShownCall:
    """A call with its arguments in one text of JSON.

    Args:
        tool: its name.
        args: its arguments.
        asked_by: the asker.
        words: what the place says of the tool, `{}` for its name.
        title: room for that, in UTF-16 code units.
        text: room for the arguments.
        name: room for the asker.
        is_latest: see `ShownCall`.
    """
    shown = in_room(visible_json(dict(args), 2), text)
    asker = in_room(visible_word(asked_by) if asked_by else "", name)
    called = in_room(words.replace("{}", visible_name(tool)), title)
    return ShownCall(called, (("", shown),), asker, is_latest=is_latest)


def argument_by_argument(
    tool: str,
    args: Mapping[str, object],
    asked_by: str | None,
    *,
    most: int,
    length: int,
    is_latest: bool = True,
) -> ShownCall:
    """A call with each argument on a line of its own, the first ones of them.

    Args:
        tool: its name.
        args: its arguments.
        asked_by: the asker.
        most: arguments that there is room for.
        length: characters of a value that there is room for.
        is_latest: see `ShownCall`.
    """
    shown = tuple(
        (visible_word(name), on_one_line(visible_value(value), length))
        for name, value in list(args.items())[:most]
    )
    return ShownCall(
        ShownText(visible_name(tool)),
        shown,
        ShownText(visible_word(asked_by) if asked_by else ""),
        max(0, len(args) - most),
        is_latest,
    )


def on_one_line(text: str, most: int) -> ShownText:
    """A text that is visible, as its beginning on one line.

    Args:
        text: any.
        most: how many characters.
    """
    line = " ".join(text.split())
    line = line if len(line) <= most else line[: most - 1].rstrip(_LOOSE) + "…"
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
    return ShownText(f"{kept.rstrip(_LOOSE)}…", is_whole=False)
