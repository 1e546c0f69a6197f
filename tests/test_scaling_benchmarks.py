"""The scripts behind docs/scaling.md: each still measures what it says, in small."""

import pytest

from benchmarks import background, capacity, many_questions, per_run
from benchmarks.capacity import Constants, plan
from tests.support.postgres import server
from tests.support.redis_server import redis_url

SMALL = Constants(
    trips=10,
    bridge_ms=6,
    store_ms=3,
    announced=4,
    poll=2,
    kilobytes=1.0,
    connections=11,
    store_cores=2,
)


def test_capacity_follows_from_the_constants(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(SMALL, 1_000, 2**20)

    assert (found.processes, found.stores, found.connections) == (10, 3, 110)
    assert found.trips == 10_020
    assert found.gigabytes == pytest.approx(1.0)
    assert found.heard == 40_000
    assert found.full_at == pytest.approx(400)

    capacity.main(["--store", "Redis", "--runs", "1", "--set", "connections=7"])
    assert ", 7 connections" in capsys.readouterr().out


@pytest.fixture
def stores(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give up where there is no PostgreSQL and none can be started, or no Redis."""
    server()
    redis_url(tmp_path_factory.getbasetemp())


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("store", ["PostgreSQL", "Redis"])
def test_few_and_many_questions_are_stored_and_asked_for(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    many_questions.main(["--stores", store, "--few", "200", "--many", "1500", "--rounds", "1"])

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"| {store}")]
    assert len(lines) == 14


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("stores")
def test_what_replicas_and_runs_ask_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    background.main(["--processes", "1", "--states", "40 running", "--seconds", "3"])
    per_run.main(["--runs", "5"])

    text = capsys.readouterr().out
    assert text.count("40 running") == 2
    assert all(text.count(f"| {kind} |") >= 2 for kind in per_run.KINDS)
