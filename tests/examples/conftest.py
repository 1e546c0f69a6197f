"""How the tests here start an example."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples.served import Served, serving

Serving = Callable[[str, str], contextlib.AbstractAsyncContextManager[Served]]


@pytest.fixture
def example(tmp_path: Path) -> Serving:
    """Serves an example's agent on a store of its own: `example("wizard", "wizard")`."""
    return lambda name, agent: serving(f"examples.{name}", agent, tmp_path)
