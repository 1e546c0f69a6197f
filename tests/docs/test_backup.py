"""docs/backup.md: each store is copied, lost and restored with its commands, and then answered."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.support import unavailable
from tests.support.postgres import execute, new_schema, server, with_schema
from tests.support.redis_server import RedisServer
from tests.support.target import Target, approve

PAGE = (ROOT / "docs" / "backup.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^<!-- (\w+ \w+) -->\n```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
PROGRAMS = {
    "sqlite": ["sqlite3"],
    "postgres": ["psql", "pg_dump", "pg_restore"],
    "redis": ["redis-cli", "redis-server"],
}

pytestmark = [pytest.mark.soak, pytest.mark.timeout(120)]


@dataclass
class Place:
    """A store that is copied and restored by the page's commands.

    Attributes:
        url: its address.
        folder: where the commands are run.
        variables: what the page tells to set.
    """

    url: str
    folder: Path
    variables: dict[str, str]

    def run(self, block: str) -> str:
        """Run a block of the page as its reader would; gives what it prints."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", BLOCKS[block]],
            cwd=self.folder,
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def before_the_restore(self) -> None:
        """Do what the page says in words."""

    def after_the_restore(self) -> None:
        """The same, afterwards."""


class RedisPlace(Place):
    """Redis is ended before it is restored, and started as always afterwards."""

    redis: RedisServer

    def before_the_restore(self) -> None:
        self.redis.kill()

    def after_the_restore(self) -> None:
        self.redis.start()


@contextmanager
def _sqlite(folder: Path) -> Iterator[Place]:
    yield Place(f"sqlite:///{folder / 'agents.db'}", folder, {})


@contextmanager
def _postgres(folder: Path) -> Iterator[Place]:
    dsn = server().dsn
    with new_schema() as schema:
        yield Place(with_schema(dsn, schema), folder, {"DATABASE": dsn, "SCHEMA": schema})
        execute(dsn, f'DROP SCHEMA IF EXISTS "{schema}_before" CASCADE')


@contextmanager
def _redis(folder: Path) -> Iterator[Place]:
    data = folder / "data"
    data.mkdir()
    with RedisServer(data) as redis:
        variables = {"DATA": str(data), "PORT": str(redis.port)}
        place = RedisPlace(redis.url, folder, variables)
        place.redis = redis
        yield place


KINDS = {"sqlite": _sqlite, "postgres": _postgres, "redis": _redis}


def test_the_page_has_a_copy_and_a_restore_of_every_store() -> None:
    assert set(BLOCKS) == {f"{kind} {what}" for kind in KINDS for what in ("backup", "restore")}


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_restore_open_questions_are_answered(kind: str, tmp_path: Path) -> None:
    for program in PROGRAMS[kind]:
        if shutil.which(program) is None:
            unavailable(program, "install the command-line tools of the store")
    with KINDS[kind](tmp_path) as place:
        with Target(tmp_path, store=place.url) as target:
            (waits,) = target.send("waits", "send waits").interrupts
            (done,) = target.send("done", "send done").interrupts
            (later,) = target.send("later", "send later").interrupts
            assert target.send("done", resume=[approve(done)]).outcome == "success"

            copied = place.run(f"{kind} backup")
            assert kind != "sqlite" or copied == "ok\n"

            assert target.send("later", resume=[approve(later)]).outcome == "success"
            (unknown,) = target.send("unknown", "send unknown").interrupts

        place.before_the_restore()
        place.run(f"{kind} restore")
        place.after_the_restore()

        with Target(tmp_path, store=place.url) as target:
            assert target.send("waits", resume=[approve(waits)]).outcome == "success"
            assert target.send("waits", "thanks").outcome == "success"
            assert target.send("done", resume=[approve(done)]).outcome == "success"
            assert target.audit("later")[0]["status"] == "open"
            assert target.send("unknown", resume=[approve(unknown)]).code == "INTERRUPT_NOT_FOUND"
            sent = [effect["to"].partition("-")[0] for effect in target.effects]

    # What was answered after the copy is asked for again: nobody approved it a second time here.
    assert sorted(sent) == ["done", "later", "waits"]


def test_a_run_that_was_under_way_at_the_copy_is_lost(tmp_path: Path) -> None:
    with _sqlite(tmp_path) as place:
        with (
            Target(tmp_path, store=place.url, lease=1.0) as target,
            target.client.stream("POST", "/agents/target", json=_body("slow", "slow 400")) as it,
        ):
            lines = it.iter_lines()
            next(line for line in lines if "TEXT_MESSAGE_CONTENT" in line)
            place.run("sqlite backup")
        place.run("sqlite restore")

        with Target(tmp_path, store=place.url, lease=1.0) as target:
            deadline = time.monotonic() + 30
            while target.thread("slow")["status"] == "running":
                assert time.monotonic() < deadline, "the run is not found to be lost"
                time.sleep(0.05)
            assert target.send("slow", "hello").outcome == "success"


def _body(thread: str, text: str) -> dict[str, object]:
    message = {"id": "u1", "role": "user", "content": text}
    return {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": [message]}
