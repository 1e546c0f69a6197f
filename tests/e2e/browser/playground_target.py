"""The approval target with a playground, whose executions are counted.

Its agent `caller` asks with the arguments that a number stands for, so that no message shows them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from agui_bridge import Bridge, FunctionRun
from examples.approval_target import make_bridge
from tests.e2e.browser.arguments import SEED, twins
from tests.e2e.target import serve_for_target


def _bridge(store: str, effects: Path, lease: float) -> Bridge:
    bridge = make_bridge(store, effects, lease_seconds=lease, playground=True)
    pairs = list(twins(SEED))

    @bridge.agent("caller")
    async def caller(run: FunctionRun) -> AsyncIterator[str]:
        pair, place = divmod(int(run.text), 2)
        approval = await run.approve("call", pairs[pair][place])
        yield "Called." if approval.approved else "Not called."

    return bridge


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(_bridge)
