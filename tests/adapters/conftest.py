"""What holds for every adapter, and the nursery of an example's processes."""

from collections.abc import Iterator

import pytest

from tests.support.forks import Nursery, nursery


@pytest.fixture(scope="session", autouse=True)
def no_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust nobody: an HTTP client reads all authorities first, 30 ms for each adapter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("authorities")))
        yield


@pytest.fixture(scope="class")
def its_nursery(request: pytest.FixtureRequest) -> Iterator[Nursery]:
    """Of the example that a class of tests names: they import its framework once."""
    with nursery(request.cls.example) as begun:
        yield begun
