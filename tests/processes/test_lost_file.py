"""SQLite's file is removed, replaced or damaged under two servers: neither takes anything any more.

What is acknowledged into such a file would be lost, and executed again by who opens another one.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.target import Target, approve

PARTS = ("", "-wal", "-shm")
SOON = 5.0


def remove(file: Path) -> None:
    for part in PARTS:
        Path(f"{file}{part}").unlink(missing_ok=True)


def move(file: Path) -> None:
    (file.parent / "elsewhere").mkdir()
    for part in PARTS:
        shutil.move(f"{file}{part}", file.parent / "elsewhere")


def move_back(file: Path) -> None:
    for part in PARTS:
        shutil.move(file.parent / "elsewhere" / f"{file.name}{part}", f"{file}{part}")


def replace(file: Path) -> None:
    copy = file.parent / "backup.db"
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as into:
        source.backup(into)
    for part in PARTS[1:]:
        Path(f"{file}{part}").unlink()
    os.replace(copy, file)


def remove_log(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def scribble(file: Path) -> None:
    """Into the file, of which the log has nothing more."""
    with closing(sqlite3.connect(file)) as own:
        own.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as pages:
        for page in range(4096, file.stat().st_size, 4096):
            pages.seek(page)
            pages.write(os.urandom(200))


ACCIDENTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "removed": (remove, "is gone"),
    "moved away": (move, "is gone"),
    "replaced by a backup": (replace, "is another one"),
    "without its log": (remove_log, "agents.db-wal of the database is gone"),
    "damaged": (scribble, "is damaged"),
}


def readiness(target: Target) -> int:
    return target.client.get("/readyz").status_code


def wait_until_unready(target: Target) -> None:
    deadline = time.monotonic() + SOON
    while readiness(target) != 503:
        assert time.monotonic() < deadline, "/readyz says 200"
        time.sleep(0.05)


@pytest.mark.soak
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_no_server_takes_anything_into_a_lost_file(accident: str, tmp_path: Path) -> None:
    happens, said = ACCIDENTS[accident]
    file, store = tmp_path / "agents.db", f"sqlite:///{tmp_path / 'agents.db'}"
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with Target(folders[0], store=store) as one, Target(folders[1], store=store) as two:
        asks = [one.send(f"paused {n}", f"send ann {n}").interrupts[0] for n in range(2)]
        # Both have used the file: what they know of it is in their memory.
        assert {readiness(one), readiness(two)} == {200}
        assert two.send("said", "hello").outcome == "success"

        happens(file)

        # Damage is seen by who reads it first, and all others hear of it.
        refused = [
            target.send(f"paused {n}", resume=[approve(asks[n])])
            for n, target in enumerate((one, two))
        ]
        refused += [target.send(f"new {n}", "send bob") for n, target in enumerate((one, two))]
        assert {told.refused for told in refused} == {"503 STORE_UNAVAILABLE"}
        for target in (one, two):
            wait_until_unready(target)
            assert target.client.get("/agents/target/threads").status_code == 503
            assert target.client.get("/healthz").status_code == 200
            told = [line for line in target.log.splitlines() if said in line]
            assert len(told) == 1, target.log
            assert str(file) in told[0]
            assert "restore a backup" in told[0] or "put the right file there" in told[0]
        assert one.effects == two.effects == []

        if accident == "moved away":
            move_back(file)
            time.sleep(1.1)
            assert {readiness(one), readiness(two)} == {200}
            for n, target in enumerate((one, two)):
                again = target.send(f"paused {n}", resume=[approve(asks[n])])
                assert again.outcome == "success"
