"""A tool that asks in its middle: paid once, whoever dies and however many answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.processes.conftest import races
from tests.support.target import Answered, Target, approve
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

MODULE = "tests.processes.paying"
AT_ONCE = 5


def code(interrupt: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    """The answer to a question, as a resume."""
    payload = {"code": "4711", **changes}
    return [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]


def of_calls(*told: Answered) -> list[tuple[str, str]]:
    events = [event for one in told for event in one.events]
    return [(e["type"], e["toolCallId"]) for e in events if e["type"].startswith("TOOL_CALL")]


def paid(name: str) -> list[dict[str, str]]:
    """What a payment leaves behind: it was begun once, and paid once."""
    return [{"begun": name}, {"paid": name, "code": "4711", "payment": f"p-{name}"}]


@pytest.mark.parametrize("approved", [False, True])
def test_killed_between_question_and_answer_it_goes_on_in_another_process(
    targets: Callable[..., Target], approved: bool
) -> None:
    first = targets(module=MODULE)
    runs = [first.send("t", "approved rent" if approved else "rent")]
    if approved:
        (interrupt,) = runs[0].interrupts
        runs.append(first.send("t", resume=[approve(interrupt)]))
    (interrupt,) = runs[-1].interrupts
    assert interrupt["message"] == "The code for rent?"
    first.kill()

    second = targets(module=MODULE)
    refused = second.send("t", resume=code(interrupt, code=4711))
    assert (refused.code, len(refused.interrupts)) == ("INVALID_RESUME_PAYLOAD", 1)
    # What was not asked changes nothing.
    edits = {"approved": True, "editedArgs": {"name": "yacht"}, "name": "yacht"}
    runs.append(second.send("t", resume=code(interrupt, **edits)))

    assert runs[-1].outcome == "success"
    assert second.effects == paid("rent")
    call = interrupt["toolCallId"]
    kinds = [kind for kind, _ in of_calls(*runs)]
    assert kinds == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert {own for _, own in of_calls(*runs)} == {call}
    tools = [m for m in second.thread("t")["messages"] if m["role"] == "tool"]
    assert [m["content"] for m in tools] == ["rent was paid"]
    assert {row["status"] for row in second.audit("t")} == {"resolved"}


def race(both: list[Target], rounds: int) -> None:
    """Five answers at once to each question, over the processes there are."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(rounds):
            name = f"bill-{number}"
            (interrupt,) = both[number % len(both)].send(name, name).interrupts
            gate = threading.Barrier(AT_ONCE)

            def answer(
                index: int,
                name: str = name,
                interrupt: dict[str, Any] = interrupt,
                gate: threading.Barrier = gate,
            ) -> tuple[str | None, str | None]:
                gate.wait(PATIENCE)
                told = both[index % len(both)].send(name, resume=code(interrupt))
                return told.outcome, told.code

            assert set(pool.map(answer, range(AT_ONCE))) == {("success", None)}
    lines = both[0].effects
    assert lines == [line for number in range(rounds) for line in paid(f"bill-{number}")]


@races(few=4, many=60)
def test_of_five_answers_at_once_at_two_processes_one_pays(
    targets: Callable[..., Target], rounds: int
) -> None:
    race([targets(module=MODULE), targets(module=MODULE)], rounds)


@races(few=4, many=60)
def test_of_five_answers_at_once_at_one_process_one_pays(tmp_path: Path, rounds: int) -> None:
    target = Target(tmp_path, store="memory:", module=MODULE)
    try:
        race([target], rounds)
    finally:
        target.close()


def test_stopped_while_it_waits_it_pays_nothing_and_says_that_nobody_knows(
    targets: Callable[..., Target],
) -> None:
    target = targets(module=MODULE)
    (interrupt,) = target.send("t", "rent").interrupts
    assert target.client.post("/agents/target/threads/t/stop").json()["status"] == "success"

    late = target.send("t", resume=code(interrupt))

    assert late.code == "INTERRUPT_ALREADY_ANSWERED"
    assert target.effects == [{"begun": "rent"}]
    tools = [m for m in target.thread("t")["messages"] if m["role"] == "tool"]
    assert ["unknown" in m["content"] for m in tools] == [True]
