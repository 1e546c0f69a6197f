"""No scope keeps others waiting: slots, a queue by bytes, and heavy work in turns.

`ScopeSlots` bound how many runs, readers or stops of a scope there are; more are refused. A
`ScopeQueue` bounds what is in hand of one, in bytes or pieces; more waits. `HeavyTurns` has heavy
work done one stretch at a time, and everything else between two of them.

A stretch is what one input does at a go: its JSON is read, or validated, or compared with what is
stored, on the loop; or the store loads or writes its thread. The limits bound how long one takes
(docs/security.md); what many inputs do together is bounded here. Otherwise whoever has thirty of
them ready would have them done one after the other, while leases run out and nobody else is
answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, ParamSpec, TypeVar

from pydantic_core import to_json

from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.json_values import beyond
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import VALUE, StoredMessages
from agui_bridge.protocol.threads.records import Json

# --- how much of one scope is in hand at once: what comes beyond that waits ---

_NOTHING: Final = contextlib.nullcontext()


@dataclass(slots=True)
class _InHand:
    """What is in hand of one scope.

    Attributes:
        held: how much that is.
        waiting: the sizes of those that wait, first come first served.
    """

    held: int = 0
    waiting: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)


class ScopeQueue:
    """Counts what is in hand, by scope.

    Args:
        limit: how much may be of one scope; what is larger is taken when nothing else is in hand.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._scopes: dict[str, _InHand] = {}

    def hold(self, scope: str, size: int) -> AbstractAsyncContextManager[None]:
        """Hold something for the length of a block, once there is room for it.

        Args:
            scope: whose.
            size: how much it is; nothing never waits.
        """
        return self._hold(scope, size) if size else _NOTHING

    @contextlib.asynccontextmanager
    async def _hold(self, scope: str, size: int) -> AsyncIterator[None]:
        ours = self._scopes.setdefault(scope, _InHand())
        await self._take(scope, ours, size)
        try:
            yield
        finally:
            ours.held -= size
            self._let_in(scope, ours)

    async def _take(self, scope: str, ours: _InHand, size: int) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ours.waiting.append((size, mine))
        self._let_in(scope, ours)
        if mine.done():
            return
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                ours.waiting.remove((size, mine))
            else:
                ours.held -= size
            self._let_in(scope, ours)
            raise

    def _let_in(self, scope: str, ours: _InHand) -> None:
        while ours.waiting:
            size, first = ours.waiting[0]
            if first.cancelled():
                # It removes itself, and lets in who is behind it.
                break
            if ours.held and ours.held + size > self._limit:
                break
            ours.waiting.popleft()
            ours.held += size
            first.set_result(None)
        if not ours.held and not ours.waiting:
            # Scopes come and go: a name that is not in use takes no memory.
            self._scopes.pop(scope, None)


class ScopeSlots:
    """Counts what is under way, by scope.

    Args:
        limit: how much of one scope may be.
        what: what is counted, for the error.
    """

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._taken: Counter[str] = Counter()

    def take(self, scope: str) -> None:
        """Take a slot, which must be freed.

        Raises:
            Refused: TOO_MANY_RUNS; none was taken.
        """
        if self._taken[scope] >= self._limit:
            raise beyond(
                "TOO_MANY_RUNS",
                self._what,
                found=self._taken[scope] + 1,
                limit=self._limit,
                unit="at once",
                setting="max_runs_per_scope",
            )
        self._taken[scope] += 1

    def free(self, scope: str) -> None:
        """Give a slot back."""
        self._taken[scope] -= 1
        if not self._taken[scope]:
            # Scopes come and go: a name that is not in use takes no memory.
            del self._taken[scope]

    @contextlib.contextmanager
    def hold(self, scope: str) -> Iterator[None]:
        """Hold a slot for the length of a block.

        Raises:
            Refused: TOO_MANY_RUNS.
        """
        self.take(scope)
        try:
            yield
        finally:
            self.free(scope)

    def taken(self, scope: str) -> int:
        """How many are taken."""
        return self._taken.get(scope, 0)


# --- turns ---

P = ParamSpec("P")
T = TypeVar("T")

_SHORT: Final = 0.002
"""Seconds of a stretch that nobody notices: the next one follows at once."""

_LONGEST_REST: Final = 0.25
"""Seconds; up to these, heavy work has half of the time at most."""

_LONG: Final = 0.05
"""Seconds of a rest that needs all its rounds."""

_ROUNDS: Final = 8
"""Rounds of the loop in a long rest: a request takes four from its connection to its answer.

On a busy machine the time of a rest may be over before the loop has looked at anything.
"""


class _AtOnce:
    """The turn of what is not heavy."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        pass


_AT_ONCE: Final = _AtOnce()


class HeavyTurns:
    """Gives heavy work its turns: round robin over scopes, and a rest after each.

    The rest is as long as the stretch was, within bounds.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._taken = False
        self._rests_until = 0.0
        self._rounds = 0
        self._timer: asyncio.Handle | None = None

    def turn(self, scope: str, heavy: bool) -> AbstractAsyncContextManager[None]:
        """Wait for a turn, and have it for the length of a block.

        What is not heavy has it at once, and without a hop; so has what is, if nothing heavy was
        done just before.

        Args:
            scope: whose work it is.
            heavy: whether it may take noticeable time.
        """
        return self._turn(scope) if heavy else _AT_ONCE

    async def do(
        self, scope: str, heavy: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do a stretch of work in its turn.

        Args:
            scope: whose work it is.
            heavy: whether it may take noticeable time.
            work: does it.
            args: what it takes.
            kwargs: the same, by name.
        """
        if not heavy:
            return work(*args, **kwargs)
        async with self._turn(scope):
            return work(*args, **kwargs)

    @contextlib.asynccontextmanager
    async def _turn(self, scope: str) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        if self._taken or self._waiting or loop.time() < self._rests_until:
            await self._wait(loop, scope)
        self._taken = True
        began, collecting = loop.time(), gc.isenabled()
        # What a stretch makes is no garbage before its end, and to look through it, as the
        # collector would several times, takes longer than the stretch.
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            self._rest(loop, loop.time() - began)

    async def _wait(self, loop: asyncio.AbstractEventLoop, scope: str) -> None:
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(scope, deque()).append(mine)
        if self._timer is None and not self._taken:
            self._begin_rest(loop)
        try:
            await mine
        except asyncio.CancelledError:
            # One that waited is passed over; one that was given its turn hands it on.
            if not mine.cancelled():
                self._rest(loop, 0.0)
            raise

    def _rest(self, loop: asyncio.AbstractEventLoop, took: float) -> None:
        """Let everything else have its time, after a turn."""
        self._taken = False
        rest = min(took, _LONGEST_REST) if took > _SHORT else 0.0
        self._rests_until = loop.time() + rest
        self._rounds = math.ceil(_ROUNDS * min(1.0, rest / _LONG))
        if self._waiting:
            self._begin_rest(loop)

    def _begin_rest(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_at(self._rests_until, self._look_round, loop, self._rounds)

    def _look_round(self, loop: asyncio.AbstractEventLoop, rounds: int) -> None:
        """Let the loop go round some times, then give the next turn."""
        if rounds > 0:
            self._timer = loop.call_soon(self._look_round, loop, rounds - 1)
            return
        self._timer = None
        while self._waiting and not self._taken:
            # The scope that has waited longest for one; with more to do it waits again.
            scope, queue = self._waiting.popitem(last=False)
            mine = queue.popleft()
            if queue:
                self._waiting[scope] = queue
            if not mine.cancelled():
                mine.set_result(None)
                self._taken = True


_MESSAGES: Final = 1_000

_TEXT: Final = 512 * 1024
"""Characters that all messages may have before they take long."""

_ROOM: Final = 64 * 1024
"""Characters that a state may have before it takes long; a value takes as long as `VALUE`."""

_SCHEMA_TIMES_PAYLOAD: Final = 1_000_000
"""Bytes of a schema times those of a payload: each value may be looked at by each rule."""


def is_heavy_thread(loaded: Loaded, submission: Submission) -> bool:
    """Whether to compare an input with what is stored, or to show that, may take long."""
    return submission.heavy or is_long_thread(loaded)


def is_long_thread(loaded: Loaded) -> bool:
    """Whether to show what is stored may take long."""
    messages = StoredMessages.of(loaded.messages)
    if len(messages) > _MESSAGES or messages.size > _TEXT:
        return True
    return loaded.record is not None and is_large(loaded.record.state)


def are_long(messages: Sequence[Mapping[str, Json]], state: Json) -> bool:
    """Whether to show messages and a state may take long."""
    if len(messages) > _MESSAGES or is_large(state):
        return True
    room, parts = _TEXT, []
    for message in messages:
        for member in message.values():
            if isinstance(member, str):
                room -= len(member)
            else:
                parts.append(member)
    return room < 0 or is_large(parts, room)


def is_large(value: Json, room: int = _ROOM) -> bool:
    """Whether a value is one that takes long, found out without looking at all of it."""
    level = [value]
    while level:
        node = level.pop()
        room -= VALUE + (len(node) if isinstance(node, str) else 0)
        if isinstance(node, dict | list):
            room -= VALUE * len(node)
            if room >= 0:
                level.extend(node.values() if isinstance(node, dict) else node)
        if room < 0:
            return True
    return False


def are_heavy_answers(loaded: Loaded, entries: Iterable[Entry]) -> bool:
    """Whether to check answers against the schemas of their questions may take long."""
    work = 0
    for entry in entries:
        asked = loaded.interrupts.get(entry.interrupt_id)
        if asked is not None and asked.response_schema is not None:
            work += len(to_json(asked.response_schema)) * len(to_json(entry.answer.payload))
    return work > _SCHEMA_TIMES_PAYLOAD
