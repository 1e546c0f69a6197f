"""The approval target with a playground, whose executions are counted."""

from __future__ import annotations

from examples.approval_target import make_bridge
from tests.e2e.target import serve_for_target


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(
        lambda store, effects, lease: make_bridge(
            store, effects, lease_seconds=lease, playground=True
        )
    )
