"""The agents that work inside a tool: each announced before anything of it, and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ag_ui.core import BaseEvent, SubagentFinishedEvent, SubagentStartedEvent

from agui_bridge.protocol.threads.records import Json

__all__ = ["Subagents"]


@dataclass(frozen=True, slots=True)
class _Subagent:
    """One agent inside one call.

    Attributes:
        id: its run's id on the wire.
        name: the agent's.
        call: the tool call that it works in; None where that is not known any more.
        above: the id of the sub-agent whose call that is.
    """

    id: str
    name: str
    call: str | None
    above: str | None


class Subagents:
    """Those of one run.

    Args:
        mint: gives a new id.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(self, mint: Callable[[], str], kept: Any = ()) -> None:
        self._mint = mint
        self._known = [_Subagent(**one) for one in kept]
        self._open: list[_Subagent] = []
        self._owners: dict[str, str] = {}

    def to_json(self) -> Json:
        """Those that are open: they go on when the run does."""
        return [asdict(one) for one in self._open]

    def reopen(self) -> Iterator[BaseEvent]:
        """Announce those again that were open when the run paused."""
        for one in self._known:
            yield from self._announce(one)

    def find(self, name: str, call: str | None) -> tuple[str, list[BaseEvent]]:
        """The id of an agent's run inside a call, and the events that announce it if it is new.

        Args:
            name: the agent's.
            call: the call; None where that is not known: after a pause.
        """
        for one in self._open:
            if one.name == name and (call is None or call == one.call):
                return one.id, []
        above = self._owners.get(call) if call is not None else None
        made = _Subagent(self._mint(), name, call, above)
        return made.id, list(self._announce(made))

    def own(self, call: str, subagent: str) -> None:
        """Note whose call one is."""
        self._owners[call] = subagent

    def owner(self, call: str) -> str | None:
        """The sub-agent whose call it is, None of the agent's own."""
        return self._owners.get(call)

    def finish(self, call: str) -> Iterator[BaseEvent]:
        """Close those that worked inside a call, which has its result."""
        for one in [one for one in self._open if one.call == call]:
            self._open.remove(one)
            yield SubagentFinishedEvent(subagent_run_id=one.id)

    def _announce(self, one: _Subagent) -> Iterator[BaseEvent]:
        self._open.append(one)
        yield SubagentStartedEvent(
            subagent_run_id=one.id,
            name=one.name,
            parent_tool_call_id=one.call,
            parent_subagent_run_id=one.above,
        )
