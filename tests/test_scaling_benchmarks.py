"""The scripts behind docs/scaling.md: each still measures what it says, in small."""

from dataclasses import replace

import pytest

from benchmarks import background, capacity, many_questions, per_run
from benchmarks import throughput as throughput_command
from benchmarks.capacity import Constants, costs, plan, throughput
from tests.support.postgres import server
from tests.support.redis_server import redis_url

SMALL = Constants(
    trips=10,
    bridge_ms=6,
    store_ms=3,
    announced=4,
    hear_ms=0,
    hear_store_ms=0,
    send_ms=0,
    measured_at=1,
    gather=0,
    poll=2,
    kilobytes=1.0,
    connections=11,
    store_cores=2,
)


def test_capacity_follows_from_the_constants(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(SMALL, 1_000, 2**20)

    assert found is not None
    assert (found.processes, found.stores, found.connections) == (10, 3, 110)
    assert found.trips == 10_020
    assert found.gigabytes == pytest.approx(1.0)
    assert found.heard == 36_000
    assert found.full_at == pytest.approx(400)

    capacity.main(["--store", "Redis", "--runs", "1", "--set", "connections=7"])
    assert ", 7 connections" in capsys.readouterr().out


def test_what_others_hear_makes_runs_dearer_and_fills_them_at_last() -> None:
    loud = replace(SMALL, hear_ms=0.05, hear_store_ms=0.01)

    assert costs(loud, 1, 100) == (6, 3)
    assert costs(loud, 11, 100) == pytest.approx((8, 3.4))
    # A hundred a second in each process: four changes in a hundredth of a second share one.
    assert costs(replace(loud, gather=0.01), 11, 1_100) == pytest.approx((6.4, 3.08))

    found, quiet = plan(loud, 1_000, 0), plan(SMALL, 1_000, 0)
    assert found is not None
    assert quiet is not None
    assert found.processes > quiet.processes
    # 60 % of a core hears 3,000 runs a second with four announcements each, and does nothing else.
    assert plan(loud, 3_000, 0) is None


def test_announcements_that_share_less_are_sent_more_often() -> None:
    gathering = replace(SMALL, send_ms=0.5, measured_at=100, gather=0.01)

    assert costs(gathering, 1, 100)[0] == pytest.approx(6)
    # A tenth of that in each process: 0.8 announcements for a run become 2.86.
    assert costs(gathering, 10, 100)[0] == pytest.approx(6 + 0.5 * (4 / 1.4 - 0.8))


def test_what_shares_a_machine_is_limited_by_its_cores_or_by_one_process() -> None:
    assert throughput(SMALL, 1, cores=100, client_ms=1) == pytest.approx(1_000 / 6, rel=1e-3)
    assert throughput(SMALL, 4, cores=2, client_ms=1) == pytest.approx(200, rel=1e-3)


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


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("store", ["PostgreSQL", "Redis", "Redis Cluster"])
def test_what_several_processes_carry_is_measured_and_foretold(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--processes", "1", "2", "--seconds", "0.5", "--rounds", "1"]
    throughput_command.main(["--stores", store, *few])

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"| {store}")]
    assert len(lines) == 3
