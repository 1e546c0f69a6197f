"""Other people's texts, so that what is read is what runs.

Marked by its number is a character that shows nothing (Unicode calls it default-ignorable), one
that turns the direction of others, a control, half of a surrogate pair, U+2800, which looks like a
space, and one more mark on a letter that has many already. Not marked is what writing needs: within
an emoji, and a joiner between letters of a script whose letters join. In names of tools and hosts
also a letter of another alphabet in a Latin word is marked, and one that only looks like ASCII.
A backslash that would begin a mark is marked itself, so that no text reads like another: a text is
made visible once, where it is put together. `examples/cards/src/visible.ts` does the same in a
browser, and a test compares the two.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from agui_bridge.text.unicode_ranges import DEFAULT_IGNORABLE, EXTENDED_PICTOGRAPHIC


def _ranges(table: str) -> str:
    """A table as what stands in the brackets of a regular expression."""
    return "".join(
        "-".join(f"\\U{int(end, 16):08x}" for end in row.split("-")) for row in table.split()
    )


_ONE_LINE: Final = 60
"""Characters of JSON that has one line."""

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
_BLANKS: Final = re.compile(r'(?<=[ "]) | (?=[ "])')
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_NUMBERED: Final = re.compile(r"\\(?=u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\}))")
"""What would read as a mark."""

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
    r"(?:\\(?:u(?:[0-9A-Fa-f]{0,3}|\{[0-9A-Fa-f]{0,6})?)?"
    rf"|\r|[\ud800-\udbff]|[\u200c\u200d\ufe0f]|\U0001f3f4[\U000e0020-\U000e007f]{{0,5}}"
    rf"|[\u200c\u200d]?[{_OTHER_ALPHABET}][\w.-]*)\Z"
)


def visible(text: str) -> str:
    r"""A text of which every character can be seen.

    A character that can't stands there by its number: `\u200b`, `\u{e0101}`. So does the backslash
    of a text that says just that: `\u005cu200b`.

    Args:
        text: an agent's, or of somebody else; none that is visible already.
    """
    return _shown(_NUMBERED.sub(lambda found: _number(found[0]), text), _number)


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
    shown = _WORD.sub(lambda word: _unlike(word[0], _number), visible_line(name))
    return _without_hidden(shown, _number)


def visible_json(value: object, indent: int | None = None) -> str:
    """A value as JSON of which every character can be seen: what can't be is an escape of JSON.

    Args:
        value: of JSON.
        indent: as for `json.dumps`.
    """
    return visible_json_text(json.dumps(value, ensure_ascii=False, indent=indent))


def visible_json_text(text: str) -> str:
    """The same of a text of JSON: a backslash in it says already what it stands for.

    Args:
        text: JSON, or as much of it as there is.
    """
    return _shown(text, _escape)


def visible_word(text: str) -> str:
    """A name or a label on one line, told from every other one.

    It is quoted, as JSON, where a page would show it like another: by the blanks that it has, which
    are marked then, or by quotation marks of its own.

    Args:
        text: an agent's, or of somebody else.
    """
    shown = visible(text)
    plain = shown and " ".join(text.split()) == text and not shown.startswith('"')
    return shown if plain else _BLANKS.sub(r"\\u0020", visible_json(text))


def visible_value(value: object) -> str:
    """A value as people read it: a text as it is, else JSON, objects over several lines.

    A text that would be read as another value (`"5"` as 5, `"null"` as null), or not at all, is
    quoted.

    Args:
        value: of JSON.
    """
    if isinstance(value, str):
        shown = visible(value)
        return visible_json(value) if _misleads(value, shown) else shown
    nested = isinstance(value, dict | list | tuple) and len(json.dumps(value)) > _ONE_LINE
    return visible_json(value, 2 if nested else None)


def _misleads(text: str, shown: str) -> bool:
    """Whether a text that is shown as it is would not be taken for that text."""
    # Pages leave out the end of a line that begins a text, and show each end of a line alike.
    if not text or text[0] == "\n" or "\r" in text:
        return True
    if text != text.strip() and "\n" not in text:
        return True
    try:
        json.loads(shown)
    except (ValueError, RecursionError):
        return False
    return True


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
    text = _without_hidden(text, mark)
    named = _HOST.sub(lambda host: _WORD.sub(lambda word: _unlike(word[0], mark), host[0]), text)
    return named if named == text else _without_hidden(named, mark)


def _without_hidden(text: str, mark: Callable[[str], str]) -> str:
    """A text whose hidden characters are marked; once more where a letter beside one was."""
    return _UNSEEN.sub(lambda found: mark(found[0]) if found["hidden"] else found[0], text)


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
