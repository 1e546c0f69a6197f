"""The agents that work inside a tool: each announced before anything of it, and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from ag_ui.core import BaseEvent, SubagentFinishedEvent, SubagentStartedEvent

from agui_bridge.protocol.threads.records import Json

__all__ = ["Subagents"]


@dataclass(frozen=True, slots=True)
class _Subagent:
    """One agent inside one call.

    Attributes:
        id: its run's id on the wire.
        name: the agent's.
        call: the tool call that it works in.
        above: the id of the sub-agent whose call that is.
    """

    id: str
    name: str
    call: str
    above: str | None


class Subagents:
    """Those of one run.

    Args:
        mint: gives a new id.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(self, mint: Callable[[], str], kept: Json = None) -> None:
        known: list[dict[str, str]] = kept if isinstance(kept, list) else []
        self._mint = mint
        self._known = [_Subagent(**one) for one in known]
        self._open: dict[str, _Subagent] = {}
        self._owners: dict[str, str] = {}

    def to_json(self) -> Json:
        """Those that are open: they go on when the run does."""
        return [asdict(one) for one in self._open.values()]

    def reopen(self) -> Iterator[BaseEvent]:
        """Announce those again that were open when the run paused."""
        for one in self._known:
            yield self._announce(one)

    def open(self, name: str, call: str) -> Iterator[BaseEvent]:
        """Announce the agent that works in a call, if nobody has heard of it.

        Args:
            name: the agent's.
            call: the tool call that it works in.
        """
        if call not in self._open:
            yield self._announce(_Subagent(self._mint(), name, call, self._owners.get(call)))

    def own(self, call: str, outer: str) -> str:
        """Note that the agent in the call `outer` made a call; the id of its run."""
        self._owners[call] = self._open[outer].id
        return self._owners[call]

    def owner(self, call: str) -> str | None:
        """The sub-agent whose call it is, None of the agent's own."""
        return self._owners.get(call)

    def claim(self, call: str, subagent: str) -> None:
        """Note whose call one is that was made before the pause."""
        self._owners[call] = subagent

    def finish(self, call: str) -> Iterator[BaseEvent]:
        """Close the one that worked inside a call, which has its result."""
        one = self._open.pop(call, None)
        if one is not None:
            yield SubagentFinishedEvent(subagent_run_id=one.id)

    def _announce(self, one: _Subagent) -> BaseEvent:
        self._open[one.call] = one
        return SubagentStartedEvent(
            subagent_run_id=one.id,
            name=one.name,
            parent_tool_call_id=one.call,
            parent_subagent_run_id=one.above,
        )
