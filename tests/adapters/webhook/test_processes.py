"""Bridges as processes before the tool: killed, racing, and called back elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.webhook.bench import Tool, tool
from tests.support.target import Answered, Target, approve
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(180)

Targets = Callable[..., Target]


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Tool]:
    with tool(tmp_path) as served:
        (tmp_path / "tool-url").write_text(served.url)
        yield served


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[Targets]:
    started: list[Target] = []

    def start(callback_url: str | None = None, port: int | None = None) -> Target:
        elsewhere = tmp_path / "callback-url"
        elsewhere.unlink(missing_ok=True)
        if callback_url is not None:
            elsewhere.write_text(callback_url)
        module = "tests.adapters.webhook.bridging"
        started.append(Target(tmp_path, lease=3.0, module=module, port=port))
        return started[-1]

    yield start
    for target in started:
        target.close()


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


def url_of(bridge: Target) -> str:
    return f"http://127.0.0.1:{bridge.port}"


def test_a_question_outlives_bridge_and_tool_and_of_many_that_get_the_answer_one_sends_it(
    begun: Tool, targets: Targets
) -> None:
    first = targets()
    (interrupt,) = first.send("t", "deploy").interrupts
    wait_until(lambda: begun.executions[0]["status"] == "waiting")
    first.kill()
    begun.kill()
    # The tool calls back where it was told to: there another process is.
    second = targets(port=first.port)
    away = second.send("t", resume=[approve(interrupt)])
    assert away.code == "UPSTREAM_ERROR", "the tool is away: the question stands"
    begun.start()
    told = raced([second, targets(), second, targets()], "t", approve(interrupt))
    assert [each.outcome for each in told] == ["success"] * 4
    assert begun.effects == [{"version": "v2"}]


def test_a_callback_reaches_a_run_of_another_process(begun: Tool, targets: Targets) -> None:
    other = targets()
    runs = targets(callback_url=url_of(other))
    (interrupt,) = runs.send("t", "deploy").interrupts
    assert runs.send("t", resume=[approve(interrupt)]).outcome == "success"
    assert begun.effects == [{"version": "v2"}]


def test_what_a_dead_bridge_was_to_hear_another_one_asks(begun: Tool, targets: Targets) -> None:
    other = targets()
    runs = targets(callback_url=url_of(other))
    saying = threading.Thread(target=runs.send, args=("t", "later"))
    saying.start()
    wait_until(lambda: len(begun.executions) == 1)
    runs.kill()
    saying.join()
    # Its lease has to be over first.
    wait_until(lambda: other.thread("t")["interrupts"], 60)
    (interrupt,) = other.thread("t")["interrupts"]
    assert other.send("t", resume=[approve(interrupt)]).outcome == "success"
    assert begun.effects == [{"version": "v2"}]


@pytest.mark.soak
def test_of_a_hundred_raced_answers_none_is_sent_twice(begun: Tool, targets: Targets) -> None:
    both = [targets(), targets()]
    for number in range(50):
        (interrupt,) = both[0].send(f"t{number}", "deploy").interrupts
        raced(both, f"t{number}", approve(interrupt))
    assert begun.effects == [{"version": "v2"}] * 50
