"""Bridges and `langgraph dev` as processes: killed before an answer comes, racing, and judged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.conformance import load, run_suite
from tests.support.langgraph_server import LangGraphProcess
from tests.support.target import Answered, Target, approve
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(900)

RACES = 100
AT_ONCE = 8
LEASE = 10.0
"""Seconds; on a busy machine a shorter one is over while its run goes on."""


KIT = """
name = "a LangGraph server behind the bridge"
url = "http://127.0.0.1:{{port}}/agents/target"
capabilities = "http://127.0.0.1:{{port}}/agents/target/capabilities"
timeout = 120
settle = 1.5
concurrency = 4

[prompts]
approval = "send {{marker}}"
parallel = "both {{marker}}"
form = "ask colour"
amid = "ask colour"
text = "hello {{marker}}"
slow = "slow 60"

[answers]
edit = {{ approved = true, editedArgs = {{ to = "{{marker}}-edited", body = "edited" }} }}
form = {{ answer = "{{marker}}" }}
amid = {{ answer = "{{marker}}" }}
bad_form = [{{}}, "blue"]

[executions]
file = "{effects}"

[server]
command = [
    "{{python}}", "-m", "tests.e2e.langgraph_bridging", "--port", "{{port}}", "--lease", "10",
    "--effects", "{folder}/effects.jsonl", "--store", "sqlite:///{folder}/kit.db",
]
ready = "http://127.0.0.1:{{port}}/readyz"
ports = [0, 0]

[stop]
url = "http://127.0.0.1:{{port}}/agents/target/threads/{{thread}}/stop"
"""


@pytest.fixture
def targets(tmp_path: Path, langgraph: LangGraphProcess) -> Iterator[Callable[[], Target]]:
    (tmp_path / "langgraph-url").write_text(langgraph.url, encoding="utf-8")
    with starting(tmp_path) as start:
        yield start


@contextmanager
def starting(folder: Path) -> Iterator[Callable[[], Target]]:
    """Starts bridges before the server, which end with it."""
    started: list[Target] = []

    def start() -> Target:
        started.append(Target(folder, lease=LEASE, module="tests.e2e.langgraph_bridging"))
        return started[-1]

    yield start
    for target in started:
        target.close()


def race(targets: list[Target], thread: str, interrupt: dict[str, Any]) -> list[Answered]:
    """The same approval to each of them at once."""
    told: list[Answered] = []

    def answer(target: Target) -> None:
        told.append(target.send(thread, resume=[approve(interrupt)]))

    racing = [threading.Thread(target=answer, args=(target,)) for target in targets]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    return told


def test_a_question_outlives_the_bridge_and_of_four_answers_one_is_carried_out(
    langgraph: LangGraphProcess, targets: Callable[[], Target]
) -> None:
    before = len(langgraph.effects)
    first = targets()
    (interrupt,) = first.send("outlives", "send dora").interrupts
    first.kill()
    told = race([targets(), targets()] * 2, "outlives", interrupt)
    assert [each.outcome for each in told] == ["success"] * 4
    assert langgraph.effects[before:] == [{"to": "dora", "body": "original"}]


def test_of_raced_answers_none_is_carried_out_twice_and_nothing_without_one(
    langgraph: LangGraphProcess, targets: Callable[[], Target]
) -> None:
    before = len(langgraph.effects)
    both = [targets(), targets()]

    def ask(n: int) -> dict[str, Any]:
        (interrupt,) = both[n % 2].send(f"race{n}", f"send {n}").interrupts
        return interrupt

    def decide(n: int) -> None:
        told = race(both, f"race{n}", asked[n])
        assert [each.outcome for each in told] == ["success"] * 2

    # Its queue looks for runs twice a second: one after the other they would take minutes.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = list(pool.map(ask, range(RACES)))
        assert langgraph.effects[before:] == []
        list(pool.map(decide, range(RACES)))
    done = [one["to"] for one in langgraph.effects[before:]]
    assert sorted(done, key=int) == [str(n) for n in range(RACES)]


def test_what_a_killed_bridge_has_begun_goes_on_there_and_is_told_as_unknown(
    langgraph: LangGraphProcess, targets: Callable[[], Target]
) -> None:
    before = len(langgraph.effects)
    first, heard = targets(), list[dict[str, Any]]()
    saying = threading.Thread(
        target=first.send, args=("killed", "slowlytwice eve"), kwargs={"heard": heard}
    )
    saying.start()
    wait_until(lambda: any(e["type"] == "TOOL_CALL_END" for e in heard))
    first.kill()
    saying.join()
    second = targets()
    wait_until(lambda: second.thread("killed").get("status") == "idle", 6 * LEASE)
    # The server is still at work: the message waits until it is done.
    answered = second.send("killed", "hello")
    assert answered.outcome == "success"
    assert langgraph.effects[before:] == ["looked up eve"] * 2


def test_a_server_that_lost_its_memory_is_told_as_that_and_nothing_is_executed(
    tmp_path: Path,
) -> None:
    server = LangGraphProcess(tmp_path)
    (tmp_path / "langgraph-url").write_text(server.url, encoding="utf-8")
    with server.running(), starting(tmp_path) as start:
        bridge = start()
        (interrupt,) = bridge.send("lost", "send finn").interrupts
        server.kill()
        unreached = bridge.send("lost", resume=[approve(interrupt)])
        # Not delivered: the question stands.
        assert unreached.code == "UPSTREAM_ERROR"
        assert [one["id"] for one in unreached.interrupts] == [interrupt["id"]]
        server.start()
        told = bridge.send("lost", resume=[approve(interrupt)])
        assert told.code == "INTERRUPT_EXPIRED"
        assert server.effects == []
        # What the thread has is told to it again.
        assert bridge.send("lost", "hello").outcome == "success"
        heard = server.heard()
        assert [one["type"] for one in heard] == ["human", "ai", "tool", "human"]
        assert "executed is unknown" in heard[2]["content"]


async def test_behind_the_bridge_every_check_of_the_conformance_kit_that_applies_passes(
    tmp_path: Path, langgraph: LangGraphProcess
) -> None:
    (tmp_path / "langgraph-url").write_text(langgraph.url, encoding="utf-8")
    (tmp_path / "kit.toml").write_text(KIT.format(folder=tmp_path, effects=langgraph.effects_file))
    report = await run_suite(load(tmp_path / "kit.toml"))
    failed = [
        f"{r.check.id}: {r.detail}" for r in report.results if r.status in ("fail", "blocked")
    ]
    assert failed == []
    assert sum(result.status == "pass" for result in report.results) > 50
