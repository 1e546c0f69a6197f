"""A bridge before the Temporal whose address stands in a file beside the effects."""

from __future__ import annotations

from pathlib import Path

from agui_bridge import Bridge, Settings
from agui_bridge_temporal import TemporalWorkflow
from tests.adapters.temporal.bench import QUEUE
from tests.e2e.target import serve_for_target


def _bridge(store: str, effects: Path, lease: float) -> Bridge:
    settings = Settings(lease_seconds=lease, sweep_interval=0.3)
    bridge = Bridge(store, settings=settings, telemetry=False)
    address = (effects.parent / "address").read_text()
    adapter = TemporalWorkflow(
        "TargetWorkflow", task_queue=QUEUE, address=address, timeout=15.0, patience=20.0
    )
    bridge.add("target", adapter)
    return bridge


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(_bridge)


if __name__ == "__main__":
    main()
