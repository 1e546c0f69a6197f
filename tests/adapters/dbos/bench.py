"""Workers as processes, what their workflows have done, and adapters for them."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from agui_bridge_dbos import DBOSWorkflow
from tests.adapters.dbos.worker import QUEUE
from tests.support.effects import lines_of
from tests.support.forks import fork
from tests.support.waiting import PATIENCE, wait_until

POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"


@dataclass(frozen=True)
class Place:
    """Where workflows are kept.

    Attributes:
        folder: where their effects and the logs lie.
        database: DBOS' system database.
        schema: of its tables.
    """

    folder: Path
    database: str
    schema: str

    @property
    def effects(self) -> list[Any]:
        """What the workflows have done, in whichever process."""
        return [json.loads(line) for line in lines_of(self.file)]

    @property
    def file(self) -> Path:
        """Of the effects."""
        return self.folder / "dbos-effects.jsonl"

    def adapter(self, name: str = "target", **options: Any) -> DBOSWorkflow:
        """An adapter for workflows that workers run.

        Args:
            name: the workflow's.
            **options: in place of those that tests have.
        """
        given: dict[str, Any] = {"patience": 10.0, "schema": self.schema, **options}
        return DBOSWorkflow(name, database=self.database, queue=QUEUE, **given)


@contextmanager
def place(folder: Path, kind: str) -> Iterator[Place]:
    """A place of its own, in a file or in a schema of PostgreSQL.

    Args:
        folder: for files.
        kind: `sqlite` or `postgres`.
    """
    if kind == "sqlite":
        yield Place(folder, f"sqlite:///{folder / 'dbos.sqlite'}", "dbos")
        return
    schema = f"dbos_{secrets.token_hex(4)}"
    yield Place(folder, POSTGRES, schema)
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())


class Worker:
    """A process of `tests.adapters.dbos.worker`.

    Args:
        place: where its workflows are kept.
        executor: the process' name.
        version: of the application.
    """

    def __init__(self, place: Place, executor: str = "one", version: str = "1") -> None:
        self._ready = place.folder / f"{executor}.ready"
        self._ready.unlink(missing_ok=True)
        self._log = place.folder / f"{executor}.log"
        arguments = ["--database", place.database, "--schema", place.schema]
        arguments += ["--executor", executor, "--version", version, "--effects", str(place.file)]
        self._process = fork("tests.adapters.dbos.worker", arguments, self._log)
        wait_until(self._runs, 2 * PATIENCE)

    def _runs(self) -> bool:
        assert self._process.is_alive(), self._log.read_text()
        return self._ready.exists()

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def freeze(self) -> None:
        """Stop the process where it is (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._process.kill()
        self._process.join(PATIENCE)
