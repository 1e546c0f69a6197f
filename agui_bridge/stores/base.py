"""The store contract, the same for every backend.

A store keeps threads, their messages, interrupts and receipts. `commit` is a compare-and-swap
and decides which of two simultaneous inputs wins, in one process or in many. Ids come in as
arguments; time comes out of the store and is the only clock for leases and expiry.

Every backend passes the one shared suite in tests/stores.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Literal, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    StopRequest,
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores.decisions import AuditStore, GrantStore
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState, DeliveryStore
from agui_bridge.stores.servers import ServerStore

__all__ = [
    "ABSENT",
    "EVERY_QUESTION",
    "Asked",
    "AuditStore",
    "Change",
    "Committed",
    "Delivery",
    "DeliveryState",
    "DeliveryStore",
    "Due",
    "Expected",
    "GrantStore",
    "Interrupt",
    "InterruptRow",
    "InterruptStatus",
    "Loaded",
    "Place",
    "QuestionFilter",
    "Renewed",
    "ServerStore",
    "StopRequest",
    "Store",
    "StoredMessage",
    "ThreadKey",
    "ThreadRecord",
    "ThreadRow",
]


@dataclass(frozen=True, slots=True)
class Expected:
    """What must hold for a commit to be taken.

    Attributes:
        version: the thread's version as it was loaded.
        lease: token of the lease, for the writes of a running thread's owner. The thread must
            be running under it and the lease must not be over by the store's clock.
        after: with `lease`, the write id of the owner's last write. Where another one is stored,
            the store has lost writes in a failover: nobody else writes to a running thread.

    Without either the thread must not exist.
    """

    version: int | None = None
    lease: str | None = None
    after: str | None = None


ABSENT = Expected()
"""The thread must not exist yet."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A taken commit.

    Attributes:
        record: as it is stored now.
        now: the store's time.
    """

    record: ThreadRecord
    now: float


@dataclass(frozen=True, slots=True)
class Renewed:
    """What became of leases that were to be renewed.

    Attributes:
        tokens: of those that hold on; the others are over, or another's.
        now: the store's time.
    """

    tokens: frozenset[str]
    now: float


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread in a list.

    Attributes:
        record: the thread's.
        messages: how many are in context.
        open_interrupts: how many are open and have not expired.
    """

    record: ThreadRecord
    messages: int
    open_interrupts: int


@dataclass(frozen=True, slots=True)
class QuestionFilter:
    """Which of a scope's interrupts are meant.

    Attributes:
        agent: its name; None is any.
        tool: name of the tool whose call is asked about; None is any, and none.
        thread: its id; None is any.
        status: with OPEN those that have expired by the store's clock are left out; None is any.
    """

    agent: str | None = None
    tool: str | None = None
    thread: str | None = None
    status: InterruptStatus | None = None

    @property
    def waits(self) -> bool:
        """Whether only those are meant that wait for an answer, and have not expired."""
        return self.status is InterruptStatus.OPEN


EVERY_QUESTION = QuestionFilter()
"""All interrupts of a scope."""

Place = tuple[float, str, str, int, str]
"""A place in the list of a scope's interrupts: when it was raised, agent, thread, position, id."""


@dataclass(frozen=True, slots=True)
class InterruptRow:
    """An interrupt in a list.

    Attributes:
        key: the thread that raised it.
        interrupt: as it is stored.
        raised_at: store time (seconds) of its first commit.
    """

    key: ThreadKey
    interrupt: Interrupt
    raised_at: float

    @property
    def place(self) -> Place:
        """Where it stands in the list of its scope."""
        ask = self.interrupt
        return self.raised_at, self.key.agent, self.key.thread, ask.position, ask.id


@dataclass(frozen=True, slots=True)
class Due:
    """A thread that the sweeper should look at.

    Attributes:
        key: the thread.
        reason: its lease is over; or its every ask has expired, or it does nothing and a look after
            work that it has left is due.
    """

    key: ThreadKey
    reason: Literal["lease", "expiry"]


class Store(Protocol):
    """Where threads live.

    Every method may raise `StoreUnavailable`; then it is unknown whether a write arrived, and
    repeating it with the same `write_id` is safe. `WritesRefused` says that the store can still be
    read, `NotReplicated` that it has the write, but not yet where a failover would look for it.
    A call that is cancelled takes place whole or not at all, possibly later than the
    cancellation, and leaves the store usable.
    """

    @property
    def process(self) -> str:
        """What names this process to the others that share the store, in the leases that it takes.

        Empty where none hears of another one. See `stores/announcements.py`.
        """
        ...

    @property
    def audit(self) -> AuditStore:
        """The rows of the audit chain."""
        ...

    @property
    def grants(self) -> GrantStore:
        """The decisions that are remembered."""
        ...

    @property
    def deliveries(self) -> DeliveryStore:
        """What is to be told to people about the questions in it."""
        ...

    @property
    def servers(self) -> ServerStore:
        """The servers that work on it."""
        ...

    async def load(
        self,
        key: ThreadKey,
        interrupt_ids: Sequence[str] = (),
        *,
        messages: bool = False,
        receipt: str | None = None,
    ) -> Loaded:
        """Take one consistent look at a thread.

        If its lease ends too late, since the clock has been set back, that is noted of it.

        Args:
            key: the thread.
            interrupt_ids: interrupts of this thread to bring along, each with its whole batch
                and that batch's receipt; unknown ids are left out.
            messages: whether to bring the messages in context.
            receipt: key of an input's receipt to bring along, if there is one.
        """
        ...

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change whole, or not at all.

        What is written: the record (all but `stop`, `version`, `write_id`, `created_at`,
        `updated_at`, which are the store's own: version becomes `change.record.version` for a
        new thread, else one more than stored), the interrupts, receipts and messages by their
        ids (a message that is written is in context, also if it had been superseded), and the
        ids in `superseded` leave the context. With `change.lease_seconds` the lease ends that
        many seconds after the store's now. The thread is that of `key`, whatever the record
        says. A new version is 2**62 at most, a position below 2**63.

        Returns:
            The record as stored. When the stored record already carries `write_id`, nothing
            is written and the stored record is returned: the earlier try had succeeded. Where
            the store waits for replicas, it writes once more and waits for that: to find a
            write tells nothing of where else it is.

        Raises:
            Conflict: the thread is not as expected (or is missing); nothing is written.
            Fenced: with `expected.lease`, the lease is over or another's, or the thread is
                gone; nothing is written.
            WritesLost: with `expected.after`, the last write under the lease is another one;
                nothing is written.
            ValueError, TypeError: a value is not JSON; nothing is written.
        """
        ...

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        """Have leases end `seconds` after the store's now, those that hold.

        Each is judged by itself, as the guard of a commit that names it. A thread whose lease is
        renewed gets a new version; `write_id` and `updated_at` stay: nothing was written to it.

        Args:
            leases: the threads, by the tokens of their leases.
            seconds: how long they are to hold.
        """
        ...

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        """Keep a message that a run is still saying, as far as it has come, beside the thread.

        It is no message of the thread: nobody is woken and no version changes. It takes the place
        of what was kept before, and goes with a commit that says so (`Change.drops_words`) and
        with the thread.

        Args:
            key: the thread.
            lease: token of the run's lease.
            said: the message.

        Returns:
            Whether the lease holds; if not, nothing is written.

        Raises:
            ValueError, TypeError: the message is not JSON; nothing is written.
        """
        ...

    async def words(self, key: ThreadKey) -> StoredMessage | None:
        """What `keep_words` has kept of the run that the thread runs, its lease over or not.

        Args:
            key: the thread; one that runs nothing has none.
        """
        ...

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Write a stop request beside the record, changing no version.

        A request for the same token that is stored already is sharpened: force or-ed, the
        sooner `until` kept; one that makes force new replaces it. A request for another token
        never displaces one for the run of now.

        Args:
            key: the thread.
            stop: what is asked, and of which run.

        Returns:
            The record, None when there is none.
        """
        ...

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """The stop requests for runs with these lease tokens, of all scopes.

        Args:
            tokens: of leases; those that nobody asked to stop have none.
        """
        ...

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """List an agent's threads, last touched first, those touched before `before`.

        Args:
            scope: whose.
            agent: its name.
            limit: as many at most.
            before: only those touched before this store time (seconds); None is all.
        """
        ...

    async def list_interrupts(
        self,
        scope: str,
        which: QuestionFilter = EVERY_QUESTION,
        *,
        after: Place | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """List a scope's interrupts, oldest first.

        Args:
            scope: whose.
            which: of these.
            after: only those behind this place, whether or not anything stands there now.
            limit: as many at most.
        """
        ...

    async def count_interrupts(
        self, scope: str, which: QuestionFilter = EVERY_QUESTION, *, most: int | None = None
    ) -> int:
        """How many `list_interrupts` would list of a scope's.

        Args:
            scope: whose.
            which: of these.
            most: counts no further than this, so that it costs no more; None is all.
        """
        ...

    async def history(
        self, key: ThreadKey, *, before: int | None = None, most_bytes: int | None = None
    ) -> list[StoredMessage]:
        """The messages of a thread in order, the superseded ones included.

        A thread may hold more than this process: who does not know how much asks for a page.

        Args:
            key: the thread; one that does not exist has none.
            before: only those at positions below this one; None is all.
            most_bytes: only as many of the last of these as take so many bytes in the store, one
                at least; None is all.
        """
        ...

    async def positions(self, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
        """Positions of messages of a thread by their ids, superseded ones included.

        Args:
            key: the thread; one that does not exist has none.
            ids: of messages; those that the thread lacks are left out.
        """
        ...

    async def due(self, limit: int = 100) -> list[Due]:
        """Threads of all scopes whose lease is over, or whose every ask has expired.

        A lease is over at its end. One that was given later than now, since the clock has been
        set back, is over too if it is not renewed for as long as it was to hold, from when this
        or `load` first saw it: see `LeaseTerm`. Many are noted `limit` at a time.

        Args:
            limit: as many at most.
        """
        ...

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """Delete a thread with all its rows.

        Args:
            key: the thread.
            expected: what must hold of it.

        Raises:
            Conflict: it is missing or not as expected.
        """
        ...

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete idle threads not touched for `older_than` seconds or more; gives how many.

        The longest untouched go first. What runs or waits for an answer stays, however old it
        is.

        Args:
            older_than: seconds.
            limit: as many at most.
            dry_run: delete nothing, and give how many would be.
        """
        ...

    async def ping(self) -> float:
        """The store's time, after a write that touches no thread: one row or key of its own.

        It waits for replicas as a commit does. What was written before is replicated, too, then.

        Raises:
            WritesRefused: it answers, and takes no writes.
            StoreUnavailable: it does not answer.
        """
        ...

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """Yield whenever the thread may have changed; only a hint, and it polls beneath.

        The first item comes at once; never less often than once a second thereafter.

        Args:
            key: the thread.
        """
        ...

    def watch_stops(self) -> AsyncGenerator[None, None]:
        """Yield whenever anybody may have been asked to stop; only a hint, and it may be lost.

        The first item comes at once; never less often than once a second thereafter. Stores that
        can only look (SQLite) do so while the next item is awaited, and at no other time.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; the store can't be used afterwards."""
        ...
