"""A store whose connection is cut while it is opened is tried again; a wrong one is not."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agui_bridge import Bridge, Settings
from agui_bridge.errors import ConfigurationError, SchemaMismatch, StoreUnavailable
from tests.support import postgres
from tests.support.ports import free_port
from tests.support.proxy import proxy_in_a_thread, proxy_to
from tests.support.redis_server import redis_url
from tests.support.target import Target

AGAIN = "the store can't be opened yet, it is tried again: "


@pytest.fixture(params=["postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return postgres.emptied() if request.param == "postgres" else redis_url(tmp_path)


def by_way_of(port: int, url: str) -> str:
    there = urlsplit(url).port
    return url.replace(f":{there}/", f":{port}/")


async def test_a_store_whose_first_connections_are_cut_is_opened_and_each_try_is_logged(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxy_to(urlsplit(url).port or 0) as proxy:
        # The store in Redis tries each command twice by itself.
        proxy.fault, proxy.times = "lose request", 4
        bridge = Bridge(by_way_of(proxy.port, url))
        engine = await bridge.open()
        assert proxy.lost == 4
        assert (await engine.store.ping()) > 0
        await bridge.aclose()

    told = [record.message for record in caplog.records if record.message.startswith(AGAIN)]
    assert len(told) == (4 if url.startswith("postgresql") else 2)


async def test_a_store_that_is_cut_for_longer_is_given_up_in_time(url: str) -> None:
    async with proxy_to(urlsplit(url).port or 0) as proxy:
        proxy.down = True
        bridge = Bridge(by_way_of(proxy.port, url), settings=Settings(store_retry=0.5))

        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await bridge.check_store()

    assert 0.2 < time.monotonic() - began < 10


@pytest.mark.parametrize("kind", ["postgresql", "redis"])
async def test_where_nobody_listens_is_not_tried_again(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    for host in (f"127.0.0.1:{free_port()}", "nowhere.invalid:1"):
        with pytest.raises(StoreUnavailable):
            await Bridge(f"{kind}://{host}/0").check_store()

    assert AGAIN not in caplog.text


async def test_a_wrong_password_or_database_is_not_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    there = postgres.server()
    wrong = [
        there.at(there.port, "no_such_database"),
        f"postgresql://no_such_user@127.0.0.1:{there.port}/test",
        redis_url(tmp_path).replace("://", "://nobody:wrong@"),
    ]
    for url in wrong:
        with pytest.raises(ConfigurationError):
            await Bridge(url).check_store()

    assert AGAIN not in caplog.text


async def test_a_newer_schema_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    with postgres.new_schema() as schema:
        url = postgres.with_schema(postgres.server().dsn, schema)
        await Bridge(url).check_store()
        postgres.execute(
            postgres.server().dsn, f"UPDATE {schema}.agui_schema SET version_num = '9999'"
        )
        with pytest.raises(SchemaMismatch):
            await Bridge(url).check_store()

    assert AGAIN not in caplog.text


def test_a_server_whose_first_connection_is_cut_starts(tmp_path: Path) -> None:
    url = postgres.emptied()
    with proxy_in_a_thread(urlsplit(url).port or 0) as (proxy, _):
        proxy.fault = "lose request"
        with Target(tmp_path, store=by_way_of(proxy.port, url)) as target:
            assert proxy.lost == 1
            assert target.send("t", "hello").outcome == "success"
            assert AGAIN in target.log
