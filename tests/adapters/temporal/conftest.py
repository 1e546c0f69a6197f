"""One server and one worker for all tests that don't end them."""

from collections.abc import Iterator

import pytest

from tests.adapters.temporal.bench import Bench, bench


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("temporal")) as begun:
        yield begun
