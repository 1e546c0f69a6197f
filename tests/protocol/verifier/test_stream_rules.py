"""Every rule: what breaks it is noticed in each mode, and mended where it can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from agui_bridge.protocol.verifier.shapes import STREAM_RULES
from tests.protocol.verifier.broken import BROKEN, Event, judged
from tests.support.random_streams import random_streams

STREAMS: Final = [(rule, stream) for rule, streams in BROKEN.items() for stream in streams]
NAMES: Final = [f"{rule}-{n}" for rule, streams in BROKEN.items() for n, _ in enumerate(streams)]

FRAME: Final = frozenset({"run.first", "run.nested"})
"""A relay begins runs of its own."""


def test_every_rule_has_a_stream_that_breaks_it() -> None:
    assert BROKEN.keys() == STREAM_RULES.keys()


@pytest.mark.parametrize(("rule", "stream"), STREAMS, ids=NAMES)
def test_a_consumer_refuses_it_for_that_rule_and_the_kit_tells_the_same(
    rule: str, stream: Sequence[Event]
) -> None:
    assert judged("consumer", stream)[1] == [rule]
    assert judged("strict", stream)[1][:1] == [rule]


@pytest.mark.parametrize(("rule", "stream"), STREAMS, ids=NAMES)
def test_a_relay_mends_it_and_says_so_or_refuses_it(rule: str, stream: Sequence[Event]) -> None:
    out, rules, notes = judged("repair", stream)
    if STREAM_RULES[rule].remedy == "refuse":
        assert rules == [rule]
        return
    assert rules == []
    assert notes
    assert set(judged("consumer", out)[1]) <= FRAME


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_mended_a_consumer_reads(seed: int) -> None:
    for stream in random_streams(seed, 25):
        out, rules, _ = judged("repair", stream)
        if not rules:
            assert set(judged("consumer", out)[1]) <= FRAME, stream


@pytest.mark.parametrize("seed", range(20))
def test_the_kit_and_a_consumer_begin_with_the_same_fault(seed: int) -> None:
    for stream in random_streams(seed, 25):
        assert judged("strict", stream)[1][:1] == judged("consumer", stream)[1], stream


@pytest.mark.parametrize("seed", range(20))
def test_a_stream_without_fault_is_mended_nowhere(seed: int) -> None:
    for stream in random_streams(seed, 25):
        out, rules, _ = judged("consumer", stream)
        if not rules:
            relayed, faults, _ = judged("repair", stream)
            assert (relayed, faults) == (out, []), stream
