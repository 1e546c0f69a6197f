"""The scripts behind docs/scaling.md: each still measures what it says, in small."""

import pytest

from benchmarks.scaling import (
    background,
    capacity,
    idle_bridges,
    many_questions,
    open_streams,
    per_run,
    throughput as throughput_command,
)
from benchmarks.scaling.capacity import Constants, plan, throughput
from tests.support.postgres import server
from tests.support.redis_server import redis_url

SMALL = Constants(
    trips=10,
    bridge_ms=6,
    store_ms=3,
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
    assert found.full_at == pytest.approx(400)

    capacity.main(["--store", "Redis", "--runs", "1", "--set", "connections=7"])
    assert ", 7 connections" in capsys.readouterr().out


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
def test_silent_streams_ask_nothing_and_a_restart_refuses_nobody() -> None:
    few, many = (open_streams.measure(streams, 10, 6.0) for streams in (20, 120))
    cell = dict(zip(open_streams.HEAD, many, strict=True))

    # Polls for stops, and renewals of all leases together: as much for few as for many.
    assert float(many[3]) <= float(few[3]) + 2
    # A look, what is said meanwhile, and the word to the owner.
    assert float(cell["trips/s of one"]) <= 4
    assert cell["after a restart: refused"] == "0"
    # A page finds its run lost, has that written, and looks again.
    assert float(cell["trips of a page"]) <= 6


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("channels", [0, 1])
@pytest.mark.parametrize("store", ["PostgreSQL", "Redis", "Redis Cluster"])
def test_idle_bridges_are_counted(
    store: str, channels: int, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--stores", store, "--bridges", "3", "--channels", str(channels)]
    idle_bridges.main([*given, "--settle", "1", "--seconds", "6"])

    assert f"| {store} | 3 | {channels} | " in capsys.readouterr().out


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
