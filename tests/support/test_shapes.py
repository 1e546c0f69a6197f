"""The quick judge of what is on the wire takes and refuses what the thorough one does."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.shapes.instances import smallest, spoilt
from tests.support.shapes import SCHEMAS, fault_of, quick_validator, validator

EVENTS: Final = json.loads((SCHEMAS / "events.json").read_text(encoding="utf-8"))
KINDS: Final = [choice["$ref"].removeprefix("#/$defs/") for choice in EVENTS["oneOf"]]


@pytest.mark.parametrize("name", KINDS)
def test_both_judges_have_one_verdict_of_each_event_right_or_spoilt(name: str) -> None:
    schema = EVENTS["$defs"][name]
    right = smallest(schema, EVENTS)
    cases = [("right", right), *spoilt(right, schema, EVENTS)]
    cases += [(f"no member but {key}", {key: value}) for key, value in right.items()]

    for pointer in ("", f"/$defs/{name}"):
        thorough = [validator("events.json", pointer).is_valid(event) for _, event in cases]
        quick = [quick_validator("events.json", pointer).is_valid(event) for _, event in cases]
        assert quick == thorough, [
            what for (what, _), a, b in zip(cases, quick, thorough, strict=True) if a != b
        ]
        assert not all(quick)


@pytest.mark.parametrize("value", ["half of a pair: \ud800", 2**200, 1.0, True], ids=ascii)
def test_a_value_that_one_of_them_may_not_know_has_the_same_verdict(value: Any) -> None:
    for kind, member in (("TEXT_MESSAGE_CONTENT", "delta"), ("STATE_SNAPSHOT", "snapshot")):
        [name] = [name for name in KINDS if name.upper() == kind.replace("_", "") + "EVENT"]
        event = {**smallest(EVENTS["$defs"][name], EVENTS), member: value}

        allowed = validator("events.json", f"/$defs/{name}").is_valid(event)

        assert (fault_of(event, "events.json", f"/$defs/{name}") is None) == allowed
