"""A Redis cluster of six real servers: three masters, and a replica of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final

from tests.failovers.pairs import Pair, until
from tests.support.redis_server import RedisServer

__all__ = ["redis_cluster"]

SLOTS: Final = 16384
NODE_TIMEOUT: Final = 1500
"""Milliseconds after which a master that says nothing counts as failed."""


class RedisCluster(Pair):
    """The first master is the primary; its replica takes over by itself."""

    def __init__(self, masters: list[RedisServer], replicas: list[RedisServer]) -> None:
        self.masters, self.replicas = masters, replicas
        self.url = f"redis+cluster://127.0.0.1:{masters[1].port}?shards=6"

    async def replicated(self) -> None:
        def look() -> bool:
            for master, replica in zip(self.masters, self.replicas, strict=True):
                there, here = replication(master), replication(replica)
                if here["master_link_status"] != "up":
                    return False
                if here["slave_repl_offset"] < there["master_repl_offset"]:
                    return False
            return True

        await until(lambda: asyncio.to_thread(look), "a replica does not catch up")

    def lag(self) -> None:
        """Have nothing lag: what a kill in full traffic loses is lost."""

    async def kill(self) -> None:
        await asyncio.to_thread(self.masters[0].kill)

    async def promote(self) -> None:
        def look() -> bool:
            took_over = replication(self.replicas[0])["role"] == "master"
            return took_over and _is_whole(self.masters[1])

        await until(lambda: asyncio.to_thread(look), "no replica takes over")

    async def fail_over(self) -> None:
        await self.kill()
        await self.promote()


def asked(server: RedisServer, command: str) -> Any:
    """What one server answers."""
    with server.client() as client:
        return client.execute_command(command)


def replication(server: RedisServer) -> Any:
    """What it says of its replicas, or of its master."""
    with server.client() as client:
        return client.info("replication")


def _is_whole(server: RedisServer) -> bool:
    return bool(asked(server, "CLUSTER INFO")["cluster_state"] == "ok")


@asynccontextmanager
async def redis_cluster() -> AsyncIterator[RedisCluster]:
    """Start them for as long as the block lasts."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT))
    async with AsyncExitStack() as stack:
        servers: list[RedisServer] = []
        for _ in range(6):
            server = RedisServer(None, *options, "--repl-diskless-sync-delay", "0")
            servers.append(await asyncio.to_thread(stack.enter_context, server))
        masters, replicas = servers[:3], servers[3:]
        await asyncio.to_thread(_join, masters, replicas)
        cluster = RedisCluster(masters, replicas)
        for server in servers:
            whole = partial(asyncio.to_thread, _is_whole, server)
            await until(whole, "it does not come together")
        await cluster.replicated()
        yield cluster


def _join(masters: list[RedisServer], replicas: list[RedisServer]) -> None:
    for number, master in enumerate(masters):
        slots = range(SLOTS * number // 3, SLOTS * (number + 1) // 3)
        with master.client() as client:
            client.execute_command("CLUSTER ADDSLOTS", *slots)
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
    for server in (*masters, *replicas):
        with server.client() as client:
            client.execute_command("CLUSTER MEET", "127.0.0.1", masters[0].port)
    for master, replica in zip(masters, replicas, strict=True):
        id = str(asked(master, "CLUSTER MYID"))
        with replica.client() as client:
            while id not in str(client.execute_command("CLUSTER NODES")):
                pass
            client.execute_command("CLUSTER REPLICATE", id)
