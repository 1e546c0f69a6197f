"""Agents in a folder, and editors that start them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acp import editor
from tests.acp.agents import lay_out
from tests.acp.editor import Start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the agents' module."""
    lay_out(tmp_path)
    return tmp_path


@pytest.fixture
def started() -> Start:
    """Starts an agent in an editor; the same tests run with another library's in `tests/e2e`."""
    return editor.started
