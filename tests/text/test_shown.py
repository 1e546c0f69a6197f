"""What is read is read in the order in which it runs, whatever direction its letters have."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import pytest

from agui_bridge.terminal import Terminal
from agui_bridge.text import shown as module
from agui_bridge.text.shown import (
    in_room,
    isolated,
    on_one_line,
    shown_json,
    shown_json_text,
    shown_value,
    shown_word,
)
from agui_bridge.text.visible import visible
from tests.text.reading import in_order, logical, value_of, word_of

VALUES: dict[str, Any] = {
    "a list of two words": ["שלום", "עולם"],
    "a number beside a word": {"שם": 5, "limit": ["מחק", 10]},
    "a quotation mark in a word": ['א"ב', "\\"],
    "digits of Arabic": ["٣", "٤"],
    "a text": "מחק 5 (users), 10",
    "several lines": "שלום, 5\nabc\nسلم, 6",
    "what would end an isolate": ["א\u2069, ב", "\u2068"],
    "what reads as a number": "٣",
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_text_turns_nothing_beside_it(value: Any) -> None:
    for text in (shown_value(value), shown_json(value), shown_json(value, 2)):
        assert in_order(text)
    assert value_of(shown_value(value)) == value
    assert json.loads(logical(shown_json(value))) == value
    # As much of it as there is.
    for end in range(len(json.dumps(value, ensure_ascii=False))):
        assert in_order(shown_json_text(json.dumps(value, ensure_ascii=False)[:end]))


@pytest.mark.parametrize("name", ["שלום", "ann", "עם 5, 6", '"א"', "א\u2069ב"])
def test_a_name_turns_nothing_beside_it(name: str) -> None:
    assert in_order(shown_word(name))
    assert word_of(shown_word(name)) == name


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_is_cut_or_folded_turns_nothing_beside_it(value: Any) -> None:
    text = shown_json({"args": [value] * 20})
    for most in range(1, 200):
        for part in (in_room(text, most), on_one_line(text, most)):
            assert in_order(part.text)
            assert len(part.text) <= most or part.is_whole
    lines = Terminal(width=24).framed_lines([text])
    assert in_order("\n".join(lines))
    assert logical("".join(lines)) == logical(text)
    assert in_order("\n".join(Terminal(width=24).table_lines([["a", text]])))


def test_what_turns_nothing_stays_as_it_is() -> None:
    for text in ("ann", "é 漢字 😀", "1, 2"):
        assert isolated(text) == text
        assert shown_json([text]) == json.dumps([text], ensure_ascii=False)


def test_every_character_that_turns_others_is_known() -> None:
    turning = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.bidirectional(character) in ("R", "AL", "AN")
        and visible(character) == character
    ]
    assert len(turning) > 1_500
    assert [it for it in turning if not module._TURNING.match(it)] == []
