"""What the tests of agents are given."""

from __future__ import annotations

import pytest

from tests.agents.function.effects import Effects


@pytest.fixture
def effects() -> Effects:
    return Effects()
