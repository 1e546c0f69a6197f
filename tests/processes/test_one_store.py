"""Several server processes on one store: whatever happens, a tool runs once at most."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.processes.conftest import quick_on, races
from tests.support.target import STREAM_SECONDS, Answered, Target, approve
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(240)]

LEASE = 3.0
"""Of a replica that loses its run; a busy machine must not end it before."""


@races(few=8, many=300)
def test_identical_resumes_at_once_on_two_processes_execute_once_every_time(
    targets: Callable[..., Target], rounds: int
) -> None:
    first, second = targets(), targets()

    def race(number: int) -> tuple[Answered, Answered]:
        thread = f"race-{number}"
        (interrupt,) = first.send(thread, f"send {thread}").interrupts
        gate = threading.Barrier(2)
        answers: dict[int, Answered] = {}

        def resume(index: int, target: Target) -> None:
            gate.wait(PATIENCE)
            answers[index] = target.send(thread, resume=[approve(interrupt)])

        other = threading.Thread(target=resume, args=(1, second))
        other.start()
        resume(0, first)
        other.join(STREAM_SECONDS)
        return answers[0], answers[1]

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(race, range(rounds)))

    executed = [effect["to"] for effect in first.effects]
    assert sorted(executed) == sorted(f"race-{n}-0@example.com" for n in range(rounds))
    assert all(a.outcome == b.outcome == "success" for a, b in outcomes)
    assert all(a.code is None and b.code is None for a, b in outcomes)


@races(few=4, many=50)
def test_different_answers_at_once_on_two_processes_give_one_of_them(
    targets: Callable[..., Target], rounds: int
) -> None:
    first, second = targets(), targets()

    def race(number: int) -> list[str | None]:
        thread = f"differ-{number}"
        (interrupt,) = first.send(thread, f"send {thread}").interrupts
        with ThreadPoolExecutor(2) as pool:
            yes = pool.submit(first.send, thread, None, [approve(interrupt)])
            no = pool.submit(second.send, thread, None, [approve(interrupt, approved=False)])
            return [yes.result().code, no.result().code]

    for number in range(rounds):
        codes = race(number)
        assert sorted(code or "" for code in codes) == ["", "INTERRUPT_ALREADY_ANSWERED"]
        sent = [e for e in first.effects if e["to"] == f"differ-{number}-0@example.com"]
        assert len(sent) == (1 if codes[0] is None else 0)


@quick_on("sqlite")
def test_a_process_killed_in_the_tool_gives_run_indeterminate_and_never_a_second_execution(
    targets: Callable[..., Target],
) -> None:
    first, second = targets(LEASE), targets()
    asked = first.send("crash", "crash bob")
    assert asked.outcome == "interrupt", asked
    (interrupt,) = asked.interrupts
    resume = [approve(interrupt)]

    assert first.send("crash", resume=resume).broken
    first.wait_for_death()
    again = second.send("crash", resume=resume)

    assert again.code == "RUN_INDETERMINATE"
    assert len(second.effects) == 1
    assert [row["status"] for row in second.audit("crash")] == ["indeterminate"]
    assert second.send("crash", resume=resume).code == "RUN_INDETERMINATE"
    assert second.send("crash", "hello").outcome == "success"
    assert len(second.effects) == 1
    dangling = second.thread("crash")["messages"]
    assert "unknown" in next(m["content"] for m in dangling if m["role"] == "tool")


def test_an_interrupt_survives_the_restart_of_the_server(targets: Callable[..., Target]) -> None:
    before = targets()
    (interrupt,) = before.send("restart", "send bob").interrupts
    before.kill()

    after = targets()
    shown = after.thread("restart")
    answer = after.send("restart", resume=[approve(interrupt)])

    assert [ask["id"] for ask in shown["interrupts"]] == [interrupt["id"]]
    assert answer.outcome == "success"
    assert len(after.effects) == 1


@quick_on("redis")
def test_a_frozen_process_that_comes_back_after_its_lease_writes_and_executes_nothing(
    targets: Callable[..., Target],
) -> None:
    frozen, other = targets(LEASE), targets()
    (interrupt,) = frozen.send("frozen", "both bob").interrupts[:1]
    asks = frozen.thread("frozen")["interrupts"]
    resume = [approve(ask) for ask in asks]

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(frozen.send, "frozen", None, resume)
        wait_until(lambda: other.thread("frozen")["status"] == "running")
        frozen.freeze()
        executed = len(other.effects)
        time.sleep(LEASE)
        late = other.send("frozen", resume=resume)
        stored = other.thread("frozen")
        frozen.thaw()
        back = stream.result(30)

    assert late.code == "RUN_INDETERMINATE"
    assert back.code == "RUN_INDETERMINATE" or back.broken
    # Nothing that had not begun when it was frozen has run since.
    assert executed == 0
    assert len(other.effects) <= 2
    assert len({effect["to"] for effect in other.effects}) == len(other.effects)
    assert other.thread("frozen")["messages"] == stored["messages"]
    assert interrupt["id"] in {row["id"] for row in other.audit("frozen")}


@quick_on("postgres")
def test_a_run_that_is_killed_mid_text_leaves_the_thread_usable_with_what_was_said(
    targets: Callable[..., Target],
) -> None:
    first, second = targets(LEASE), targets()
    first.send("text", "hello")

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(first.send, "text", "slow 200")
        wait_until(lambda: second.thread("text")["status"] == "running")
        first.kill()
        assert stream.result(20).broken

    assert second.send("text", "are you there?").code == "RUN_IN_PROGRESS"
    time.sleep(LEASE)
    assert second.send("text", "and now?").outcome == "success"
    said = [m["content"] for m in second.thread("text")["messages"] if m["role"] == "user"]
    assert said == ["hello", "slow 200", "and now?"]


def test_a_stop_reaches_the_process_that_runs_the_thread(targets: Callable[..., Target]) -> None:
    runner, other = targets(), targets()

    with ThreadPoolExecutor(1) as pool:
        heard: list[dict[str, Any]] = []
        stream = pool.submit(runner.send, "stop", "slow 400", heard=heard)
        wait_until(lambda: any(event.get("delta") == "2 " for event in heard))
        result = other.client.post("/agents/target/threads/stop/stop").json()
        told = stream.result(20)

    assert result["status"] == "success"
    assert result["partialResponse"].startswith("0 1 2 ")
    assert told.outcome == "cancelled"
    text = next(m for m in other.thread("stop")["messages"] if m["role"] == "assistant")
    assert text["metadata"] == {"agui_bridge": {"truncated": True}}
    assert other.send("stop", "go on").outcome == "success"
