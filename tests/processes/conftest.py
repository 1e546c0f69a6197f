"""The stores that several server processes share: a new one is a line in STORES."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.postgres import emptied
from tests.support.redis_server import redis_url
from tests.support.target import Target

SOAK = pytest.mark.soak

STORES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda directory: f"sqlite:///{directory / 'target.db'}",
    "redis": redis_url,
    "postgres": lambda _: emptied(),
}
"""The address of a test's own store, below a directory."""


def quick_on(*stores: str, fixture: str = "targets") -> pytest.MarkDecorator:
    """Leave a test that waits for leases to `make soak` on all other stores."""
    params = [name if name in stores else pytest.param(name, marks=SOAK) for name in STORES]
    return pytest.mark.parametrize(fixture, params, indirect=True)


def races(few: int, many: int) -> pytest.MarkDecorator:
    """So many rounds, and in `make soak` many more, or as many as RACES says."""
    number = int(os.environ.get("RACES", many))
    soak = pytest.param(number, id="many", marks=SOAK)
    return pytest.mark.parametrize("rounds", [pytest.param(few, id="few"), soak])


@pytest.fixture(params=STORES)
def targets(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Target]]:
    """Starts targets that share one store and the folder's effects file."""
    url = STORES[request.param](tmp_path)
    started: list[Target] = []

    def start(lease: float = 30.0, **options: Any) -> Target:
        started.append(Target(tmp_path, store=url, lease=lease, **options))
        return started[-1]

    yield start
    for target in started:
        target.close()
