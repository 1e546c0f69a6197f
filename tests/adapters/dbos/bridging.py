"""A bridge before workflows: of workers, or of its own process.

The folder of the effects says where they are: a file `dbos.json`, and for workflows of its own
process a file `executors` with the names of those to come.
"""

from __future__ import annotations

import json
from pathlib import Path

from agui_bridge import Bridge, Settings
from agui_bridge_dbos import DBOSWorkflow
from tests.adapters.dbos import flows
from tests.adapters.dbos.bench import Place
from tests.adapters.dbos.worker import launch
from tests.e2e.target import serve_for_target


def _bridge(store: str, effects: Path, lease: float) -> Bridge:
    settings = Settings(lease_seconds=lease, sweep_interval=0.3)
    bridge = Bridge(store, settings=settings, telemetry=False)
    kept = json.loads((effects.parent / "dbos.json").read_text())
    place = Place(effects.parent, kept["database"], kept["schema"])
    if kept.get("executor") is None:
        bridge.add("target", place.adapter(patience=kept["patience"]))
        return bridge
    launch(place.database, place.schema, place.file, kept["executor"], kept["version"])
    bridge.add("target", DBOSWorkflow(flows.target, patience=kept["patience"]))
    return bridge


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(_bridge)


if __name__ == "__main__":
    main()
