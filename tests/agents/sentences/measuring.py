"""Measures detection on labelled lines: `python -m tests.agents.sentences.measuring [FILE…]`.

Two questions, two measures. *Hold*: of the requests, how many keep what comes after them from being
carried out; any less than all, and an action runs unasked. *Card*: of all cards, how many are for
requests (precision), and of the requests, how many get a card for their sentence (recall).
How many of the other lines hold as well is told beside it: it is what being in doubt costs, a
question when the agent then acts. The format of the lines is in tests/golden/detection/README.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agui_bridge.agents.keyword.phrases import PHRASES
from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import FoundRequest, SentenceScanner

__all__ = [
    "FOLDER",
    "KINDS",
    "Line",
    "Score",
    "found_in",
    "holds",
    "lines",
    "row",
    "score",
    "scores",
    "sets",
]

FOLDER = Path(__file__).parents[2] / "golden" / "detection"
KINDS = frozenset(("request", "quotation", "code", "story", "past", "denied", "other"))
TABLE = PhraseTable(PHRASES)


@dataclass(frozen=True, slots=True)
class Line:
    """A message of an agent: its text, and the sentence in it that asks, if one does."""

    text: str
    language: str
    kind: str
    sentence: str | None = None

    def __post_init__(self) -> None:
        """Check the labels."""
        assert self.kind in KINDS, self
        assert (self.kind == "request") == (self.sentence is not None), self
        assert self.sentence is None or self.sentence in self.text, self


@dataclass(frozen=True, slots=True)
class Score:
    """What came of some lines; `missed` are the requests that nothing is held after."""

    requests: int
    others: int
    missed: tuple[str, ...]
    others_held: int
    carded: int
    wrongly_carded: int

    @property
    def hold_recall(self) -> float:
        return _share(self.requests - len(self.missed), self.requests)

    @property
    def card_precision(self) -> float:
        return _share(self.carded, self.carded + self.wrongly_carded)

    @property
    def card_recall(self) -> float:
        return _share(self.carded, self.requests)

    def __str__(self) -> str:
        return (
            f"{self.requests} requests and {self.others} mentions: hold recall "
            f"{self.hold_recall:.3f}, card precision {self.card_precision:.3f}, card recall "
            f"{self.card_recall:.3f}; {self.others_held} mentions hold"
        )


def row(file: Path, language: str, result: Score) -> str:
    """A row of the table in docs/keyword-agents.md."""
    name = {"en": "English", "zh": "Chinese"}.get(language, language)
    figures = (result.hold_recall, result.card_precision, result.card_recall)
    cells = [f"`{file.stem}`, {name}", result.requests, *(f"{each:.3f}" for each in figures)]
    return f"| {' | '.join(map(str, [*cells, result.others, result.others_held]))} |"


def sets() -> list[Path]:
    """All files of lines."""
    return sorted(FOLDER.glob("*.jsonl"))


@cache
def lines(file: Path) -> tuple[Line, ...]:
    """The lines of a file."""
    text = file.read_text(encoding="utf-8")
    return tuple(Line(**json.loads(line)) for line in text.split("\n") if line.strip())


@cache
def holds(*pieces: str) -> bool:
    """Whether a call that begins after this text is held."""
    scanner = SentenceScanner(TABLE)
    for piece in pieces:
        scanner.feed(piece)
    return scanner.holding


@cache
def found_in(*pieces: str) -> tuple[FoundRequest, ...]:
    """What is found in a message."""
    scanner = SentenceScanner(TABLE)
    for piece in pieces:
        scanner.feed(piece)
    scanner.end()
    return scanner.found


def score(chosen: Sequence[Line]) -> Score:
    """Measure some lines."""
    requests = [line for line in chosen if line.sentence is not None]
    others = [line for line in chosen if line.sentence is None]
    return Score(
        len(requests),
        len(others),
        tuple(line.text for line in requests if not holds(line.text)),
        sum(holds(line.text) for line in others),
        sum(map(_has_its_card, requests)),
        sum(any(found.card for found in found_in(line.text)) for line in others),
    )


def scores(file: Path) -> Iterator[tuple[str, Score]]:
    """One score for each language of a file, and one for all of it."""
    given = lines(file)
    for language in sorted({line.language for line in given}):
        yield language, score([line for line in given if line.language == language])
    yield "all", score(given)


def _has_its_card(line: Line) -> bool:
    """Whether the sentence has a card, but for marks and list numbers around it."""
    assert line.sentence is not None
    wanted = line.sentence.strip("*_ ")
    cards = [found.sentence for found in found_in(line.text) if found.card]
    return any(wanted in card or card.strip("*_ ") in wanted for card in cards)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _main(files: Sequence[Path]) -> None:
    for file in files:
        for language, result in scores(file):
            print(f"{file.stem} {language}: {result}")
            print(row(file, language, result))
        for text in score(lines(file)).missed:
            print(f"{file.stem}: NOT HELD: {text!r}")


if __name__ == "__main__":
    _main([Path(name) for name in sys.argv[1:]] or sets())
