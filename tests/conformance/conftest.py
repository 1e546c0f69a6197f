"""The reference agent beside the tests, and configurations of the kit for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.conformance.reference import Reference
from tests.conformance.reference_thread import Store
from tests.support.server import serve

TOML = """
name = "reference"
url = "{base}/agent"
settle = 0.05
[prompts]
approval = "send {{marker}}"
[executions]
url = "{base}/effects?marker={{marker}}"
"""


@contextlib.contextmanager
def configured(*flaws: str) -> Iterator[str]:
    """A configuration for an agent that is served in a thread, and keeps nothing."""
    app = Reference(Store(), *flaws).app()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serve(app)) as base,
    ):
        yield TOML.format(base=base)


@pytest.fixture(scope="session")
def right() -> Iterator[str]:
    """The configuration for an agent that breaks no promise."""
    with configured() as text:
        yield text


@pytest.fixture(scope="session")
def wrong() -> Iterator[str]:
    """The same for one that fails `replay.once`, which it must pass, and `pause.schema`."""
    with configured("replay-executes", "no-schema") as text:
        yield text


@pytest.fixture
def started() -> str:
    """The same for one that the kit itself has to start."""
    return (
        TOML.format(base="http://127.0.0.1:{port}")
        + """
[server]
command = ["{python}", "-m", "tests.conformance.serve_reference", "{port}"]
ready = "http://127.0.0.1:{port}/capabilities"
"""
    )
