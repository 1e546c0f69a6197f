"""What a remembered decision covers is said in words that are true of what it lets through."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.transitions import moved
from agui_bridge.protocol.grants import (
    MEMBER,
    covered_arguments,
    grant_of,
    lasting,
    matches,
    offering,
    times,
)
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Remember
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    RecordedAnswer,
    ThreadKey,
    ToolCall,
)

APPROVED = {"amount": 3, "note": "thanks", "to": {"iban": "DE1"}, "path": "/home/ann/"}
TABLE: list[tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]] = [
    ({}, "the same arguments", {}, {"amount": 4}),
    (
        {"/amount": {"min": 0, "max": 50}, "/note": "any"},
        "amount from 0 to 50; note anything, or left out; all else the same",
        {"amount": 50, "note": {"iban": "X"}},
        {"amount": -1},
    ),
    (
        {"/amount": {"max": 50}},
        "amount any number up to 50, negative ones too; all else the same",
        {"amount": -1_000_000},
        {"amount": 51},
    ),
    (
        {"/amount": "max"},
        "amount any number up to 3, negative ones too; all else the same",
        {"amount": -7},
        {"amount": 4},
    ),
    (
        {"/amount": "min"},
        "amount any number from 3 up, however large; all else the same",
        {"amount": 10**9},
        {"amount": 2},
    ),
    (
        {"/path": "prefix"},
        'path any text that begins with "/home/ann/"; all else the same',
        {"path": "/home/ann/x"},
        {"path": "/home/bob"},
    ),
    (
        {"/to/iban": "any"},
        "to.iban anything, or left out; all else the same",
        {"to": {"iban": "FR2"}},
        {"to": {"iban": "DE1", "bic": "X"}},
    ),
    ({"": "any"}, "any arguments", {"whatever": 1}, {}),
    ({"/note": "max"}, "note no value; all else the same", {}, {"note": "thanks"}),
    ({"/new": "max"}, "new left out; all else the same", {}, {"new": 1}),
    (
        {"/amount": "most"},
        "no call at all: its rule has a matcher that there is not",
        {},
        {"amount": 3},
    ),
]


@pytest.mark.parametrize(("matchers", "words", "within", "beyond"), TABLE)
def test_the_words_are_those_of_what_is_let_through(
    matchers: dict[str, Any], words: str, within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    assert covered_arguments(APPROVED, matchers) == words
    if within:
        assert matches(APPROVED, matchers, APPROVED | within)
    if beyond:
        assert not matches(APPROVED, matchers, APPROVED | beyond)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (8 * 3600.0, "8 hours"),
        (30 * 86_400.0, "30 days"),
        (129_600, "1 day and 12 hours"),
        (61, "1 minute and 1 second"),
        (0.2, "less than a second"),
    ],
)
def test_a_time_is_said_in_its_largest_parts(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_how_often_is_a_number_or_any() -> None:
    assert [times(most) for most in (None, 1, 20)] == [
        "any number of times",
        "once",
        "20 times at most",
    ]


def test_an_approval_of_a_question_that_an_earlier_version_asked_is_remembered() -> None:
    call = ToolCall("c", "pay", {"amount": 3})
    rule = ApprovalRule("pay", remember=(Remember("scope"),))
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    asked = offering(
        Interrupt("i", "b", 0, "n", "tool_call", tool_call=call, rule=rule, response_schema=schema)
    )
    assert asked.response_schema is not None
    members = asked.response_schema["properties"]
    told = members[MEMBER].pop("description")
    assert (
        told == "scope: for everybody, for 30 days, any number of times; with the same arguments."
    )
    for member, made in (
        (members[MEMBER], True),
        ({**members[MEMBER], "description": told}, True),
        ({**members[MEMBER], "title": "Another one's"}, False),
    ):
        one = replace(asked, response_schema={**schema, "properties": {MEMBER: member}})
        answer = RecordedAnswer("resolved", {"approved": True, MEMBER: "scope"})
        given = moved(replace(one, answer=answer), InterruptStatus.ANSWERED, 1.0, "bob", "api")
        assert (grant_of(ThreadKey("s", "a", "t"), given, 1.0) is not None) is made
