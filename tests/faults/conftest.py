"""A healthy replica for each store; a test starts faulty ones beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.scenario import FAULTY, Replicas
from tests.processes.conftest import STORES
from tests.support.redis_server import RedisServer
from tests.support.target import Target


@pytest.fixture(scope="package", params=STORES)
def replicas(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replicas]:
    """A store with its healthy replica."""
    folder = tmp_path_factory.mktemp(request.param)
    url = STORES[request.param](folder)
    with Target(folder, store=url, module=FAULTY) as healthy:
        yield Replicas(request.param, url, healthy)


@pytest.fixture
def restartable(replicas: Replicas, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """The same on a server that may be ended: Redis that keeps what it has acknowledged."""
    if replicas.store != "redis":
        yield replicas
        return
    folder = tmp_path_factory.mktemp("restartable")
    with (
        RedisServer(folder) as own,
        Target(folder, store=own.url, module=FAULTY) as healthy,
    ):
        yield Replicas("redis", own.url, healthy, own)
