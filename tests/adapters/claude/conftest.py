"""Claude Code before a model of our own, one for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.claude.coder import Coder
from tests.adapters.claude.model import FakeClaude


@pytest.fixture
async def model() -> AsyncIterator[FakeClaude]:
    async with FakeClaude().serving() as served:
        yield served


@pytest.fixture
def coder(model: FakeClaude, tmp_path: Path) -> Coder:
    return Coder(model.base_url, tmp_path)
