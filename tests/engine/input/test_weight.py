"""What may take long is known beforehand, without looking at all of it."""

import pytest

from agui_bridge.engine.input.weight import are_heavy_answers
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.threads.records import Json
from tests.protocol.loaded_threads import ask, interrupted, yes

ROW = {"type": "object", "properties": {"sku": {"type": "string"}}}


@pytest.mark.parametrize(
    ("payload", "heavy"), [([{"sku": "a"}] * 10, False), ([{"sku": "a"}] * 5_000, True)]
)
def test_large_answers_to_a_form_are_heavy(payload: Json, heavy: bool) -> None:
    loaded = interrupted(ask("a", tool=False, schema={"type": "array", "items": ROW}))
    entries: list[Entry] = [yes("a", payload), yes("unknown", payload)]
    assert are_heavy_answers(loaded, entries) is heavy


def test_an_approval_is_not_heavy() -> None:
    assert not are_heavy_answers(interrupted(ask("a")), [yes("a")])
