"""A bridge before the tool whose address stands in a file beside the effects.

Where there is a file `callback-url`, the tool calls back there: at another process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from agui_bridge import Bridge, Settings
from tests.adapters.webhook.bench import adapter_for
from tests.e2e.target import serve_for_target


def _bridge(store: str, effects: Path, lease: float) -> Bridge:
    settings = Settings(lease_seconds=lease, sweep_interval=0.3)
    bridge = Bridge(store, settings=settings, telemetry=False)
    own = f"http://127.0.0.1:{sys.argv[sys.argv.index('--port') + 1]}"
    elsewhere = effects.parent / "callback-url"
    callback_url = elsewhere.read_text() if elsewhere.exists() else own
    bridge.add("target", adapter_for((effects.parent / "tool-url").read_text(), callback_url))
    return bridge


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(_bridge)


if __name__ == "__main__":
    main()
