"""Whose an event of a team is: the leader is the agent, each teammate a sub-agent of its own.

A team's stream has an envelope around each event that names the agent. A teammate lives longer
than the call that made it, may end and begin again, and has one sub-agent for each of its runs.

Source: NexAU 0.4.1, `nexau/archs/transports/http/team_routes.py`, and recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
)

from agui_bridge.errors import UpstreamError
from agui_bridge.frameworks.subagents import Subagent
from agui_bridge_nexau.exchange import LEADER
from agui_bridge_nexau.pauses import ASK_USER, FINISH_TEAM
from agui_bridge_nexau.reader import CallSeen, Raw, Reader
from agui_bridge_nexau.runs import Runs

_WATCHDOG: Final = "watchdog"
"""Who tells the leader, once, that nobody does anything."""
_JOINED: Final = (
    "The team was already running: the message went into a run that somebody else began, and what "
    "comes of it is not told here. Give every bridge a session_prefix of its own."
)
_MESSAGES: Final = frozenset({"USER_MESSAGE", "TEAM_MESSAGE"})
_STEPS: Final = frozenset({"USAGE_UPDATE", "TOOL_CALL_RESULT"})
"""What ends a step: the model's, or a tool's."""
_WORKS: Final = frozenset({"RUN_STARTED", "TEXT_MESSAGE_START", "TOOL_CALL_START"})


@dataclass
class Member:
    """An agent of the team.

    Attributes:
        runs: what it says, and the agents that it calls.
        subagent: its present run as a sub-agent; None for the leader, and between two runs.
        last: the id of its last run as a sub-agent.
        waits: whether it waits for a message, as far as its stream tells.
        over: whether its run has ended, or none has begun.
        told_by: who sent it the last message.
    """

    runs: Runs
    subagent: Subagent | None = None
    last: str | None = None
    waits: bool = False
    over: bool = True
    told_by: str = ""
    _asked: frozenset[str] = frozenset()

    def note(self, event: Raw) -> None:
        """Note what its event, which was taken, tells of what it does."""
        kind = event.get("type")
        if kind in _MESSAGES:
            self.waits, self.told_by = False, str(event.get("from_agent_id") or "user")
        elif kind in _WORKS:
            self.waits = False
            if kind == "TEXT_MESSAGE_START":
                # It goes on without an answer, or with one.
                self._asked = frozenset(self.runs.own.calls)
        elif kind in _STEPS:
            idle = all(call.result is not None for call in self.runs.own.calls.values())
            # A step without a call is followed by a wait, and so is a question.
            self.waits = idle and (kind == "USAGE_UPDATE" or bool(self.asks))

    @property
    def asks(self) -> list[CallSeen]:
        """The questions that it waits with."""
        calls = self.runs.own.calls.values()
        return [c for c in calls if c.name == ASK_USER and c.stops and c.id not in self._asked]

    def begin(self, runs: Runs, subagent: Subagent) -> None:
        """Begin a run of a teammate's."""
        self.runs, self.subagent, self.last = runs, subagent, subagent.id
        self.over, self._asked = False, frozenset()

    def end(self) -> None:
        """End it; who asks is suspended, not finished."""
        self.waits = self.over = True
        if not self.asks:
            self.subagent = None


@dataclass
class TeamRuns:
    """The runs of one stream of a team; in place of `Runs`.

    Args:
        mint: gives a new id.
        new_call: gives the id of a new call, as `CallIds.new` does.

    Attributes:
        own: what the leader says.
        joined: whether the message went to a team that was running, whose run this is not.
        events: how many events were taken.
    """

    mint: Callable[[], str]
    new_call: Callable[[str | None], str]
    own: Reader = field(init=False)
    joined: bool = False
    events: int = 0
    _leader: Member = field(init=False)
    _mates: dict[str, Member] = field(default_factory=dict)
    # Runs of teammates that are over.
    _past: list[Runs] = field(default_factory=list)
    _end: Raw | None = None

    def __post_init__(self) -> None:
        """Begin with the leader."""
        self._leader = Member(Runs(self.mint, self.new_call))
        self.own = self._leader.runs.own

    def take(self, frame: Raw) -> list[BaseEvent]:
        """Take NexAU's next frame and give AG-UI's events, none or several.

        Raises:
            UpstreamError: the message went to a team that was running.
        """
        if frame.get("type") == "complete":
            # The leader's end is the team's once all have ended.
            return self.own.take(self._end) if self._end is not None else []
        if frame.get("type") == "error":
            return self.own.take({"type": "RUN_ERROR", "message": frame.get("error")})
        envelope: Any = frame.get("envelope")
        event = envelope.get("event") if isinstance(envelope, dict) else None
        if not isinstance(event, dict):
            return []
        self.events += 1
        if self.events == 1:
            # A run begins with its message. A stream that a team runs behind has no beginning.
            self.joined = event.get("type") != "USER_MESSAGE"
            if self.joined:
                raise UpstreamError(_JOINED)
        agent = str(envelope.get("agent_id"))
        if agent != LEADER:
            return self._of_mate(agent, event)
        if event.get("type") == "RUN_FINISHED" and self._is_own_end(event):
            self._end = event
            self._leader.waits = False
            return []
        told = self._leader.runs.take(event)
        self._leader.note(event)
        return told

    def close(self) -> list[BaseEvent]:
        """End what NexAU left open."""
        return self._leader.runs.close()

    @property
    def calls(self) -> Iterator[CallSeen]:
        """Every call, the teammates' too."""
        for runs in self._all():
            yield from runs.calls

    def usage_entries(self) -> list[dict[str, Any]]:
        """Tokens of all of them, one entry for each model."""
        totals: dict[str, dict[str, int]] = {}
        for runs in self._all():
            for model, counts in runs.own.usage.items():
                total = totals.setdefault(model, {})
                for name, count in counts.items():
                    total[name] = total.get(name, 0) + count
        return [{**({"model": model} if model else {}), **c} for model, c in totals.items()]

    @property
    def whole(self) -> bool:
        """Whether nothing of the team was cut off: no call is open, and no teammate's run."""
        over = all(mate.over for mate in self._mates.values())
        return over and all(call.result is not None for call in self.calls)

    @property
    def asks(self) -> list[tuple[CallSeen, str | None, str | None]]:
        """The questions that wait for people: the call, the teammate's name, its sub-agent."""
        if any(call.name == FINISH_TEAM and call.stops for call in self.own.calls.values()):
            # The leader has ended the team without an answer.
            return []
        named: list[tuple[str | None, Member]] = [(None, self._leader), *self._mates.items()]
        return [(call, name, member.last) for name, member in named for call in member.asks]

    @property
    def waits(self) -> bool:
        """Whether the leader waits for a message; of its teammates NexAU tells when asked."""
        return self._leader.waits

    def rests(self, mates: Collection[str]) -> bool:
        """Whether the leader waits for a message that no teammate that is idle will send.

        Somebody asks; or the leader has nothing to say though NexAU woke it, or will not be woken.

        Args:
            mates: the names of all teammates, those of which nothing was heard too.
        """
        over = {name for name, mate in self._mates.items() if mate.over}
        woken = self._leader.told_by == _WATCHDOG or (bool(mates) and over.issuperset(mates))
        return self.waits and (woken or bool(self.asks))

    # --- teammates ---

    def _of_mate(self, agent: str, event: Raw) -> list[BaseEvent]:
        kind = event.get("type")
        mate = self._mates.get(agent)
        if mate is None:
            mate = self._mates[agent] = Member(Runs(self.mint, self.new_call))
        told: list[BaseEvent] = []
        if kind == "RUN_STARTED" and event.get("run_id") == event.get("root_run_id"):
            if mate.subagent is not None:
                told.append(mate.subagent.finished)
            self._past.append(mate.runs)
            begun = Subagent(self.mint(), agent, None, None)
            mate.begin(Runs(self.mint, self.new_call), begun)
            told.append(begun.started)
        said = mate.runs.take(event)
        mate.note(event)
        if (subagent := mate.subagent) is None:
            # Before its run begins, and once it is over, there is nothing that it could say.
            return told
        told += [_under(subagent, one) for one in said]
        if kind == "RUN_FINISHED" and mate.runs.own.finished:
            mate.end()
            if mate.subagent is None:
                told.append(subagent.finished)
        elif kind == "RUN_ERROR":
            words = "The teammate failed."
            told.append(SubagentErrorEvent(subagent_run_id=subagent.id, message=words))
            mate.end()
        return told

    def _is_own_end(self, event: Raw) -> bool:
        return event.get("run_id") == self._leader.runs.own_id

    def _all(self) -> Iterator[Runs]:
        yield self._leader.runs
        yield from self._past
        yield from (mate.runs for mate in self._mates.values())


def _under(subagent: Subagent, event: BaseEvent) -> BaseEvent:
    """An event of a teammate's, or of an agent that it calls."""
    if isinstance(event, SubagentStartedEvent):
        if event.parent_subagent_run_id is None:
            return event.model_copy(update={"parent_subagent_run_id": subagent.id})
        return event
    if isinstance(event, SubagentFinishedEvent | SubagentErrorEvent):
        return event
    if getattr(event, "subagent_run_id", None) is not None:
        return event
    return event.model_copy(update={"subagent_run_id": subagent.id})
