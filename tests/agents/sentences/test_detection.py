"""How well requests are told from mentions, on lines that the rules were and were not made for.

`detection/seen.jsonl` was at hand when the rules of `mentions.py` were written. The lines of
`detection/unseen.jsonl` were written after that, by somebody who knew the phrases but not the
rules; whoever changes a rule because of one of them moves all of them to the other file, and has
new ones written.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from agui_bridge.agents.keyword.phrases import PHRASES
from agui_bridge.agents.sentences.phrase_matcher import PhraseTable
from agui_bridge.agents.sentences.scanner import SentenceScanner

LINES = Path(__file__).parent / "detection"
TABLE = PhraseTable(PHRASES)


@dataclass(frozen=True, slots=True)
class Line:
    """A message of an agent: its text, and the sentence in it that asks, if one does."""

    text: str
    language: str
    kind: str
    sentence: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    lines: int
    precision: float
    recall: float

    def __str__(self) -> str:
        return f"{self.lines} lines, precision {self.precision:.3f}, recall {self.recall:.3f}"


@cache
def lines(part: str) -> tuple[Line, ...]:
    text = (LINES / f"{part}.jsonl").read_text(encoding="utf-8")
    return tuple(Line(**json.loads(line)) for line in text.split("\n") if line)


def requests(text: str) -> list[str]:
    scanner = SentenceScanner(TABLE)
    scanner.feed(text)
    scanner.end()
    return [request.sentence for request in scanner.requests]


def is_found(line: Line) -> bool:
    """Whether the sentence is among the requests, but for marks and list numbers around it."""
    assert line.sentence is not None
    wanted = line.sentence.strip("*_ ")
    return any(wanted in found or found.strip("*_ ") in wanted for found in requests(line.text))


def score(chosen: list[Line]) -> Score:
    """Of all that was found, and of all that there is to find, how much is right."""
    asking = [line for line in chosen if line.sentence is not None]
    found = sum(map(is_found, asking))
    wrong = sum(bool(requests(line.text)) for line in chosen if line.sentence is None)
    return Score(len(chosen), found / (found + wrong), found / len(asking))


@pytest.mark.parametrize(("part", "size"), [("seen", 1000), ("unseen", 250)])
def test_the_corpus_is_large_varied_and_labelled(part: str, size: int) -> None:
    corpus = lines(part)
    assert len({line.text for line in corpus}) == len(corpus) >= size
    assert {line.kind for line in corpus} == {
        "request", "quotation", "code", "story", "past", "denied", "other",
    }  # fmt: skip
    for line in corpus:
        assert (line.kind == "request") == (line.sentence is not None)
        assert line.sentence is None or line.sentence in line.text
    for language in ("en", "zh"):
        assert sum(line.language == language for line in corpus) > len(corpus) / 4
    assert not {line.text for line in lines("seen")} & {line.text for line in lines("unseen")}


@pytest.mark.parametrize("part", ["seen", "unseen"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_requests_are_found_and_mentions_are_not(
    part: str, language: str, record_property: Callable[[str, object], None]
) -> None:
    result = score([line for line in lines(part) if line.language == language])
    record_property("told", f"detection, {part} {language}: {result}")
    assert result.precision >= 0.9 and result.recall >= 0.95


def test_on_unseen_lines_precision_and_recall_are_at_least_95_percent(
    record_property: Callable[[str, object], None],
) -> None:
    result = score(list(lines("unseen")))
    record_property("told", f"detection, unseen: {result}")
    assert result.precision >= 0.95 and result.recall >= 0.95


def test_the_same_is_found_in_whatever_pieces_the_text_comes() -> None:
    for line in (*lines("seen"), *lines("unseen")):
        scanner = SentenceScanner(TABLE)
        for char in line.text:
            scanner.feed(char)
        scanner.end()
        assert [request.sentence for request in scanner.requests] == requests(line.text)
