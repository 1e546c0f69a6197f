"""No answer, however large, is checked for longer than a moment; normal large forms pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from agui_bridge.protocol.contract.admission import admit
from agui_bridge.protocol.contract.requests import Reject, Resume
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault
from tests.protocol.loaded_threads import ask, interrupted, resume, yes

Schema = dict[str, Any]
Made = Callable[[], tuple[Schema, Any]]
"""Makes a schema and an answer once their test runs: together they take a second and 200 MB."""

LIMIT: Final = 5.0
"""Seconds of the processor for the answers of one input. The worst known one takes half a second,
on a slow and busy machine twice that; without a bound each of them takes minutes."""

ITEMS: Final = 2_000_000


def array(items: Any) -> Schema:
    return {"type": "array", "items": items}


def nested(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def any_of(*types: str) -> Schema:
    return {"anyOf": [{"type": name} for name in types]}


def times(count: int, schema: Any) -> Schema:
    return {"anyOf": [schema] * count}


WORST: Final[dict[str, Made]] = {
    "list[str]": lambda: (array({"type": "string"}), [""] * ITEMS),
    "list[str | int]": lambda: (array(any_of("string", "integer")), [1] * ITEMS),
    "a union of four": lambda: (array(any_of("string", "array", "object", "integer")), [1] * ITEMS),
    "none of a union": lambda: (
        array(any_of("string", "array", "object", "integer")),
        [None] * ITEMS,
    ),
    "items without a rule": lambda: (array({"title": "any"}), [0] * ITEMS),
    "every item a fault": lambda: (times(1, array({"type": "string"})), [0] * ITEMS),
    "a hundred alternatives": lambda: (times(100, {"type": "string"}), [0.5] * 100_000),
    "alternatives of false": lambda: (times(1000, False), [0] * 100_000),
    "a long text": lambda: (times(1000, {"type": "integer"}), "\x01" * 1_400_000),
    "a text beyond the BMP": lambda: (times(1000, {"type": "integer"}), "\U0001f600" * 2_000_000),
    "patterns": lambda: (
        {"anyOf": [{"pattern": f"^(.*)(x+x+)+y{n}$"} for n in range(1000)]},
        "x" * 8_000_000,
    ),
    "patterns of many look-aheads": lambda: (
        {"anyOf": [{"pattern": "^" + r"(?=.*x)" * 16 + rf".*y{n}$"} for n in range(100)]},
        "x" * 200_000,
    ),
    "more patterns than are kept for all schemas": lambda: (
        array({"anyOf": [{"pattern": rf"^(?=.*a{n})(?!.*b).{{{n},}}$"} for n in range(500)]}),
        [""] * 30_000,
    ),
    "formats": lambda: (times(1000, {"format": "uri"}), "a:" + "x" * 8_000_000 + " "),
    "a format of every item": lambda: (
        array({"format": "date-time"}),
        ["2026-01-01T00:00:00"] * 90_000,
    ),
    "a schema that branches as it refers to itself": lambda: (
        {"anyOf": [{"type": "array", "items": {"$ref": "#"}, "maxItems": n} for n in (1, 2, 3, 4)]},
        nested("x", 40),
    ),
    "patterns of names": lambda: (
        {"patternProperties": {f"x{n}": {} for n in range(1000)}},
        {str(n): 0 for n in range(100_000)},
    ),
    "a large enum": lambda: (
        array({"enum": [{"n": [n]} for n in range(2000)]}),
        [{"n": [-1]}] * 10_000,
    ),
    "integers of 4,200 digits": lambda: (times(1, array({"type": "string"})), [10**4200] * 2_000),
    "unique items": lambda: ({"allOf": [{"uniqueItems": True}] * 100}, list(range(20_000))),
    "required names": lambda: (
        times(1, array({"required": [f"name{n}" for n in range(2000)]})),
        [{}] * 10_000,
    ),
    "unevaluated items": lambda: (
        {
            "allOf": [{"contains": {}}] * 900,
            "type": "array",
            "unevaluatedItems": {"type": "string"},
        },
        [""] * 3_000,
    ),
    "unevaluated names": lambda: (
        {"allOf": [{"additionalProperties": True}] * 900, "unevaluatedProperties": False},
        {str(n): 0 for n in range(3_000)},
    ),
}


@pytest.mark.parametrize("name", WORST)
def test_worst_answer_is_refused_within_a_moment(name: str) -> None:
    schema, payload = WORST[name]()
    check_schema(schema)  # compiled before the time is taken
    begun = time.process_time()

    fault = find_schema_fault(schema, payload)

    assert time.process_time() - begun < LIMIT
    assert fault == (
        "the payload: it is too large for its schema; to check all answers of an input may take "
        "100000 steps."
    )


FIELDS: Final = {f"field{n}": {"type": "string", "maxLength": 200} for n in range(500)}
ROW: Final[Schema] = {
    "type": "object",
    "required": ["sku"],
    "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
}

LARGE: Final[dict[str, Made]] = {
    "500 fields": lambda: (
        {"type": "object", "required": list(FIELDS), "properties": FIELDS},
        dict.fromkeys(FIELDS, "x" * 200),
    ),
    "500 fields and 10,000 short items": lambda: (
        {
            "type": "object",
            "required": list(FIELDS),
            "properties": {**FIELDS, "tags": array({"type": "string", "minLength": 1})},
        },
        {**dict.fromkeys(FIELDS, "x"), "tags": ["short"] * 10_000},
    ),
    "10,000 items of a union": lambda: (array(any_of("string", "integer")), [1] * 10_000),
    "5,000 rows": lambda: (array(ROW), [{"sku": "a", "count": 1}] * 5_000),
    "a text of 8 MB": lambda: (
        {"type": "string", "minLength": 1, "pattern": "^x"},
        "x" * 8_000_000,
    ),
    "arguments without a rule": lambda: ({"type": "object"}, {str(n): [n] for n in range(100_000)}),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_answer_that_is_cheap_to_check_passes(name: str) -> None:
    schema, payload = LARGE[name]()
    begun = time.process_time()

    assert find_schema_fault(schema, payload) is None
    assert time.process_time() - begun < LIMIT


def test_all_answers_of_an_input_are_bounded_together() -> None:
    """Each of a hundred questions could otherwise take as long as one."""
    schema, payload = LARGE["5,000 rows"]()
    ids = [f"ask{n}" for n in range(10)]
    loaded = interrupted(*(ask(id, tool=False, schema=schema) for id in ids))
    begun = time.process_time()

    ruling = admit(loaded, resume(*(yes(id, payload) for id in ids)))

    assert time.process_time() - begun < LIMIT
    assert isinstance(ruling, Reject)
    assert ruling.code == "INVALID_RESUME_PAYLOAD"
    assert "too large for its schema" in ruling.message
    one = interrupted(ask("ask", tool=False, schema=schema))
    assert isinstance(admit(one, resume(yes("ask", payload))), Resume)
