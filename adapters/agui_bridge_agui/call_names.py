"""The upstream's tool calls under ids that no other call of their thread has.

Some endpoints pass on ids that their model uses again in each turn. Towards the bridge a call whose
id is taken has another one; towards the endpoint it keeps its own for as long as the turn lasts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agui_bridge.adapters import Ask, Handoff, Pause, Run, RunItem
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json

_KEPT: Final = "names"
"""The member of a continuation that has the endpoint's ids."""

_BEGIN: Final = frozenset({"TOOL_CALL_START", "TOOL_CALL_CHUNK"})


class CallNames:
    """Those of one run.

    Args:
        run: the bridge's run.
    """

    def __init__(self, run: Run) -> None:
        self._ids = run.call_ids()
        waited = run.resume or run.handoff
        kept = waited.continuation if waited is not None else None
        named: Mapping[str, str] = kept.get(_KEPT, {}) if isinstance(kept, Mapping) else {}
        own = _calls_of_turn(run) if waited is not None else ()
        # By the endpoint's id, what the bridge calls the call: the last one of that id.
        self._own: dict[str, str] = {named.get(call, call): call for call in own}
        self._answered: set[str] = set()

    # --- from the endpoint ---

    def told(self, wire: WireEvent, known: Collection[Json]) -> WireEvent:
        """An event of the endpoint's, with the bridge's ids.

        Args:
            wire: the event.
            known: ids of the messages that the client knows.
        """
        kind, native = wire["type"], wire.get("toolCallId")
        if kind in _BEGIN and isinstance(native, str):
            if native not in self._own or (native in self._answered and _is_named(wire)):
                self._begin(native)
        elif kind == "TOOL_CALL_RESULT" and native in self._own:
            self._answered.add(str(native))
        elif kind == "MESSAGES_SNAPSHOT":
            return {**wire, "messages": self._snapshot(wire.get("messages"), known)}
        elif kind == "REASONING_ENCRYPTED_VALUE" and wire.get("subtype") == "tool-call":
            return self._renamed(wire, "entityId")
        elif kind == "RUN_FINISHED" and isinstance(wire.get("outcome"), Mapping):
            return {**wire, "outcome": self._outcome(wire["outcome"])}
        return self._renamed(self._renamed(wire, "toolCallId"), "parentToolCallId")

    def also_native(self, calls: Mapping[str, Any]) -> dict[str, Any]:
        """Calls by their ids, and those of this turn also by the endpoint's.

        Args:
            calls: by the bridge's ids.
        """
        return {**calls, **{theirs: calls[o] for theirs, o in self._own.items() if o in calls}}

    def _begin(self, native: str) -> None:
        self._own[native] = self._ids.new(native)
        self._answered.discard(native)

    def _renamed(self, told: WireEvent, member: str) -> WireEvent:
        native = told.get(member)
        own = self._own.get(native, native) if isinstance(native, str) else native
        return told if own == native else {**told, member: own}

    def _outcome(self, outcome: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = outcome.get("interrupts")
        if not isinstance(asked, list):
            return outcome
        named = [self._renamed(a, "toolCallId") if isinstance(a, dict) else a for a in asked]
        return {**outcome, "interrupts": named}

    def _snapshot(self, messages: Any, known: Collection[Json]) -> Any:
        """The messages of a snapshot: of several calls of one id the last is this turn's."""
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            return messages
        places = [place for place, one in enumerate(messages) if one.get("id") in known]
        for one in messages[places[-1] + 1 :] if places else ():
            for native in _natives(one):
                if native not in self._own:
                    self._begin(native)
        made = {native: place for place, one in enumerate(messages) for native in _natives(one)}
        return [self._placed(one, place, made) for place, one in enumerate(messages)]

    def _placed(self, message: WireEvent, place: int, made: Mapping[str, int]) -> WireEvent:
        if message.get("role") == "tool" and made.get(str(message.get("toolCallId")), -1) < place:
            return self._renamed(message, "toolCallId")
        here = [native for native in _natives(message) if made[native] == place]
        if all(self._own.get(native, native) == native for native in here):
            return message
        calls = [self._renamed(c, "id") if c.get("id") in here else c for c in message["toolCalls"]]
        return {**message, "toolCalls": calls}

    # --- to the endpoint ---

    def given(self, messages: Sequence[Mapping[str, Json]]) -> Sequence[Mapping[str, Json]]:
        """Messages for the endpoint, with its ids."""
        natives = self._natives_of_renamed()
        return [_with_ids(one, natives) for one in messages] if natives else messages

    def kept(self, end: RunItem) -> RunItem:
        """The end of a run, which keeps the endpoint's ids for the run that goes on."""
        natives = self._natives_of_renamed()
        if not natives or not isinstance(end, Pause | Handoff):
            return end
        kept = {**(end.continuation or {}), _KEPT: natives}
        if isinstance(end, Handoff):
            return replace(end, continuation=kept)
        for member in ("calls", "about"):
            kept[member] = {key: self._own.get(o, o) for key, o in kept.get(member, {}).items()}
        return replace(end, asks=[self._asked(ask) for ask in end.asks], continuation=kept)

    def _asked(self, ask: Ask) -> Ask:
        call, about = ask.tool_call, ask.about
        if call is not None:
            call = replace(call, id=self._own.get(call.id, call.id))
        if isinstance(about, str):
            about = self._own.get(about, about)
        return replace(ask, tool_call=call, about=about)

    def _natives_of_renamed(self) -> dict[str, str]:
        return {own: native for native, own in self._own.items() if own != native}


def _is_named(wire: WireEvent) -> bool:
    """Whether an event begins a call: a piece of one that is being told names no tool."""
    return bool(wire.get("toolCallName"))


def _natives(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("toolCalls")
    found = [c.get("id") for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    return [native for native in found if isinstance(native, str)]


def _calls_of_turn(run: Run) -> Iterable[str]:
    """The ids of the calls that were made since somebody said something, before this input."""
    new = {message.get("id") for message in run.raw_new_messages}
    before = [message for message in run.raw_messages if message.get("id") not in new]
    said = [place for place, one in enumerate(before) if one.get("role") == "user"]
    turn = before[said[-1] :] if said else before
    return [call["id"] for message in turn for call in message.get("toolCalls") or ()]


def _with_ids(message: Mapping[str, Json], natives: Mapping[str, str]) -> Mapping[str, Json]:
    if message.get("toolCallId") in natives:
        return {**message, "toolCallId": natives[message["toolCallId"]]}
    if not any(call["id"] in natives for call in message.get("toolCalls") or ()):
        return message
    calls = [{**c, "id": natives.get(c["id"], c["id"])} for c in message["toolCalls"]]
    return {**message, "toolCalls": calls}
