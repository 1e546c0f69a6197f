"""What is wrong with a stream of events, told by the one verifier that client and proxy use too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.conformance.evidence import shortened
from agui_bridge.conformance.verdicts import fail
from agui_bridge.protocol.verifier.verifier import Verifier

__all__ = [
    "StreamFault",
    "expect_none",
    "order_faults",
    "shape_faults",
    "unannounced_subagents",
]

Event = Mapping[str, Any]


_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class StreamFault:
    """One thing that is wrong with a stream.

    Attributes:
        message: what, and at which event.
        evidence: that event and the one before it, shortened.
    """

    message: str
    evidence: tuple[str, ...] = ()


def order_faults(events: Sequence[Event]) -> list[StreamFault]:
    """Every break of order, attribution or the rules of chunks.

    Args:
        events: of one response, in order; several runs may follow each other.
    """
    if not events:
        return [StreamFault("there are no events")]
    return [fault for rule, fault in _faults(events) if rule != "shape"]


def shape_faults(events: Sequence[Event]) -> list[StreamFault]:
    """Every member that does not hold what its type says."""
    return [fault for rule, fault in _faults(events) if rule == "shape"]


def expect_none(faults: Sequence[StreamFault]) -> None:
    """Fail the check if there are faults.

    Raises:
        Failed: there are; it tells a few, and shows the events of the first.
    """
    if faults:
        more = f" (and {len(faults) - _TOLD} more)" if len(faults) > _TOLD else ""
        told = "; ".join(fault.message for fault in faults[:_TOLD])
        fail(f"{told}{more}", faults[0].evidence)


def unannounced_subagents(events: Sequence[Event]) -> list[str]:
    """Sub-agents that events name before, or without, SUBAGENT_STARTED, which is allowed."""
    announced: set[Any] = set()
    found: dict[str, None] = {}
    for event in events:
        agent = event.get("subagentRunId")
        if event.get("type") == "SUBAGENT_STARTED":
            announced.add(agent)
        elif isinstance(agent, str) and agent not in announced:
            found[agent] = None
    return list(found)


def _faults(events: Sequence[Event]) -> Iterator[tuple[str, StreamFault]]:
    verifier = Verifier("strict", lambda: "unnamed")
    for number, event in enumerate(events):
        if not isinstance(event.get("type"), str):
            yield "shape", StreamFault(f"event {number} has no type", _around(events, number))
            continue
        for fault in verifier.take(dict(event)).faults:
            said = f"event {number}: {fault.message}"
            yield fault.rule, StreamFault(said, _around(events, number))
    if unended := verifier.close():
        said = f"{unended.message}, after {events[-1].get('type')}"
        yield unended.rule, StreamFault(said, _around(events, len(events) - 1))


def _around(events: Sequence[Event], number: int) -> tuple[str, ...]:
    """An event and the one before it, shortened."""
    return tuple(shortened(f"event {n}", events[n]) for n in (number - 1, number) if n >= 0)
