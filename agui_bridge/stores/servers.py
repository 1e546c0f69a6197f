"""The servers that work on a store, the same for every backend: which version each one is.

Each notes itself now and then. A version from before this was noted notes nothing, but what it
writes lacks `ThreadRecord.format`: that is looked for in the newest records, and in those that are
loaded anyway.
"""

from __future__ import annotations

from typing import Final, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.loaded import Loaded

__all__ = [
    "BEGINNING",
    "KEPT_SECONDS",
    "NEWEST",
    "UNNOTED",
    "LoadedFormats",
    "Server",
    "ServerStore",
    "Servers",
    "Written",
]

UNNOTED: Final = 0
"""The format of records of versions that note nothing."""

KEPT_SECONDS: Final = 3600.0
"""For how long a server that does not note itself any more is kept."""

NEWEST: Final = 10
"""Records of each kind that a look reads: of threads that rest, and of those that wait."""

BEGINNING: Final = 40
"""Characters of a record that tell its format."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server as it noted itself.

    Attributes:
        id: random, of one process.
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

    async def note(self, server: Server) -> None:
        """Note a server, and forget those that have not noted themselves for `KEPT_SECONDS`.

        Args:
            server: its id, version, format and channels; the times are the store's.
        """
        ...

    async def look(self) -> Servers:
        """Who works on the store."""
        ...

    async def forget(self, id: str) -> None:
        """Forget a server, which ends.

        Args:
            id: its own; one that is not noted is left alone.
        """
        ...


class LoadedFormats:
    """Remembers of the records that one process loads the newest of such a version."""

    def __init__(self) -> None:
        self._newest: Written | None = None

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

    @property
    def written(self) -> tuple[Written, ...]:
        """That record, if there was one."""
        return () if self._newest is None else (self._newest,)
