"""One tool for all tests that don't end it: each looks at what was done since it began."""

from collections.abc import Iterator

import pytest

from tests.adapters.webhook.bench import Tool, tool


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    with tool(tmp_path_factory.mktemp("webhook")) as begun:
        yield begun
