"""Bridges and workers as processes: killed, racing, replaced by others and by other versions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.dbos.bench import Place, Worker, place
from tests.support.target import Answered, Target, approve
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(120)]

Workers = Callable[..., Worker]
Bridges = Callable[..., Target]


@pytest.fixture(params=["sqlite", "postgres"])
def kept(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with place(tmp_path, request.param) as made:
        yield made


ON_POSTGRES = pytest.mark.parametrize("kept", ["postgres"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
"""Enough for what the database has no part in."""


@pytest.fixture
def workers(kept: Place) -> Iterator[Workers]:
    started: list[Worker] = []

    def start(executor: str = "one", version: str = "1") -> Worker:
        started.append(Worker(kept, executor, version))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()


@pytest.fixture
def bridges(kept: Place) -> Iterator[Bridges]:
    started: list[Target] = []

    def start(executor: str | None = None, version: str = "1", patience: float = 10.0) -> Target:
        found = {"database": kept.database, "schema": kept.schema, "patience": patience}
        found |= {"executor": executor, "version": version}
        (kept.folder / "dbos.json").write_text(json.dumps(found))
        started.append(Target(kept.folder, lease=3.0, module="tests.adapters.dbos.bridging"))
        return started[-1]

    yield start
    for bridge in started:
        bridge.close()


def raced(bridges: Sequence[Target], thread: str, entry: dict[str, Any]) -> list[Answered]:
    """The same answer at several bridges at once."""
    told: list[Answered] = []

    def send(bridge: Target) -> None:
        told.append(bridge.send(thread, resume=[entry]))

    racing = [threading.Thread(target=send, args=(bridge,)) for bridge in bridges]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    return told


def texts(answered: Answered) -> str:
    """All text of a stream."""
    found = [e["delta"] for e in answered.events if e["type"] == "TEXT_MESSAGE_CONTENT"]
    return "".join(found)


def test_a_question_outlives_bridge_and_worker_and_five_answers_count_once(
    kept: Place, workers: Workers, bridges: Bridges
) -> None:
    worker, first = workers("one"), bridges()
    (interrupt,) = first.send("t", "deploy").interrupts
    worker.kill()
    first.kill()
    # Nobody has the workflow, and nothing is sent to it: the question stands.
    away = bridges(patience=1.0).send("t", resume=[approve(interrupt)])
    assert (away.code, kept.effects) == ("UPSTREAM_ERROR", [])
    # Another process takes it, not the one that had it.
    one, other = bridges(), bridges()
    workers("two")
    told = raced([one, other, one, other, one], "t", approve(interrupt))
    assert [each.outcome for each in told] == ["success"] * 5
    assert kept.effects == [{"version": "v2"}]


@ON_SQLITE
def test_in_the_bridges_own_process_another_replica_takes_the_answer_and_the_workflow(
    kept: Place, bridges: Bridges
) -> None:
    first = bridges("one")
    (interrupt,) = first.send("t", "deploy").interrupts
    first.kill()
    two, three = bridges("two"), bridges("three")
    told = raced([two, three, two, three, two], "t", approve(interrupt))
    assert [each.outcome for each in told] == ["success"] * 5
    assert kept.effects == [{"version": "v2"}]


@ON_SQLITE
def test_a_workflow_of_another_version_is_told_and_its_question_stands(
    kept: Place, workers: Workers, bridges: Bridges
) -> None:
    old, bridge = workers("one", version="1"), bridges()
    (interrupt,) = bridge.send("t", "deploy").interrupts
    old.kill()
    workers("two", version="2")
    away = bridges(patience=1.0).send("t", resume=[approve(interrupt)])
    message = next(e["message"] for e in away.events if e["type"] == "RUN_ERROR")
    assert "version '1'" in message
    assert bridge.thread("t")["interrupts"][0]["id"] == interrupt["id"]
    workers("three", version="1")
    assert bridge.send("t", resume=[approve(interrupt)]).outcome == "success"
    assert kept.effects == [{"version": "v2"}]


@ON_SQLITE
def test_a_workflow_whose_worker_dies_in_a_step_is_told_as_silent_and_goes_on_with_the_next(
    kept: Place, workers: Workers, bridges: Bridges
) -> None:
    worker, bridge = workers("one"), bridges(patience=1.5)
    silent = bridge.send("t", "die")
    assert "at process 'one'" in texts(silent)
    wait_until(lambda: not worker.lives)
    workers("one")
    wait_until(lambda: kept.effects == [{"died": "once"}])
    wait_until(lambda: "Done." in str(bridge.thread("t")["messages"]), 30)


@ON_POSTGRES
def test_a_worker_that_stood_still_does_nothing_more_with_what_another_took(
    kept: Place, workers: Workers, bridges: Bridges
) -> None:
    still, bridge = workers("one"), bridges()
    (interrupt,) = bridge.send("t", "deploy").interrupts
    still.freeze()
    workers("two")
    answering = threading.Thread(
        target=bridge.send, args=("t",), kwargs={"resume": [approve(interrupt)]}
    )
    answering.start()
    wait_until(lambda: kept.effects, 30)
    # It wakes while the other one acts.
    still.thaw()
    answering.join()
    assert bridge.send("t", "hello").outcome == "success"
    assert kept.effects == [{"version": "v2"}]
