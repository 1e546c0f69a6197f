"""A small checkout in the real layout, to make mistakes in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["ROOT", "lay_out"]

ROOT: Final = Path(__file__).parents[2]
"""Of the real one."""


def lay_out(root: Path) -> None:
    """A small checkout of empty modules, in the real layout."""
    for name in """
        agui_bridge/__init__.py agui_bridge/errors.py agui_bridge/adapters.py agui_bridge/cli.py
        agui_bridge/agents/__init__.py agui_bridge/conformance/__init__.py
        agui_bridge/engine/__init__.py agui_bridge/engine/engine.py
        agui_bridge/http/__init__.py agui_bridge/http/server.py
        agui_bridge/http/agui/__init__.py agui_bridge/http/agui/runs.py
        agui_bridge/bridge/__init__.py agui_bridge/bridge/bridge.py
        agui_bridge/protocol/__init__.py agui_bridge/protocol/y.py
        agui_bridge/stores/__init__.py agui_bridge/stores/base.py
        agui_bridge/stores/memory/__init__.py
        agui_bridge/stores/redis/__init__.py agui_bridge/stores/sql/__init__.py
        agui_bridge/stores/sql/rows.py agui_bridge/stores/sqlite/__init__.py
        agui_bridge/stores/sqlite/store.py
        agui_bridge/stores/open.py
        adapters/agui_bridge_mine/__init__.py adapters/agui_bridge_other/__init__.py
    """.split():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
