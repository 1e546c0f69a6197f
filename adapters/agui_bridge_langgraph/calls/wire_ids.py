"""The calls of a graph's run under ids that no other call of their thread has.

The graph keeps the ids of its models. It takes a call for another one's only where both stand in
one conversation at once; people, approvals and results would mistake them over the whole thread.
Nothing that LangGraph says of a call names more than the model's id, so a call is known by where it
stands: by the task that told it, by that which carries it out, by the graph that both are in.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agui_bridge.adapters import CallIds
from agui_bridge.protocol.threads.records import Json


class Mark:
    """Stands in a graph's stream behind all that was said before.

    Attributes:
        seen: set once that was read.
    """

    def __init__(self) -> None:
        self.seen: asyncio.Event = asyncio.Event()


@dataclass(slots=True)
class Call:
    """A call of this run, or of the pause that it continues.

    Attributes:
        id: on the wire.
        native: the model's.
        within: namespace of the graph that it is a call of.
        by: namespace of the task whose model made it, "" until that is told.
        message: number of the model's message; 0 until that is told.
        ids: ids of that message, also of one that only a graph's state tells.
        task: namespace of the task that carries it out, "" until one does.
        answered: whether it has a result.
    """

    id: str
    native: str
    within: str
    by: str = ""
    message: int = 0
    ids: list[str] = field(default_factory=list)
    task: str = ""
    answered: bool = False

    @property
    def waits(self) -> bool:
        """Whether it is known where it was made, and it has no result."""
        return bool(self.message or self.ids) and not self.answered


class WireIds:
    """Those of one run.

    Args:
        new: gives the ids of new calls.
        kept: what `to_json` gave when the run paused that this one continues.
    """

    def __init__(self, new: CallIds, kept: Sequence[Mapping[str, Any]] = ()) -> None:
        self._new = new
        self._calls = [Call(**one) for one in kept]
        self._messages = max((call.message for call in self._calls), default=0)
        # What begins again comes in the order in which it came before.
        self._told_again: dict[tuple[str, str], deque[Call]] = {}
        self._begun_again: dict[tuple[str, str], deque[Call]] = {}
        for call in self._calls:
            for place, again in ((call.by, self._told_again), (call.task, self._begun_again)):
                if place:
                    again.setdefault((place, call.native), deque()).append(call)

    def to_json(self, tasks: Collection[str]) -> list[Json]:
        """The calls that may come again when the run goes on.

        Args:
            tasks: ids of the tasks that begin again.
        """
        return [
            asdict(call)
            for call in self._calls
            if not call.answered or any(_is_in(place, tasks) for place in (call.by, call.task))
        ]

    # --- while the graph runs ---

    def new_message(self) -> int:
        """The number of a message that a model begins."""
        self._messages += 1
        return self._messages

    def told(self, native: str, by: str, message: int, ids: list[str]) -> str:
        """The id of a call that a model makes.

        Args:
            native: the model's id of the call.
            by: namespace of the task that tells it.
            message: number of the model's message.
            ids: ids of this message; more may come.
        """
        again = self._told_again.get((by, native))
        found = again.popleft() if again else None
        if found is None:
            untold = [call for call in self._of(native) if not (call.message or call.ids)]
            near = [call for call in untold if _are_related(call.within, _graph_of(by))]
            found = next(iter(_nearest(near, _graph_of(by))), None)
        if found is None:
            found = self._add(native, _graph_of(by))
        found.by, found.message, found.ids = by, message, ids
        return found.id

    def announced(self, native: str) -> str:
        """The id of a call that the graph's code tells, whether or not a message has it later.

        Args:
            native: the code's id of the call.
        """
        return self._add(native, "").id

    def is_certain(self, native: str) -> bool:
        """Whether the next call of an id that begins can't be taken for another, as is mostly so.

        Either there was none in the thread, or the only one is the one that was told, and waits.
        """
        same = self._of(native)
        if not same:
            return not self._new.is_taken(native)
        return all(call.id == native and call.waits and not call.task for call in same)

    def begun_again(self, native: str, task: str) -> str | None:
        """The id of a call whose task begins again; None of another one.

        Args:
            native: the model's id of the call.
            task: namespace of the task.
        """
        left = self._begun_again.get((task, native))
        return left.popleft().id if left else None

    def begun(self, native: str, task: str) -> str:
        """The id of a call that is about to be carried out, once all is told that was before.

        Args:
            native: the model's id of the call.
            task: namespace of the task.
        """
        same = self._of(native)
        waiting = [call for call in same if call.waits and not call.task]
        found = _first(waiting, _graph_of(task))
        if found is None:
            # A policy of the graph's author has the task tried again.
            found = next((call for call in reversed(same) if call.task == task), None)
        if found is None:
            found = self._add(native, _graph_of(task))
        found.task = task
        return found.id

    def result(self, native: str, place: str) -> str | None:
        """The id of the call that a result is for, None if none waits for one.

        Args:
            native: the model's id of the call.
            place: namespace of the task that tells the result.
        """
        left = [call for call in self._of(native) if call.waits]
        # A node that carries several out tells their results in order.
        here = next((call for call in left if call.task == place), None)
        found = here or _first(left, _graph_of(place))
        return found.id if found is not None else None

    def answered(self, own: str) -> None:
        """Note that a call has its result."""
        if (call := self.call(own)) is not None:
            call.answered = True

    # --- once it stands ---

    def open(self, message: str | None, natives: Sequence[str], within: str) -> list[str]:
        """The ids of the calls of a message that have no result in a graph's state, in order.

        Args:
            message: id of the model's message.
            natives: the model's ids of these calls.
            within: namespace of the graph.
        """
        left = {native: self._standing(native, message, within) for native in set(natives)}
        # Of several calls of one id the first ones have the results.
        taken = {native: len(left[native]) - natives.count(native) for native in left}
        found = []
        for native in natives:
            place, calls = taken[native], left[native]
            taken[native] += 1
            call = calls[place] if 0 <= place < len(calls) else self._add(native, within)
            if message is not None and not call.ids:
                # No model of this run told it.
                call.ids = [message]
            found.append(call.id)
        return found

    def _standing(self, native: str, message: str | None, within: str) -> list[Call]:
        """The calls of a message."""
        same = self._of(native)
        there = [call for call in same if message in call.ids]
        if there:
            return there
        # Some providers change the message's id on the way.
        waiting = [call for call in same if call.waits]
        newest = _first(waiting, within)
        return [call for call in waiting if newest and call.message == newest.message]

    def settled(self, messages: Collection[str], but: Collection[str]) -> set[str]:
        """Ids of the calls whose results a graph's state has.

        Args:
            messages: ids of the messages in it.
            but: ids of the calls that have none.
        """
        return {
            call.id
            for call in self._calls
            if call.id not in but and not set(messages).isdisjoint(call.ids)
        }

    def call(self, own: str) -> Call | None:
        """The call of an id."""
        return next((call for call in self._calls if call.id == own), None)

    def _of(self, native: str) -> list[Call]:
        return [call for call in self._calls if call.native == native]

    def _add(self, native: str, within: str) -> Call:
        call = Call(self._new.new(native), native, within)
        self._calls.append(call)
        return call


def _graph_of(task: str) -> str:
    return task.rpartition("|")[0]


def _is_in(place: str, tasks: Collection[str]) -> bool:
    return any(part.rpartition(":")[2] in tasks for part in place.split("|"))


def _are_related(one: str, other: str) -> bool:
    """Whether two graphs are the same, or one works within the other."""
    return one.startswith(other) or other.startswith(one)


def _nearest(calls: Sequence[Call], within: str) -> list[Call]:
    """The calls of the graph itself; else of those around it, the next one first, or within it."""

    def distance(call: Call) -> tuple[int, int]:
        kind = 0 if within.startswith(call.within) else 1 if call.within.startswith(within) else 2
        return kind, -len(call.within)

    near = min(map(distance, calls), default=None)
    return [call for call in calls if distance(call) == near]


def _first(calls: Sequence[Call], within: str) -> Call | None:
    """The first call of the newest message among the nearest."""
    near = _nearest(calls, within)
    last = max((call.message for call in near), default=0)
    return next((call for call in near if call.message == last), None)
