"""What an agent has emitted and nobody has read yet: a bounded list, one wake per drain."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, Self, SupportsIndex

from ag_ui.core import BaseEvent, ToolCallResultEvent

from agui_bridge.adapters import Checkpoint, Run
from agui_bridge.agents.replay.continuation import Denied, EntryKey, Failure, Halted, Outcome, Value
from agui_bridge.agents.replay.journal import (
    ResultWithoutJson,
    ToolNotReached,
    ToolOutcomeUnknown,
    TooManyRounds,
)
from agui_bridge.protocol.answers.unexecuted import (
    ASKED_TOO_OFTEN,
    BROKE_OFF,
    CANCELLED_AMID,
    NOT_REACHED,
    UNTELLABLE,
    denied_by_policy,
    stopped_by_policy,
)
from agui_bridge.protocol.lifecycle.event_rules import whole_call
from agui_bridge.protocol.threads.records import Json

# --- the token usage that a run tells: what its own calls used, and not what it says again ---
#
# The function runs again from its top when an answer has come, and its plain code says again what
# the run before has told. What stands inside a step is not run again, and is told where it is said.

_AFTER: ContextVar[tuple[UsageLog, EntryKey | None] | None] = ContextVar(
    "agui_bridge_usage_after", default=None
)


class UsageLog(list[Any]):
    """A list that knows which of its entries an earlier run has told.

    The entries are counted after each call of `run.*`, as the task that adds them has made it, or
    inherited it from the task that started it: a replay adds as many there before it adds new ones.

    Args:
        told: how many entries the earlier runs have told after each call; None before the first.
        spent: entries of a run that was taken up, which are still to be told.
        inside: whether whoever calls stands inside a function that runs once in all runs.
    """

    def __init__(
        self,
        told: Mapping[EntryKey | None, int],
        inside: Callable[[], bool] = lambda: False,
        spent: Iterable[Any] = (),
    ) -> None:
        """Begin without entries of this run."""
        super().__init__(spent)
        self._told = told
        self._inside = inside
        self._added: Counter[EntryKey | None] = Counter()
        self._repeated: list[Any] = []

    def come_to(self, call: EntryKey | None) -> None:
        """Note that the current task has come to a call; None where the function begins."""
        _AFTER.set((self, call))

    def counts(self) -> dict[EntryKey | None, int]:
        """How many entries have been told after each call, in this run or before."""
        told = self._told
        return {
            call: max(self._added[call], told.get(call, 0))
            for call in dict.fromkeys([*told, *self._added])
        }

    def new(self) -> list[Any]:
        """What no earlier run has told."""
        repeated = Counter(map(id, self._repeated))
        own = []
        for entry in self:
            if repeated[id(entry)]:
                repeated[id(entry)] -= 1
            else:
                own.append(entry)
        return own

    def drop_repeated(self) -> None:
        """Leave what no earlier run has told."""
        own = self.new()
        self._repeated.clear()
        super().__setitem__(slice(None), own)

    def _note(self, entries: Iterable[Any]) -> list[Any]:
        noted = list(entries)
        after = _AFTER.get()
        # Code that has lost its context can't be placed: it is told rather than lost.
        if after is not None and after[0] is self and not self._inside():
            for entry in noted:
                self._added[after[1]] += 1
                if self._added[after[1]] <= self._told.get(after[1], 0):
                    self._repeated.append(entry)
        return noted

    def append(self, entry: Any, /) -> None:
        """Add an entry."""
        super().extend(self._note([entry]))

    def extend(self, entries: Iterable[Any], /) -> None:
        """Add several."""
        super().extend(self._note(entries))

    def insert(self, place: SupportsIndex, entry: Any, /) -> None:
        """Add an entry before a place."""
        super().insert(place, *self._note([entry]))

    def __iadd__(self, entries: Iterable[Any], /) -> Self:  # type: ignore[misc]  # as list has it
        """Add several."""
        self.extend(entries)
        return self


# --- the events that a tool call of a function agent puts on the wire ---


def tool_call(call_id: str, name: str, args: Mapping[str, Json]) -> tuple[BaseEvent, ...]:
    """Make the START, ARGS and END events of one tool call."""
    return whole_call(call_id, name, _compact(args))


def tool_result(call_id: str, message_id: str, outcome: Outcome) -> BaseEvent:
    """Make the TOOL_CALL_RESULT event: a str as it is, other values as compact JSON."""
    match outcome:
        case Value(value=str(text)):
            content = text
        case Value(value=value):
            content = _compact(value)
        case Failure(error=error):
            content = failure_text(error)
        case Denied(reason=reason):
            content = denied_by_policy(reason)
        case Halted(reason=reason):
            content = stopped_by_policy(reason)
        case _:
            content = CANCELLED_AMID
    return ToolCallResultEvent(message_id=message_id, tool_call_id=call_id, content=content)


def failure_text(error: str) -> str:
    """What is told of a tool that raised: the exception's type alone, its text may hold secrets.

    Args:
        error: name of that type; of those that say what was executed, what they say.
    """
    return _TOLD.get(error) or f"The tool failed: {error}"


_TOLD: Final[Mapping[str, str]] = {
    ResultWithoutJson.__name__: UNTELLABLE,
    TooManyRounds.__name__: ASKED_TOO_OFTEN,
    ToolNotReached.__name__: NOT_REACHED,
    ToolOutcomeUnknown.__name__: BROKE_OFF,
}


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- the outbox ---

Item = BaseEvent | Checkpoint | str
"""What an agent emits."""

LIMIT = 128
"""Items that wait at most; as many again can be in the reader's hands."""


class Outbox:
    """Carries items from the agent's tasks to one reader.

    A queue would wake the reader for every item; here it is woken once and takes all.

    Attributes:
        items: what waits, oldest first.
        marking: makes a checkpoint of what is told with it; None in a run without checkpoints.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self.items: list[Item] = []
        self.marking: Callable[[Sequence[BaseEvent | str]], Checkpoint] | None = None
        self._aside: list[BaseEvent | str] | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []
        # How many items were ever put, were taken, and were dealt with by the reader.
        self._put = self._taken = self._read = 0

    def put(self, item: Item) -> None:
        """Add an item. Never blocks: writers of many items await `room` in between."""
        if self._aside is not None and not isinstance(item, Checkpoint):
            self._aside.append(item)
            return
        if self.marking is not None and isinstance(item, ToolCallResultEvent):
            # It may be stored at once, and then where the run stands is stored with it.
            item = self.marking([item])
        self.items.append(item)
        self._put += 1
        if self._reader is not None:
            self.wake()

    def put_together(self, tell: Callable[[], None]) -> list[BaseEvent | str]:
        """Give what is told by a call of `tell`, instead of putting it."""
        together: list[BaseEvent | str] = []
        self._aside = together
        try:
            tell()
        finally:
            self._aside = None
        return together

    @property
    def unused(self) -> bool:
        """Whether nothing was ever put."""
        return not self._put

    @property
    def full(self) -> bool:
        """Whether writers should await `room`."""
        return len(self.items) >= LIMIT

    async def room(self) -> None:
        """Return once the reader has taken what waits."""
        while self.full:
            await self._progress()

    async def read(self) -> None:
        """Return once the reader has dealt with all that was put until now, and wants more."""
        put = self._put
        while self._read < put:
            await self._progress()

    def take(self) -> list[Item]:
        """Take all that waits and let writers go on; what was taken before is dealt with."""
        taken, self.items = self.items, []
        self._read = self._taken
        self._taken += len(taken)
        self._go_on()
        return taken

    def wake(self) -> None:
        """Let the reader look again."""
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    async def wait(self) -> None:
        """Return at the next `put` or `wake`; for the one reader."""
        self._read = self._taken
        self._go_on()
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader

    async def _progress(self) -> None:
        writer = asyncio.get_running_loop().create_future()
        self._writers.append(writer)
        await writer

    def _go_on(self) -> None:
        for writer in self._writers:
            if not writer.done():
                writer.set_result(None)
        self._writers.clear()


class Reports:
    """Tells the results of one run's tool calls.

    Args:
        run: for results that come when it is over.
        outbox: for those before.

    Attributes:
        shown: the calls that the client was shown: their ids, and what carries them out, None
            while nobody has come to that.
        held: those of streams that came to their end: the function has them.
    """

    def __init__(self, run: Run, outbox: Outbox) -> None:
        """Begin with a run that goes on."""
        self._run = run
        self._outbox = outbox
        self._left = False
        self.shown: dict[str, EntryKey | None] = {}
        self.held: set[str] = set()

    def announce(self, call: EntryKey, call_id: str, items: Iterable[BaseEvent]) -> None:
        """Show the client a call that is about to begin."""
        self.shown[call_id] = call
        for item in items:
            self._outbox.put(item)

    def unbegun(self, begun: Callable[[EntryKey], bool], *, but_held: bool) -> list[str]:
        """The calls that were shown, and of which nobody began to carry out what they are for.

        Args:
            begun: whether something was.
            but_held: whether those are left out that only the function itself knows about.
        """
        return [
            call
            for call, key in self.shown.items()
            if not (but_held and call in self.held if key is None else begun(key))
        ]

    def tell(self, call_id: str, outcome: Outcome) -> None:
        """Tell what came of a call."""
        result = tool_result(call_id, self._run.mint(), outcome)
        if self._left:
            self.leave([result])
        else:
            self._outbox.put(result)

    def leave(self, unread: Iterable[Item]) -> None:
        """Note that nobody reads the outbox any more, and keep the results that were in it."""
        self._left = True
        for item in unread:
            if isinstance(item, Checkpoint):
                self.leave(item.events)
            if isinstance(item, ToolCallResultEvent) and isinstance(item.content, str):
                self._run.late_result(item.tool_call_id, item.content)
