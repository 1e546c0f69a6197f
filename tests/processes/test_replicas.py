"""Replicas on one store: it does not matter which of them an input reaches."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.support.forks import fork
from tests.support.target import Target, approve
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(120)]

FAULTY = "tests.support.fault_target"
THREADS = 12


def are_idle(target: Target, names: list[str]) -> bool:
    """Whether threads do nothing."""
    return {target.thread(name)["status"] for name in names} == {"idle"}


def call(target: Target, method: str, *arguments: Any) -> Any:
    """Call a method of the bridge in a process of its own, which serves nothing."""
    folder = target.effects_file.parent
    outcome, log = folder / "outcome.json", folder / "script.log"
    given = [target.store, str(target.effects_file), str(outcome), method, json.dumps(arguments)]
    script = fork("tests.processes.script", given, log)
    script.join(PATIENCE)
    assert script.exitcode == 0, log.read_text()
    return json.loads(outcome.read_text())


def test_an_answer_may_reach_another_replica_than_the_question_came_from(
    targets: Callable[..., Target],
) -> None:
    first, second = targets(), targets()
    (interrupt,) = first.send("moved", "send moved").interrupts

    assert second.send("moved", resume=[approve(interrupt)]).outcome == "success"

    assert [effect["to"] for effect in first.effects] == ["moved-0@example.com"]
    assert first.thread("moved") == second.thread("moved")
    assert first.audit("moved") == second.audit("moved")
    assert first.send("moved", resume=[approve(interrupt)]).outcome == "success"
    assert len(first.effects) == 1


def test_who_joins_at_another_replica_waits_for_the_end_and_gets_its_outcome(
    targets: Callable[..., Target],
) -> None:
    runner = targets(module=FAULTY, options=["--tool-seconds", "1.5"])
    other = targets()
    (interrupt,) = other.send("join", "send join").interrupts
    resume = [approve(interrupt)]

    with ThreadPoolExecutor(4) as pool:
        own = pool.submit(runner.send, "join", None, resume)
        wait_until(lambda: other.thread("join")["status"] == "running")
        joined = [pool.submit(other.send, "join", None, resume) for _ in range(3)]
        # Whoever joined has the end only when the run has.
        assert own.result().outcome == "success"
        answers = [one.result() for one in joined]

    assert [answer.outcome for answer in answers] == ["success"] * 3
    said = other.thread("join")["messages"][-1]["content"]
    assert said == "Outcome: sent to join-0@example.com."
    for answer in answers:
        (snapshot,) = (e["messages"] for e in answer.events if e["type"] == "MESSAGES_SNAPSHOT")
        assert snapshot[-1]["content"] == said
    assert len(other.effects) == 1


def test_an_expired_batch_is_closed_once_however_many_replicas_sweep(
    targets: Callable[..., Target],
) -> None:
    sweeping: dict[str, Any] = {"module": FAULTY, "options": ["--sweep", "0.02"]}
    replicas = [targets(expires_in=0.5, **sweeping) for _ in range(2)]
    names = [f"expiring-{number}" for number in range(THREADS)]
    for name in names:
        assert replicas[0].send(name, f"send {name}").interrupts

    wait_until(lambda: {replicas[1].thread(name)["status"] for name in names} == {"idle"})

    for name in names:
        (row,) = replicas[1].audit(name)
        assert [entry["status"] for entry in row["history"]] == ["open", "expired"]
        tools = [m for m in replicas[1].thread(name)["messages"] if m["role"] == "tool"]
        assert [m["content"] for m in tools] == [
            "The time to approve this tool call is over; it was not executed."
        ]
    assert replicas[0].effects == []


def test_a_lost_run_is_noticed_once_however_many_replicas_sweep(
    targets: Callable[..., Target],
) -> None:
    sweeping: dict[str, Any] = {"module": FAULTY, "options": ["--sweep", "0.02"]}
    replicas = [targets(**sweeping) for _ in range(2)]
    doomed = targets(2.0)
    names = [f"lost-{number}" for number in range(4)]
    for name in names:
        (interrupt,) = replicas[0].send(name, f"crash {name}").interrupts
        assert interrupt
    # One dies of it; what the others wait for stays.
    (interrupt,) = replicas[0].thread("lost-0")["interrupts"]
    assert doomed.send("lost-0", resume=[approve(interrupt)]).broken

    wait_until(lambda: replicas[1].thread("lost-0")["status"] == "idle")
    (row,) = replicas[1].audit("lost-0")
    statuses = [entry["status"] for entry in row["history"]]
    assert statuses.count("indeterminate") == 1
    assert statuses[-1] == "indeterminate"
    assert len(replicas[0].effects) == 1
    assert {replicas[1].thread(name)["status"] for name in names[1:]} == {"interrupted"}


def test_what_expires_is_closed_whichever_replica_is_killed(
    targets: Callable[..., Target],
) -> None:
    sweeping: dict[str, Any] = {"module": FAULTY, "options": ["--sweep", "0.05"]}
    replicas = [targets(expires_in=1.0, **sweeping) for _ in range(3)]
    last = replicas[-1]
    # Whoever's duty it is to sweep, two deaths leave it to one that was not alone.
    for number, doomed in enumerate(replicas[:2]):
        names = [f"left-{number}-{n}" for n in range(3)]
        for name in names:
            assert doomed.send(name, f"send {name}").interrupts
        doomed.kill()

        wait_until(partial(are_idle, last, names))
    assert last.effects == []


def test_a_script_answers_what_a_replica_asked(targets: Callable[..., Target]) -> None:
    first, second = targets(), targets()
    (interrupt,) = first.send("script", "send script").interrupts

    last = call(second, "resume_sync", "script", {interrupt["id"]: {"approved": True}})
    again = call(second, "resume_sync", "script", {interrupt["id"]: {"approved": True}})

    assert last["type"] == again["type"] == "RUN_FINISHED"
    assert last["outcome"]["type"] == again["outcome"]["type"] == "success"
    assert [effect["to"] for effect in first.effects] == ["script-0@example.com"]
    assert second.send("script", resume=[approve(interrupt)]).outcome == "success"
    assert len(first.effects) == 1


def test_a_script_stops_what_a_replica_runs(targets: Callable[..., Target]) -> None:
    runner = targets()
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(runner.send, "halt", "slow 400")
        wait_until(lambda: runner.thread("halt").get("status") == "running")
        result = call(runner, "stop_sync", "halt")
        told = stream.result(30)

    assert result["status"] == "success"
    assert told.outcome == "cancelled"
    assert runner.send("halt", "go on").outcome == "success"
