"""What one run knows of the calls made before, and what it adds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from agui_bridge.agents.replay.call_order import Place
from agui_bridge.agents.replay.continuation import EntryKey, Outcome
from agui_bridge.errors import AgentMistake, AmbiguousKey, ReplayMismatch
from agui_bridge.protocol.json_values import canonical, clean
from agui_bridge.protocol.threads.records import Json

__all__ = ["DEEPEST", "Journal", "YieldCount", "copied", "fingerprint", "jsonable"]

DEEPEST = 80
"""How deep a value may nest: what is stored ends at 100, and a continuation adds its own levels."""

_LONGEST_ARGS = 120
_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


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
        self._latest: dict[EntryKey, tuple[int, Place]] = {}
        self._visited: set[EntryKey] = set()

    @property
    def replaying(self) -> bool:
        """Whether recalled calls are still to come."""
        return bool(self._unvisited)

    @property
    def leading(self) -> int:
        """How many of the recalled entries were visited, up to the first that was not."""
        order = self._order
        while self._leading < len(order) and order[self._leading] not in self._unvisited:
            self._leading += 1
        return self._leading

    def number(self, call: EntryKey, place: Place) -> EntryKey:
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


def jsonable(what: str, value: Any) -> Json:
    """Turn a value into the JSON that the journal returns on every replay.

    Raises:
        AgentMistake: the value, or a part of it, has no JSON form, or it nests deeper than
            DEEPEST levels.
    """
    if value is None or type(value) in (str, int, bool):
        return clean(value)
    try:
        _ANYTHING.dump_python(value, mode="json")
    except ValueError as error:
        raise AgentMistake(
            f"{what} has no JSON form: {error} Pass plain data, and what it needs besides "
            "(clients, connections) through a closure or functools.partial."
        ) from None
    # What `clean` cuts off lies deeper still, so that nothing is cut off silently.
    cleaned = clean(value)
    if _nests_deeper(cleaned, DEEPEST):
        raise AgentMistake(
            f"{what} nests deeper than {DEEPEST} levels, which is more than the journal keeps. "
            "Pass a flatter value, or its JSON text."
        )
    return copied(cleaned)


def _nests_deeper(value: Json, levels: int) -> bool:
    inner = [value] if isinstance(value, dict | list) else []
    while inner and levels >= 0:
        levels -= 1
        inner = [
            child
            for node in inner
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
    return levels < 0


def copied(value: Json) -> Json:
    """Copy JSON, so that nobody's later changes reach the journal."""
    if value is None or isinstance(value, str | int | float):
        return value
    return json.loads(json.dumps(value))
