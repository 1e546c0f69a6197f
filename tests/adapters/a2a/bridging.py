"""A bridge before the agent whose address stands in a file beside the effects."""

from __future__ import annotations

from pathlib import Path

from agui_bridge import Bridge, Settings
from agui_bridge_a2a import A2AAdapter
from tests.e2e.target import serve_for_target


def _bridge(store: str, effects: Path, lease: float) -> Bridge:
    settings = Settings(lease_seconds=lease, sweep_interval=0.3)
    bridge = Bridge(store, settings=settings, telemetry=False)
    bridge.add("target", A2AAdapter((effects.parent / "agent-url").read_text(), patience=2.0))
    return bridge


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(_bridge)


if __name__ == "__main__":
    main()
