"""One verifier of streams: what reads them, what relays them and what tests them use it.

| mode | who | what breaks a rule | what AG-UI does not describe |
|---|---|---|---|
| `consumer` | the client | ends the stream, as in the reference client | left out, with a note |
| `repair` | the proxy | is mended as `stream_rules.py` says, or refused | passed on, with a note |
| `strict` | the kit | is told, and the rest is judged too | passed on, with a note |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES, KINDS
from agui_bridge.protocol.lifecycle.made_events import delta_event, start_event
from agui_bridge.protocol.verifier.chunks import Chunks
from agui_bridge.protocol.verifier.order import Order
from agui_bridge.protocol.verifier.retired import RETIRED, Retired, with_parts_of_today
from agui_bridge.protocol.verifier.shapes import (
    EVENT_TYPES,
    MAY_BE_NULL,
    shape_fault,
    without_unknown,
)
from agui_bridge.protocol.verifier.stream_rules import STREAM_RULES, Fault
from agui_bridge.protocol.versions import version_note

__all__ = ["Mode", "Taken", "Verifier"]

Mode: TypeAlias = Literal["strict", "consumer", "repair"]

_PLAIN: Final = {
    kind: (rule.kind, KINDS[rule.kind].key, rule.verb == "chunk")
    for kind, rule in EVENT_RULES.items()
    if rule.verb in ("append", "chunk")
}
"""Events that are only a delta, as nearly all are: of what, its id's key, whether a chunk."""


class Taken(NamedTuple):
    """What came of one event.

    Attributes:
        events: what it stands for: itself, or for a chunk START, CONTENT and END events, or
            nothing. With a fault, what came before the fault.
        notes: what was left out, translated or mended, for a log.
        faults: the rules that it breaks. One at most but in `strict`.
    """

    events: Sequence[WireEvent]
    notes: Sequence[str] = ()
    faults: Sequence[Fault] = ()


class Verifier:
    """Judges one stream of events, in their order.

    Args:
        mode: what happens to an event that breaks a rule.
        mint: gives a new message id at each call, for what an older producer did not name.
    """

    def __init__(self, mode: Mode, mint: Callable[[], str]) -> None:
        self._mode = mode
        self._mint = mint
        self._order = Order()
        self._chunks = Chunks()
        self._retired = Retired(mint)

    def take(self, event: WireEvent) -> Taken:
        """Take the next event of the stream.

        Args:
            event: a JSON object with a text as `type`, otherwise as it came.
        """
        plain = _PLAIN.get(event["type"]) if len(event) == 3 else None
        if plain is not None:
            kind, key, chunked = plain
            named: Any = event.get(key)
            delta: Any = event.get("delta")
            sound = isinstance(named, str) and isinstance(delta, str)
            # Nothing is open but within a run. What is wrong is found on the long way.
            if sound and named in self._order.open[kind]:
                if chunked and self._chunks.goes_on(kind, named):
                    return Taken((delta_event(kind, named, None, delta),))
                if not chunked and not self._chunks.lanes:
                    return Taken((event,))
        return self._whole(event)

    def close(self) -> Fault | None:
        """Why the stream may not end here; None when it may."""
        return self._order.unended()

    def _whole(self, event: WireEvent) -> Taken:
        notes: list[str] = []
        kind = event["type"]
        if kind in RETIRED:
            event, note = self._retired.renew(event)
            notes.append(note)
            kind = event["type"]
        if kind not in EVENT_TYPES:
            passed = (event,) if self._mode == "strict" else ()
            return Taken(passed, (*notes, f"{kind:.60} is no event of AG-UI's"))
        if None in event.values():
            event = {k: v for k, v in event.items() if v is not None or k in MAY_BE_NULL}
        if "messages" in event:
            event = with_parts_of_today(event)
        known, paths = without_unknown(event, members=self._mode == "consumer")
        notes += (f"{kind}: AG-UI does not describe {path:.100}" for path in paths)
        if fault := shape_fault(known):
            return Taken((), notes, (fault,))
        if kind == "RUN_STARTED" and (said := version_note(known.get("protocolVersion"))):
            notes.append(said)
        return self._in_order(known if self._mode == "consumer" else event, notes)

    def _in_order(self, event: WireEvent, notes: list[str]) -> Taken:
        events: list[WireEvent] = []
        faults: list[Fault] = []
        expanded = self._chunks.expand(event)
        if isinstance(expanded, Fault):
            expanded = self._mended_chunk(event, expanded, notes, faults)
        for each in expanded:
            fault = self._order.take(each)
            if fault is None:
                events.append(each)
                continue
            if self._mode == "repair":
                self._mend(each, fault, events, notes, faults)
            else:
                faults.append(fault)
                self._go_on(each, fault, events)
            if faults and self._mode != "strict":
                break
        return Taken(events, notes, faults)

    # What breaks a rule.

    def _mended_chunk(
        self, event: WireEvent, fault: Fault, notes: list[str], faults: list[Fault]
    ) -> list[WireEvent]:
        remedy = STREAM_RULES[fault.rule].remedy if self._mode == "repair" else "refuse"
        if remedy == "supply":
            event = {**event, "messageId": self._mint()}
        elif remedy == "keep":
            event = {k: value for k, value in event.items() if k not in ("role", "name")}
            event.pop("parentMessageId", None)
        else:
            faults.append(fault)
            return []
        notes.append(f"{fault.message}: {_DONE[remedy]}")
        expanded = self._chunks.expand(event)
        if isinstance(expanded, Fault):
            faults.append(expanded)
            return []
        return expanded

    def _mend(
        self,
        event: WireEvent,
        fault: Fault,
        events: list[WireEvent],
        notes: list[str],
        faults: list[Fault],
    ) -> None:
        remedy = STREAM_RULES[fault.rule].remedy
        if remedy == "refuse":
            faults.append(fault)
            return
        notes.append(f"{fault.message}: {_DONE[remedy]}")
        if remedy == "drop":
            return
        for each in self._remedied(event, fault, events):
            if (again := self._order.take(each)) is None:
                events.append(each)
            else:
                self._mend(each, again, events, notes, faults)
            if faults:
                return

    def _remedied(
        self, event: WireEvent, fault: Fault, events: list[WireEvent]
    ) -> Sequence[WireEvent]:
        """What to take in place of an event that can't come now, itself at the end."""
        match fault.rule:
            case "run.open":
                events += self._order.close_all()
            case "run.nested":
                events += self._order.close_all()
                self._order.end()
            case "content.unopened":
                rule = EVENT_RULES[event["type"]]
                first = {k: event[k] for k in (KINDS[rule.kind].key, "subagentRunId") if k in event}
                return (start_event(rule.kind, first), event)
            case "subagent.parent":
                return ({k: v for k, v in event.items() if k != "parentSubagentRunId"},)
            case _:
                self._order.begin()
        return (event,)

    def _go_on(self, event: WireEvent, fault: Fault, events: list[WireEvent]) -> None:
        """Take an event as what it is meant for, so that what follows it is judged fairly."""
        if self._mode != "strict":
            return
        if fault.rule == "run.first":
            self._order.begin()
        elif fault.rule == "run.open":
            self._order.end()
        elif fault.rule == "run.nested":
            self._order.end()
            self._order.take(event)
        events.append(event)


_DONE: Final = {
    "drop": "it is left out",
    "keep": "it is taken as it is meant",
    "supply": "what is missing is supplied",
}
