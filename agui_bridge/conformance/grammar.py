"""Whether the events of a stream come in an order that AG-UI 1.0 allows.

The engine's own lifecycle mends what adapters do; this judges what anybody sends, and shares
with it only the table of what each type of event opens and closes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agui_bridge.protocol.lifecycle.event_rules import KINDS, RULES

__all__ = ["order_faults"]

Event = Mapping[str, Any]


def order_faults(events: Sequence[Event]) -> list[str]:
    """Every break of the order, each as a sentence.

    Args:
        events: of one response, in order; several runs may follow each other.
    """
    return list(_Reader().read(events))


class _Reader:
    def __init__(self) -> None:
        self.running = False
        self.ended = ""
        self.open: set[tuple[str, str]] = set()
        self.subagents: set[str] = set()
        self.announced: set[str] = set()

    def read(self, events: Sequence[Event]) -> Iterator[str]:
        if not events:
            yield "the stream has no events"
            return
        for number, event in enumerate(events):
            kind = str(event.get("type"))
            for fault in self._take(kind, event):
                yield f"event {number}, {kind}: {fault}"
        if self.running or not self.ended:
            yield f"the stream ends without RUN_FINISHED or RUN_ERROR, after {events[-1]['type']}"

    def _take(self, kind: str, event: Event) -> Iterator[str]:
        if kind == "RUN_STARTED":
            if self.running:
                yield "a run is under way already"
            self.open, self.subagents, self.announced = set(), set(), set()
            self.running, self.ended = True, ""
        elif kind == "RUN_ERROR":
            if self.ended == "RUN_ERROR":
                yield "the run has failed already"
            self.running, self.ended = False, kind
            self.open.clear()
        elif not self.running:
            yield f"it comes after {self.ended}" if self.ended else "the run has not started"
        elif kind == "RUN_FINISHED":
            if self.open:
                yield f"still open: {sorted(' '.join(thing) for thing in self.open)}"
            self.running, self.ended = False, kind
        else:
            yield from self._inside(kind, event)

    def _inside(self, kind: str, event: Event) -> Iterator[str]:
        owner = event.get("subagentRunId")
        rule = RULES.get(kind)
        if rule is None or rule.verb == "refuse":
            return
        if owner is not None and rule.kind != "subagent" and owner not in self.subagents:
            yield f"the sub-agent {owner!r} is not running"
        if rule.kind not in KINDS or rule.verb not in ("open", "append", "close"):
            return
        thing = (rule.kind, str(event.get(KINDS[rule.kind].key)))
        if rule.verb == "open":
            if thing in self.open:
                yield f"{thing[1]!r} is open already"
            self.open.add(thing)
        elif thing not in self.open:
            yield f"{thing[1]!r} is not open"
        if rule.verb == "close":
            self.open.discard(thing)
        if rule.kind == "subagent":
            yield from self._subagent(rule.verb, thing[1], event)

    def _subagent(self, verb: str, subagent: str, event: Event) -> Iterator[str]:
        if verb != "open":
            self.subagents.discard(subagent)
            return
        if subagent in self.announced:
            yield f"the id {subagent!r} is used a second time"
        parent = event.get("parentSubagentRunId")
        if parent is not None and parent not in self.subagents:
            yield f"its parent {parent!r} is not running"
        self.subagents.add(subagent)
        self.announced.add(subagent)
