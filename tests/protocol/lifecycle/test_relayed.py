"""What another server says: whatever AG-UI allows comes through, and stays what AG-UI allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest

from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge.protocol.verifier.shapes import model_of
from tests.protocol.verifier.broken import FINISHED, STARTED, judged, step, subagent, text, within
from tests.support.random_streams import random_streams

Event = dict[str, Any]

ENGINES: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "RAW", "MESSAGES_SNAPSHOT"})
"""What a relay keeps to itself."""

KNOWN: Final = ("there is no tool call", "has ended", "but belongs to")
"""What the engine refuses all the same: a result that no model could be shown, arguments after the
result, and what one stream says of several runs."""


def relayed(events: Iterable[Event]) -> list[Event]:
    """What the engine makes of a stream that has been mended."""
    numbers = itertools.count()
    lifecycle = Lifecycle(lambda: f"minted-{next(numbers)}", relayed=True)
    sent = [STARTED]
    for event in events:
        if event["type"] not in ENGINES:
            sent += lifecycle.feed(model_of(event))
    return [*sent, *lifecycle.finish(), FINISHED]


def mended(seed: int) -> Iterator[list[Event]]:
    for stream in random_streams(seed, 25):
        events, rules, _ = judged("repair", stream)
        if not rules:
            yield events


@pytest.mark.parametrize("seed", range(20))
def test_what_was_mended_is_what_every_client_reads(seed: int) -> None:
    for events in mended(seed):
        try:
            sent = relayed(events)
        except ProtocolViolation as refused:
            assert any(known in str(refused) for known in KNOWN), (refused, events)
        else:
            assert judged("consumer", sent)[1] == [], events


def test_a_subagent_that_was_never_announced_speaks() -> None:
    tag = {"subagentRunId": "s"}
    stream = within(text("START", **tag), text("CONTENT"), text("END", **tag))
    assert relayed(stream) == stream
    with pytest.raises(ProtocolViolation, match="'s' is not active"):
        Lifecycle(lambda: "minted").feed(model_of(stream[1]))


def test_a_step_that_outlives_its_subagent_is_closed_once() -> None:
    tag = {"subagentRunId": "s"}
    stream = [subagent("STARTED"), step("STARTED", **tag), subagent("FINISHED")]
    kinds = [event["type"] for event in relayed([*stream, step("FINISHED", **tag)])]
    assert kinds.count("STEP_FINISHED") == 1
    assert kinds.index("STEP_FINISHED") < kinds.index("SUBAGENT_FINISHED")
