"""From an address to a Redis that is fit to keep threads, and the layout of the store in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis.exceptions import ResponseError

from agui_bridge.errors import ConfigurationError, SchemaMismatch, StoreUnavailable
from agui_bridge.stores.opening import Preparation, advise, note_preparation
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.client import FOR_THE_OPERATOR, Client
from agui_bridge.stores.redis.rows import Keys

SCHEMA = 1
"""The layout of keys that this version works with."""

OLDEST_SERVER = 6


async def open_client(url: str, *, migrate: bool) -> tuple[Client, Keys]:
    """Connect, check the server, and find or make the store in it.

    Raises:
        ConfigurationError: the address is wrong, or the server may lose threads.
        SchemaMismatch: the store is of another version, or missing and `migrate` is false.
        StoreUnavailable: the server does not answer.
    """
    address = Address.parse(url)
    client = Client(address)
    try:
        await _check_servers(client)
        return client, await _keys(client, migrate=migrate)
    except BaseException:
        await client.aclose()
        raise


async def inspect_store(url: str) -> Preparation:
    """Say which schema a store has and which one it would get, and change nothing.

    Raises:
        ConfigurationError: as `open_client`.
        SchemaMismatch: the store is of another version.
        StoreUnavailable: the server does not answer.
    """
    client = Client(Address.parse(url))
    try:
        await _check_servers(client)
        _, noted = await _noted(client, make=False)
        if noted is not None:
            _shards(noted, client.address)
        return Preparation(None if noted is None else str(SCHEMA), str(SCHEMA))
    finally:
        await client.aclose()


async def _check_servers(client: Client) -> None:
    try:
        servers = await client.servers()
    except ResponseError:
        servers = []
    except StoreUnavailable as error:
        if str(error) in (FOR_THE_OPERATOR["NOAUTH"], FOR_THE_OPERATOR["WRONGPASS"]):
            raise ConfigurationError(f"{client.address.shown}: {error}") from None
        raise
    if not servers:
        advise(
            "%s: INFO is not allowed, so nobody has checked that this Redis is %d or later, "
            "evicts nothing (maxmemory-policy noeviction) and keeps its data (appendonly yes)",
            client.address.shown,
            OLDEST_SERVER,
        )
    for info in servers:
        check_server(info, client.address)


def check_server(info: Mapping[str, Any], address: Address) -> None:
    """Judge a server by what its INFO says.

    Raises:
        ConfigurationError: it is too old, of another kind than the address says, or may evict
            threads.
    """
    version = str(info.get("redis_version", ""))
    major = version.partition(".")[0]
    if major.isdigit() and int(major) < OLDEST_SERVER:
        raise ConfigurationError(
            f"{address.shown} is Redis {version}: the store needs Redis {OLDEST_SERVER} or later, "
            "or Valkey"
        )
    if str(info.get("cluster_enabled", "0")) == "1" and not address.cluster:
        raise ConfigurationError(
            f"{address.shown} is a server of a cluster: write redis+cluster:// (or "
            "rediss+cluster://) in the store's address"
        )
    policy = str(info.get("maxmemory_policy", ""))
    if policy.startswith("allkeys"):
        # Also without a limit today: one can be set at any time, and then threads vanish.
        raise ConfigurationError(
            f"{address.shown} may evict any key (maxmemory-policy {policy}), and with it threads "
            "that wait for an answer: set maxmemory-policy noeviction, or use another Redis"
        )
    if str(info.get("aof_enabled", "")) == "0":
        advise(
            "%s keeps no append-only file: what was acknowledged is lost when Redis is restarted; "
            "set appendonly yes (and appendfsync always to lose nothing in a crash)",
            address.shown,
        )


async def _keys(client: Client, *, migrate: bool) -> Keys:
    """The layout as it is noted in the store, which is made when it is missing."""
    made, noted = await _noted(client, make=migrate)
    if noted is None:
        raise SchemaMismatch(
            f"there is no store at {client.address.shown}: run `agui-bridge migrate --store URL` "
            "with its address"
        )
    shards = _shards(noted, client.address)
    note_preparation(None if made else str(SCHEMA), str(SCHEMA))
    return Keys(client.address.prefix, shards)


async def _noted(client: Client, *, make: bool) -> tuple[bool, str | None]:
    """Whether the store was made just now, and what is noted in it; None where there is none."""
    address = client.address
    name = f"{address.prefix}:schema"
    made = None
    try:
        if make:
            made = await client.command("SET", name, f"{SCHEMA} {address.shards_of_new}", "NX")
        noted = await client.command("GET", name)
    except ResponseError:
        raise ConfigurationError(
            f"{address.shown}: the Redis user may not use `{name}`: it needs the keys "
            f"{address.prefix}:* and the channel {address.prefix}:changes"
        ) from None
    return bool(made), None if noted is None else str(noted)


def _shards(noted: str, address: Address) -> int:
    """Into how many parts a store is divided; what is noted in it says so.

    Raises:
        ConfigurationError: the address says another number.
        SchemaMismatch: the store is of another version.
    """
    schema, _, shards = noted.partition(" ")
    if schema != str(SCHEMA):
        raise SchemaMismatch(
            f"the store at {address.shown} has schema {schema[:20]}, this version of agui-bridge "
            f"works with schema {SCHEMA} only: use the version of agui-bridge that made it, or "
            "another prefix"
        )
    if address.shards not in (None, int(shards)):
        raise ConfigurationError(
            f"the store at {address.shown} was made with shards={shards}, which can't be changed: "
            "leave `shards` out of the address"
        )
    return int(shards)
