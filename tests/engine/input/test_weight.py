"""What may take long is known beforehand, without looking at all of it."""

import pytest

from agui_bridge.engine.fairness import are_heavy_answers, are_long
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


@pytest.mark.parametrize(
    ("messages", "state", "long"),
    [
        ([], None, False),
        ([{"content": "hi"}] * 1_000, {"n": 1}, False),
        ([{"content": "hi"}] * 1_001, None, True),
        ([{"content": "x" * 1_000}] * 500, None, False),
        ([{"content": "x" * 10_000}] * 60, None, True),
        ([{"content": [{"type": "image", "source": {"value": "x" * 600_000}}]}], None, True),
        ([{"toolCalls": [{"function": {"arguments": "x" * 600_000}}]}], None, True),
        ([], {"text": "x" * 70_000}, True),
    ],
)
def test_a_conversation_is_long_by_its_messages_its_text_or_its_state(
    messages: list[Json], state: Json, long: bool
) -> None:
    assert are_long(messages, state) is long
