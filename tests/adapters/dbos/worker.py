"""A process that runs the workflows: `python -m tests.adapters.dbos.worker --database URL …`."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from dbos import DBOS

from tests.adapters.dbos import flows

QUEUE = "agents"


def launch(database: str, schema: str, effects: Path, executor: str, version: str) -> None:
    """Begin to run workflows in this process.

    Args:
        database: DBOS' system database.
        schema: of its tables.
        effects: where steps note what they do.
        executor: the process' name.
        version: of the application.
    """
    flows.EFFECTS[:] = [effects]
    DBOS(
        config={
            "name": "flows",
            "system_database_url": database,
            "dbos_system_schema": schema,
            "executor_id": executor,
            "application_version": version,
            "log_level": "WARNING",
        }
    )
    DBOS.launch()
    DBOS.register_queue(QUEUE, polling_interval_sec=0.1)


def main() -> None:
    """Run workflows until the process is ended."""
    parser = argparse.ArgumentParser()
    for name in ("database", "schema", "executor", "version"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--effects", type=Path, required=True)
    given = parser.parse_args()
    launch(given.database, given.schema, given.effects, given.executor, given.version)
    (given.effects.parent / f"{given.executor}.ready").touch()
    threading.Event().wait()


if __name__ == "__main__":
    main()
