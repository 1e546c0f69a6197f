"""Every request is shown to the person who answers: its phrase is in the question."""

import pytest
from hypothesis import given, settings, strategies as st

from agui_bridge.agents.keyword.adapter import LONGEST_MESSAGE, SHORTEST_LINE, question
from agui_bridge.agents.keyword.phrases import PHRASES
from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import FoundRequest, SentenceScanner
from tests.support.examples import few_or_many

TABLE = PhraseTable(PHRASES)

# Of what fails Hypothesis would else tell only that it is long.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


def scan(text: str) -> tuple[FoundRequest, ...]:
    scanner = SentenceScanner(TABLE)
    scanner.feed(text)
    scanner.end()
    return scanner.requests


SAID = st.sampled_from(
    ["please **confirm**", "PLEASE \t confirm", "are you sure", "_Do you want me to_", "是否继续"]
)
FILLING = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(["x", "İ", "ß ", "word ", "*", " ", "`please confirm` ", "` ", "v2.0 ", "谢"]),
    st.integers(0, 3000),
)
ENDS = st.sampled_from(["\n", ". Then ", "? ", "。", " "])
TEXTS = st.lists(
    st.tuples(FILLING, st.just(" "), SAID, st.just(" "), FILLING, ENDS).map("".join), max_size=12
).map("".join)


@few_or_many(40, 500)
def test_the_phrase_of_every_request_is_visible(examples: int) -> None:
    @settings(max_examples=examples)
    @given(TEXTS)
    def run(text: str) -> None:
        requests = scan(text)
        lines = question(requests).split("\n") if requests else []

        distinct = list(dict.fromkeys(request.sentence for request in requests))
        assert len(lines) == len(distinct)
        for request in requests:
            said = request.sentence[request.phrase_start : request.phrase_end]
            assert request.phrase in [match.phrase for match in TABLE.find(said)]
            line = lines[distinct.index(request.sentence)]
            assert said in line
            assert line.strip("…") in request.sentence
            assert len(line) >= min(len(request.sentence), SHORTEST_LINE)

    run()


@few_or_many(40, 500)
def test_a_question_is_as_long_as_it_may_be_and_no_longer(examples: int) -> None:
    @settings(max_examples=examples)
    @given(TEXTS)
    def run(text: str) -> None:
        requests = scan(text)
        whole = "\n".join(dict.fromkeys(request.sentence for request in requests))
        shown = question(requests) if requests else ""
        # Only a phrase that was itself said at great length may go beyond.
        longest = max((r.phrase_end - r.phrase_start for r in requests), default=0)

        if len(whole) <= LONGEST_MESSAGE:
            assert shown == whole
        elif longest < SHORTEST_LINE:
            assert LONGEST_MESSAGE - len(requests) <= len(shown) <= LONGEST_MESSAGE

    run()


@pytest.mark.parametrize("count", [30, 400])
def test_of_very_many_requests_none_is_dropped(count: int) -> None:
    text = "\n".join(f"{'so ' * 50}please confirm: drop {n}. {'x' * 90}" for n in range(count))
    lines = question(scan(text)).split("\n")

    assert [f"please confirm: drop {n}." in line for n, line in enumerate(lines)] == [True] * count
    assert min(map(len, lines)) >= SHORTEST_LINE - 2


def test_short_requests_leave_their_room_to_long_ones() -> None:
    long = f"Please confirm {'x' * 1900}"

    assert question(scan(f"Are you sure?\n{long}")) == f"Are you sure?\n{long}"


def test_a_phrase_at_the_end_of_its_sentence_leaves_no_room_unused() -> None:
    requests = scan("\n".join(f"{letter * 1500} are you sure" for letter in "xyz"))

    assert len(question(requests)) == LONGEST_MESSAGE
