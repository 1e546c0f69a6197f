"""What is read is what runs: whatever hides in a text is marked, and what writing needs is not."""

from __future__ import annotations

import json
import re
import sys

import pytest
import regex  # type: ignore[import-untyped]  # it has no types; its table is the judge

from agui_bridge.cli.chat.screen import Screen
from agui_bridge.terminal import Terminal
from agui_bridge.text import visible as module
from agui_bridge.text.visible import visible, visible_json, visible_name, visible_word
from tests.text.reading import hides_nothing, unmarked, word_of
from tests.text.texts import HIDING, HONEST, NAMES

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.mark.parametrize(("text", "shown"), HIDING.values(), ids=HIDING)
def test_what_hides_is_shown_by_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert word_of(visible_word(text)) == text
    assert unmarked(shown) == text
    assert json.loads(visible_json({text: text})) == {text: text}
    assert hides_nothing(visible_json(text))


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_what_writing_needs_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(("name", "shown"), NAMES.items())
def test_a_name_of_a_tool_has_one_alphabet_in_a_word(name: str, shown: str) -> None:
    assert visible_name(name) == shown


def test_every_character_that_unicode_calls_ignorable_is_marked_wherever_it_stands() -> None:
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    found = [character for character in EVERY if ignorable.match(character)]
    assert len(found) > 4_000
    for before, after in (("a", "b"), ("", ""), ("\n", "é"), ("中", "中")):
        passed = [c for c in found if c in visible(f"{before}{c}{after}")]
        assert passed == []


def test_no_other_printable_character_is_marked() -> None:
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}|\p{Cc}|\p{Cs}|\p{Zl}|\p{Zp}")
    marked = [c for c in EVERY if visible(f"a {c}") != f"a {c}" and not ignorable.match(c)]
    assert marked == ["\u2800", "\ufff9", "\ufffa", "\ufffb"]


def test_joiners_stand_between_letters_and_emoji_begin_with_pictures() -> None:
    joining, picture = re.compile(f"[{module._JOINING}]"), re.compile(f"[{module._PICTURE}]")
    unfit = regex.compile(r"\p{Default_Ignorable_Code_Point}|\p{Z}")
    emoji = regex.compile(r"(?=\p{Emoji})\p{Extended_Pictographic}")
    writing = regex.compile(r"\p{M}|\p{N}|\p{Default_Ignorable_Code_Point}")
    assert [c for c in EVERY if joining.match(c) and unfit.match(c)] == []
    assert [c for c in EVERY if emoji.match(c) and not picture.match(c)] == []
    assert [c for c in EVERY if picture.match(c) and writing.match(c)] == []


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    "text", [*(text for text, _ in HIDING.values()), *HONEST.values()], ids=[*HIDING, *HONEST]
)
def test_a_text_that_comes_in_pieces_is_shown_as_if_it_came_whole(
    text: str, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Screen(Terminal())
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    for delta in pieces:
        screen.show({"type": "TEXT_MESSAGE_CONTENT", "delta": delta})
    screen.show({"type": "TEXT_MESSAGE_END"})
    # Half of a pair is none.
    assert capsys.readouterr().out == visible(text.replace("\ud800", "\ufffd")) + "\n"
