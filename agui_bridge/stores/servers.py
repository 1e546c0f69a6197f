"""The servers that work on a store, the same for every backend: which version each one is.

Each notes itself now and then. A version from before this was noted notes nothing, but what it
writes lacks `ThreadRecord.format`: that is looked for in the newest records, and in those that are
loaded anyway.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.loaded import Loaded

UNNOTED: Final = 0
"""The format of records of versions that note nothing."""

KEPT_SECONDS: Final = 3600.0
"""For how long a server that does not note itself any more is kept."""

NEWEST: Final = 10
"""Records of each kind that a look reads: of threads that rest, and of those that wait."""

OWN_CHANNEL: Final = "+"
"""Begins the ids of servers that listen on a channel of their own."""

_KIND_ENDS: Final = "."
"""Behind the kind in the ids of servers that have one."""

BEGINNING: Final = 40
"""Characters of a record that tell its format."""


def server_id(kind: str, own: str) -> str:
    """The id under which a server notes itself.

    Args:
        kind: the same for all that can do the same work; empty if it shares none.
        own: random, of one process.
    """
    return f"{OWN_CHANNEL}{kind}{_KIND_ENDS}{own}" if kind else OWN_CHANNEL + own


@dataclass(frozen=True, slots=True)
class Server:
    """A server as it noted itself.

    Attributes:
        id: random, of one process; begins with `OWN_CHANNEL`.
        version: of its agui-bridge, such as `0.1.0`.
        format: the `RECORD_FORMAT` that it writes (`agui_bridge.protocol.threads.records`).
        channels: names of its channels.
        since: store time (seconds) at which it first noted itself.
        seen_at: store time (seconds) at which it last did.
    """

    id: str
    version: str
    format: int
    channels: tuple[str, ...] = ()
    since: float = 0.0
    seen_at: float = 0.0

    @property
    def hears_all(self) -> bool:
        """Whether it is of a version that hears only what is announced to all."""
        return not self.id.startswith(OWN_CHANNEL)

    @property
    def kind(self) -> str:
        """What stands for the servers that share its duties; empty if it shares none."""
        kind, ends, _ = self.id.partition(_KIND_ENDS)
        return kind if ends and not self.hears_all else ""


@dataclass(frozen=True, slots=True)
class Written:
    """A thread's record as it was found.

    Attributes:
        format: see `ThreadRecord.format`.
        at: store time (seconds) of its last commit.
    """

    format: int
    at: float


@dataclass(frozen=True, slots=True)
class Servers:
    """One look at who works on a store.

    Attributes:
        now: the store's time (seconds).
        noted: the servers that noted themselves, in no order.
        written: the newest records.
    """

    now: float
    noted: tuple[Server, ...]
    written: tuple[Written, ...]


class ServerStore(Protocol):
    """Where servers note themselves; a part of a `Store`, by whose clock its times are."""

    loaded: LoadedFormats

    async def note(self, server: Server) -> Servers:
        """Note a server, and forget those that have not noted themselves for `KEPT_SECONDS`.

        Args:
            server: its id, version, format and channels; the times are the store's.

        Returns:
            Who works on the store, with the records that were seen before (`look`).
        """
        ...

    async def look(self) -> Servers:
        """Who works on the store; looks for the newest records, in each shard there is."""
        ...

    async def forget(self, id: str) -> None:
        """Forget a server, which ends.

        Args:
            id: its own; one that is not noted is left alone.
        """
        ...


class LoadedFormats:
    """Remembers what one process saw: the newest record of such a version, and its last look."""

    def __init__(self) -> None:
        self._newest: Written | None = None
        self._looked: tuple[Written, ...] = ()
        self._found: tuple[float, Servers] | None = None

    def found(
        self, now: float, noted: Iterable[Server], written: Iterable[Written] | None = None
    ) -> Servers:
        """Remember who works on the store; gives it.

        Args:
            now: the store's time (seconds).
            noted: the servers that noted themselves.
            written: the newest records; None if they were not looked at.
        """
        if written is not None:
            self._looked = tuple(written)
        newest = () if self._newest is None else (self._newest,)
        servers = Servers(now, tuple(noted), (*self._looked, *newest))
        self._found = time.monotonic(), servers
        return servers

    def latest(self, seconds: float) -> Servers | None:
        """The last look, if it is not older than so many seconds."""
        if self._found is None or time.monotonic() - self._found[0] > seconds:
            return None
        return self._found[1]

    def saw(self, loaded: Loaded) -> None:
        """Look at a record that is in hand.

        Args:
            loaded: the thread.
        """
        record = loaded.record
        if record is None or record.format != UNNOTED:
            return
        if self._newest is None or record.updated_at > self._newest.at:
            self._newest = Written(record.format, record.updated_at)
