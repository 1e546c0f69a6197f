"""What is wrong with a stream of events, told by the one verifier that client and proxy use too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agui_bridge.protocol.verifier.verifier import Verifier

__all__ = ["order_faults", "shape_faults"]

Event = Mapping[str, Any]


def order_faults(events: Sequence[Event]) -> list[str]:
    """Every break of order, attribution or the rules of chunks, each as a sentence.

    Args:
        events: of one response, in order; several runs may follow each other.
    """
    if not events:
        return ["the stream has no events"]
    return [fault for rule, fault in _faults(events) if rule != "shape"]


def shape_faults(events: Sequence[Event]) -> list[str]:
    """Every member that does not hold what its type says, as `order_faults`."""
    return [fault for rule, fault in _faults(events) if rule == "shape"]


def _faults(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    verifier = Verifier("strict", lambda: "unnamed")
    for number, event in enumerate(events):
        if not isinstance(event.get("type"), str):
            yield "shape", f"event {number} has no type"
            continue
        for fault in verifier.take(dict(event)).faults:
            yield fault.rule, f"event {number}: {fault.message}"
    if unended := verifier.close():
        yield unended.rule, f"{unended.message}, after {events[-1].get('type')}"
