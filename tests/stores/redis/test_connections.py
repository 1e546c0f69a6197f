"""What becomes of connections: when a call is given up, can't be sent, or the store closes."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.scripts.lua import Script
from tests.stores.redis.conftest import SOON
from tests.stores.redis.test_open import make_certificate
from tests.support.ports import free_port
from tests.support.proxy import proxy_to
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

ECHO: Final = Script("return ARGV[1]")
ECHO_ONCE: Final = Script("return  ARGV[1]", repeatable=False)
LONG: Final = 1_000_000


@pytest.fixture
async def client(server: RedisServer) -> AsyncIterator[Client]:
    client = Client(Address.parse(f"{server.url}?connections=4"))
    yield client
    await client.aclose()


def names_on(server: RedisServer) -> list[str]:
    """The ids that the server has given to the connections of clients."""
    with server.client() as plain:
        return [one["id"] for one in plain.client_list() if one["name"] == "agui-bridge"]


async def each_has_its_own_answer(client: Client) -> None:
    texts = [str(number) for number in range(20)]
    assert await asyncio.gather(*(client.run(ECHO, (), text) for text in texts)) == texts
    assert await client.run_each(ECHO, [((), text) for text in texts]) == texts


async def answered(client: Client) -> bool:
    """Whether the server answers in time; it is never another call's answer."""
    try:
        await each_has_its_own_answer(client)
    except StoreUnavailable:
        return False
    return True


# --- calls that are given up ---


async def test_a_reply_that_nobody_waits_for_answers_no_other_call(client: Client) -> None:
    chance = random.Random(7)
    for number in range(60):
        text = f"given up {number} " * chance.choice([1, LONG // 10])
        calls = [
            asyncio.ensure_future(client.run(ECHO, (), text)),
            asyncio.ensure_future(client.run_each(ECHO, [((), text), ((), "second")])),
        ]
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert await client.run(ECHO, (), f"next {number}") == f"next {number}"

    await each_has_its_own_answer(client)


async def test_a_reply_that_comes_after_its_time_answers_no_other_call(server: RedisServer) -> None:
    client = Client(Address.parse(f"{server.url}?timeout={SOON}&connections=4"))
    await eventually(lambda: answered(client))
    server.freeze()
    try:
        calls = [client.run(ECHO, (), f"late {number}" * LONG) for number in (0, 1, 2)]
        late = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        server.thaw()

    assert all(isinstance(error, StoreUnavailable) for error in late)
    # It first has to read what was sent to it meanwhile.
    await eventually(lambda: answered(client))
    await client.aclose()


# --- calls that can't be sent ---


async def test_what_can_not_be_packed_cuts_no_connection(
    client: Client, server: RedisServer
) -> None:
    await client.run(ECHO, (), "")
    before = names_on(server)
    with pytest.raises(UnicodeEncodeError):
        await client.run(ECHO, (), "half \ud800")
    with pytest.raises(UnicodeEncodeError):
        await client.run_each(ECHO, [((), "whole"), ((), "half \ud800")])

    assert await client.run(ECHO, (), "nul \0") == "nul \0"
    assert names_on(server) == before


# --- closing ---


async def test_closing_waits_for_calls_and_leaves_no_connection(server: RedisServer) -> None:
    async with proxy_to(server.port) as proxy:
        client = Client(Address.parse(f"redis://127.0.0.1:{proxy.port}?connections=2"))
        await client.run(ECHO, (), "")
        proxy.delay = 0.02
        # Two are sent, one of them on a connection that is still to be made; the others wait.
        calls = [
            asyncio.ensure_future(client.run(script, (), "text"))
            for script in (ECHO, ECHO_ONCE, ECHO, ECHO_ONCE)
        ]
        await asyncio.sleep(0.01)
        await asyncio.gather(client.aclose(), client.aclose())
        with pytest.raises(StoreUnavailable, match="closed"):
            await client.run(ECHO, (), "late")

        assert await asyncio.gather(*calls) == ["text"] * 4
        # Behind the proxy a connection is open for as long as that of the client is.
        await eventually(lambda: not names_on(server))
        await client.aclose()


async def test_a_server_that_hangs_keeps_no_connection_open(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    port = free_port()
    options = ["--tls-port", str(port), "--tls-auth-clients", "no", "--tls-ca-cert-file"]
    options += [certificate, "--tls-cert-file", certificate, "--tls-key-file", key]
    with RedisServer(None, *options) as server:
        url = f"rediss://127.0.0.1:{port}?timeout=1&ssl_ca_certs={certificate}"
        client = Client(Address.parse(url))
        await asyncio.gather(*(client.run(ECHO, (), "") for _ in range(3)))
        assert len(names_on(server)) == 3
        server.freeze()
        try:
            await client.aclose()
        finally:
            server.thaw()

        await eventually(lambda: not names_on(server))
