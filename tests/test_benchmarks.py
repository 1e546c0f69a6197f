from __future__ import annotations

import gc
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from benchmarks.__main__ import main
from benchmarks.budget.framework_agents import FRAMEWORKS, is_installed
from benchmarks.instructions import main as count
from benchmarks.measuring.load import first_event
from benchmarks.rows import BenchmarkBroken
from tests.support.postgres import execute, server
from tests.support.redis_server import redis_url

BUDGETS = {
    "encode/text-ascii": 15,
    "encode/text-chinese": 15,
    "encode/text-400": 15,
    "encode/text-400-chinese": 15,
    "encode/args-ascii": 15,
    "encode/args-chinese": 15,
    "encode/args-400": 15,
    "encode/args-400-chinese": 15,
    "validation/one": 40,
    "validation/ten": 40,
    "import/cpu": 400,
    "import/memory": 42,
    "import/help": 250,
    "import/bridge": 400,
    "import/bridge-memory": 42,
    "ready/starlette": 5,
    "ready/raw": 1.5,
    "ready/raw-sqlite": 1.2,
    "suspend/suspend-starlette": 4,
    "suspend/wake-starlette": 4,
    "first/raw": 2.5,
    "detect/8": 2,
    "detect/32": 2,
    "detect/128": 2,
    **{f"frameworks/{name}": 1.15 for name in FRAMEWORKS if is_installed(name)},
    "idle/some-of-starlette": 1.4,
    "idle/many-of-starlette": 1.4,
    "idle/silence-bridge": 4,
    "interrupt/sqlite-1": 0.5,
    "interrupt/sqlite-32": 0.6,
    "trips/memory": 4,
    "trips/sqlite": 3,
    "trips/sqlite-32": 0.4,
    **{f"long/{store}": 2 for store in ("memory", "sqlite")},
    **{f"long/{store}-bytes": 1.1 for store in ("memory", "sqlite")},
    "long/chat": 1.5,
}
SOME = ("validation", "first", "suspend")
"""What is measured before every commit."""


@pytest.fixture(autouse=True)
def collect_no_others() -> Iterator[None]:
    """Keep a measurement, which collects garbage first, from walking through all that is loaded."""
    gc.freeze()
    yield
    gc.unfreeze()


def measured(file: Path, *only: str) -> dict[str, dict[str, Any]]:
    """The rows of a run that only proves that everything works, by their names."""
    chosen = [word for name in only for word in ("--only", name)]
    assert main(["--tiny", "--json", str(file), *chosen]) == 0
    return {row["name"]: row for row in json.loads(file.read_text())["rows"]}


def budgets(rows: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The budgets of rows that have one."""
    every = {name: row["atLeast"] or row["atMost"] for name, row in rows.items()}
    return {name: budget for name, budget in every.items() if budget}


@pytest.mark.soak
@pytest.mark.timeout(180)
def test_every_row_of_the_budget_is_measured_and_every_contender_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = measured(tmp_path / "bench.json")

    assert budgets(rows) == BUDGETS
    differences = {name for name in rows if "idle/" in name} | {
        f"frameworks/{n}" for n in FRAMEWORKS
    }
    assert all(min(row["samples"]) > 0 for name, row in rows.items() if name not in differences)
    printed = capsys.readouterr().out
    assert [name for name in rows if name not in printed] == []


@pytest.mark.soak
def test_servers_are_started_and_measured(tmp_path: Path) -> None:
    rows = measured(tmp_path / "bench.json", *SOME)

    chosen = {name: b for name, b in BUDGETS.items() if name.partition("/")[0] in SOME}
    assert budgets(rows) == chosen
    assert all(min(row["samples"]) > 0 for row in rows.values())


@pytest.mark.soak
@pytest.mark.parametrize(
    "what",
    [["--contender", "bridge"], ["--contender", "bare"], ["--stream"]],
    ids=["ours", "bare", "a stream"],
)
def test_what_is_counted_is_carried_out(what: list[str]) -> None:
    count([*what, "--rounds", "2"])


@pytest.mark.soak
def test_stores_on_servers_are_measured_and_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_server = redis_url(tmp_path).partition("?")[0]
    monkeypatch.setenv("AGUI_BENCH_REDIS", redis_server)
    monkeypatch.setenv("AGUI_BENCH_POSTGRES", server().dsn)

    rows = measured(tmp_path / "bench.json", "interrupt", "trips")

    for clients in (1, 32):
        for store in ("sqlite", "postgresql", "redis"):
            assert rows[f"interrupt/{store}-{clients}"]["unit"] == "×"
    assert {rows[f"trips/{store}"]["atMost"] for store in ("postgresql", "redis")} == {3}
    with redis.Redis.from_url(redis_server) as client:
        assert list(client.scan_iter(f"agui_bench_{os.getpid()}_*", count=1000)) == []
    (schemas,) = execute(
        server().dsn,
        f"SELECT nspname FROM pg_namespace WHERE nspname LIKE 'agui_bench_{os.getpid()}_%'",
    )
    assert schemas == []


@pytest.mark.timeout(240)  # it measures until its figures are steady, which other load disturbs
def test_rows_are_selected_by_name_and_printed_as_markdown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--tiny", "--markdown", "--only", "encode/args-400"]) == 0

    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in table] == [7] * 4
    assert "400 characters" in table[2]
    assert "≥ 15 ×" in table[2]


def test_an_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "speed"])

    assert "there are encode, engine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "refused"),
        (b"HTTP/1.1 200 OK\r\n\r\n9\r\ndata: {}\n\r\n", "broke off"),
    ],
)
def test_a_contender_that_refuses_or_breaks_off_is_broken(said: bytes, complaint: str) -> None:
    client, server = socket.socketpair()
    with client, server:
        server.sendall(said)
        server.shutdown(socket.SHUT_WR)

        with pytest.raises(BenchmarkBroken, match=complaint):
            first_event(client, b"request")
