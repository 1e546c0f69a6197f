"""Requests are found as in the whole text, however it was split, and never in code."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agui_bridge.agents.keyword.phrases import ENGLISH_PHRASES, PHRASES
from agui_bridge.agents.sentences.code import LONGEST_SPAN
from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import FoundRequest, SentenceScanner

TABLE = PhraseTable(PHRASES)


def scan(*deltas: str, table: PhraseTable = TABLE) -> tuple[FoundRequest, ...]:
    scanner = SentenceScanner(table)
    for delta in deltas:
        scanner.feed(delta)
    holding = scanner.holding
    scanner.end()
    assert holding == bool(scanner.found), "holding is what the end would show"
    return scanner.found


def sentences(text: str, phrases: Sequence[str] = PHRASES) -> list[str]:
    """The sentences that a card is shown for."""
    return [found.sentence for found in scan(text, table=PhraseTable(phrases)) if found.card]


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_phrase_is_found_in_any_case_and_spacing(phrase: str) -> None:
    for said in (phrase, phrase.upper(), phrase.title(), phrase.replace(" ", " \t\u00a0 ")):
        (request,) = scan(f"First this. Then {said} 7 rows")
        assert (request.phrase, request.start) == (phrase, 12)
        assert request.sentence == f"Then {said} 7 rows"


@pytest.mark.parametrize(
    ("said", "phrase"),
    [
        ("needs your approval", "need your approval"),
        ("need your\napprovals", "need your approval"),
        ("confirms before", "confirm before"),
        ("Confirmations are required", "confirmation required"),
        ("waits for your confirmations", "waiting for your confirmation"),
        ("".join(chr(ord(c) + 0xFEE0) for c in "please") + " confirm", "please confirm"),
        ("please\u200b con\u00adfirm", "please confirm"),
        ("請您確認", "请您确认"),
        ("你确定要", "您确定"),
        ("您確認後", "您确认后"),
        ("可以開始嗎", "可以开始吗"),
        ("approvals are needed", "approval needed"),
        ("requires your approval", "require your approval"),
        ("awaits your approval", "awaiting your approval"),
        ("等待 你的\n批准", "等待您的批准"),
    ],
)
def test_other_forms_and_characters_are_the_same_phrase(said: str, phrase: str) -> None:
    (found,) = scan(f"First this. Then {said} 7 rows")
    assert (found.phrase, found.sentence) == (phrase, f"Then {said} 7 rows")


def test_phrases_are_listed_once_and_in_lower_case() -> None:
    assert len(set(PHRASES)) == len(PHRASES)
    assert [each for each in ENGLISH_PHRASES if each != each.lower()] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Please confirm: delete 1,234 rows. Done.", ["Please confirm: delete 1,234 rows."]),
        ("It is v2.0. Please confirm v2.0 now! Ok", ["Please confirm v2.0 now!"]),
        ("There are 1,234. Please confirm it", ["Please confirm it"]),
        ("Please confirm a.log, e.g. Monday's. Bye", ["Please confirm a.log, e.g. Monday's."]),
        ("Please confirm with J. Smith first. Bye", ["Please confirm with J. Smith first."]),
        ("Please confirm... then I delete. Bye", ["Please confirm... then I delete."]),
        ("Please confirm... Bye", ["Please confirm..."]),
        ("Waiting for your confirmation… Bye", ["Waiting for your confirmation…"]),
        ('I ask: "Are you sure?" Then I go.', ['I ask: "Are you sure?"']),
        ("(Are you sure?) Yes.", ["(Are you sure?)"]),
        ("Are you sure?! Yes.", ["Are you sure?!"]),
        ("Are you sure? [y/n]", ["Are you sure? [y/n]"]),
        ("Are you sure? (It is v2.0.) Yes.", ["Are you sure? (It is v2.0.)"]),
        ("Are you sure. (Yes)", ["Are you sure."]),
        ("是否继续？（是/否）好。", ["是否继续？（是/否）好。"]),
        ("See a.org/x?are you sure. Yes.", ["See a.org/x?are you sure."]),
        ("Rows:\nplease confirm\nthanks", ["please confirm"]),
        ("Rows: please\r\n confirm v2.0. Thanks", ["Rows: please\r\n confirm v2.0."]),
        ("Would\nyou\nlike me\n\nto proceed?\nA", ["Would\nyou\nlike me\n\nto proceed?"]),
        ("I say please\nand please\n- please\nconfirm it", ["- please\nconfirm it"]),
        ("请\n確認。谢谢", ["请\n確認。"]),
        ("This needs your “approvals”.", ["This needs your “approvals”."]),
        ("Please, confirm... ARE YOU — SURE?", ["Please, confirm...", "ARE YOU — SURE?"]),
        ("你好。请确认:即将删除 1,234 条记录。谢谢", ["请确认:即将删除 1,234 条记录。"]),
        ("我想问：“是否继续？”\n好。", ["我想问：“是否继续？”"]),
        ("好!请确认!谢谢", ["请确认!"]),
        ("您好Please confirm删除", ["您好Please confirm删除"]),
        ("Please **confirm** it. _Are you_ sure?", ["Please **confirm** it.", "_Are you_ sure?"]),
        ("Are you sure? Do you confirm? No.", ["Are you sure?", "Do you confirm?"]),
        ("  \n  Are you sure  ", ["Are you sure"]),
    ],
)  # fmt: skip
def test_the_request_is_the_whole_sentence_and_nothing_but_it(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "please confirmed",
        "unplease\nconfirm",
        "pleaseconfirm",
        "please `x` confirm",
        "please\n```\nx\n```\nconfirm",
        "",
    ],
)
def test_what_is_no_phrase_is_not_found(text: str) -> None:
    assert scan(text) == ()


@pytest.mark.parametrize(
    "text", ["Please. Confirm it.", "All I need. Your approval.", "please-confirm", "请。确认"]
)
def test_a_phrase_through_the_end_of_a_sentence_or_in_a_name_holds_without_a_card(
    text: str,
) -> None:
    assert [(found.sentence, found.card) for found in scan(text)] == [(text, False)]


def test_case_is_folded_as_unicode_says() -> None:
    assert sentences("BITTE BESTÄTIGEN: GROSSE STRASSE", ["bestätigen: große straße"])
    assert sentences("ΕΊΣΑΙ ΣΊΓΟΥΡΟΣ;", ["είσαι σίγουρος"])
    assert sentences("Straßenname", ["STRASSE"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Say `please confirm` twice.",
        "Say ``please ` confirm, please confirm`` twice.",
        "```\nplease confirm\n```",
        "```please confirm",
        "```python\nplease confirm",
        "~~~ text\nplease confirm\n```\nplease confirm\n~~~~",
        "1. Do:\n   ```sh\n   please confirm\n   ```\nDone.",
        "- ```\n  please confirm\n  ```",
        "> ~~~\n> please confirm",
        "````\n```\nplease confirm\n```\n````",
        "```\nplease confirm\n```py\nplease confirm\n```",
    ],
)
def test_nothing_is_found_in_code(text: str) -> None:
    assert scan(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A lone ` and please confirm it.", ["A lone ` and please confirm it."]),
        ("`` please confirm `", ["`` please confirm `"]),
        ("Open `x\nplease confirm `y`.", ["please confirm `y`."]),
        ("Please confirm `rm -rf x. Y`. Bye", ["Please confirm `rm -rf x. Y`."]),
        ("```\ncode\n```\nAre you sure?", ["Are you sure?"]),
        ("~~~\ncode\n~~~  \r\nAre you sure?", ["Are you sure?"]),
        ("```a``` are you sure", ["```a``` are you sure"]),
        ("~~struck~~ are you sure", ["~~struck~~ are you sure"]),
        ("text ``` are you sure", ["text ``` are you sure"]),
        ("    indented: are you sure", ["indented: are you sure"]),
        (f"`{'x' * LONGEST_SPAN} are you sure`", [f"`{'x' * LONGEST_SPAN} are you sure`"]),
    ],
)
def test_what_only_looks_like_code_is_text(text: str, found: list[str]) -> None:
    assert sentences(text) == found


PIECES = [
    "please", "confirm", "Please confirm", "are you", "sure", "needs", "your",
    "approvals", "not ", "请", "确认", "是否继续", "ß", "İ",
    " ", "  ", "\t", "\n", "\r\n", "\u2028", "*", "_", "**", "`", "``", "```", "~", "~~~", "````",
    ".", "...", "…", "!", "?", "。", "！", "？", '"', "”", ")", "e.g.", "v2.0", "1,234.", "- ",
    "> ", "1. ", "x", "A", "\\",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@st.composite
def split_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    text = draw(TEXTS)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=len(text))))
    ends = [*cuts, len(text)]
    return text, [text[a:b] for a, b in zip([0, *cuts], ends, strict=True)]


@settings(max_examples=400)
@given(split_texts())
def test_any_way_of_splitting_gives_what_the_whole_text_gives(
    case: tuple[str, list[str]],
) -> None:
    text, deltas = case

    assert "".join(deltas) == text
    assert scan(*deltas) == scan(text)


@settings(max_examples=200)
@given(TEXTS)
def test_looking_between_tokens_changes_nothing_and_tells_what_the_end_would_show(
    text: str,
) -> None:
    scanner, last = SentenceScanner(TABLE), 0
    for length, char in enumerate(text, start=1):
        scanner.feed(char)
        assert scanner.holding == bool(scan(text[:length]))
        assert last <= scanner.sentence_start <= length, "a sentence never starts earlier again"
        last = scanner.sentence_start
    scanner.end()

    assert scanner.found == scan(text)


@settings(max_examples=200)
@given(TEXTS, TEXTS)
def test_what_stands_before_the_start_of_the_sentence_is_never_part_of_a_later_request(
    text: str, more: str
) -> None:
    scanner = SentenceScanner(TABLE)
    scanner.feed(text)
    known, start = len(scanner.found), scanner.sentence_start
    scanner.feed(more)
    scanner.end()

    assert all(request.start >= start for request in scanner.found[known:])
    for request in scanner.found:
        whole = text + more
        assert whole[request.start :].startswith(request.sentence)


def test_a_sentence_starts_where_it_can_still_become_a_request() -> None:
    scanner = SentenceScanner(TABLE)
    starts = []
    for delta in ("Hello. ", "Please", " confirm", ". ", "Say `x", ". Y", "` now", ". Z"):
        scanner.feed(delta)
        starts.append(scanner.sentence_start)

    assert starts == [0, 7, 7, 7, 23, 23, 23, 39]


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "please " * n,
        lambda n: "please con" * n,
        lambda n: "please" + " " * n + "confirm",
        lambda n: "` `` " * n,
        lambda n: "".join("`" * (k % 90 + 1) + " " for k in range(n // 10)),
        lambda n: "`" * n,
        lambda n: "```\n" * n,
        lambda n: "e.g. " * n,
        lambda n: "." * n,
        lambda n: "*" * n,
        lambda n: "> " * n + "```",
        lambda n: "~" * n,
        lambda n: "Please confirm. " * n,
        lambda n: "Users always need your approval, " * (n // 10),
        lambda n: "please" + " ." * n + " confirm",
        lambda n: "please\n" * n,
        lambda n: "please ?\n" * n,
    ],
)
def test_twice_the_text_is_at_most_about_twice_the_work(make: Callable[[int], str]) -> None:
    once, twice = make(1_500), make(3_000)
    size = len(twice) / len(once)

    assert lines_run(twice) <= 1.3 * size * lines_run(once)


def test_looking_often_at_a_sentence_that_never_ends_costs_a_bounded_amount_each() -> None:
    scanner = SentenceScanner(TABLE)
    costs = []
    for _ in range(60):
        scanner.feed("`" + "x" * 999)
        costs.append(count_lines(lambda: scanner.holding))

    assert max(costs[20:]) <= 1.1 * max(costs[:20])


def lines_run(text: str) -> int:
    """How many lines of Python the scan of a text executes, fed by the character."""

    def work() -> None:
        scanner = SentenceScanner(TABLE)
        for char in text:
            scanner.feed(char)
        scanner.end()

    return count_lines(work)


def count_lines(work: Callable[[], Any]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
