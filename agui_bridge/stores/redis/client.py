"""The connections to Redis: scripts by their digest, a limit in time, errors that say little.

A script that the server does not know (it was restarted, or its scripts were flushed) is sent
whole, and what met a broken connection is tried once more on another one, unless it is a deletion.
All else is for the engine, which tries again with the same write id. What an error of redis-py
says is never passed on: it may quote commands, and they hold payloads and credentials.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final, NoReturn, TypeVar

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ConnectionError as RedisConnectionError,
    MaxConnectionsError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TimeoutError as RedisTimeoutError,
)

from agui_bridge.errors import NotReplicated, StoreUnavailable, WritesRefused
from agui_bridge.event_loops import PerLoop
from agui_bridge.frozen import replace
from agui_bridge.stores.opening import ConnectionCut
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.connections import Cluster, Link, Server, single
from agui_bridge.stores.redis.scripts.lua import Script

logger: Final = logging.getLogger("agui_bridge")

T = TypeVar("T")

PASSED_ON = ("ERR", "NOPERM")
"""Refusals of a plain command that its caller knows what to make of."""

FOR_THE_OPERATOR = {
    "OOM": "Redis is out of memory and takes no writes: raise maxmemory, or prune threads",
    "MISCONF": "Redis takes no writes because it can't save them: look at its log and its disk",
    "NOPERM": "the Redis user may not do what the store needs (see the documentation)",
    "NOAUTH": "Redis asks for a password",
    "WRONGPASS": "Redis refuses the user or password",
    "NOREPLICAS": "Redis takes no writes because it has too few replicas",
}
"""Answers that do not go away by waiting, by their first word."""

NO_WRITES = ("READONLY", "OOM", "MISCONF", "NOREPLICAS")
"""Answers of a server that still reads, by their first word."""


class _Here:
    """The connections of one event loop, and what is under way on them."""

    def __init__(self, address: Address) -> None:
        self.under_way = 0
        self.all_done = asyncio.Event()
        # The blocking pool of redis-py 5.0 locks itself out when a connection can't be made.
        self.free = asyncio.Semaphore(address.connections)
        self.link: Link = Cluster(address) if address.cluster else Server(address)
        self._seconds = address.timeout

    async def aclose(self) -> None:
        try:
            # A call that is cut off connects once more, and nobody would close that connection.
            if self.under_way:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._seconds):
                        await self.all_done.wait()
        finally:
            await self.link.aclose()


class Client:
    """Runs commands and scripts on one server, or on a cluster."""

    def __init__(self, address: Address) -> None:
        """Connect to nothing yet."""
        self.address = address
        self._closed = False
        self._here: PerLoop[_Here] = PerLoop(lambda: _Here(address), _Here.aclose)

    async def run(self, script: Script, keys: Sequence[str], *arguments: object) -> Any:
        """Run one script and give its reply.

        Raises:
            StoreUnavailable: no answer came, or none that helps.
        """
        return await self._within_time(
            lambda: self._evaluate(script, keys, arguments), again=script.repeatable
        )

    async def run_and_wait(self, script: Script, keys: Sequence[str], *arguments: object) -> Any:
        """The same, and raise unless enough replicas have all that this connection wrote."""
        address = self.address
        if not address.wait:
            return await self.run(script, keys, *arguments)

        async def body() -> Any:
            # WAIT speaks of its own connection: both go on one.
            wait = ("WAIT", address.wait, round(address.wait_timeout * 1000))
            for known in (True, False):
                call = _call(script, keys, arguments, known=known)
                reply, reached = await self._link.each([call, wait])
                if not (known and isinstance(reply, NoScriptError)):
                    break
            for result in (reply, reached):
                if isinstance(result, Exception):
                    raise result
            if reached < address.wait:
                raise NotReplicated(
                    f"{reached} of {address.wait} replicas of Redis have the write: whether it "
                    "outlives a failover is unknown"
                )
            return reply

        return await self._within_time(body)

    async def run_each(self, script: Script, calls: Sequence[Sequence[Any]]) -> list[Any]:
        """Run a script once for each item, its keys first; the replies in the same order."""
        if self.address.cluster or len(calls) < 2:
            return [
                reply
                for at in range(0, len(calls), self.address.connections)
                for reply in await asyncio.gather(
                    *(
                        self.run(script, keys, *arguments)
                        for keys, *arguments in calls[at : at + self.address.connections]
                    )
                )
            ]

        async def body() -> list[Any]:
            replies = await self._link.each(
                [_call(script, keys, arguments, known=True) for keys, *arguments in calls]
            )
            for at, reply in enumerate(replies):
                if isinstance(reply, NoScriptError):
                    keys, *arguments = calls[at]
                    replies[at] = await self._evaluate(script, keys, arguments)
                elif isinstance(reply, Exception):
                    raise reply
            return replies

        return await self._within_time(body)

    async def command(self, *words: object, **options: Any) -> Any:
        """Run one command.

        Raises:
            ResponseError: the server knows no such command, or forbids it.
            StoreUnavailable: no answer came, or none that helps.
        """

        async def body() -> Any:
            return await self._link.call(words, **options)

        return await self._within_time(body, PASSED_ON)

    async def servers(self) -> list[dict[str, Any]]:
        """Give what `INFO` says of every server that takes writes.

        Raises:
            ResponseError: the user may not ask.
            StoreUnavailable: no answer came.
        """
        link = self._link
        if not isinstance(link, Cluster):
            return [await self.command("INFO")]
        nodes = await self._within_time(link.primaries)
        return [await self.command("INFO", target_nodes=node) for node in nodes]

    async def one_on_each(self, keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Of keys of scripts, the first on each server that takes writes.

        Raises:
            StoreUnavailable: no answer came.
        """
        link = self._link
        if not isinstance(link, Cluster):
            return list(keys[:1])

        async def body() -> list[tuple[str, str]]:
            places = {await link.place_of(some[0]): some for some in reversed(keys)}
            return list(places.values())

        return await self._within_time(body)

    async def listener(self, channel: str) -> Any:
        """A connection of its own to listen on; of a cluster, to the server that has the channel.

        Raises:
            RedisError, OSError: it can't be made.
        """
        link, address = self._link, self.address
        if isinstance(link, Cluster):
            host, port = await link.place_of(channel)
            address = replace(address, host=host, port=port)
        redis = single(address, connections=1, socket_timeout=address.timeout)
        pool: Any = redis.connection_pool
        connection: Any = pool.make_connection()
        await connection.connect()
        return connection

    async def aclose(self) -> None:
        """Wait for what is under way, as long as a call may take, then close all connections."""
        self._closed = True
        await self._here.aclose()

    @property
    def _link(self) -> Link:
        return self._here.get().link

    async def _evaluate(self, script: Script, keys: Sequence[str], arguments: Any) -> Any:
        try:
            return await self._link.call(_call(script, keys, arguments, known=True))
        except NoScriptError:
            return await self._link.call(_call(script, keys, arguments, known=False))

    async def _within_time(
        self,
        body: Callable[[], Awaitable[T]],
        passed_on: Collection[str] = (),
        *,
        again: bool = True,
    ) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        here, task = self._here.get(), asyncio.current_task()
        # A task that was cancelled may still have something to write before it ends.
        cancelled_before = task.cancelling() if task is not None else 0
        here.under_way += 1
        try:
            async with asyncio.timeout(self.address.timeout), here.free:
                try:
                    return await body()
                except (RedisConnectionError, OSError) as error:
                    # A server that was restarted leaves broken connections in the pool.
                    if not again or type(error) in (BusyLoadingError, MaxConnectionsError):
                        raise
                    # Older versions of redis-py turn a cancellation, which is also how the time
                    # limit ends a call, into a broken connection.
                    if task is None or task.cancelling() > cancelled_before:
                        raise
                return await body()
        except (RedisError, RedisClusterException, OSError, TimeoutError) as error:
            if task is not None and task.cancelling() > cancelled_before:
                # The client took it for a failure. Who goes on after failures would never end.
                raise asyncio.CancelledError from None
            if word_of(error) in passed_on:
                raise
            _raise_plainly(error, self.address.shown)
        finally:
            here.under_way -= 1
            if self._closed and not here.under_way:
                here.all_done.set()


def word_of(error: Exception) -> str:
    """The first word of what the server answered, which says what kind of error it is."""
    # Some classes of redis-py have cut the word off.
    if isinstance(error, AuthenticationError):
        return "WRONGPASS"
    if isinstance(error, ResponseError):
        text = getattr(error, "status_code", None) or str(error)
        kinds = {
            "ReadOnlyError": "READONLY",
            "NoPermissionError": "NOPERM",
            "OutOfMemoryError": "OOM",
            "TryAgainError": "TRYAGAIN",
            "ClusterDownError": "CLUSTERDOWN",
            "MasterDownError": "MASTERDOWN",
            "MovedError": "MOVED",
            "AskError": "ASK",
        }
        word = str(text).split(" ", 1)[0]
        found = kinds.get(type(error).__name__, word)
        return found if found.isupper() and found.isalpha() else "ERR"
    return ""


def _raise_plainly(error: Exception, shown: str) -> NoReturn:
    word = word_of(error)
    if word in FOR_THE_OPERATOR:
        logger.error("%s", FOR_THE_OPERATOR[word])
        kind = WritesRefused if word in NO_WRITES else StoreUnavailable
        raise kind(FOR_THE_OPERATOR[word]) from None
    if word in NO_WRITES:
        raise WritesRefused(f"Redis answered {word}") from None
    if word == "ERR":
        logger.error("Redis refused a command of the store (%s)", type(error).__name__)
    if word:
        raise StoreUnavailable(f"Redis answered {word}") from None
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            reason = cause.reason or type(cause).__name__
            raise StoreUnavailable(f"the TLS handshake with Redis failed ({reason})") from None
        cause = cause.__context__
    if isinstance(error, MaxConnectionsError):
        raise StoreUnavailable("all connections to Redis are busy") from None
    if isinstance(error, (RedisTimeoutError, TimeoutError)):
        raise ConnectionCut("Redis did not answer in time") from None
    if isinstance(error, BusyLoadingError):
        raise ConnectionCut("Redis was started and is still loading its data") from None
    if isinstance(error, (RedisConnectionError, RedisClusterException, OSError)):
        kind = StoreUnavailable if _found_nobody(error) else ConnectionCut
        raise kind(f"no connection to {shown!r}: nobody answers there, or it broke off") from None
    raise StoreUnavailable(f"Redis can't be used ({type(error).__name__})") from None


def _found_nobody(error: BaseException) -> bool:
    """Whether nobody listens at the address, or there is none of that name."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionRefusedError, socket.gaierror)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _call(script: Script, keys: Sequence[str], arguments: Any, *, known: bool) -> Sequence[Any]:
    by = ("EVALSHA", script.sha) if known else ("EVAL", script.text)
    return (*by, len(keys), *keys, *arguments)
