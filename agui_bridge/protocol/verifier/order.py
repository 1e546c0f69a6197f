"""What one stream has open, who owns it, and whether an event may come now.

Attribution needs no announcement: an event may name a sub-agent that never started. What is held
against a tag is only that somebody else opened what the event goes on with.

Source: AG-UI 1.1, lifecycle, streaming and subagents; `@ag-ui/client` 1.0.0 verifies so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES, KINDS, end_event
from agui_bridge.protocol.verifier.shapes import Fault

_NOUNS: Final = MappingProxyType(
    {
        "text": "text message",
        "reasoning": "reasoning message",
        "span": "reasoning span",
        "call": "tool call",
        "activity": "activity",
    }
)
_OWNED_AS: Final = MappingProxyType({"span": "reasoning"})
"""A span and the message in it may share an id, and have one owner."""

_FINISHED_BEFORE: Final = ("step", "text", "reasoning", "span", "call", "subagent")
"""What must be closed before RUN_FINISHED, in the order in which it is looked for."""

_PARENT: Final = "(the parent agent)"


class Order:
    """The order of one stream's events; several runs may follow each other.

    Attributes:
        phase: "" before the first event, then `running`, `finished` or `failed`.
        open: what is open, by kind and id. A step's id is its owner and its name.
    """

    def __init__(self) -> None:
        self.phase: str = ""
        self._reset()

    def _reset(self) -> None:
        self.open: dict[str, dict[Any, None]] = {kind: {} for kind in KINDS}
        self._ended: set[str] = set()
        self._owners: dict[str, dict[str, str | None]] = {
            kind: {} for kind in ("text", "reasoning", "call", "activity")
        }

    def take(self, event: WireEvent) -> Fault | None:
        """Take the next event, or say why it may not come now: then nothing has changed.

        Args:
            event: no chunk, of the shape that its type has.
        """
        kind = event["type"]
        if self.phase != "running" and kind not in _ENDLESS:
            return self._outside(kind)
        handler, thing = _HANDLERS.get(kind, _NOTHING)
        return handler(self, event, thing)

    def begin(self) -> None:
        """Take what comes for a run's, although none has begun."""
        self._reset()
        self.phase = "running"

    def end(self) -> None:
        """Take it that the run has finished, whatever is open."""
        self._reset()
        self.phase = "finished"

    def close_all(self) -> list[WireEvent]:
        """Close what is open; gives the events for it, innermost first."""
        events = [
            end_event(kind, named, None)
            for kind in ("text", "reasoning", "span", "call")
            for named in self.open[kind]
        ]
        events += [end_event("step", name, owner) for owner, name in reversed(self.open["step"])]
        events += [end_event("subagent", run, None) for run in reversed(self.open["subagent"])]
        self._ended |= self.open["subagent"].keys()
        self.open = {kind: {} for kind in KINDS}
        return events

    def unended(self) -> Fault | None:
        """Why the stream may not end now."""
        if self.phase in ("finished", "failed"):
            return None
        after = "before its run began" if not self.phase else "within its run"
        return Fault("run.unended", f"the stream ends without RUN_FINISHED or RUN_ERROR, {after}")

    # Runs.

    def _outside(self, kind: str) -> Fault:
        if not self.phase:
            return Fault("run.first", f"First event must be 'RUN_STARTED', not '{kind}'")
        if self.phase == "failed":
            return Fault("run.failed", f"'{kind}': The run has already errored with 'RUN_ERROR'")
        return Fault("run.finished", f"'{kind}': The run has already finished with 'RUN_FINISHED'")

    def _start(self, event: WireEvent, _: str) -> Fault | None:
        if self.phase == "running":
            return Fault("run.nested", "Cannot send 'RUN_STARTED' while a run is still active")
        self.begin()
        given = event.get("input") or {}
        self._learn(given.get("messages") or ())
        return None

    def _finish(self, _: WireEvent, __: str) -> Fault | None:
        for kind in _FINISHED_BEFORE:
            if found := self.open[kind]:
                named = ", ".join(map(_name_of, found) if kind == "step" else found)
                what = f"{_NOUNS.get(kind, kind)}s"
                return Fault(
                    "run.open",
                    f"Cannot send 'RUN_FINISHED' while {what} are still active: {named}",
                )
        self.end()
        return None

    def _fail(self, _: WireEvent, __: str) -> Fault | None:
        if self.phase == "failed":
            return self._outside("RUN_ERROR")
        self._reset()
        self.phase = "failed"
        return None

    # Messages, reasoning, calls.

    def _open(self, event: WireEvent, kind: str) -> Fault | None:
        named = event[KINDS[kind].key]
        if fault := self._twice(event, kind, named) or self._foreign(event, kind, named):
            return fault
        self.open[kind][named] = None
        self._owners[_OWNED_AS.get(kind, kind)].setdefault(named, event.get("subagentRunId"))
        return None

    def _open_call(self, event: WireEvent, kind: str) -> Fault | None:
        named, tag, parent = event["toolCallId"], event.get("subagentRunId"), None
        if fault := self._twice(event, kind, named):
            return fault
        carriers, calls = self._owners["text"], self._owners["call"]
        if (parent := event.get("parentMessageId")) in carriers:
            # A call belongs to the message that carries it.
            owner = carriers[parent]
            if (tag is not None and tag != owner) or calls.get(named, owner) != owner:
                claimed = tag if tag is not None else calls.get(named)
                return Fault(
                    "owner",
                    f"'TOOL_CALL_START' of {named!r}: the owner {claimed or _PARENT!r} does not "
                    f"match its parent message {parent!r}, of {owner or _PARENT!r}",
                )
        else:
            owner = tag
        if fault := self._foreign(event, kind, named):
            return fault
        self.open["call"][named] = None
        calls.setdefault(named, owner)
        return None

    def _append(self, event: WireEvent, kind: str) -> Fault | None:
        named = event[KINDS[kind].key]
        if named not in self.open[kind]:
            rule = "arguments.unopened" if kind == "call" else "content.unopened"
            return _unopened(rule, event, kind, named)
        return self._foreign(event, kind, named) if "subagentRunId" in event else None

    def _close(self, event: WireEvent, kind: str) -> Fault | None:
        named = event[KINDS[kind].key]
        if named not in self.open[kind]:
            return _unopened("end.unopened", event, kind, named)
        if fault := self._foreign(event, kind, named):
            return fault
        del self.open[kind][named]
        return None

    def _twice(self, event: WireEvent, kind: str, named: str) -> Fault | None:
        if named not in self.open[kind]:
            return None
        return Fault(
            "start.twice",
            f"'{event['type']}': A {_NOUNS[kind]} with ID '{named}' is already in progress",
        )

    def _foreign(self, event: WireEvent, kind: str, named: str) -> Fault | None:
        """Refuse events from another owner than the opener."""
        tag = event.get("subagentRunId")
        if tag is None:
            return None
        owner = self._owners[_OWNED_AS.get(kind, kind)].get(named, tag)
        if owner == tag:
            return None
        return Fault(
            "owner",
            f"'{event['type']}': subagentRunId '{tag}' does not match the {_NOUNS[kind]} "
            f"'{named}', which {owner or _PARENT!r} opened",
        )

    def _result(self, event: WireEvent, _: str) -> None:
        self._owners["text"][event["messageId"]] = event.get("subagentRunId")

    # Steps and sub-agents.

    def _open_step(self, event: WireEvent, _: str) -> Fault | None:
        step = (event.get("subagentRunId"), event["stepName"])
        if step in self.open["step"]:
            return Fault("step.twice", f"'STEP_STARTED': step {_name_of(step)} is already active")
        self.open["step"][step] = None
        return None

    def _close_step(self, event: WireEvent, _: str) -> Fault | None:
        step = (event.get("subagentRunId"), event["stepName"])
        if step not in self.open["step"]:
            others = [_name_of(other) for other in self.open["step"] if other[1] == step[1]]
            hint = f"; open is {', '.join(others)}" if others else ""
            return Fault(
                "step.unstarted",
                f"'STEP_FINISHED': step {_name_of(step)} that was not started{hint}",
            )
        del self.open["step"][step]
        return None

    def _open_subagent(self, event: WireEvent, _: str) -> Fault | None:
        named, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        known = self.open["subagent"].keys() | self._ended
        if named in known:
            how = "already finished" if named in self._ended else "is active"
            return Fault("subagent.twice", f"'SUBAGENT_STARTED': subagent '{named}' {how}")
        if parent is not None and parent not in known:
            return Fault(
                "subagent.parent",
                f"'SUBAGENT_STARTED' of '{named}': its parent '{parent}' has not been started",
            )
        self.open["subagent"][named] = None
        return None

    def _close_subagent(self, event: WireEvent, _: str) -> Fault | None:
        named = event["subagentRunId"]
        if named not in self.open["subagent"]:
            return Fault(
                "subagent.unstarted",
                f"'{event['type']}': no active subagent found with ID '{named}'",
            )
        del self.open["subagent"][named]
        self._ended.add(named)
        return None

    # What opens nothing.

    def _activity(self, event: WireEvent, _: str) -> None:
        owners, named = self._owners["activity"], event["messageId"]
        if named not in owners or event.get("replace") is not False:
            owners[named] = event.get("subagentRunId")

    def _patch_activity(self, event: WireEvent, _: str) -> Fault | None:
        return self._foreign(event, "activity", event["messageId"])

    def _encrypted(self, event: WireEvent, _: str) -> Fault | None:
        named = event["entityId"]
        if event["subtype"] == "tool-call":
            return self._foreign(event, "call", named)
        kind = "text" if named in self._owners["text"] else "reasoning"
        return self._foreign(event, kind, named)

    def _snapshot(self, event: WireEvent, _: str) -> None:
        self._learn(event["messages"], anew=True)

    def _learn(self, messages: Any, *, anew: bool = False) -> None:
        """Take in who owns the messages and calls of a history.

        Args:
            messages: as AG-UI writes them.
            anew: whether they replace what was told of them.
        """
        for message in messages:
            role, owner = message["role"], message.get("subagentRunId")
            kind = role if role in ("reasoning", "activity") else "text"
            told = [(kind, message["id"])]
            told += (("call", call["id"]) for call in message.get("toolCalls") or ())
            for thing, named in told:
                if anew or named not in self._owners[thing]:
                    self._owners[thing][named] = owner


def _unopened(rule: str, event: WireEvent, kind: str, named: str) -> Fault:
    return Fault(rule, f"'{event['type']}': No active {_NOUNS[kind]} found with ID '{named}'")


def _name_of(step: tuple[str | None, str]) -> str:
    owner, name = step
    return repr(name) if owner is None else f"{name!r} (subagent '{owner}')"


_Handler: TypeAlias = Callable[[Order, WireEvent, str], Fault | None]

_BY_VERB: Final[Mapping[str, _Handler]] = {
    "open": Order._open,
    "append": Order._append,
    "close": Order._close,
}
_OWN: Final[Mapping[str, _Handler]] = {
    "RUN_STARTED": Order._start,
    "RUN_FINISHED": Order._finish,
    "RUN_ERROR": Order._fail,
    "TOOL_CALL_START": Order._open_call,
    "TOOL_CALL_RESULT": Order._result,
    "STEP_STARTED": Order._open_step,
    "STEP_FINISHED": Order._close_step,
    "SUBAGENT_STARTED": Order._open_subagent,
    "SUBAGENT_FINISHED": Order._close_subagent,
    "SUBAGENT_ERROR": Order._close_subagent,
    "ACTIVITY_SNAPSHOT": Order._activity,
    "ACTIVITY_DELTA": Order._patch_activity,
    "REASONING_ENCRYPTED_VALUE": Order._encrypted,
    "MESSAGES_SNAPSHOT": Order._snapshot,
}


def _pass(_: Order, __: WireEvent, ___: str) -> None:
    return None


_NOTHING: Final[tuple[_Handler, str]] = (_pass, "")

_HANDLERS: Final[Mapping[str, tuple[_Handler, str]]] = {
    kind: (_OWN.get(kind) or _BY_VERB.get(rule.verb, _pass), rule.kind)
    for kind, rule in EVENT_RULES.items()
}
_ENDLESS: Final = frozenset({"RUN_STARTED", "RUN_ERROR"})
"""What may come though no run goes on."""
