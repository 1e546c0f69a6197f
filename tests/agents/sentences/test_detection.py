"""How well requests hold what follows them, and how well cards are told from mentions.

On lines that the rules were and were not made for: tests/golden/detection/README.md.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.sentences.measuring import KINDS, found_in, holds, lines, score, scores, sets

SETS = sets()
SIZES = {"seen": 1000, "unseen": 250, "formerly_blind": 350}
CARD_PRECISION = {"blind": 0.95, "seen": 0.86, "unseen": 0.92, "formerly_blind": 0.9}
"""Of another set, by its file's name: what was measured when it came, and no less than 0.9."""


@pytest.fixture(params=SETS, ids=[file.stem for file in SETS])
def file(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_the_corpus_is_large_varied_and_labelled(file: Path) -> None:
    corpus = lines(file)
    assert len({line.text for line in corpus}) == len(corpus) >= SIZES.get(file.stem, 250)
    assert {line.kind for line in corpus} == KINDS
    for language in ("en", "zh"):
        assert sum(line.language == language for line in corpus) > len(corpus) / 4
    for other in SETS:
        if other != file:
            assert not {line.text for line in corpus} & {line.text for line in lines(other)}


def test_after_every_request_nothing_is_carried_out(
    file: Path, record_property: Callable[[str, object], None]
) -> None:
    for language, result in scores(file):
        record_property("told", f"detection, {file.stem} {language}: {result}")
    assert score(lines(file)).missed == ()


def test_cards_are_for_requests_and_requests_have_cards(file: Path) -> None:
    for language, result in scores(file):
        assert result.card_precision >= CARD_PRECISION.get(file.stem, 0.9), language
        assert result.card_recall >= 0.93, language


def test_the_same_is_found_in_whatever_pieces_the_text_comes(file: Path) -> None:
    for line in lines(file):
        assert found_in(*line.text) == found_in(line.text)
        assert holds(*line.text) == holds(line.text)
