"""The members of a team at work, as sub-agents: announced before anything of them, and closed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ag_ui.core import BaseEvent, SubagentFinishedEvent, SubagentStartedEvent
from agno.team import Team

from agui_bridge.protocol.threads.records import Json

__all__ = ["Members", "never_repeat"]


@dataclass(frozen=True, slots=True)
class _Member:
    """One member at work.

    Attributes:
        id: its run's id on the wire.
        run: Agno's id of it.
        name: the member's.
        call: the tool call by which it was asked; None where that is not known.
        above: the id of the sub-agent whose call that is.
    """

    id: str
    run: str
    name: str
    call: str | None
    above: str | None


class Members:
    """Those of one run.

    Args:
        mint: gives a new id.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(self, mint: Callable[[], str], kept: Any = ()) -> None:
        self._mint = mint
        self._kept = [_Member(**one) for one in kept]
        self._open: dict[str, _Member] = {}
        # Calls of leaders that have no result yet: id, the leader's run, the member's id if told.
        self._calls: list[tuple[str, str | None, str | None]] = []

    def to_json(self) -> Json:
        """Those that are open: they go on when the run does."""
        return [asdict(one) for one in self._open.values()]

    def reopen(self) -> Iterator[BaseEvent]:
        """Announce those again that were open when the run paused."""
        for one in self._kept:
            yield self._announce(one)

    def delegate(self, call: str, run: str | None, member: str | None) -> None:
        """Note a call by which a leader asks a member, or all of them."""
        self._calls.append((call, run, member))

    def find(self, run: str, name: str, member: str, parent: str | None) -> Iterator[BaseEvent]:
        """The events that announce a member at work, if it is new.

        Args:
            run: its run.
            name: its name.
            member: its id.
            parent: the leader's run.
        """
        if run in self._open:
            return
        above = self._open.get(parent) if parent is not None else None
        calls = [(call, to) for call, of, to in self._calls if of == (above.run if above else None)]
        # A leader names members as it was told to; where it does not, there is but one call.
        meant = [call for call, to in calls if to == member] or [call for call, _ in calls]
        call = meant[-1] if meant else None
        made = _Member(self._mint(), run, name or member, call, above.id if above else None)
        yield self._announce(made)

    def id_of(self, run: str | None) -> str | None:
        """The id on the wire of a run, None of the agent's own and of those that are over."""
        found = self._open.get(run) if run is not None else None
        return found.id if found is not None else None

    def finish(self, run: str) -> Iterator[BaseEvent]:
        """Close one whose work is done."""
        found = self._open.pop(run, None)
        if found is not None:
            yield SubagentFinishedEvent(subagent_run_id=found.id)

    def _announce(self, one: _Member) -> BaseEvent:
        self._open[one.run] = one
        return SubagentStartedEvent(
            subagent_run_id=one.id,
            name=one.name,
            parent_tool_call_id=one.call,
            parent_subagent_run_id=one.above,
        )


def never_repeat(agent: Any) -> None:
    """Have Agno begin no run again that failed: its tools may have acted.

    A model's own `retries` remain, which repeat one request.

    Args:
        agent: a copy of an agent or a team; its members become copies, too.
    """
    agent.retries = 0
    if isinstance(agent, Team) and isinstance(agent.members, list):
        agent.members = list(map(copy.copy, agent.members))
        for member in agent.members:
            never_repeat(member)
