"""One worker for all tests that don't end it: each looks at what was done since it began."""

from collections.abc import Iterator

import pytest

from tests.adapters.dbos.bench import Place, Worker, place


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place(tmp_path_factory.mktemp("dbos"), "postgres") as kept:
        worker = Worker(kept)
        try:
            yield kept
        finally:
            worker.kill()
