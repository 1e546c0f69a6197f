"""What one run knows of the calls made before, and what it adds."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from agui_bridge.agents.replay.continuation import EntryKey, Failure, Outcome
from agui_bridge.errors import AgentMistake, AmbiguousKey, ReplayMismatch
from agui_bridge.protocol.json_values import canonical, jsonable
from agui_bridge.protocol.threads.records import Json

# --- failures of an agent's own code that are the same at the first run and at every replay ---


class ResultWithoutJson(AgentMistake):
    """A function did what it is for, and what it returned can't be remembered or told."""


class ToolNotReached(AgentMistake):
    """What a tool works with was not reached: it certainly did nothing."""


class ToolOutcomeUnknown(AgentMistake):
    """A tool broke off, and nobody knows what it did."""


class TooManyRounds(AgentMistake):
    """A tool asked again and again in the middle of one call, which has failed for it."""


class StepFailed(AgentMistake):
    """A function that `run.step`, `stream`, `call` or `tool` carried out raised an exception.

    It is this type at the first run and at every replay, so that an `except` takes the same
    path each time. `__cause__` is the original at the first run and None at a replay: decide
    by `error`. When nobody catches it at the first run, the run fails with the original; at a
    replay the original is gone, and the run fails with this: the client reads a bare
    AGENT_ERROR, for `text` is the original's and not meant for the wire.

    Attributes:
        call: the call, such as `run.step('count')`.
        error: name of the original exception's type.
        text: the original exception's text.
    """

    def __init__(self, call: str, error: str, text: str) -> None:
        """Make the exception; `of` makes it from a journal's entry."""
        super().__init__(f"{call} failed: {error}: {text}")
        self.call = call
        self.error = error
        self.text = text

    @classmethod
    def of(cls, entry: EntryKey, failure: Failure) -> StepFailed:
        """Make the exception from the journal's entry.

        Args:
            entry: where the failure stands in the journal.
            failure: what stands there.
        """
        return cls(str(entry), failure.error, failure.text)


class PreviewFailed(StepFailed):
    """What a call would do could not be shown, so that nobody was asked about it."""


class FrontendToolError(StepFailed):
    """The application says that it could not carry its tool out: `error` of its tool message.

    Attributes:
        call: the call, such as `run.frontend_tool('take_photo')`.
        error: "FrontendToolError".
        text: what the application says of it.
        content: what it returned all the same: a str, or content parts; mostly "".
    """

    def __init__(self, call: str, text: str, content: Json = "") -> None:
        """Make the exception."""
        super().__init__(call, type(self).__name__, text)
        self.content = content


def as_exception(error: BaseException) -> Exception:
    """Make sys.exit() and its like in an agent's code a failure that ends one run only.

    Raised out of a task, SystemExit and KeyboardInterrupt would end the event loop, and the
    server with it.

    Returns:
        The exception itself if it is an ordinary one, else an AgentMistake caused by it.
    """
    if isinstance(error, Exception):
        return error
    kind = type(error).__name__
    what = "called sys.exit()" if isinstance(error, SystemExit) else f"raised {kind}"
    mistake = AgentMistake(
        f"The agent's code {what}: {kind}({str(error)!r}). It can end its own run by returning "
        "or by raising an Exception, never the server."
    )
    mistake.__cause__ = error
    return mistake


# --- the journal ---

ACTS = frozenset({"call", "tool"})
"""Kinds of the entries of calls that were carried out."""

_LONGEST_ARGS = 120


class Journal:
    """Outcomes by call. A call met again returns what it returned before.

    Args:
        recalled: the entries of the run that this one continues.
    """

    def __init__(self, recalled: Mapping[EntryKey, Outcome]) -> None:
        """Begin with what is recalled."""
        self.entries: dict[EntryKey, Outcome] = dict(recalled)
        self._order = list(recalled)
        self._unvisited = dict.fromkeys(recalled)
        self._leading = 0
        self._latest: dict[EntryKey, tuple[int, CallPosition]] = {}
        self._visited: set[EntryKey] = set()

    @property
    def replaying(self) -> bool:
        """Whether recalled calls are still to come."""
        return bool(self._unvisited)

    @property
    def unvisited(self) -> int:
        """How many recalled calls are still to come."""
        return len(self._unvisited)

    @property
    def leading(self) -> int:
        """How many of the recalled entries were visited, up to the first that was not."""
        order = self._order
        while self._leading < len(order) and order[self._leading] not in self._unvisited:
            self._leading += 1
        return self._leading

    def number(self, call: EntryKey, place: CallPosition) -> EntryKey:
        """Tell a call from equal ones before it, by its ordinal.

        Raises:
            AmbiguousKey: another task made an equal call, and nothing orders the two.
        """
        latest = self._latest.get(call)
        if latest is not None and not latest[1].precedes(place):
            raise AmbiguousKey(
                f"{call} is called by more than one task, and a replay may run them in another "
                "order. Pass a different key= to each, such as key=str(index); in a loop of "
                'gathers the round too, such as key=f"{round}.{index}".'
            )
        nth = 0 if latest is None else latest[0] + 1
        self._latest[call] = (nth, place)
        return call._replace(nth=nth)

    def visit(self, key: EntryKey) -> Outcome | None:
        """Note that the function has come to a call; return its outcome if it is known."""
        self._unvisited.pop(key, None)
        self._visited.add(key)
        return self.entries.get(key)

    def record(self, key: EntryKey, outcome: Outcome) -> None:
        """Remember how a call that was visited ended."""
        self.entries[key] = outcome

    def visited(self, key: EntryKey) -> bool:
        """Whether this run has come to the call."""
        return key in self._visited

    @property
    def acted(self) -> bool:
        """Whether a call was carried out, in an earlier run too."""
        return any(key.kind in ACTS for key in self.entries)

    def find_mismatch(self) -> ReplayMismatch | None:
        """Say which recalled call the function did not come to again, if any."""
        if not self._unvisited:
            return None
        missed = next(iter(self._unvisited))
        return ReplayMismatch(
            f"On resume the function did not come to {missed} again, which it had made before. "
            "What decides its path must come from its messages, its state, or a run.step."
        )


class YieldCount:
    """Counts what a generator yields, so that a replay emits nothing twice.

    The count starts anew at each call that the generator's own task makes: how many items
    stand between two such calls may differ on a replay (progress dots while a step runs).

    Args:
        past: items by segment, from the run that this one continues.
    """

    def __init__(self, past: Mapping[int, int]) -> None:
        """Begin at no items."""
        self.total = 0
        self._past = past
        self._counts: dict[int, int] = {}
        self._segment = 0
        self._start = 0

    @property
    def repeated(self) -> bool:
        """Whether the latest item was yielded in the run before."""
        return self.total - self._start <= self._past.get(self._segment, 0)

    def next_segment(self) -> None:
        """Note a call of the generator's own task."""
        self._close()
        self._segment += 1

    def counts(self) -> dict[int, int]:
        """Return the items by segment, so far."""
        counts = dict(self._counts)
        if self.total > self._start:
            counts[self._segment] = self.total - self._start
        return counts

    def _close(self) -> None:
        if self.total > self._start:
            self._counts[self._segment] = self.total - self._start
            self._start = self.total


def fingerprint(what: str, values: Iterable[Any]) -> str:
    """Write the arguments of a call as text that is the same in every process.

    Raises:
        AgentMistake: one has no JSON form, so that its text would differ each time.
    """
    text = ",".join(canonical(jsonable(f"an argument of {what}", value)) for value in values)
    if len(text) <= _LONGEST_ARGS:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{text[: _LONGEST_ARGS // 2]}…{digest}"


def copied(value: Json) -> Json:
    """Copy JSON, so that nobody's later changes reach the journal."""
    if value is None or isinstance(value, str | int | float):
        return value
    return json.loads(json.dumps(value))


class Strand:
    """The line of calls that one task makes.

    Attributes:
        origin: where its creator stood when it was created; None for the first task.
        count: calls made so far.
    """

    __slots__ = ("count", "family", "origin")

    def __init__(self, family: CallOrder, origin: CallPosition | None) -> None:
        """Begin a line without calls."""
        self.family: CallOrder = family
        self.origin: CallPosition | None = origin
        self.count: int = 0


class CallPosition(NamedTuple):
    """One call: the strand that made it, and its position there, from 1."""

    strand: Strand
    position: int

    def precedes(self, other: CallPosition) -> bool:
        """Whether every replay makes this call before the other."""
        place: CallPosition | None = other
        while place is not None:
            if place.strand is self.strand:
                return self.position <= place.position
            place = place.strand.origin
        return False


_HERE: ContextVar[CallPosition | None] = ContextVar("agui_bridge_place", default=None)


class CallOrder:
    """All strands of one run.

    The order in which tasks happen to run is no ground to number calls on: replayed steps
    return at once, and the order of branches flips. Two calls have an order that every replay
    repeats only if one task makes both, or the task of the later one was started after the
    earlier one. A context variable tells: a new task inherits a copy of what its creator had
    done by then.

    Attributes:
        root: the strand of the agent's own task.
    """

    def __init__(self) -> None:
        """Begin with no task known but the root to come."""
        self._by_task: WeakKeyDictionary[asyncio.Task[object], Strand] = WeakKeyDictionary()
        self.root: Strand = Strand(self, None)

    def begin(self) -> None:
        """Make the current task the agent's own."""
        self._by_task[self._task()] = self.root
        _HERE.set(CallPosition(self.root, 0))

    def next_place(self) -> CallPosition:
        """Note that the current task makes a call, and say where."""
        task = self._task()
        strand = self._by_task.get(task)
        if strand is None:
            origin = _HERE.get()
            if origin is not None and origin.strand.family is not self:
                origin = None
            strand = self._by_task[task] = Strand(self, origin)
        strand.count += 1
        place = CallPosition(strand, strand.count)
        _HERE.set(place)
        return place

    @staticmethod
    def _task() -> asyncio.Task[object]:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("run.* is called from within the agent's tasks only.")
        return task
