"""Temporal with a worker as processes, and what its workflows have done."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from agui_bridge_temporal import TemporalWorkflow
from tests.support.effects import lines_of
from tests.support.forks import fork
from tests.support.temporal_server import TemporalServer, temporal_server

QUEUE = "targets"


def main() -> None:
    """Be a worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--address")
    parser.add_argument("--effects")
    given = parser.parse_args()
    os.environ["EFFECTS"] = given.effects
    asyncio.run(_work(given.address))


async def _work(address: str) -> None:
    from temporalio.client import Client
    from temporalio.worker import Worker

    from tests.adapters.temporal.workflows import ACTIVITIES, WORKFLOWS

    worker = Worker(
        await Client.connect(address),
        task_queue=QUEUE,
        workflows=WORKFLOWS,
        activities=ACTIVITIES,
        activity_executor=ThreadPoolExecutor(4),
        max_concurrent_activities=4,
        # Of a worker that was killed, another one takes the workflows over after this time.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
    )
    await worker.run()


class Bench:
    """A server and a worker.

    Args:
        server: the server.
        folder: where effects and logs lie.
    """

    def __init__(self, server: TemporalServer, folder: Path) -> None:
        self.server = server
        self.effects_file = folder / "temporal-effects.jsonl"
        self._log = folder / "worker.log"
        self._worker: BaseProcess | None = None

    def start_worker(self) -> None:
        """Begin a worker's process."""
        arguments = ["--address", self.server.address, "--effects", str(self.effects_file)]
        self._worker = fork("tests.adapters.temporal.bench", arguments, self._log)

    def kill_worker(self) -> None:
        """End it with SIGKILL."""
        if self._worker is not None:
            self._worker.kill()
            self._worker.join(20)
            self._worker = None

    @property
    def effects(self) -> list[Any]:
        """What the workflows have done."""
        return [json.loads(line) for line in lines_of(self.effects_file)]

    def adapter(self, workflow: str = "TargetWorkflow", **options: Any) -> TemporalWorkflow:
        """An adapter of a workflow here."""
        given = {"address": self.server.address, "task_queue": QUEUE, "patience": 5.0, **options}
        return TemporalWorkflow(workflow, **given)


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """Both for as long as they are needed."""
    with temporal_server(folder) as server:
        begun = Bench(server, folder)
        begun.start_worker()
        try:
            yield begun
        finally:
            begun.kill_worker()
