"""An agent whose own side waits in its process for what people answer, and what it does outside."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agui_bridge.adapters import AdapterCapabilities, HoldEnd, Pause, Run, RunItem
from agui_bridge.protocol.answers.decisions import Approve
from tests.support.agents import approval, result


@dataclass
class Outside:
    """What is left of all processes.

    Attributes:
        acts: calls in the order in which they were executed.
        ends: why sides that waited were ended.
        loaded: conversations that were loaded anew, since nothing waited for the answers.
        names: of the calls that are proposed, each once.
    """

    acts: list[str] = field(default_factory=list)
    ends: list[HoldEnd] = field(default_factory=list)
    loaded: int = 0
    names: Iterator[str] = field(default_factory=lambda: (f"c{n}" for n in itertools.count(1)))


@dataclass
class Side:
    """What waits: told yes it acts at once, ended it acts no more."""

    outside: Outside
    alive: bool = True

    def act(self, call: str) -> str:
        """Execute a call."""
        assert self.alive, "what was ended does nothing"
        self.outside.acts.append(call)
        return "done"


class Holding:
    """Asks for approvals, and holds the pause; several objects are several processes.

    Args:
        outside: what all processes share.
        calls: ids of the calls that it asks about together; none are `names` of new ones.
        number: of those.

    Attributes:
        sides: those that wait in this process.
        told: `Resume.held` of each run that went on.
        dead: whether the process was killed: nothing happens in it any more.
    """

    capabilities = AdapterCapabilities(stop=True, holds=True)

    def __init__(
        self, outside: Outside, calls: Sequence[str] = (), number: int = 1, **ask: Any
    ) -> None:
        self.outside = outside
        self.calls = calls
        self.ask = ask
        self.sides: dict[str, Side] = {}
        self.told: list[bool] = []
        self.number = number
        self.dead = False

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Ask, or act on what was decided."""
        if run.resume is None:
            yield "I ask. "
            self.sides[name := run.mint()] = Side(self.outside)
            calls = self.calls or list(itertools.islice(self.outside.names, self.number))
            asks = [approval(call, **self.ask) for call in calls]
            yield Pause(asks, {"side": name}, held=True)
            return
        self.told.append(run.resume.held)
        side = self.sides.pop(run.resume.continuation["side"], None) if run.resume.held else None
        if side is None or not side.alive:
            self.outside.loaded += 1
            side = Side(self.outside)
        for native, decision in run.resume.decisions.items():
            if isinstance(decision, Approve):
                run.check_lease()
                if self.dead:
                    return
                call = native.removeprefix("native-")
                yield result(call, side.act(call))
        yield "Finished."

    async def closed(self, continuation: Any, end: HoldEnd) -> None:
        """End what waits."""
        side = self.sides.pop(continuation["side"])
        side.alive = False
        self.outside.ends.append(end)

    async def aclose(self) -> None:
        """Nothing is left."""
