"""What JSON may enter, and what leaves instead of what may not."""

import dataclasses
import datetime
import decimal
import enum
import json
import math
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from agui_bridge.protocol.json_values import (
    MAX_DEPTH,
    canonical,
    clean,
    clean_text,
    find_forbidden,
    same_json,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
AWKWARD = st.recursive(
    SCALARS
    | st.text(st.characters(categories=["Cs", "Lu"]) | st.just("\x00"))
    | st.binary()
    | st.decimals()
    | st.datetimes(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.booleans(), inner)
        | st.frozensets(st.text())
    ),
    max_leaves=12,
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (math.nan, "$: nan is not a JSON number"),
        ({"a": [1, {"b": -math.inf}]}, "$.a[1].b: -inf is not a JSON number"),
        (["ok", "a\x00b"], "$[1]: NUL character"),
        ({"a": "\ud83d"}, "$.a: lone surrogate"),
        ({"a\x00": 1}, "key $.a\ufffd: NUL character"),
        ({"a": {"\udc00": 1}}, "key $.a.\ufffd: lone surrogate"),
        ([[1, "\x00"], math.nan], "$[0][1]: NUL character"),
        ({"a": math.nan, "b\x00": 1}, "$.a: nan is not a JSON number"),
    ],
)
def test_the_first_offence_is_found_with_its_path(value: Any, found: str) -> None:
    assert find_forbidden(value) == found


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "é😀", {"a": [{}]}, nested(MAX_DEPTH)])
def test_json_may_enter(value: Any) -> None:
    assert find_forbidden(value) is None


def test_nesting_is_limited_without_recursion() -> None:
    assert find_forbidden(nested(MAX_DEPTH + 1)) == (
        f"${'[0]' * MAX_DEPTH}: nested deeper than {MAX_DEPTH} levels"
    )
    assert find_forbidden(nested(100_000), max_depth=200_000) is None
    assert find_forbidden([[]], max_depth=1) == "$[0]: nested deeper than 1 levels"


def test_clean_text_is_the_same_object() -> None:
    for text in ("plain", "é😀"):
        assert clean_text(text) is text
    assert clean_text("a\x00\ud800é") == "a\ufffd\ufffdé"


@given(JSON)
def test_clean_json_is_returned_as_it_is_and_admissible(value: Any) -> None:
    if find_forbidden(value) is None:
        assert clean(value) is value
    assert find_forbidden(clean(value)) is None


@given(AWKWARD)
def test_whatever_is_cleaned_can_be_encoded_and_may_enter(value: Any) -> None:
    cleaned = clean(value)
    assert find_forbidden(json.loads(json.dumps(cleaned, allow_nan=False).encode())) is None


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    """A string that a library subclasses."""


class Ratio(float):
    """A number that a library subclasses."""


@dataclasses.dataclass
class Point:
    x: float
    label: str = "p\x00"


class Model(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    row_count: int = Field(alias="rowCount")
    point: Point


class Broken(BaseModel):
    value: int = 1

    @field_serializer("value")
    def fail(self, value: int) -> int:
        raise RuntimeError


class Odd:
    def __str__(self) -> str:
        return "odd\x00"


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        (math.nan, None),
        ([math.inf, 1], [None, 1]),
        ((1, 2), [1, 2]),
        (deque([1]), [1]),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
        ({(1, 2): "a"}, {"1,2": "a"}),
        ({"k\x00": 1}, {"k\ufffd": 1}),
        (datetime.datetime(2026, 1, 2, 3), "2026-01-02T03:00:00"),
        (decimal.Decimal("1.50"), "1.50"),
        (Path("a/b"), "a/b"),
        (b"text", "text"),
        (b"\xff\x00", "_wA="),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (Name("n\x00"), "n\ufffd"),
        (Ratio("nan"), None),
        (Ratio(1.5), 1.5),
        (Odd(), "odd\ufffd"),
        ({Odd(): 1}, {"odd\ufffd": 1}),
        ((item for item in (1, math.nan)), [1, None]),
        (
            Model(row_count=1, point=Point(math.nan)),
            {"rowCount": 1, "point": {"x": None, "label": "p\ufffd"}},
        ),
        (Broken(), {"value": 1}),
        ([Point(math.inf)], [{"x": None, "label": "p\ufffd"}]),
        (Point, str(Point)),
    ],
)
def test_what_is_not_json_becomes_sensible_json(value: Any, cleaned: Any) -> None:
    assert json.dumps(clean(value)) == json.dumps(cleaned)


def test_cleaning_copies_only_what_changes() -> None:
    value: dict[str, list[Any]] = {"same": [1, {"a": 2}], "other": [math.nan]}
    cleaned = clean(value)
    assert cleaned["same"] is value["same"]
    assert math.isnan(value["other"][0])


def test_cycles_and_bottomless_values_end() -> None:
    loop: list[Any] = [1]
    loop += [loop, loop]
    assert clean(loop) == [1, None, None]
    assert clean(nested(100_000)) == clean(nested(MAX_DEPTH + 5))
    assert find_forbidden(clean(nested(100_000))) is None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (True, 1, False),
        (False, 0, False),
        (1, 1.0, False),
        (0.0, -0.0, False),
        ("1", 1, False),
        (None, False, False),
        ("", None, False),
        ({}, [], False),
        ({"a": None}, {}, False),
        ((1, 2), [1, 2], True),
        (1e2, 100.0, True),
        ("é", "é", True),
    ],
)
def test_equality_is_that_of_json_and_exact_in_type(a: Any, b: Any, same: bool) -> None:
    assert same_json(a, b) is same
    assert same_json({"x": [a]}, {"x": [b]}) is same


def test_canonical_text_is_sorted_compact_and_ascii() -> None:
    assert canonical({"b": [1, 2.0, None], "a": "é"}) == '{"a":"\\u00e9","b":[1,2.0,null]}'


@given(JSON)
def test_canonical_text_survives_a_round_trip(value: Any) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)
