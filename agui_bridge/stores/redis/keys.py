"""The names of keys in Redis, and in which shard a thread lives.

All keys of a thread, and all indexes that speak of it, carry the hash tag of its shard: on a
cluster they lie in one slot, and one script writes them all or none. Ids are percent-encoded,
so that none can forge another's key or hash tag: `/`, `:`, spaces, `{` and `}` are ours alone.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from urllib.parse import quote as percent_encode
from urllib.parse import unquote as percent_decode

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey

__all__ = ["Keys", "key_of", "quote", "tag_of", "unquote"]


@lru_cache(maxsize=1024)
def quote(text: str) -> str:
    """Any text as ASCII letters, digits, `%`, `-`, `.`, `_` and `~`."""
    return percent_encode(text, safe="", errors="surrogatepass")


def unquote(text: str) -> str:
    """The text that `quote` was given."""
    return percent_decode(text, errors="surrogatepass")


def tag_of(key: ThreadKey) -> str:
    """A thread's name within Redis."""
    return f"{quote(key.scope)}/{quote(key.agent)}/{quote(key.thread)}"


def key_of(tag: str) -> ThreadKey:
    """The thread of a name."""
    return ThreadKey(*map(unquote, tag.split("/")))


@dataclass(frozen=True, slots=True)
class Keys:
    """The layout of one store.

    Attributes:
        prefix: begins every key.
        shards: into how many hash slots threads are spread; fixed when the store is made.
    """

    prefix: str
    shards: int

    @property
    def channel(self) -> str:
        """Where changes are announced."""
        return f"{self.prefix}:changes"

    def bases(self) -> list[str]:
        """The beginnings of the keys of each shard."""
        return [self.base(number) for number in range(self.shards)]

    def of_shards(self) -> list[tuple[str, str]]:
        """The keys that a script about a whole shard is given.

        Two, because a cluster that moves a slot refuses what has several keys there until it is
        done; with one it would answer with what has arrived already.
        """
        return [_of_shard(base) for base in self.bases()]

    def shard_of(self, tag: str) -> tuple[str, str]:
        """The keys that a script about the whole shard of a thread is given."""
        return _of_shard(self.of(tag)[1])

    def base(self, shard: int) -> str:
        """The beginning of the keys of a shard, with its hash tag."""
        return f"{self.prefix}:{{{shard}}}"

    def of(self, tag: str) -> tuple[str, str]:
        """The keys that a script about one thread is given: its record's, its shard's base.

        The scripts derive the others from these by a suffix.
        """
        base = self.base(zlib.crc32(tag.encode("ascii")) % self.shards)
        return f"{base}:t:{tag}", base

    @staticmethod
    def threads(base: str, scope: str, agent: str) -> str:
        """The index of an agent's threads in a shard."""
        return f"{base}:threads:{quote(scope)}/{quote(agent)}"

    @staticmethod
    def interrupts(
        scope: str, agent: str | None, thread: str | None, status: InterruptStatus | None
    ) -> str:
        """The smallest index with all the interrupts that are looked for, after the base."""
        name = f":asks:{quote(scope)}"
        if thread is not None:
            return f"{name}//{quote(thread)}"
        if agent is not None:
            name = f"{name}/{quote(agent)}"
        return name if status is None else f"{name}:{status.value}"


def _of_shard(base: str) -> tuple[str, str]:
    return base, f"{base}:idle"
