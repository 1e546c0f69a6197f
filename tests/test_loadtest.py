"""The load test works, and notices what it is there to notice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from loadtest import __main__ as command, idle, neighbours, pressure
from loadtest.client import Answer
from loadtest.neighbours import Neighbours
from loadtest.pressure import Result
from loadtest.replica import Memory
from loadtest.rounds import Load


@pytest.mark.soak
def test_replicas_pass_with_little_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pressure, "THREADS", 4)

    only = ["--stores", "sqlite", "--no-idle", "--no-neighbours"]
    assert command.main(["--seconds", "0.3", "--replicas", "3", *only]) == 0

    said = capsys.readouterr().out
    assert ", 3 replicas, 4 threads at once" in said
    assert said.endswith("load: nothing twice, nothing lost, no answer unexplained\n")


@pytest.mark.soak
@pytest.mark.timeout(120)
def test_replicas_and_idle_streams_pass_with_little_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pressure, "THREADS", 8)
    monkeypatch.setattr(idle, "STREAMS", 30)

    assert command.main(["--seconds", "1", "--stores", "sqlite", "--no-neighbours"]) == 0

    said = capsys.readouterr().out
    assert "SQLite: " in said
    assert "idle: 30 streams open" in said
    assert said.endswith("load: nothing twice, nothing lost, no answer unexplained\n")


@pytest.mark.soak
@pytest.mark.timeout(120)
def test_neighbours_are_measured_by_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(neighbours, "HOSTILE_KINDS", ("head",))
    monkeypatch.setattr(neighbours, "LEASES", (3.0,))
    monkeypatch.setattr(neighbours, "DELAY", 60.0)

    assert command.main(["--seconds", "1", "--stores", "--no-idle", "--connections", "2"]) == 0

    said = capsys.readouterr().out
    assert "hostile neighbours: 2 connections, lease 3 s" in said
    assert "the neighbour's runs: " in said


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (Neighbours([0.1], [0.1], Counter(success=1, LOST=2), alive=True), "runs ended so"),
        (Neighbours([0.1], [0.1], Counter(success=1)), "the server is gone"),
        (Neighbours([1.3], [0.1], Counter(success=1), alive=True), "/healthz took 1.30 s"),
        (Neighbours([], [], Counter(success=1), alive=True), "/healthz was not asked"),
    ],
)
def test_what_a_neighbour_should_not_notice_is_a_fault(found: Neighbours, fault: str) -> None:
    result = Result()

    neighbours._tell(result, "an attack", "head", found)

    assert [told for told in result.faults if fault in told] == result.faults


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"a": 2, "b": 1}, "1 executed twice: a"),
        ({"b": 1}, "1 approved and told as done, but not executed: a"),
        ({"a": 1, "c": 1}, "1 executed without approval: c"),
    ],
)
def test_what_should_not_be_executed_as_it_was_is_a_fault(sent: dict[str, int], fault: str) -> None:
    load = Load(("", ""), must={"a"}, may={"a", "b"})
    result = Result()

    pressure._count(result, load, Counter(sent))

    assert [found.partition(" (")[0] for found in result.faults] == [fault]


def test_an_answer_that_the_contract_does_not_give_is_a_fault() -> None:
    load = Load(("", ""))
    for word in ("success", "STORE_UNAVAILABLE", "INTERNAL_ERROR", "ReadError"):
        load.note("once", Answer(word), frozenset({"success"}))

    assert load.wrong == ["once: INTERNAL_ERROR", "once: ReadError"]
    assert load.unavailable == 1


def test_memory_is_judged_by_its_second_half() -> None:
    memory = Memory([(float(t), 1000 * t if t < 5 else 5000 + 10 * t) for t in range(10)])

    assert memory.slope == pytest.approx(10)


def test_a_server_that_is_not_there_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGUI_BENCH_REDIS", "redis://127.0.0.1:1/0")

    assert (
        command.main(["--seconds", "1", "--stores", "redis", "--no-idle", "--no-neighbours"]) == 2
    )
    assert "Redis does not answer at its address" in capsys.readouterr().err
