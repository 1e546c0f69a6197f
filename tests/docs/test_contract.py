"""The contract and its reasons: the numbers are those of the code, and each sentence is short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agui_bridge.protocol.contract.admission import ROWS
from tests.architecture.checkout import ROOT

RULES: Final = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
REASONS: Final = (ROOT / "docs" / "contract-reasons.md").read_text(encoding="utf-8")
MOST_WORDS: Final = 45

ROW: Final = re.compile(r"^\| (\d+[a-z]?) \| (.*) \|$", re.M)
CLAUSE: Final = re.compile(r"^ *- \*\*(\w+)\*\* (.*)$", re.M)
HEADING: Final = re.compile(r"^#+ (.+)$|\*\*([^*]+)\*\*", re.M)
CODE: Final = re.compile(r"`[^`]*`")
NUMBER: Final = r"[A-Z]?\d+[a-z]?"
OF_ROWS: Final = re.compile(r"\brows? ((?:\d+[a-z]?(?:, | and | to )?)+)")
OF_CLAUSES: Final = re.compile(r"\b[A-Z]\d+[a-z]?\b")
SOURCE: Final = re.compile(r'contract\.md,? ((?:"[^"]+"|[^".;()`])*)')
"""What follows the page's name, up to the end of the sentence or of the parentheses."""

ROWS_OF_PAGE: Final = [number for number, _ in ROW.findall(RULES)]
CLAUSES: Final = [number for number, _ in CLAUSE.findall(RULES)]
NUMBERS: Final = {*ROWS_OF_PAGE, *CLAUSES}


def sentences() -> Iterator[tuple[str, str]]:
    """Each sentence of a clause, and of a cell of the table, with its number."""
    for number, text in [*ROW.findall(RULES), *CLAUSE.findall(RULES)]:
        for cell in text.split(" | "):
            for sentence in re.split(r"(?<=[.!?]) ", CODE.sub("code", cell)):
                yield number, sentence


def sources() -> Iterator[tuple[Path, str]]:
    """What the code names of the page, by file."""
    this = Path(__file__)
    for folder in ("agui_bridge", "adapters", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            if path != this and "node_modules" not in path.parts:
                text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
                for named in SOURCE.findall(text):
                    yield path.relative_to(ROOT), named


def test_the_table_has_the_rows_of_the_code_in_their_order() -> None:
    assert [number for number, _ in ROWS] == ROWS_OF_PAGE


def test_no_number_stands_twice() -> None:
    assert len(CLAUSES) > 200
    assert sorted({*CLAUSES}) == sorted(CLAUSES)


def test_each_reason_is_that_of_a_rule() -> None:
    given = [number for number, _ in CLAUSE.findall(REASONS)]

    assert len(given) > 50
    assert [number for number in given if number not in NUMBERS] == []
    assert sorted({*given}) == sorted(given)


def test_what_the_pages_refer_to_is_there() -> None:
    text = CODE.sub("code", RULES + REASONS)
    rows = [row for named in OF_ROWS.findall(text) for row in re.findall(NUMBER, named)]
    referred = {*rows, *OF_CLAUSES.findall(text)}

    assert len(rows) > 10
    assert sorted(referred - NUMBERS) == []


def test_no_sentence_of_a_clause_is_long() -> None:
    long = [
        f"{number}, {count} words: {sentence}"
        for number, sentence in sentences()
        if (count := len(sentence.split())) > MOST_WORDS
    ]

    assert long == [], "\n".join(long)


def test_what_the_code_names_of_the_page_is_there() -> None:
    terms = {term for pair in HEADING.findall(RULES) for term in pair if term}
    named = list(sources())
    missing = [
        f"{path}: {name}"
        for path, text in named
        for name in [
            *(term for term in re.findall(r'"([^"]+)"', text) if term not in terms),
            *(
                number
                for number in re.findall(rf"\b{NUMBER}\b", re.sub(r'"[^"]+"', "", text))
                if number not in NUMBERS
            ),
        ]
    ]

    assert len(named) > 40
    assert missing == [], "\n".join(missing)
