"""Debian's Chromium before the page, which is built once."""

import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Error, Page, expect, sync_playwright

from tests.e2e.browser.demo import await_health, demo_in
from tests.e2e.browser.pages import OpenPage
from tests.e2e.browser.site import CARDS, COPILOTKIT, ROOT, build, served
from tests.e2e.browser.tab import PATIENCE, VIAS, Tab, Via
from tests.e2e.steady import steady_in
from tests.e2e.target import Target
from tests.support import unavailable
from tests.support.ports import free_port

HERE: Final = Path(__file__).parent
ARTEFACTS: Final = HERE.parents[2] / "artefacts" / "browser"
"""Where the sights of every tab are kept."""

QUIET: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Five seconds are few on a busy machine.
expect.set_options(timeout=PATIENCE)

OpenTab = Callable[..., Tab]
OpenCase = Callable[..., Page]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page's address."""
    folder = tmp_path_factory.mktemp("site")
    build(COPILOTKIT, folder)
    with served(folder) as address:
        yield address


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a demo."""
    with demo_in(tmp_path_factory.mktemp("demo")) as port:
        yield port


# Only as long as it is needed: while it is there, no other event loop can run in this thread.
@pytest.fixture(scope="package")
def window() -> Iterator[BrowserContext]:
    """A browser's window with a profile that is new and empty; each test opens tabs of its own."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        unavailable("Chromium", "install Debian's `chromium`, or name a browser in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        yield browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
        browser.close()


@pytest.fixture(params=VIAS)
def via(request: pytest.FixtureRequest) -> Via:
    """How the page reaches the bridge."""
    found: Via = request.param
    return found


@pytest.fixture
def open_tab(
    request: pytest.FixtureRequest, window: BrowserContext, site: str, target: Target
) -> Iterator[OpenTab]:
    """Opens tabs on the test's thread; what each has shown is kept."""
    thread = f"thread-{secrets.token_hex(4)}"
    tabs: list[Tab] = []

    def open_tab(via: Via = "rest", *, port: int = target.port, **address: Any) -> Tab:
        url = f"http://127.0.0.1:{port}"
        where = {"thread": thread, **address}
        tabs.append(Tab(window.new_page(), site, url, via=via, **where))
        return tabs[-1]

    yield open_tab
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", request.node.name.removeprefix("test_")).strip("-")
    for number, tab in enumerate(tabs, 1):
        tab.look()
        tab.page.close()
        for count, picture in enumerate(tab.sights, 1):
            (ARTEFACTS / f"{name}-tab{number}-{count}.png").write_bytes(picture)
    assert [tab.broken for tab in tabs if tab.broken] == []


@pytest.fixture
def tab(open_tab: OpenTab, via: Via) -> Tab:
    """A tab on a new thread, in each way to reach the bridge."""
    return open_tab(via)


@pytest.fixture
def thread() -> str:
    """A thread of its own."""
    return f"thread-{secrets.token_hex(4)}"


@pytest.fixture
def open_page(
    request: pytest.FixtureRequest,
    window: BrowserContext,
    address: str,
    target: Target,
    thread: str,
) -> Iterator[OpenPage]:
    """Opens the page at `address`; nothing may break in it that no test is about."""
    broken: list[str] = []
    pages: list[Page] = []

    def hear(error: Error) -> None:
        # assistant-ui leaves it unhandled when a test cuts a connection, and tells it as well.
        if error.message != "network error":
            broken.append(str(error))

    def open_page(**choices: str) -> Page:
        page = window.new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", hear)
        page.goto(f"{address}?{urlencode({'url': target.url, 'thread': thread, **choices})}")
        return page

    yield open_page
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    file = request.path.stem.removeprefix("test_").replace("_", "-")
    for number, page in enumerate(pages, 1):
        name = request.node.name.removeprefix("test_")[:80]
        page.screenshot(path=ARTEFACTS / f"{file}-{name}-{number}.png")
        page.close()
    assert broken == []


@pytest.fixture(scope="module")
def steady() -> Iterator[str]:
    """The URL of an agent that goes on while nobody listens."""
    port = free_port()
    path = f"{ROOT}{os.pathsep}{ROOT / 'adapters'}"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.browser.steady_server", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            await_health(port)
            yield f"http://127.0.0.1:{port}/agents/steady"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server whose agent goes on while nobody listens, and whose steps are counted."""
    with steady_in(tmp_path_factory.mktemp("counting")) as target:
        yield target


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The gallery's address."""
    folder: Path = tmp_path_factory.mktemp("cards")
    build(CARDS, folder, "gallery")
    with served(folder) as address:
        yield address


@pytest.fixture
def open_case(window: BrowserContext, gallery: str) -> Iterator[OpenCase]:
    """Opens a case of the gallery; nothing may break in it."""
    broken: list[str] = []
    pages: list[Page] = []

    def open_case(case: str, *flags: str) -> Page:
        page = window.new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("console", lambda said: broken.append(said.text) if said.type == "error" else None)
        page.goto(f"{gallery}?case={case}{''.join(f'&{flag}' for flag in flags)}")
        return page

    yield open_case
    for page in pages:
        page.close()
    assert broken == []
