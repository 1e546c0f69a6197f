"""A real server and real clients of two versions; every stream on the way is judged."""

import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest

from agui_bridge import Bridge
from tests.e2e.clients import PACKAGES, Driver, OpenPage, Page
from tests.e2e.lines import HERE
from tests.e2e.mastra import bridge_before, unknown_chunks
from tests.e2e.steady import steady_in
from tests.e2e.target import Target
from tests.support.langgraph_server import LangGraphProcess
from tests.support.mastra import MastraProcess

SECONDS: Final = 240
"""The time limit of a test: the first one of a file waits until servers and pages are there."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder more time than others have."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope="session")
def drivers() -> Iterator[dict[str, Driver]]:
    """The Node processes, each started when it is first asked for."""
    started: dict[str, Driver] = {}
    yield started
    for driver in started.values():
        driver.close()


@pytest.fixture(params=list(PACKAGES))
def driver(request: pytest.FixtureRequest, drivers: dict[str, Driver]) -> Driver:
    """The client's version that this test is about."""
    version = request.param
    if version not in drivers:
        drivers[version] = Driver(version)
    return drivers[version]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server for the tests of one file; each test has threads of its own."""
    with Target(tmp_path_factory.mktemp("target")) as target:
        yield target


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server whose agent goes on while nobody listens."""
    with steady_in(tmp_path_factory.mktemp("steady")) as steady:
        yield steady


@pytest.fixture
def open_page(driver: Driver, target: Target) -> Iterator[OpenPage]:
    """Opens pages on the test's thread, each as a browser does that knows only its id."""
    thread = f"thread-{secrets.token_hex(6)}"
    pages: list[Page] = []
    printed = len(driver.printed)

    def open_page(server: Target = target, **view: Any) -> Page:
        pages.append(Page(driver, server, thread, **view))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
    # A client says there what it had to strip, mend or drop.
    assert driver.printed[printed:] == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A page on a new thread."""
    return open_page()


@pytest.fixture
def name() -> str:
    """Somebody whom no other test writes to."""
    return f"ann{secrets.token_hex(4)}"


@pytest.fixture(autouse=True)
def every_chunk_is_known() -> Iterator[None]:
    """Fails a test to which Mastra sends chunks that its adapter has never seen."""
    with unknown_chunks() as unknown:
        yield
    assert not unknown, (
        f"Mastra sent what its adapter does not know: {'; '.join(sorted(unknown))}. Look what each "
        "means, and have adapters/agui_bridge_mastra/chunks say it or be silent about it."
    )


@pytest.fixture(scope="session")
def mastra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MastraProcess]:
    """One Mastra server with storage for all tests; each has numbers and threads of its own."""
    with MastraProcess(tmp_path_factory.mktemp("mastra")).running() as server:
        yield server


@pytest.fixture(scope="session")
def langgraph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LangGraphProcess]:
    """One LangGraph server for all tests that don't end it."""
    with LangGraphProcess(tmp_path_factory.mktemp("langgraph")).running() as server:
        yield server


@pytest.fixture
async def bridge(mastra: MastraProcess) -> AsyncIterator[Bridge]:
    """A bridge before it."""
    bridge = bridge_before(mastra)
    async with bridge.lifespan():
        yield bridge
