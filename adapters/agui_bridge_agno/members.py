"""The members of a team at work, as sub-agents: announced before anything of them, and closed."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ag_ui.core import BaseEvent
from agno.team import Team

from agui_bridge.frameworks.subagents import Subagent, Subagents
from agui_bridge.protocol.threads.records import Json


class Members(Subagents):
    """Those of one run.

    Args:
        mint: gives a new id.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(self, mint: Callable[[], str], kept: Iterable[Mapping[str, Any]] = ()) -> None:
        # Ids on the wire, by Agno's of the runs.
        self._ids: dict[str, str] = {one["run"]: one["id"] for one in kept}
        super().__init__(mint, [{name: one[name] for name in one if name != "run"} for one in kept])
        # Calls of leaders that have no result yet: id, the leader's run, the member's id if told.
        self._calls: list[tuple[str, str | None, str | None]] = []

    def to_json(self) -> Json:
        """Those that are open: they go on when the run does."""
        return [
            {**asdict(self._open[own]), "run": run}
            for run, own in self._ids.items()
            if own in self._open
        ]

    def delegate(self, call: str, run: str | None, member: str | None) -> None:
        """Note a call by which a leader asks a member, or all of them."""
        self._calls.append((call, run, member))

    def enter(self, run: str, name: str, member: str, parent: str | None) -> Iterator[BaseEvent]:
        """The events that announce a member at work, if it is new.

        Args:
            run: its run.
            name: its name.
            member: its id.
            parent: the leader's run.
        """
        if run in self._ids:
            return
        above = self.id_of(parent)
        leader = parent if above is not None else None
        calls = [(call, to) for call, of, to in self._calls if of == leader]
        # A leader names members as it was told to; where it does not, there is but one call.
        meant = [call for call, to in calls if to == member] or [call for call, _ in calls]
        made = Subagent(self._mint(), name or member, meant[-1] if meant else None, above)
        self._ids[run] = made.id
        yield self._announce(made)

    def id_of(self, run: str | None) -> str | None:
        """The id on the wire of a run, None of the agent's own and of those that are over."""
        return self._ids.get(run) if run is not None else None

    def leave(self, run: str) -> Iterator[BaseEvent]:
        """Close one whose work is done."""
        if run in self._ids:
            yield self._close(self._ids.pop(run))


def with_result(text: str, name: str, said: str) -> str:
    """The result of a leader's call, with what a member said where Agno says that it waits.

    Args:
        text: the result so far, of all members that were asked.
        name: the member's.
        said: what it said at its end.
    """
    own = re.escape(name)
    waits = (
        rf"Member '{own}' requires human input[^.]*\.( Task (\[.*?\] )?paused\.)?"
        rf"|(?<=Agent {own}: )Requires human input[^.]*\."
    )
    made, found = re.subn(waits, lambda _: said, text, count=1)
    return made if found else "\n".join(filter(None, (text, said)))


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
