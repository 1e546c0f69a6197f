"""The agents that work inside a tool: each announced before anything of it, and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ag_ui.core import BaseEvent, SubagentFinishedEvent, SubagentStartedEvent

from agui_bridge.protocol.threads.records import Json


@dataclass(frozen=True, slots=True)
class Subagent:
    """One agent inside one call.

    Attributes:
        id: its run's id on the wire.
        name: the agent's.
        call: the tool call that it works in; None where that is not known.
        above: the id of the sub-agent whose call that is.
    """

    id: str
    name: str
    call: str | None
    above: str | None

    @property
    def started(self) -> SubagentStartedEvent:
        """What announces it."""
        return SubagentStartedEvent(
            subagent_run_id=self.id,
            name=self.name,
            parent_tool_call_id=self.call,
            parent_subagent_run_id=self.above,
        )

    @property
    def finished(self) -> SubagentFinishedEvent:
        """What closes it."""
        return SubagentFinishedEvent(subagent_run_id=self.id)


class Subagents:
    """Those of one run.

    Args:
        mint: gives a new id.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(
        self, mint: Callable[[], str], kept: Iterable[Mapping[str, Any]] | None = None
    ) -> None:
        self._mint = mint
        self._known = [Subagent(**one) for one in kept or ()]
        self._open: dict[str, Subagent] = {}
        self._owners: dict[str, str] = {}

    def to_json(self) -> Json:
        """Those that are open: they go on when the run does."""
        return [asdict(one) for one in self._open.values()]

    def reopen(self) -> Iterator[BaseEvent]:
        """Announce those again that were open when the run paused."""
        for one in self._known:
            yield self._announce(one)

    def find(self, name: str, call: str | None) -> tuple[str, list[BaseEvent]]:
        """The id of an agent's run inside a call, and the event that announces it if it is new.

        Args:
            name: the agent's.
            call: the call; None where that is not known: after a pause.
        """
        for one in self._open.values():
            if one.name == name and call in (None, one.call):
                return one.id, []
        above = self._owners.get(call) if call is not None else None
        made = Subagent(self._mint(), name, call, above)
        return made.id, [self._announce(made)]

    def own(self, call: str, subagent: str) -> None:
        """Note whose call one is."""
        self._owners[call] = subagent

    def owner(self, call: str) -> str | None:
        """The sub-agent whose call it is, None of the agent's own."""
        return self._owners.get(call)

    def finish(self, call: str) -> Iterator[BaseEvent]:
        """Close those that worked inside a call, which has its result."""
        for one in [one for one in self._open.values() if one.call == call]:
            yield self._close(one.id)

    def _announce(self, one: Subagent) -> BaseEvent:
        self._open[one.id] = one
        return one.started

    def _close(self, own: str) -> BaseEvent:
        return self._open.pop(own).finished
