"""Whose an event is: NexAU tells the agents that an agent calls in the same stream as its own.

A nested RUN_STARTED has another run id and the same root. Not every event names its run: a message
and a call are of the run that their start was of.

Source: NexAU 0.4.1, `nexau/archs/llm/llm_aggregators/events.py`, and recordings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import BaseEvent, SubagentErrorEvent

from agui_bridge.frameworks.subagents import Subagent
from agui_bridge_nexau.reader import CallSeen, Raw, Reader

_OF_ALL: Final = frozenset({"MODEL_CALL_FINISHED", "USAGE_UPDATE"})
"""What counts for the agent's own run, whichever run caused it."""
_PIECES: Final = frozenset(
    {"TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"}
)
"""What nearly all events are, and begins nothing."""
_SEEN: Final = ("message_id", "thinking_message_id", "tool_call_id")
"""What an event may be about."""


@dataclass
class Runs:
    """The runs of one stream.

    Args:
        mint: gives a new id.
        new_call: gives the id of a new call, as `CallIds.new` does.

    Attributes:
        own: the run of the agent itself.
    """

    mint: Callable[[], str]
    new_call: Callable[[str | None], str]
    own: Reader = field(init=False)
    _own_id: str | None = None
    _nested: dict[str, tuple[Subagent, Reader]] = field(default_factory=dict)
    # Runs by the ids of messages, thoughts and calls.
    _runs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with the agent's own run."""
        self.own = Reader(self.mint, self.new_call)

    def take(self, event: Raw) -> list[BaseEvent]:
        """Take NexAU's next event and give AG-UI's, none or several."""
        kind = event.get("type")
        if not self._nested and kind in _PIECES:
            return self.own.take(event)
        run = self._run_of(event)
        if kind == "RUN_STARTED" and run is not None:
            if self._own_id is None:
                self._own_id = run
            elif run != self._own_id and run not in self._nested:
                subagent = self._subagent(event)
                self._nested[run] = subagent, Reader(self.mint, self.new_call)
                return [subagent.started]
        if run is None or run not in self._nested or kind in _OF_ALL:
            return self.own.take(event)
        subagent, reader = self._nested[run]
        tag = {"subagent_run_id": subagent.id}
        told: list[BaseEvent] = [one.model_copy(update=tag) for one in reader.take(event)]
        if kind == "RUN_FINISHED":
            told.append(subagent.finished)
        elif kind == "RUN_ERROR":
            words = "The sub-agent failed."
            told.append(SubagentErrorEvent(subagent_run_id=subagent.id, message=words))
        return told

    def close(self) -> list[BaseEvent]:
        """End what NexAU left open."""
        return self.own.close()

    def usage_entries(self) -> list[dict[str, Any]]:
        """Tokens of all of them, one entry for each model."""
        return self.own.usage_entries()

    @property
    def own_id(self) -> str | None:
        """The id of the agent's own run, once it has begun."""
        return self._own_id

    @property
    def calls(self) -> Iterator[CallSeen]:
        """Every call, the sub-agents' too."""
        for reader in (self.own, *(reader for _, reader in self._nested.values())):
            yield from reader.calls.values()

    def _run_of(self, event: Raw) -> str | None:
        run = event.get("run_id")
        about = [str(event[key]) for key in _SEEN if event.get(key)]
        begins = str(event.get("type")).endswith("_START")
        if run is None:
            # What begins belongs to the message that it came with: NexAU may use ids again.
            parent = [str(event.get("parent_message_id"))]
            looked = [*parent, *about] if begins else [*about, *parent]
            run = next((self._runs[named] for named in looked if named in self._runs), None)
        if isinstance(run, str) and begins:
            self._runs.update(dict.fromkeys(about, run))
        return run if isinstance(run, str) else None

    def _subagent(self, event: Raw) -> Subagent:
        """The sub-agent that begins, and the call that it works in, where that is certain."""
        taken = {subagent.call for subagent, _ in self._nested.values()}
        waiting = [call for call in self.calls if call.result is None and call.id not in taken]
        calling = {call.id: name for call in waiting if (name := _agent_in(call)) is not None}
        names = {*calling.values()}
        # NexAU has ids for its agents alone. Of several that begin at once nothing tells which
        # call is whose.
        name = names.pop() if len(names) == 1 else str(event.get("agent_id") or "subagent")
        call = next(iter(calling)) if len(calling) == 1 else None
        owners = [sub.id for sub, reader in self._nested.values() if call in reader.calls]
        return Subagent(self.mint(), name, call, owners[0] if owners else None)


def _agent_in(call: CallSeen) -> str | None:
    """The agent that a call calls, None if it calls none."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return None
    name = arguments.get("sub_agent_name") if isinstance(arguments, dict) else None
    return name if isinstance(name, str) else None
