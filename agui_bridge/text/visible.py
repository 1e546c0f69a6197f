"""Other people's texts, so that what is read is what runs.

Marked by its number is a character that shows nothing (Unicode calls it default-ignorable), one
that turns the direction of others, a control, half of a surrogate pair, U+2800, which looks like a
space, and one more mark on a letter that has many already. Not marked is what writing needs: within
an emoji, and a joiner between letters of a script whose letters join. In names of tools and hosts
also a letter of another alphabet in a Latin word is marked, and one that only looks like ASCII.
`examples/cards/src/visible.ts` does the same in a browser, and a test compares the two.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from agui_bridge.text.unicode_ranges import DEFAULT_IGNORABLE, EXTENDED_PICTOGRAPHIC

__all__ = ["open_end", "visible", "visible_json", "visible_line", "visible_name"]


def _ranges(table: str) -> str:
    """A table as what stands in the brackets of a regular expression."""
    return "".join(
        "-".join(f"\\U{int(end, 16):08x}" for end in row.split("-")) for row in table.split()
    )


_MARKS: Final = 6
"""So many in a row may stand on a letter: Hebrew with all its signs has five."""

_JOINING: Final = (
    "\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u06ff\u0710-\u07bf\u07ca-\u07f5\u0840-\u085b"
    "\u0860-\u0df3\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa\ua840-\uabff"
    "\ufb50-\ufdff\ufe70-\ufefc"
)
"""Arabic, its kin and its presentation forms, the scripts of India, Burmese, Khmer, Mongolian."""

_PICTURE: Final = _ranges(EXTENDED_PICTOGRAPHIC)

_FLAG: Final = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join(
        "".join(chr(0xE0000 + ord(letter)) for letter in part)
        for part in ("gbeng", "gbsct", "gbwls")
    )
)
"""England's, Scotland's, Wales's: no others are recommended for general interchange."""

_WRITTEN: Final = (
    f"{_FLAG}|[0-9#*]\ufe0f\u20e3|[{_PICTURE}](?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"
    f"(?:\u200d[{_PICTURE}](?:\ufe0f|[\U0001f3fb-\U0001f3ff])?)*"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
)
_HIDDEN: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2800\ufff9-\ufffb\ud800-\udfff"
    f"{_ranges(DEFAULT_IGNORABLE)}]"
)
_UNSEEN: Final = re.compile(f"{_WRITTEN}|(?P<hidden>{_HIDDEN})")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")

_PERHAPS_MARKS: Final = re.compile(rf"[^\w\s\x00-\u02ff]{{{_MARKS + 1},}}")

_OTHER_ALPHABET: Final = (
    "\u0370-\u10ff\u1200-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2ddf\ua4d0-\ua6ff\ua800-\uab2f"
    "\uab70-\uabff\ufb13-\ufdff\ufe70-\ufefc\U00010280-\U000118ff"
)
"""Blocks of alphabets that no word mixes with Latin; words of Chinese, Japanese, Korean do."""

_HOST: Final = re.compile(r"(?:(?<=//)|(?<=@))[\w.-]+|(?<![\w-])[\w-]+(?:\.[\w-]+)+")
_WORD: Final = re.compile(r"[^\W_]+")
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_FOREIGN: Final = re.compile(f"[{_OTHER_ALPHABET}]")

_LONGEST_END: Final = 200
_OPEN_END: Final = re.compile(
    rf"(?:\r|[\ud800-\udbff]|[\u200c\u200d\ufe0f]|\U0001f3f4[\U000e0020-\U000e007f]{{0,5}}"
    rf"|[\u200c\u200d]?[{_OTHER_ALPHABET}][\w.-]*)\Z"
)


def visible(text: str) -> str:
    r"""A text of which every character can be seen.

    A character that can't stands there by its number: `\u200b`, `\u{e0101}`.

    Args:
        text: an agent's, or of somebody else.
    """
    return _shown(text, _number)


def visible_line(text: str) -> str:
    """The same on one line, for what has one: a second would look like something else.

    Args:
        text: an agent's, or of somebody else.
    """
    return visible(" ".join(text.split()))


def visible_name(name: str) -> str:
    """The name of a tool, in which a letter that looks like another one is marked, too.

    Args:
        name: an agent's.
    """
    return _WORD.sub(lambda word: _unlike(word[0], _number), visible_line(name))


def visible_json(value: object, indent: int | None = None) -> str:
    """A value as JSON of which every character can be seen: what can't be is an escape of JSON.

    Args:
        value: of JSON.
        indent: as for `json.dumps`.
    """
    return _shown(json.dumps(value, ensure_ascii=False, indent=indent), _escape)


def open_end(text: str) -> int:
    """Where the end of a text begins of which only what follows says how it is shown.

    Args:
        text: what has come so far.
    """
    found = _OPEN_END.search(text, max(0, len(text) - _LONGEST_END))
    return len(text) if found is None else found.start()


def _shown(text: str, mark: Callable[[str], str]) -> str:
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return _CONTROL.sub(lambda found: mark(found[0]), text)
    text = _PERHAPS_MARKS.sub(lambda run: _few_marks(run[0], mark), text)
    text = _UNSEEN.sub(lambda found: mark(found[0]) if found["hidden"] else found[0], text)
    return _HOST.sub(lambda host: _WORD.sub(lambda word: _unlike(word[0], mark), host[0]), text)


def _few_marks(run: str, mark: Callable[[str], str]) -> str:
    shown, many = [], 0
    for character in run:
        many = many + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        shown.append(mark(character) if many > _MARKS else character)
    return "".join(shown)


def _unlike(word: str, mark: Callable[[str], str]) -> str:
    """A word of a name, in which what looks like Latin and is not is marked."""
    if word.isascii():
        return word
    if _LATIN.search(word):
        word = _FOREIGN.sub(lambda found: mark(found[0]), word)
    return "".join(
        mark(letter)
        if not letter.isascii() and unicodedata.normalize("NFKC", letter).isascii()
        else letter
        for letter in word
    )


def _number(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}"


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]
