"""Make the stores of this folder by the code of an earlier version: see README.md.

    cd CHECKOUT && PYTHONPATH=. .venv/bin/python …/tests/golden/upgrades/make.py

PostgreSQL (database `test`) and Redis run on 127.0.0.1; what is made there is deleted again.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import redis

from tests.support.target import Answered, Target, approve

HERE: Final = Path(__file__).parent
NAME: Final = "agui_before"
"""The schema in PostgreSQL and the prefix in Redis."""

PSQL: Final = os.environ.get("UPGRADES_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
REDIS: Final = "redis://127.0.0.1:6379/0"
EFFECT_SECONDS: Final = 20.0

PAUSED: Final[Mapping[str, str]] = {
    "send": "send ann",
    "both": "both ben",
    "half": "both cleo",
    "form": "form dan",
    "confirm": "confirm eve",
    "falsy": "falsy fay",
    "frontend": "frontend gus",
    "declined": "send hal",
    "answered": "send ida",
    "crashed": "crash jo",
}
"""What each thread is told first; by then all but `idle` and `cut` wait for an answer."""


def fill(store: str) -> None:
    """Hold the conversations with a server on a store; it dies within two of them."""
    with tempfile.TemporaryDirectory() as folder, Target(Path(folder), store=store, lease=2) as it:
        assert it.send("idle", "hello").outcome == "success"
        for thread, text in PAUSED.items():
            asked = it.send(thread, text)
            assert asked.interrupts or thread == "frontend", (thread, asked)
            if thread == "half":
                answer_one(it, thread, asked.interrupts[0])
            if thread == "declined":
                it.send(thread, resume=[approve(asked.interrupts[0], approved=False)])
            if thread == "answered":
                it.send(thread, resume=[approve(asked.interrupts[0])])
        assert [line["to"] for line in it.effects] == ["ida-0@example.com"]
        cut: list[Answered] = []
        running = threading.Thread(target=lambda: cut.append(it.send("cut", "slow 1000")))
        running.start()
        while it.thread("cut").get("status") != "running":
            time.sleep(0.1)
        asks = it.audit("crashed")
        assert it.send("crashed", resume=[approve(asks[0])]).broken
        running.join(EFFECT_SECONDS)
        assert cut[0].broken
        assert [line["to"] for line in it.effects] == ["ida-0@example.com", "jo-0@example.com"]


def answer_one(target: Target, thread: str, ask: dict[str, Any]) -> None:
    """Answer one of two questions, as only clients of the interrupt draft may."""
    body = {
        "threadId": thread,
        "runId": "one",
        "messages": [],
        "resume": {"interruptId": ask["id"], "payload": {"approved": True}},
    }
    target.client.post("/agents/target?dialect=draft", json=body).raise_for_status()
    assert sorted(row["status"] for row in target.audit(thread)) == ["answered", "open"]


def make_sqlite() -> None:
    """`sqlite.db.gz`: the file, its write-ahead log taken in."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (HERE / "sqlite.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def make_postgres() -> None:
    """`postgres.sql`: the tables and rows, without the schema that they lay in."""
    drop = ["psql", "-q", PSQL, "-c", f"DROP SCHEMA IF EXISTS {NAME} CASCADE"]
    subprocess.run(drop, check=True)
    fill(f"{PSQL}?schema={NAME}")
    command = ["pg_dump", PSQL, "-n", NAME, "--inserts", "--no-owner", "--no-privileges"]
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    subprocess.run(drop, check=True)
    left_out = re.compile(r"--|\\|SET |SELECT pg_catalog|CREATE SCHEMA|$")
    lines = [line for line in dump.splitlines() if not left_out.match(line)]
    (HERE / "postgres.sql").write_text("\n".join(lines).replace(f"{NAME}.", "") + "\n")


def make_redis() -> None:
    """`redis.jsonl`: each key with its type and value, the prefix left out."""
    with redis.Redis.from_url(REDIS, decode_responses=True) as client:
        fill(f"{REDIS}?prefix={NAME}")
        lines = []
        for key in sorted(client.scan_iter(f"{NAME}:*", count=1000)):
            kind, value = _value(client, key)
            lines.append(json.dumps([key.removeprefix(NAME), kind, value], ensure_ascii=False))
            client.delete(key)
    (HERE / "redis.jsonl").write_text("\n".join(lines) + "\n")


def _value(client: Any, key: str) -> tuple[str, Any]:
    assert client.ttl(key) == -1, "keys that expire are not kept"
    kind = client.type(key)
    if kind == "string":
        return kind, client.get(key)
    if kind == "hash":
        return kind, client.hgetall(key)
    assert kind == "zset", (key, kind)
    # As text: a number of JSON would lose nothing, but `inf` is none.
    return kind, {
        member: repr(score) for member, score in client.zrange(key, 0, -1, withscores=True)
    }


if __name__ == "__main__":
    make_sqlite()
    make_postgres()
    make_redis()
