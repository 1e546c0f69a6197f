"""One agent for all tests that don't end it: each looks at what was done since it began."""

from collections.abc import Iterator

import pytest

from tests.adapters.a2a.bench import Agent, agent


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(tmp_path_factory.mktemp("a2a")) as begun:
        yield begun


@pytest.fixture
def since(shared: Agent) -> int:
    """How many effects others have had."""
    return len(shared.effects)
