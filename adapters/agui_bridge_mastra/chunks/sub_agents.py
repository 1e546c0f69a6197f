"""The sub-agents of a stream: each begins once, ends once, and says nothing after its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ag_ui.core import SubagentErrorEvent, SubagentFinishedEvent, SubagentStartedEvent

from agui_bridge_mastra.chunks.place import Place


@dataclass
class SubAgents:
    """The sub-agents of one stream, known by the call that called them.

    Attributes:
        mint: gives a new id.
        ids: ids on the wire by what they stand for at Mastra. A sub-agent that waits keeps its
            own in every run that it goes on in.
        active: run ids of those that have begun in this run and not ended.
    """

    mint: Callable[[], str]
    ids: dict[str, str]
    active: set[str] = field(default_factory=set)
    _over: set[str] = field(default_factory=set)

    def place(self, at: Place, call: str) -> Place:
        """Where the chunks of a sub-agent come from."""
        return Place((*at.path, call), self.ids.setdefault(_key(at, call), self.mint()))

    def is_over(self, at: Place, call: str) -> bool:
        """Whether it has ended: what still comes of it is a repetition."""
        return _key(at, call) in self._over

    def forget(self, at: Place, call: str) -> None:
        """Have another one begin in the place of one that is over."""
        self._over.discard(_key(at, call))

    def begin(self, at: Place, call: str, name: str) -> Iterator[SubagentStartedEvent]:
        """Its beginning, unless it has begun in this run."""
        own = self.place(at, call).subagent
        assert own is not None
        if own not in self.active:
            self.active.add(own)
            yield SubagentStartedEvent(
                subagent_run_id=own,
                name=name,
                parent_subagent_run_id=at.subagent,
                parent_tool_call_id=self.ids.get(at.key(call)),
            )

    def end(self, at: Place, call: str) -> Iterator[SubagentFinishedEvent]:
        """Its end, if it has begun in this run."""
        for own in self._close(at, call):
            yield SubagentFinishedEvent(subagent_run_id=own)

    def fail(self, at: Place, call: str, message: str) -> Iterator[SubagentErrorEvent]:
        """Its failure, if it has begun in this run; the agent that called it goes on."""
        for own in self._close(at, call):
            yield SubagentErrorEvent(subagent_run_id=own, message=message)

    def _close(self, at: Place, call: str) -> Iterator[str]:
        own = self.ids.get(_key(at, call))
        if own in self.active:
            self.active.discard(own)
            self._over.add(_key(at, call))
            del self.ids[_key(at, call)]
            yield own


def _key(at: Place, call: str) -> str:
    return at.key(f"agent:{call}")
