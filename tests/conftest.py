"""What holds for every test: asyncio as the loop, and no silent skip in CI."""

import gc
import inspect
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support")

from tests.support import at_the_end  # noqa: E402  # after its asserts are registered

E2E = Path(__file__).parent / "e2e"
ALLOWED_SKIP = "only on "
"""How the reason of a skip begins that CI accepts: it names a platform or Python version."""
TOLD = "told"
"""A property that a test records to have its text shown at the end of the run."""


# How fast an example runs says something of the machine, and of nothing that is tested.
settings.register_profile(
    "patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The bridge runs on asyncio; session scope lets a fixture of any scope be async."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def leave_nothing_behind() -> Iterator[None]:
    """Stop and drop what tests have shared."""
    with at_the_end:
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: Any) -> None:
    """Let anyio's plugin run every async test, with or without the mark."""
    if not collector.istestfunction(obj, name):
        return
    hypothesis = getattr(obj, "hypothesis", None)
    if inspect.iscoroutinefunction(getattr(hypothesis, "inner_test", obj)):
        pytest.mark.anyio(obj)


def pytest_configure() -> None:
    """Let the processes that tests start be interrupted, even by a run in the background."""
    # A shell lets what it starts in the background ignore interrupts, and that is inherited.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """Two workers a core: half of the time a test waits, for a server or a clock.

    Of two cores three left 17 % idle in `make test` and 40 % in `make soak`.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 2 * (cores or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, nor ever again among what that has made.

    Modules, frameworks and ten thousand tests stay until the end. The collector would go through
    them dozens of times, a third of what it takes to collect.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what lies in tests/e2e, so that no file there has to."""
    for item in items:
        if E2E in item.path.parents:
            item.add_marker(pytest.mark.e2e)
    if hasattr(config, "workerinput"):
        # Files are handed to workers in this order: at the end all have short ones to share.
        tests = Counter(item.path for item in items)
        items.sort(key=lambda item: -tests[item.path])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in CI that skipped something that CI can run."""
    if _forbidden_skips(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what tests have measured, and which skips made the run fail."""
    for report in terminalreporter.getreports("passed"):
        for name, text in report.user_properties:
            if name == TOLD:
                terminalreporter.line(text)
    if skips := _forbidden_skips(config):
        terminalreporter.section("skipped, which CI does not accept", red=True)
        for skip in skips:
            terminalreporter.line(skip)


def _forbidden_skips(config: pytest.Config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI"):
        return []
    found = []
    for report in reporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not reason.startswith(ALLOWED_SKIP):
            found.append(f"{report.nodeid}: {reason}")
    return found
