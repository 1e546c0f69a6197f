"""Opening a store in Redis: what its address may say, and which servers are fit."""

import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError, SchemaMismatch, StoreUnavailable
from agui_bridge.stores.open import open_store
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.open import check_server
from agui_bridge.stores.redis.store import RedisStore
from tests.stores.samples import idle, put
from tests.support import unavailable
from tests.support.ports import free_port
from tests.support.redis_server import RedisServer

FIT = {
    "redis_version": "7.0.15",
    "maxmemory_policy": "noeviction",
    "aof_enabled": 1,
    "cluster_enabled": 0,
}


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One that keeps its data, so that nothing is to be warned of."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


# --- addresses ---


def test_an_address_has_defaults() -> None:
    address = Address.parse("redis://")

    assert (address.host, address.port, address.db) == ("localhost", 6379, 0)
    assert (address.prefix, address.shards_of_new, address.timeout) == ("agui", 1, 5.0)
    assert address.tls == {}
    assert not address.cluster


def test_an_address_says_everything() -> None:
    address = Address.parse(
        "rediss+cluster://ann:p%40ss%2F@[::1]:7000/0?prefix=my.app&timeout=2.5&shards=8"
        "&connections=9&ssl_cert_reqs=none"
    )

    assert (address.host, address.port) == ("::1", 7000)
    assert (address.username, address.password) == ("ann", "p@ss/")
    assert (address.prefix, address.timeout, address.shards_of_new) == ("my.app", 2.5, 8)
    assert address.connections == 9
    assert address.tls == {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
    assert address.shown == "rediss+cluster://[::1]:7000/0?prefix=my.app"
    assert "p@ss" not in repr(address)


def test_with_tls_certificate_and_host_name_are_checked_by_default() -> None:
    assert Address.parse("rediss://host").tls == {
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
    }


def test_a_cluster_has_many_shards_by_default() -> None:
    assert Address.parse("redis+cluster://host").shards_of_new == 64


@pytest.mark.parametrize(
    ("rest", "complaint"),
    [
        ("host:port", "can't be read"),
        ("host/zero", "is a number"),
        ("host?prefix={x}", "letters, digits"),
        ("host?prefix=", "letters, digits"),
        ("host?timeout=soon", "`timeout`"),
        ("host?timeout=-1", "`timeout`"),
        ("host?timeout=nan", "`timeout`"),
        ("host?wait=1.5", "`wait`"),
        ("host?wait=1&wait_timeout=6", "less than `timeout`"),
        ("host?shards=100000", "`shards`"),
        ("host?decode_responses=1", "unknown"),
        ("host?ssl_cert_reqs=none", "needs rediss://"),
        ("host?prefix=a&prefix=b", "twice"),
        ("host#fragment", "not the address"),
    ],
)
def test_a_wrong_address_is_refused_without_its_credentials(rest: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        Address.parse(f"redis://ann:hunter2@{rest}")

    assert "hunter2" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("password", ["hun#ter2", "hun/ter2", "hun?ter2", "hun[ter2", "hun?ter2=x"])
def test_a_password_that_breaks_the_address_is_not_told(password: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Address.parse(f"redis://ann:{password}@host/0")

    assert "ter2" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("redis+cluster://host/1", "database 0"),
        ("redis+cluster://host?wait=1", "on no cluster"),
        ("rediss://host?ssl_ca_certs=/nowhere.pem", "names no file"),
        ("rediss://host?ssl_cert_reqs=maybe", "required, optional or none"),
        ("rediss://host?ssl_check_hostname=maybe", "true or false"),
        ("redis:host", "not the address"),
    ],
)
def test_an_address_that_can_not_work_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        Address.parse(url)


@pytest.mark.parametrize("package", ["redis", "hiredis"])
def test_without_the_package_the_error_says_how_to_install_it(package: str) -> None:
    script = (
        f"import asyncio, sys; sys.modules[{package!r}] = None\n"
        "from agui_bridge.stores.open import open_store\n"
        "try: asyncio.run(open_store('redis://ann:hunter2@host'))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert told.startswith("ConfigurationError")
    assert 'pip install "agui-bridge[redis]"' in told
    assert "hunter2" not in told


# --- servers ---


@pytest.mark.parametrize(
    ("says", "complaint"),
    [
        ({"redis_version": "5.0.14"}, "needs Redis 6 or later"),
        ({"maxmemory_policy": "allkeys-lru"}, "maxmemory-policy noeviction"),
        ({"maxmemory_policy": "allkeys-random"}, "maxmemory-policy noeviction"),
        ({"cluster_enabled": 1}, r"redis\+cluster://"),
    ],
)
def test_a_server_that_is_not_fit_is_refused(says: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        check_server({**FIT, **says}, Address.parse("redis://host"))


@pytest.mark.parametrize(
    "says",
    [
        {},
        {"redis_version": "6.0.0"},
        {"redis_version": "7.2.4", "valkey_version": "8.1.0"},
        {"maxmemory_policy": "volatile-lru"},
        {"maxmemory_policy": "volatile-ttl"},
    ],
)
def test_a_server_that_is_fit_is_taken_without_a_word(
    says: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    check_server({**FIT, **says}, Address.parse("redis://host"))

    assert caplog.records == []


async def test_a_server_of_no_cluster_is_not_taken_for_one(server: RedisServer) -> None:
    with pytest.raises((ConfigurationError, StoreUnavailable)):
        await open_store(server.url.replace("redis://", "redis+cluster://"))


async def test_a_server_that_evicts_is_refused_at_open(server: RedisServer) -> None:
    with server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lfu")
        try:
            with pytest.raises(ConfigurationError, match="allkeys-lfu"):
                await open_store(server.url)
        finally:
            client.config_set("maxmemory-policy", "noeviction")


async def test_only_a_server_without_append_only_file_gives_a_warning(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    await (await open_store(server.url)).aclose()
    assert warnings_of(caplog) == []

    with RedisServer() as forgetful:
        await (await open_store(forgetful.url)).aclose()
    (warning,) = warnings_of(caplog)
    assert "append-only" in warning


async def test_a_bridge_that_is_tried_before_it_is_served_warns_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with RedisServer() as forgetful:
        for _ in range(2):
            bridge = Bridge(forgetful.url)
            # As `serve` does.
            await bridge.check_store()
            await bridge.open()
            await bridge.aclose()
    assert ["append-only" in warning for warning in warnings_of(caplog)] == [True, True]


async def test_a_server_that_tells_nothing_gives_a_warning_and_is_taken(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with server.client() as client:
        client.acl_setuser(
            "ann",
            enabled=True,
            passwords=["+hunter2"],
            keys=["agui:*"],
            channels=["agui:*"],
            categories=["+@all", "-@admin", "-@dangerous"],
        )
    url = server.url.replace("redis://", "redis://ann:hunter2@")
    store = await open_store(url)
    await put(store, idle())
    assert await store.prune(0.0) == 1
    await store.aclose()

    (warning,) = warnings_of(caplog)
    assert "INFO is not allowed" in warning
    assert "hunter2" not in caplog.text


async def test_a_user_without_the_keys_is_told_which(server: RedisServer) -> None:
    with server.client() as client:
        client.acl_setuser(
            "bob", enabled=True, passwords=["+hunter2"], keys=["x:*"], categories=["+@all"]
        )
    with pytest.raises(ConfigurationError, match=r"agui:\*") as caught:
        await open_store(server.url.replace("redis://", "redis://bob:hunter2@"))

    assert "hunter2" not in str(caught.value)


async def test_a_user_who_may_not_announce_can_still_commit(server: RedisServer) -> None:
    with server.client() as client:
        client.acl_setuser(
            "mute",
            enabled=True,
            passwords=["+hunter2"],
            keys=["agui:*"],
            reset_channels=True,
            categories=["+@all"],
        )
    store = await open_store(server.url.replace("redis://", "redis://mute:hunter2@"))
    done = await put(store, idle())
    await store.aclose()

    assert done.record.version == 1000


async def test_wrong_credentials_are_named_but_not_told(server: RedisServer) -> None:
    url = server.url.replace("redis://", "redis://ann:wrong-hunter@")
    with pytest.raises(ConfigurationError, match="refuses the user or password") as caught:
        await open_store(url)

    assert "wrong-hunter" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
async def test_a_server_that_is_not_there_is_unavailable(scheme: str) -> None:
    port = free_port()
    with pytest.raises(StoreUnavailable, match=f"no connection to '.*127.0.0.1:{port}") as caught:
        await open_store(f"{scheme}://ann:hunter2@127.0.0.1:{port}")

    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_tls_takes_the_certificate_that_it_is_told_to_trust_and_no_other(
    tmp_path: Path,
) -> None:
    certificate, key = make_certificate(tmp_path)
    port = free_port()
    options = ["--tls-port", str(port), "--tls-auth-clients", "no"]
    options += ["--tls-cert-file", certificate, "--tls-key-file", key]
    options += ["--tls-ca-cert-file", certificate]
    with RedisServer(None, *options):
        store = await open_store(f"rediss://127.0.0.1:{port}?ssl_ca_certs={certificate}")
        await put(store, idle())
        await store.aclose()

        with pytest.raises(StoreUnavailable):
            await open_store(f"rediss://127.0.0.1:{port}?timeout=2")


def make_certificate(directory: Path) -> tuple[str, str]:
    """Make a certificate for 127.0.0.1, signed by itself."""
    if shutil.which("openssl") is None:
        unavailable("openssl", "install it")
    certificate, key = str(directory / "cert.pem"), str(directory / "key.pem")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext"
    words = [*command.split(), "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key]
    subprocess.run(words, check=True, capture_output=True)
    return certificate, key


# --- the store in it ---


async def test_a_store_of_another_version_is_refused(server: RedisServer) -> None:
    await (await open_store(server.url)).aclose()
    with server.client() as client:
        client.set("agui:schema", "2 1")

    with pytest.raises(SchemaMismatch, match="schema 2"):
        await open_store(server.url)


async def test_without_migrating_a_store_is_not_made(server: RedisServer) -> None:
    with pytest.raises(SchemaMismatch, match="agui-bridge migrate"):
        await open_store(server.url, migrate=False)
    await (await open_store(server.url)).aclose()

    store = await open_store(server.url, migrate=False)
    await store.aclose()


async def test_the_number_of_shards_is_that_with_which_the_store_was_made(
    server: RedisServer,
) -> None:
    await (await open_store(f"{server.url}?shards=3")).aclose()

    again = await RedisStore.open(server.url)
    assert again._keys.shards == 3
    await again.aclose()
    with pytest.raises(ConfigurationError, match="shards=3"):
        await open_store(f"{server.url}?shards=4")


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.message for entry in caplog.records if entry.levelno >= logging.WARNING]
