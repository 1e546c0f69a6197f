"""How the process ends: the input's end, signals, a parent that is gone, and `kill -9`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agui_bridge.protocol.threads.records import ThreadStatus
from tests.stdio.child import Child, eventually, run_params, started

WAYS = ["input", "SIGTERM", "SIGINT"]


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    with started(tmp_path) as process:
        yield process


@pytest.fixture
def interpreted(tmp_path: Path) -> Iterator[Child]:
    """One whose threads, signals and files an interpreter of its own takes care of at the end."""
    with started(tmp_path, interpreted=True) as process:
        yield process


def end(child: Child, way: str) -> None:
    if way == "input":
        child.end_input()
    else:
        child.signal(signal.Signals[way])


@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_stopped_answered_and_stored_before_the_process_ends(
    child: Child, way: str
) -> None:
    child.begin("1", "agent.stream", **run_params("slow"))
    child.begin("2", "agent.query", **run_params("slow", thread="other"))
    child.event("1", "TEXT_MESSAGE_CONTENT")
    eventually(lambda: child.contents("slow", "other"))
    end(child, way)
    events = child.stream("1")
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert child.answer("1")["result"] is None
    assert child.answer("2")["result"]["outcome"] == {"type": "cancelled"}
    assert child.ended() == 0
    text = "".join(event.get("delta", "") for event in events)
    loaded = child.stored("slow")
    assert [m.message["content"] for m in loaded.messages] == ["go", text]
    assert loaded.messages[-1].message["metadata"] == {"agui_bridge": {"truncated": True}}
    assert loaded.status is ThreadStatus.IDLE
    assert child.stored("slow", "other").status is ThreadStatus.IDLE


@pytest.mark.parametrize("way", WAYS)
def test_a_running_tool_finishes_first_and_no_other_begins(child: Child, way: str) -> None:
    child.begin("1", "agent.stream", **run_params("working"))
    eventually(lambda: child.effects == ["began"])
    end(child, way)
    child.go_on()
    assert child.stream("1")[-1]["outcome"] == {"type": "cancelled"}
    assert child.ended() == 0
    assert child.effects == ["began", "ended"]
    assert [c for r, c in child.contents("working") if r == "tool"] == ["worked"]


def test_an_approved_call_is_carried_out_before_the_process_ends(child: Child) -> None:
    child.begin("1", "agent.stream", **run_params("asks"))
    (ask,) = child.stream("1")[-1]["outcome"]["interrupts"]
    entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
    child.begin("2", "agent.stream", **run_params("asks", None, resume=[entry]))
    child.end_input()
    child.go_on()
    child.stream("2")
    assert child.ended() == 0
    assert child.effects == ["began", "deleted users"]
    assert ("tool", "gone") in child.contents("asks")


def test_a_tool_that_does_not_end_in_time_is_left_and_its_call_is_answered(
    tmp_path: Path,
) -> None:
    with started(tmp_path, variables={"GRACE": "0.2"}) as child:
        child.begin("1", "agent.stream", **run_params("working"))
        eventually(lambda: child.effects == ["began"])
        child.end_input()
        assert child.stream("1")[-1]["outcome"] == {"type": "cancelled"}
        assert child.ended() == 0
        [answer] = [content for role, content in child.contents("working") if role == "tool"]
        assert answer.startswith("The run was stopped")


def test_a_second_signal_stops_by_force(interpreted: Child) -> None:
    child = interpreted
    child.begin("1", "agent.stream", **run_params("working"))
    eventually(lambda: child.effects == ["began"])
    child.signal(signal.SIGINT)
    child.signal(signal.SIGTERM)
    child.signal(signal.SIGINT)
    assert child.stream("1")[-1]["outcome"] == {"type": "cancelled"}
    assert child.ended() == 0
    assert child.stored("working").status is ThreadStatus.IDLE


def check_that_the_stuck_thread_is_left(child: Child) -> None:
    child.begin("1", "agent.stream", **run_params("stuck"))
    eventually(lambda: child.effects == ["began"])
    child.end_input()
    assert child.stream("1")[-1]["outcome"] == {"type": "cancelled"}
    assert child.ended() == 0
    assert child.stored("stuck").status is ThreadStatus.IDLE
    assert "it is left behind" in child.errors


@pytest.mark.soak
def test_a_thread_that_never_ends_does_not_keep_the_process(interpreted: Child) -> None:
    check_that_the_stuck_thread_is_left(interpreted)


def test_a_thread_that_never_ends_is_left_behind_in_the_last_seconds(tmp_path: Path) -> None:
    with started(tmp_path, module="tests.stdio.hurried", variables={"GRACE": "0.2"}) as child:
        check_that_the_stuck_thread_is_left(child)


def test_what_was_read_before_the_end_is_answered(child: Child) -> None:
    child.write(b"nonsense")
    child.begin("1", "agent.query", **run_params("slow"))
    child.end_input()
    assert child.answer("1")["result"]["outcome"] == {"type": "cancelled"}
    assert child.answer(None)["error"]["code"] == -32700
    assert child.ended() == 0
    assert child.contents("slow")[0] == ("user", "go")


def test_a_parent_that_is_gone_ends_the_process_and_loses_nothing(child: Child) -> None:
    child.begin("1", "agent.stream", **run_params("slow"))
    eventually(lambda: child.contents("slow"))
    child._stdout.close()
    assert child.process.wait(40) == 0
    loaded = child.stored("slow")
    assert loaded.status is ThreadStatus.IDLE
    assert str(loaded.messages[-1].message["content"]).startswith("heard 1: 0 ")


def test_a_stop_arrives_though_the_parent_reads_nothing(child: Child) -> None:
    child.begin("1", "agent.stream", **run_params("flood"))
    eventually(lambda: child.stored("flood").status is ThreadStatus.RUNNING)
    child.begin("2", "agent.stop", threadId="t")
    eventually(lambda: child.stored("flood").status is ThreadStatus.IDLE)
    assert child.answer("2")["result"]["status"] == "success"
    text = "".join(event.get("delta", "") for event in child.stream("1"))
    assert child.contents("flood") == [("user", "go"), ("assistant", text)]


def test_after_a_kill_what_was_finished_is_there_and_the_thread_goes_on(
    child: Child, tmp_path: Path
) -> None:
    child.call("1", "agent.stream", **run_params("echo", "first"))
    child.begin("2", "agent.stream", **run_params("slow"))
    child.event("2", "TEXT_MESSAGE_CONTENT")
    child.signal(signal.SIGKILL)
    assert child.ended() == -signal.SIGKILL
    assert child.contents("echo") == [("user", "first"), ("assistant", "You said: first")]
    assert child.contents("slow") == [("user", "go")]
    with started(tmp_path) as following:
        answer = following.call("1", "agent.query", **run_params("echo", "second"))
        assert answer["result"]["text"] == "You said: second"
        assert [c for _, c in following.contents("echo")][::2] == ["first", "second"]
