"""Which arguments a remembered decision is about: tables, and properties on random ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from agui_bridge.protocol.grants import matches
from agui_bridge.protocol.json_values import same_json

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "ab", 1.0])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)
ARGS = st.dictionaries(st.sampled_from("abc"), JSON)
MATCHERS = st.dictionaries(
    st.sampled_from(["/a", "/b", "/a/b", "/a/0", "", "c", "/c~1"]),
    st.sampled_from(
        [
            *("exact", "any", "prefix", "max", "min", "other"),
            *({"max": 3}, {"min": 1, "max": 3}, {"prefix": "a"}, {}),
        ]
    ),
)

APPROVED = {"to": "/home/ann/", "amount": 10, "deep": {"list": [1, {"x": "y"}]}, "dry": True}
TABLE: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, True),
    ({}, {"amount": 9}, False),
    ({}, {"amount": 10.0}, False),
    ({}, {"dry": 1}, False),
    ({}, {"more": None}, False),
    ({"/amount": "max"}, {"amount": 9}, True),
    ({"/amount": "max"}, {"amount": 10}, True),
    ({"/amount": "max"}, {"amount": 9.5}, True),
    ({"/amount": "max"}, {"amount": 11}, False),
    ({"/amount": "max"}, {"amount": True}, False),
    ({"/amount": "max"}, {"amount": "9"}, False),
    ({"/amount": "max"}, {"amount": float("nan")}, False),
    ({"/amount": {"max": 50}}, {"amount": 50}, True),
    ({"/amount": {"max": 50}}, {"amount": 51}, False),
    ({"/amount": "max"}, {"amount": 9, "dry": False}, False),
    ({"/amount": "min"}, {"amount": 11}, True),
    ({"/amount": "min"}, {"amount": 10}, True),
    ({"/amount": "min"}, {"amount": 9.5}, False),
    ({"/amount": "min"}, {"amount": True}, False),
    ({"/amount": "min"}, {"amount": float("inf")}, False),
    ({"/amount": {"min": 5}}, {"amount": 5}, True),
    ({"/amount": {"min": 5}}, {"amount": 4}, False),
    ({"/amount": {"min": "5"}}, {"amount": 10}, False),
    ({"/amount": {"min": 5, "max": 9}}, {"amount": 7}, True),
    ({"/amount": {"min": 5, "max": 9}}, {"amount": 4}, False),
    ({"/amount": {"min": 5, "max": 9}}, {"amount": 9.5}, False),
    ({"/amount": {"min": 5, "prefix": "9"}}, {"amount": 9}, False),
    ({"/to": "prefix"}, {"to": "/home/ann/x"}, True),
    ({"/to": "prefix"}, {"to": "/home/an"}, False),
    ({"/to": "prefix"}, {"to": "/home/ann/../bob"}, False),
    ({"/to": "prefix"}, {"to": "/home/ann/..\\bob"}, False),
    ({"/to": "prefix"}, {"to": ["/home/ann/"]}, False),
    ({"/to": {"prefix": "/home/"}}, {"to": "/home/bob"}, True),
    ({"/to": "any"}, {"to": {"x": 1}}, True),
    ({"/to": "exact"}, {"to": "/home/ann/x"}, False),
    ({"/deep": "any"}, {"deep": None}, True),
    ({"/deep/list/1/x": "any"}, {"deep": {"list": [1, {"x": 0}]}}, True),
    ({"/deep/list/1/x": "any"}, {"deep": {"list": [2, {"x": 0}]}}, False),
    ({"/deep/list/0": "max"}, {"deep": {"list": [0, {"x": "y"}]}}, True),
    ({"/deep/list/0": "any"}, {"deep": {"list": [0, {"x": "y"}, 3]}}, False),
    ({"/new": "any"}, {"new": 1}, True),
    ({"/new": "max"}, {"new": 1}, False),
    ({"": "any"}, {"to": 1, "whatever": 2}, True),
    ({"": "exact"}, {"amount": 9}, False),
    ({"to": "any"}, {}, False),
    ({"/to": "unknown"}, {}, False),
    ({"/to": {"prefix": 5}}, {}, False),
]


@pytest.mark.parametrize(("matchers", "change", "expected"), TABLE)
def test_arguments_match_as_the_table_says(
    matchers: dict[str, Any], change: dict[str, Any], expected: bool
) -> None:
    assert matches(APPROVED, matchers, APPROVED | change) is expected


def test_a_missing_argument_is_no_match_but_of_any() -> None:
    without = {name: value for name, value in APPROVED.items() if name != "to"}
    assert matches(APPROVED, {"/to": "any"}, without)
    for matcher in ("exact", "prefix", {"prefix": ""}):
        assert not matches(APPROVED, {"/to": matcher}, without)


@given(ARGS)
def test_the_same_arguments_match_exactly(args: dict[str, Any]) -> None:
    assert matches(args, {}, copy.deepcopy(args))


@given(ARGS, ARGS)
def test_without_matchers_nothing_else_matches(
    approved: dict[str, Any], args: dict[str, Any]
) -> None:
    assert matches(approved, {}, args) == same_json(approved, args)


@given(ARGS, MATCHERS, ARGS)
def test_what_differs_is_named_by_a_matcher(
    approved: dict[str, Any], matchers: dict[str, Any], args: dict[str, Any]
) -> None:
    assume("" not in matchers)
    before = copy.deepcopy((approved, matchers, args))
    if matches(approved, matchers, args):
        named = {pointer.split("/")[1] for pointer in matchers if pointer.startswith("/")}
        for name in {*approved, *args} - named:
            assert same_json(approved.get(name), args.get(name))
    assert (approved, matchers, args) == before


@given(st.integers(), st.integers())
def test_max_is_at_most(bound: int, value: int) -> None:
    assert matches({"n": 0}, {"/n": {"max": bound}}, {"n": value}) == (value <= bound)


@given(st.integers(), st.integers())
def test_min_is_at_least(bound: int, value: int) -> None:
    assert matches({"n": 0}, {"/n": {"min": bound}}, {"n": value}) == (value >= bound)
