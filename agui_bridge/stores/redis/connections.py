"""How commands reach Redis: on the connections of one server, or by a cluster's client.

A question's round trip has seven calls. For each, redis-py's own client takes two locks, tells four
counters that nobody reads, and packs every argument in Python: more than what it sends and reads.
So one server is spoken to on redis-py's connections themselves. They connect, log in and find out
that they were cut as they do for its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from hiredis import pack_command
from redis.asyncio import Connection, ConnectionPool, Redis, RedisCluster, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from agui_bridge.stores.redis.address import Address

Command = Sequence[Any]
"""A command's words: text, bytes and numbers."""


class Link(Protocol):
    """Sends commands; at most as many at once as the address allows connections."""

    async def call(self, command: Command, **options: Any) -> Any:
        """Send a command and give its reply, as redis-py gives it.

        Raises:
            RedisError: the server refused it, or did not answer.
            OSError: the connection broke.
        """
        ...

    async def each(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands at once on one connection; a reply or a `ResponseError` for each.

        Raises:
            RedisError: the server did not answer.
            OSError: the connection broke.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections, those in use too."""
        ...


class Server:
    """One server.

    Args:
        address: where it is.
    """

    def __init__(self, address: Address) -> None:
        redis = single(address)
        self._pool: Any = redis.connection_pool
        self._reads: Any = redis.response_callbacks
        self._made: list[Connection] = []
        self._idle: list[Connection] = []

    async def call(self, command: Command, **options: Any) -> Any:
        """Send a command and give its reply (see `Link.call`)."""
        (reply,) = await self.each([command])
        if isinstance(reply, ResponseError):
            raise reply
        read = self._reads.get(command[0])
        return reply if read is None else read(reply, **options)

    async def each(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands at once (see `Link.each`)."""
        # Before a connection is taken: what can't be packed, such as half a surrogate, cuts none.
        packed = [pack_command(tuple(command)) for command in commands]
        connection = self._idle.pop() if self._idle else self._new()
        try:
            await self._pool.ensure_connection(connection)
            await connection.send_packed_command(packed, check_health=False)
            return [await _reply(connection) for _ in packed]
        except BaseException:
            # What is still to come would be taken for the reply to the next command.
            await connection.disconnect(nowait=True)
            raise
        finally:
            self._idle.append(connection)

    async def aclose(self) -> None:
        """Close all connections (see `Link.aclose`)."""
        # At once, and whatever comes of one: with TLS, a server that hangs says no goodbye.
        closing = (connection.disconnect() for connection in self._made)
        await asyncio.gather(*closing, return_exceptions=True)

    def _new(self) -> Connection:
        connection: Connection = self._pool.make_connection()
        self._made.append(connection)
        return connection


async def _reply(connection: Connection) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


class Cluster:
    """A cluster: redis-py knows which server has which slot, and follows when one moves.

    Args:
        address: of one of its servers.
    """

    def __init__(self, address: Address) -> None:
        self._redis: Any = RedisCluster(
            **_options(address), ssl=bool(address.tls), max_connections=address.connections
        )

    async def call(self, command: Command, **options: Any) -> Any:
        """Send a command and give its reply (see `Link.call`)."""
        return await self._redis.execute_command(*command, **options)

    async def each(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands at once (see `Link.each`); all are to be about keys of one slot."""
        pipeline = self._redis.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        replies: list[Any] = await pipeline.execute(raise_on_error=False)
        return replies

    async def primaries(self) -> list[Any]:
        """The servers that take writes, for the option `target_nodes` of `call`."""
        await self._redis.initialize()
        return list(self._redis.get_primaries())

    async def place_of(self, name: str) -> tuple[str, int]:
        """Host and port of the server that takes the writes of a key, or of a sharded channel."""
        await self._redis.initialize()
        node = self._redis.get_node_from_key(name)
        return node.host, int(node.port)

    async def aclose(self) -> None:
        """Close all connections (see `Link.aclose`)."""
        await self._redis.aclose()


def single(address: Address, *, connections: int | None = None, **more: Any) -> Redis:
    """redis-py's client of one server; on a cluster, of the server that the address names."""
    pool = ConnectionPool(
        connection_class=SSLConnection if address.tls else Connection,
        max_connections=connections or address.connections,
        db=address.db,
        retry=Retry(NoBackoff(), 0),
        **{**_options(address), **more},
    )
    return Redis.from_pool(pool)


def _options(address: Address) -> dict[str, Any]:
    return {
        "host": address.host,
        "port": address.port,
        "username": address.username,
        "password": address.password,
        # Whoever shares the server sees in CLIENT LIST whose connections these are.
        "client_name": "agui-bridge",
        "decode_responses": True,
        "protocol": 2,
        # Each call has a limit of its own; redis-py would make a task of every send to limit it.
        "socket_timeout": None,
        "socket_connect_timeout": address.timeout,
        "socket_keepalive": True,
        **address.tls,
    }
