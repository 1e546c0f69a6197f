"""Records as the arguments of scripts, and their replies as records."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import islice
from typing import Any
from urllib.parse import quote as percent_encode, unquote as percent_decode

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.record_parts import LeaseTerm
from agui_bridge.protocol.threads.records import (
    RECORD_FORMAT,
    Interrupt,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores import codec
from agui_bridge.stores.base import Change, Committed, Expected, InterruptRow, Place, QuestionFilter
from agui_bridge.stores.commit_rules import Head, term_written, with_term

# --- the names of keys in Redis, and in which shard a thread lives ---
#
# All keys of a thread, and all indexes that speak of it, carry the hash tag of its shard: on a
# cluster they lie in one slot, and one script writes them all or none. Ids are percent-encoded,
# so that none can forge another's key or hash tag: `/`, `:`, spaces, `{` and `}` are ours alone.


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
        """Where the version before announces all changes, and every process listens."""
        return f"{self.prefix}:changes"

    def channel_of(self, process: str) -> str:
        """Where one process listens; where all do, for no name."""
        return f"{self.channel}:{process}" if process else self.channel

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
    def interrupts(scope: str, which: QuestionFilter) -> str:
        """The smallest index with all the interrupts that are looked for, after the base."""
        name = f":asks:{quote(scope)}"
        if which.thread is not None:
            return f"{name}//{quote(which.thread)}"
        if which.agent is not None:
            name = f"{name}/{quote(which.agent)}"
        return name if which.status is None else f"{name}:{which.status.value}"


def _of_shard(base: str) -> tuple[str, str]:
    return base, f"{base}:idle"


# --- the rows under them ---

Reply = Sequence[Any]

NEVER = "inf"
"""The expiry of an interrupt that does not expire; sorts after all others."""


@dataclass(frozen=True, slots=True)
class Write:
    """One commit: what the script is given, and what its reply means.

    Attributes:
        data: the record's text.
    """

    key: ThreadKey
    change: Change
    write_id: str
    data: str

    @classmethod
    def of(cls, key: ThreadKey, change: Change, write_id: str) -> Write:
        """Encode the record.

        Raises:
            ValueError, TypeError: it is not JSON.
        """
        return cls(key, change, write_id, codec.encode_thread(change.record))

    def arguments(self, tag: str, clock: str, expected: Expected, *, waits: bool) -> list[str]:
        """The script's arguments.

        Args:
            tag: the thread's.
            clock: the store's time, empty for the server's own.
            expected: the guard.
            waits: whether WAIT follows on the same connection.

        Raises:
            ValueError, TypeError: a value is not JSON.
        """
        change, record = self.change, self.change.record
        term = term_written(record)
        arguments = [
            clock,
            tag,
            quote(self.write_id),
            *guard_arguments(expected),
            _time(change.not_after),
            "1" if waits else "",
            str(record.version),
            record.status.value,
            _marked(Head.of(record).lease),
            _time(term.ends_at if term else None),
            _time(term.given_at if term else None),
            _time(term.doubted_until if term else None),
            _time(change.lease_seconds),
            _marked(record.batch.id if record.batch else None),
            _time(record.look_at),
            self.data,
            str(len(change.interrupts)),
        ]
        for ask in change.interrupts:
            arguments += (
                quote(ask.id),
                quote(ask.batch),
                f"{ask.position:010d}",
                ask.status.value,
                _time(ask.expires_at) or NEVER,
                codec.encode_interrupt(ask),
            )
        arguments.append(str(len(change.receipts)))
        for receipt in change.receipts:
            arguments += (quote(receipt.batch), codec.encode_receipt(receipt))
        arguments.append(str(len(change.messages)))
        for message in change.messages:
            arguments += (quote(message.id), message_text(message))
        arguments.append(str(len(change.superseded)))
        arguments += map(quote, change.superseded)
        arguments.append(str(len(change.audit)))
        for row in change.audit:
            arguments += (quote(row.id), f"{_time(row.written_at)} {row.data}")
        arguments.append("1" if change.drops_words else "")
        return arguments

    def done(self, reply: Reply) -> Committed:
        """What a taken commit made of the record; what is in it is the change's own."""
        _, time, version, created, ends, given, doubted, stop = reply
        record = replace(
            with_term(self.change.record, _term(ends, given, doubted)),
            key=self.key,
            version=int(version),
            stop=read_stop(stop),
            write_id=self.write_id,
            created_at=float(created),
            updated_at=float(time),
            format=RECORD_FORMAT,
        )
        return Committed(record, float(time))


def guard_arguments(expected: Expected) -> tuple[str, str, str]:
    """A guard as the scripts take it."""
    version = "" if expected.version is None else str(expected.version)
    after = "" if expected.after is None else quote(expected.after)
    return version, _marked(expected.lease), after


def lease_argument(token: str) -> str:
    """A lease's token as it is stored."""
    return _marked(token)


def read_lease(text: str) -> str:
    """The token that `lease_argument` was given."""
    return unquote(text[1:])


def read_head(reply: Reply) -> Head | None:
    """The head of a thread, from the fields HEAD of the scripts."""
    version, write_id, created, _updated, _status, lease, ends, stop, _batch, *more = reply
    if version is None:
        return None
    return Head(
        version=int(version),
        write_id=unquote(write_id),
        created_at=float(created),
        lease=read_lease(lease) if lease else None,
        term=LeaseTerm(float(ends), *map(_read_time, more)) if lease else None,
        stop=read_stop(stop),
    )


def read_record(reply: Reply, key: ThreadKey) -> ThreadRecord:
    """A record, from the fields HEAD and its data."""
    version, write_id, created, updated, status, _lease, ends, stop, _batch, *more = reply
    given, doubted, data = more
    record = replace(codec.decode_thread(data, key), status=ThreadStatus(status))
    return replace(
        with_term(record, _term(ends, given, doubted)),
        version=int(version),
        stop=read_stop(stop),
        write_id=unquote(write_id),
        created_at=float(created),
        updated_at=float(updated),
    )


def read_interrupt(row: str) -> Interrupt:
    """An interrupt, from its row."""
    return codec.decode_interrupt(row[row.index("\n") + 1 :])


def read_listed(key: ThreadKey, row: str) -> InterruptRow:
    """An interrupt in a list, from its row."""
    return InterruptRow(key, read_interrupt(row), float(row.partition(" ")[0]))


def filter_arguments(scope: str, which: QuestionFilter) -> tuple[str, ...]:
    """The filters of a list of interrupts as the scripts take them."""
    return (
        quote(scope),
        _marked(which.agent),
        "" if which.status is None else which.status.value,
        "" if which.tool is None else codec.encode(which.tool),
    )


def member_of(place: Place) -> str:
    """The member of the indexes that stands at a place."""
    _, agent, thread, position, id = place
    return f"{quote(agent)} {quote(thread)} {position:010d} {quote(id)}"


def place_of(member: str, raised: str) -> Place:
    """The place of a member of the indexes, by its time."""
    agent, thread, position, id = member.split(" ")
    return float(raised), unquote(agent), unquote(thread), int(position), unquote(id)


def read_message(text: str) -> StoredMessage:
    """A message, from its row."""
    return StoredMessage(*codec.decode(text))


def message_text(message: StoredMessage) -> str:
    """A message as it is stored."""
    return codec.encode([message.id, message.position, message.message])


def read_messages(rows: Sequence[str]) -> list[StoredMessage]:
    """Messages in their order, from their rows in any."""
    return sorted(map(read_message, rows), key=lambda message: (message.position, message.id))


def stop_text(stop: StopRequest) -> str:
    """A stop request as it is stored."""
    return f"{quote(stop.token)} {stop.force:d} {_time(stop.until)} {quote(stop.actor)}"


def read_stop(text: str | None) -> StopRequest | None:
    """What `stop_text` wrote."""
    if text is None:
        return None
    token, force, until, actor = text.split(" ")
    return StopRequest(unquote(token), force == "1", float(until), unquote(actor))


def read_stop_member(member: str) -> StopRequest:
    """A stop request, from a member of the index of all of them: it names the thread, too."""
    token, _tag, *rest = member.split(" ")
    stop = read_stop(" ".join((token, *rest)))
    assert stop is not None
    return stop


def first_of(limit: int, ranges: Sequence[Sequence[str]]) -> list[str]:
    """The names with the least scores of several ranges, each of names and scores in turns."""
    sorted_ranges: list[Iterator[tuple[float, str]]] = [
        ((float(score), name) for name, score in zip(some[::2], some[1::2], strict=True))
        for some in ranges
    ]
    found: Any = islice(merge(*sorted_ranges), max(limit, 0))
    return [name for _, name in found]


def _term(ends: str, given: str | None, doubted: str | None) -> LeaseTerm | None:
    """The times of a lease as the script set them; None where there is none."""
    return LeaseTerm(float(ends), _read_time(given), _read_time(doubted)) if ends else None


def _time(seconds: float | None) -> str:
    return "" if seconds is None else repr(float(seconds))


def _read_time(text: str | None) -> float | None:
    """What `_time` wrote; an older version has written nothing."""
    return float(text) if text else None


def _marked(id: str | None) -> str:
    """An id that is told apart from none, also when it is empty."""
    return "" if id is None else f"={quote(id)}"
