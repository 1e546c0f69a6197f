"""Patterns of JavaScript match the same texts on a linear-time engine, as far as one can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given, strategies as st

from agui_bridge.protocol.schemas.check_work import CheckWork, counting_work
from agui_bridge.protocol.schemas.patterns import compile_pattern

TEXTS: Final = (
    "", "a", "b", "ab", "aa", "a1", "1", "A1b2c3d4", "Passw0rd!", "ann@example.com", "..a@b.co",
    "a..b@example.com", ".ann@example.com", "ann@example", "\u786e\u8ba4", "\U0001f600", "a b",
    "example.com", "-example.com", "x" * 254, "1.5", "+", "-", ".",
)  # fmt: skip

EXACT: Final = {
    "zod's e-mail": r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]"
    r"@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
    "zod's host": r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$",
    "pydantic's number": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$",
    "a password": r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{8,}$",
    "nothing of two": r"^(?!a$)(?!b$).+$",
    "alternatives in a look-ahead": r"^(?=a|b)[ab1]+$",
    "a parenthesis in a class": r"^(?=[(]|a)[(a)]+$",
    "an escaped parenthesis": r"^(?!\()a\)?$",
    "plain": r"^\w+$",
    "Chinese": "^[\\u4e00-\\u9fa5]+$",
}
INEXACT: Final = {
    "look-ahead within": r"^a(?!1)\w*$",
    "look-ahead of one alternative": r"^(?=a)ab|b$",
    "look-behind": r"(?<=a)b",
    "repeated look-ahead": r"^(?:(?!b)\w)*$",
    "look-ahead that may be absent": r"^(?=a)?b$",
    "back-reference": r"^(\w)\1$",
    "look-ahead within a look-ahead": r"^(?!a(?=b))\w+$",
}


@pytest.fixture(autouse=True)
def work() -> Iterator[None]:
    with counting_work(CheckWork()):
        yield


@pytest.mark.parametrize("name", EXACT)
def test_a_pattern_that_can_be_taken_apart_matches_what_it_did(name: str) -> None:
    compiled = compile_pattern(EXACT[name])
    original = re.compile(EXACT[name], re.ASCII)

    assert compiled.exact
    for text in TEXTS:
        assert compiled.matches(text) == bool(original.search(text)), text


@pytest.mark.parametrize("name", INEXACT)
def test_a_pattern_that_is_weakened_matches_at_least_what_it_did(name: str) -> None:
    compiled = compile_pattern(INEXACT[name])
    original = re.compile(INEXACT[name], re.ASCII)

    assert compiled.wanted
    assert not compiled.exact
    assert [text for text in TEXTS if original.search(text) and not compiled.matches(text)] == []


def test_zod_s_pattern_of_a_duration_is_checked_as_the_format() -> None:
    compiled = compile_pattern(
        r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?"
        r"(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$"
    )

    assert compiled.exact
    assert [text for text in ("P1D", "P", "PT", "PT1S") if compiled.matches(text)] == [
        "P1D",
        "PT1S",
    ]


pieces = st.sampled_from(
    ("a", "b", "1", ".", r"\w", r"\d", "[ab]", "[^a]", "(a|b)", "a*", "b+", "(?:ab)?", "$", "|")
)
arounds = st.builds("({}{})".format, st.sampled_from(("?=", "?!")), pieces)
sources = st.builds(
    lambda begin, leading, parts: begin + "".join(leading) + "".join(parts),
    st.sampled_from(("^", "")),
    st.lists(arounds, max_size=3),
    st.lists(pieces | arounds, max_size=4),
)


@given(sources, st.text(alphabet="ab1.", max_size=5))
def test_whatever_a_pattern_matches_passes_and_all_else_fails_where_it_is_exact(
    source: str, text: str
) -> None:
    with counting_work(CheckWork()):
        compiled = compile_pattern(source)
        passes = compiled.matches(text)
    matches = bool(re.search(source.replace("$", r"\Z"), text))

    assert passes or not matches
    assert passes == matches or not compiled.exact
