"""One run's events in their order: what a sloppy framework forgets is supplied.

An adapter yields events as its framework happens to produce them. The official client
refuses a stream for one event out of order, so this is where starts, ends, ids and parents
are supplied, repeats are dropped, and what was opened is closed. What can't be repaired is
a `ProtocolViolation`. The tables are in `event_rules`, what a run has open in `run_state`, the
changes of that in `effects`.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from ag_ui.core import BaseEvent, TextMessageContentEvent, ToolCallArgsEvent

from agui_bridge.errors import ProtocolViolation
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.json_values import WireEvent, clean_text
from agui_bridge.protocol.lifecycle.effects import Effects
from agui_bridge.protocol.lifecycle.event_rules import (
    EVENT_RULES,
    KINDS,
    EventRule,
    call_events,
    delta_event,
    to_wire,
)
from agui_bridge.protocol.lifecycle.run_state import Call, MessageIds, Owner, RunState

# --- why an adapter's event can't be taken: the deciding half of `lifecycle` ---
#
# Nothing here changes anything, so that `lifecycle` refuses an event before it has touched its
# state.


def event_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    """Return why an event can't be taken, or None when it can."""
    if rule.kind == "subagent":
        return _subagent_refusal(state, rule, wire)
    owner = wire.get("subagentRunId")
    if owner is not None and not state.may_speak(owner):
        return f"{wire['type']}: subagent {owner!r} is not active in this run"
    if rule.kind in state.streams:
        stream = state.streams[rule.kind].get(wire[KINDS[rule.kind].key])
        return _foreign(wire, stream.owner) if stream else None
    if rule.kind == "call":
        return _call_refusal(state, rule, wire)
    if rule.kind == "step":
        return _step_refusal(state, rule, wire)
    if wire["type"] == "ACTIVITY_DELTA" and wire["messageId"] in state.activities:
        return _foreign(wire, state.activities[wire["messageId"]])
    return None


def locate_chunk(state: RunState, kind: str, wire: WireEvent) -> WireEvent | str:
    """Give a chunk the id and the owner that it left out.

    Returns:
        The chunk with its id (empty for a message still to be named), or why it is
        not clear which stream it continues.
    """
    key = KINDS[kind].key
    named, owner = wire.get(key), wire.get("subagentRunId")
    if owner is None:
        lanes = [
            owner
            for owner, lane in state.lanes.items()
            if lane[0] == kind and named in (None, lane[1])
        ]
        if len(lanes) > 1 and None not in lanes:
            return f"{wire['type']} without {key}: several subagents have one open"
        owner = lanes[0] if len(lanes) == 1 else None
    if named is None:
        lane = state.lanes.get(owner)
        named = lane[1] if lane is not None and lane[0] == kind else ""
        if kind == "call" and not named:
            return "TOOL_CALL_CHUNK: the first one must have a toolCallId"
    located = {**wire, key: named}
    return located if owner is None else {**located, "subagentRunId": owner}


def _subagent_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    subagent_id, parent = wire["subagentRunId"], wire.get("parentSubagentRunId")
    if rule.verb == "close":
        if state.is_active(subagent_id):
            return None
        return f"{wire['type']}: subagent {subagent_id!r} is not active in this run"
    if subagent_id in state.subagents:
        return f"SUBAGENT_STARTED: subagent {subagent_id!r} was already started in this run"
    if parent is not None and parent not in state.subagents:
        return f"SUBAGENT_STARTED: its parent {parent!r} was not started in this run"
    return None


def _call_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    call_id = wire["toolCallId"]
    call = state.calls.get(call_id)
    if call_id in state.known_calls:
        return None
    if rule.verb == "settle":
        return None if call else f"TOOL_CALL_RESULT: there is no tool call {call_id!r}"
    if call is None:
        if rule.verb == "append":
            return f"TOOL_CALL_ARGS: tool call {call_id!r} was not started"
        if rule.verb == "chunk" and not wire.get("toolCallName"):
            return f"TOOL_CALL_CHUNK: the first one of {call_id!r} must have a toolCallName"
        return None
    if rule.verb == "append" and not call.open and not call.repeated:
        return f"TOOL_CALL_ARGS: tool call {call_id!r} has ended"
    return _foreign(wire, call.owner)


def _step_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    name = wire["stepName"]
    active = (wire.get("subagentRunId"), name) in state.steps
    if rule.verb == "open":
        return f"STEP_STARTED: step {name!r} is already active" if active else None
    if active or state.relayed:
        # A relayed one may have been closed with its subagent.
        return None
    return f"STEP_FINISHED: its owner has not started step {name!r}"


def _foreign(wire: WireEvent, owner: Owner) -> str | None:
    """Object to an event whose owner is not that of the thing it continues."""
    tag = wire.get("subagentRunId")
    if tag is None or tag == owner:
        return None
    return (
        f"{wire['type']}: it names subagent {tag!r}, but belongs to {owner or 'the run itself'!r}"
    )


# --- the lifecycle ---


@dataclass(frozen=True, slots=True)
class StreamedCall:
    """A tool call that this run started, as far as it has been streamed.

    Attributes:
        open: whether its end has not come yet.
    """

    id: str
    name: str
    arguments: str
    subagent_run_id: str | None
    open: bool = False

    @property
    def cut_off(self) -> bool:
        """Whether its arguments are incomplete: nobody can have begun to carry it out."""
        if not self.open:
            return False
        try:
            json.loads(self.arguments)
        except ValueError:
            return True
        return False


class Lifecycle:
    """Puts the events of one run, between RUN_STARTED and its terminal event, in order.

    Feed it what the adapter yields and send what it returns; before the terminal event
    call one of `finish`, `suspend`, `cancel` and `fail`, which return what closes the run.

    Attributes:
        speaking: id of the message, as it travels, that plain text goes on with now. As long as
            there is one, a text that an adapter yields is a delta of it and nothing else.
    """

    def __init__(
        self,
        mint: Callable[[], str],
        *,
        known_calls: Collection[str] = (),
        settled_calls: Collection[str] = (),
        known_messages: Collection[str] = (),
        known_activities: Collection[str] = (),
        relayed: bool = False,
    ) -> None:
        """Begin a run.

        Args:
            mint: Returns a new message id at each call.
            known_calls: Tool calls in the thread's history: a framework that emits them
                again when it resumes is not heard.
            settled_calls: Those of them that have a result; a second one is dropped.
            known_messages: The ids of the messages in the thread's history. An event that
                would write into one of them gets a new id.
            known_activities: Those of them that are activities, which a run may update.
            relayed: Whether another server says the events: they may name subagents that
                were never announced.
        """
        self._state = RunState({*known_calls, *settled_calls}, set(settled_calls), relayed)
        self._effects = Effects(
            self._state, MessageIds(mint, known_messages, known_activities), mint
        )
        self._texts = self._state.streams["text"]
        self.speaking: str | None = None

    def feed(self, item: BaseEvent | str) -> list[WireEvent]:
        """Take what an adapter yielded and return the events to send, none or several.

        A str is text of the assistant: it goes on with the run's open message or opens one.

        Raises:
            ProtocolViolation: The event is the engine's own, or names what was never
                started or belongs to another subagent. Nothing has changed.
        """
        if (plain := self.delta(item)) is not None:
            return [plain]
        if isinstance(item, str):
            return self._say(clean_text(item))
        if not isinstance(item, BaseEvent):
            raise ProtocolViolation(
                f"an adapter yields AG-UI events, a Pause or str, not {type(item).__name__}"
            )
        out: list[WireEvent] = []
        self._take(to_wire(item), out)
        self._listen()
        return out

    def show_call(
        self, call_id: str, name: str, arguments: str, owner: str | None = None
    ) -> list[WireEvent]:
        """Take a whole call, and return the events to send: as `feed` does with its three events.

        Args:
            call_id: its id.
            name: the tool.
            arguments: JSON text.
            owner: run id of the sub-agent that calls.

        Raises:
            ProtocolViolation: as `feed` does.
        """
        out: list[WireEvent] = []
        for wire in call_events(call_id, name, arguments, owner):
            self._take(wire, out)
        self._listen()
        return out

    def spoken(self, item: Any) -> tuple[str, str]:
        """Take an event that is text of the run's own and nothing else, as most are.

        Returns:
            The id of the message as it travels, and its next delta; no id when the item is to be
            fed: nothing has changed.
        """
        if type(item) is TextMessageContentEvent and not self._state.lanes:
            # A model's own look-up of an attribute takes thrice that of its dict.
            fields = item.__dict__
            stream = self._texts.get(fields["message_id"])
            if stream is not None and stream.owner is None and _is_plain(item, fields, None, _TEXT):
                return stream.wire_id, clean_text(fields["delta"])
        return "", ""

    def delta(self, item: Any) -> WireEvent | None:
        """Take an item that is text or arguments and nothing else, as nearly all are.

        Returns:
            The one event to send; None when the item is to be fed: nothing has changed.
        """
        kind = type(item)
        if kind is str:
            if self.speaking is not None and item:
                return delta_event("text", self.speaking, None, clean_text(item))
        elif self._state.lanes:
            return None
        elif kind is TextMessageContentEvent:
            # A model's own look-up of an attribute takes thrice that of its dict.
            fields = item.__dict__
            stream = self._texts.get(fields["message_id"])
            if stream is not None and _is_plain(item, fields, stream.owner, _TEXT):
                delta = clean_text(fields["delta"])
                return delta_event("text", stream.wire_id, fields["subagent_run_id"], delta)
        elif kind is ToolCallArgsEvent:
            fields = item.__dict__
            call = self._state.calls.get(fields["tool_call_id"])
            if call is not None and call.open and _is_plain(item, fields, call.owner, _ARGUMENTS):
                delta = clean_text(fields["delta"])
                call.parts.append(delta)
                return delta_event("call", call.id, fields["subagent_run_id"], delta)
        return None

    @property
    def unanswered(self) -> tuple[StreamedCall, ...]:
        """The calls that this run started and that have no result, in order."""
        calls, settled = self._state.calls, self._state.settled
        return tuple(_view(call) for call in calls.values() if call.id not in settled)

    def call(self, call_id: str) -> StreamedCall | None:
        """Return a tool call that this run started, or None."""
        call = self._state.calls.get(call_id)
        return _view(call) if call else None

    # The end of the run.

    def finish(self) -> list[WireEvent]:
        """Close what is open, before RUN_FINISHED with success."""
        return self._close_all(lambda _: {"type": "SUBAGENT_FINISHED"})

    def suspend(self, interrupts: Mapping[str, Sequence[str]]) -> list[WireEvent]:
        """Close what is open, before RUN_FINISHED with an interrupt outcome.

        Args:
            interrupts: Per subagent, the public ids of the interrupts that it raised. It
                and those above it close as suspended.

        Raises:
            ProtocolViolation: A subagent in ``interrupts`` was not started in this run, or
                has closed other than as suspended. Nothing has changed.
        """
        subagents = self._state.subagents
        suspended = set[Owner]()
        for asking in interrupts:
            known = subagents.get(asking)
            if known is None or not (known.open or known.suspended):
                raise ProtocolViolation(f"subagent {asking!r} asks, but is not active")
            above: Owner = asking
            while above is not None:
                suspended.add(above)
                above = subagents[above].parent

        def end(subagent_id: str) -> WireEvent:
            if subagent_id not in suspended:
                return {"type": "SUBAGENT_FINISHED"}
            outcome: WireEvent = {"type": "suspended"}
            if ids := interrupts.get(subagent_id):
                outcome["interruptIds"] = list(ids)
            return {"type": "SUBAGENT_FINISHED", "outcome": outcome}

        return self._close_all(end)

    def cancel(self, message: str = "stopped") -> list[WireEvent]:
        """Close what is open when the run was stopped, before RUN_FINISHED cancelled.

        Subagents, which did not finish, close with SUBAGENT_ERROR and ``message``. A call that
        broke off before its first argument gets none: a model's API takes no empty text.
        """
        empty = [call for call in self._state.calls.values() if call.open and not call.parts]
        for call in empty:
            call.parts.append("{}")
        ended = self._close_all(lambda _: {"type": "SUBAGENT_ERROR", "message": message})
        return [*(delta_event("call", call.id, call.owner, "{}") for call in empty), *ended]

    def fail(self, message: str = "failed") -> list[WireEvent]:
        """Close what is open, before RUN_ERROR: clients may keep half-open cards else."""
        return self.cancel(message)

    def _close_all(self, subagent_end: Callable[[str], WireEvent]) -> list[WireEvent]:
        out: list[WireEvent] = []
        self._effects.close_owned(lambda _: True, out)
        # One that was started later is no ancestor, so this is innermost first.
        for subagent_id, subagent in reversed(self._state.subagents.items()):
            if subagent.open:
                end = subagent_end(subagent_id)
                subagent.open, subagent.suspended = False, "outcome" in end
                out.append({"type": end.pop("type"), "subagentRunId": subagent_id, **end})
        self._listen()
        return out

    # Plain text that has no message yet.

    def _say(self, text: str) -> list[WireEvent]:
        out: list[WireEvent] = []
        if not text:
            return out
        self._effects.leave_lane(None, out)
        self._listen()
        if self.speaking is None:
            self._effects.open_text(out)
            self._listen()
        out.append(delta_event("text", str(self.speaking), None, text))
        return out

    def _listen(self) -> None:
        """Remember which message plain text goes to now."""
        stream = self._state.speaking()
        self.speaking = stream.wire_id if stream else None

    # Everything else: first what may be refused, then what changes.

    def _take(self, wire: WireEvent, out: list[WireEvent]) -> None:
        rule = EVENT_RULES.get(wire["type"])
        if rule is None or rule.verb == "refuse":
            raise ProtocolViolation(f"{wire['type']} is not an adapter's to emit")
        if rule.verb == "chunk":
            located = locate_chunk(self._state, rule.kind, wire)
            if isinstance(located, str):
                raise ProtocolViolation(located)
            wire = located
        if reason := event_refusal(self._state, rule, wire):
            raise ProtocolViolation(reason)
        if rule.breaks and rule.verb != "chunk":
            self._effects.leave_lane(wire.get("subagentRunId"), out)
        self._effects.handle(rule, wire, out)


def _view(call: Call) -> StreamedCall:
    return StreamedCall(call.id, call.name, "".join(call.parts), call.owner, call.open)


def _besides(kind: type[BaseEvent]) -> tuple[Callable[[Mapping[str, Any]], Any], tuple[Any, ...]]:
    """What makes a delta more than one: gets the fields, and what they are when nothing does.

    Of the type as it is declared, so that a field which a newer `ag_ui` adds is not left out.
    """
    optional = {n: f.default for n, f in kind.model_fields.items() if not f.is_required()}
    del optional["type"], optional["subagent_run_id"]
    return itemgetter(*optional), tuple(optional.values())


_TEXT: Final = _besides(TextMessageContentEvent)
_ARGUMENTS: Final = _besides(ToolCallArgsEvent)


def _is_plain(
    event: BaseEvent,
    fields: Mapping[str, Any],
    owner: Owner,
    besides: tuple[Callable[[Mapping[str, Any]], Any], tuple[Any, ...]],
) -> bool:
    """Tell whether a delta of ``owner``'s has text and nothing but it."""
    others, absent = besides
    return (
        fields["delta"] != ""
        and others(fields) == absent
        and fields["subagent_run_id"] in (None, owner)
        and not event.__pydantic_extra__
    )
