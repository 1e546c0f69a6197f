"""A process that dies right after its run has begun a task: another one asks what the task asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.target import Target, approve
from tests.support.waiting import wait_until

LEASE = 2.0
"""Of the run that is killed."""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(240)]


@pytest.mark.parametrize("approved", [True, False])
def test_what_a_killed_run_has_left_is_asked_once_and_carried_out_once_if_approved(
    targets: Callable[..., Target], approved: bool
) -> None:
    first, *others = (targets(LEASE, module="tests.processes.leaving_target") for _ in range(3))
    heard: list[dict[str, Any]] = []
    talk = threading.Thread(target=first.send, args=("t", "begin one"), kwargs={"heard": heard})
    talk.start()
    wait_until(lambda: any(event.get("delta") == "Begun." for event in heard))

    first.kill()
    talk.join()

    wait_until(lambda: others[0].thread("t")["status"] == "interrupted", 60.0)
    [interrupt] = others[0].thread("t")["interrupts"]
    assert first.effects == []
    told = [other.send("t", resume=[approve(interrupt, approved=approved)]) for other in others]
    assert [answered.outcome for answered in told] == ["success", "success"]
    assert first.effects == [{"task": "one"}] * approved
    assert others[1].send("t", "hello").outcome == "success"
    assert len(others[0].audit("t")) == 1
