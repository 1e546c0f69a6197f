"""The tool calls of a stream: what is on the wire of each, whatever order its chunks come in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.lifecycle.event_rules import whole_call
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.chunks.results import VOID, result_text

AGENT_TOOL: Final = "agent-"
_CALLERS: Final = (AGENT_TOOL, "workflow-")


@dataclass
class Calls:
    """The tool calls of one stream.

    Attributes:
        mint: gives a new id.
        ids: ids on the wire by what they stand for at Mastra; kept with a pause, since calls get
            their results in a later run.
        refused: calls that the person did not approve: the bridge gives their results.
        frontend: names of the application's tools.
        running: calls that have begun and have no result, by what `ids` knows them as: their
            payload, or of a call that an earlier run began its id.
        told: name and arguments of the calls on the wire, by their id there.
        owed: calls that people let run in this run or an earlier one and that have no result, by
            what `ids` knows them as.
    """

    mint: Callable[[], str]
    ids: dict[str, str]
    refused: frozenset[str] = frozenset()
    frontend: frozenset[str] = frozenset()
    running: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    told: dict[str, tuple[str, str]] = field(default_factory=dict)
    owed: set[str] = field(default_factory=set)
    _streaming: set[str] = field(default_factory=set)
    _settled: set[str] = field(default_factory=set)

    @property
    def carried(self) -> list[str]:
        """Calls that are being carried out at Mastra."""
        given = self.handed_over()
        return [key for key in self.running if key not in given]

    @property
    def working(self) -> list[str]:
        """Those of tools, sub-agents and workflows aside."""
        return [
            key
            for key in self.carried
            if not str(self.running[key].get("toolName")).startswith(_CALLERS)
        ]

    def handed_over(self) -> dict[str, Mapping[str, Any]]:
        """Calls that the run leaves to the application, by what `ids` knows them as."""
        # A sub-agent has no tools of the application's, whatever the names of its own.
        return {
            key: call
            for key, call in self.running.items()
            if call.get("toolName") in self.frontend and key == call["toolCallId"]
        }

    def read(self, kind: str, payload: Mapping[str, Any], at: Place) -> Iterator[BaseEvent]:
        """The events of a chunk that tells of a call's name or arguments."""
        call = named(payload, "toolCallId")
        key = at.key(call)
        if key in self._settled:
            return
        match kind:
            case "tool-call-input-streaming-start" if key not in self.ids:
                yield self._start(at, call, named(payload, "toolName"))
                self._streaming.add(key)
            case "tool-call-delta" if key in self._streaming:
                own, delta = self.ids[key], named(payload, "argsTextDelta")
                name, so_far = self.told[own]
                if not _is_whole(so_far):
                    self.told[own] = (name, so_far + delta)
                    yield ToolCallArgsEvent(tool_call_id=own, delta=delta)
            case "tool-call-input-streaming-end" if key in self._streaming:
                # From now on it may be carried out; the chunk that says so may come too late.
                self._streaming.discard(key)
                self.running[key] = {"toolCallId": call, "toolName": self.told[self.ids[key]][0]}
                yield ToolCallEndEvent(tool_call_id=self.ids[key])
            case "tool-call":
                name = named(payload, "toolName")
                if key not in self.ids:
                    yield from self.whole(at, call, name, payload.get("args"))
                elif key in self._streaming:
                    self._streaming.discard(key)
                    yield ToolCallEndEvent(tool_call_id=self.ids[key])
                elif key not in self.running:
                    # It was begun before, and has been told of again.
                    return
                args = payload.get("args")
                self.running[key] = {"toolCallId": call, "toolName": name, "args": args}

    def whole(self, at: Place, call: str, name: str, args: Json) -> Iterator[BaseEvent]:
        """A tool call whose arguments did not stream."""
        yield (start := self._start(at, call, name))
        arguments = json.dumps(args or {}, ensure_ascii=False)
        self.told[start.tool_call_id] = (name, arguments)
        # As when they stream: of a sub-agent's call the START alone names the sub-agent.
        yield from whole_call(start.tool_call_id, name, arguments)[1:]

    def asked(self, at: Place, call: str, name: str, args: Json) -> Iterator[BaseEvent]:
        """A call that waits for somebody, if it is not on the wire as it waits.

        People decide on what the server would carry out, whatever the stream told before.
        """
        known = self.told.get(self.ids.get(at.key(call), ""))
        if known is None or known[0] != name or not same_json(_parsed(known[1]), args or {}):
            self._streaming.discard(at.key(call))
            yield from self.whole(at, call, name, args)

    def result(self, at: Place, call: str, value: Json) -> Iterator[BaseEvent]:
        """A tool call's result; none for a call that is not on the wire, or was refused."""
        key = at.key(call)
        self.running.pop(key, None)
        self._streaming.discard(key)
        self.owed.discard(key)
        self._settled.add(key)
        own = self.ids.pop(key, None)
        if own is not None and own not in self.refused:
            yield ToolCallResultEvent(
                message_id=self.mint(),
                tool_call_id=own,
                content=result_text(value),
                role="tool",
                subagent_run_id=at.subagent,
            )

    def carried_out(self, at: Place) -> Iterator[BaseEvent]:
        """Results for what ran at a place whose agent says that its step's calls are carried out.

        Mastra tells nothing else of a tool that returns nothing.
        """
        for key in self._running_at(at):
            yield from self.result(at, key[len(at.key("")) :], VOID)

    def next_step(self, at: Place) -> Iterator[BaseEvent]:
        """Results for what ran at a place whose agent has gone on without a word of it.

        What people let run gets none here: it stays owed.
        """
        for key in self._running_at(at):
            if key in self.owed:
                del self.running[key]
            else:
                yield from self.result(at, key[len(at.key("")) :], UNTOLD)
        # Some models count their calls from one again at each step.
        self._settled = {key for key in self._settled if not at.holds(key)}

    def _running_at(self, at: Place) -> list[str]:
        left = self.handed_over()
        return [key for key in self.running if at.holds(key) and key not in left]

    def _start(self, at: Place, call: str, name: str) -> ToolCallStartEvent:
        own = self.ids[at.key(call)] = self.mint()
        self.told[own] = (name, "")
        return ToolCallStartEvent(
            tool_call_id=own, tool_call_name=name, subagent_run_id=at.subagent
        )


def named(payload: Mapping[str, Any], member: str) -> str:
    """A member that is a text.

    Raises:
        KeyError, TypeError: it is missing, or something else.
    """
    value = payload[member]
    if not isinstance(value, str):
        raise TypeError(f"{member} is {type(value).__name__}")
    return value


def _is_whole(arguments: str) -> bool:
    """Whether arguments have come to their end, so that what follows is a repetition."""
    return arguments.endswith("}") and _parsed(arguments) is not None


def _parsed(arguments: str) -> Json:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None
