"""What waited for an answer before an upgrade is answered after it, and carried out once."""

import itertools
import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stores.upgrades.conftest import RESTORED
from tests.support.target import Answered, Target, approve

APPROVED: dict[str, Any] = {"approved": True}

PAUSED: dict[str, tuple[Any, str, list[str]]] = {
    "send": (APPROVED, "Outcome: sent to ann-0@example.com.", ["ann-0"]),
    "both": (
        APPROVED,
        "Outcomes: sent to ben-0@example.com, sent to ben-1@example.com.",
        ["ben-0", "ben-1"],
    ),
    "half": (
        APPROVED,
        "Outcomes: sent to cleo-0@example.com, sent to cleo-1@example.com.",
        ["cleo-0", "cleo-1"],
    ),
    "form": ({"quarter": "Q2", "year": 2026}, "Quarter: Q2 2026.", []),
    "confirm": ({"confirm": True}, "Confirmed.", []),
    "falsy": (False, "Answer: false.", []),
}
"""The answer to what is open on a thread, what the agent says then, and whom it writes to."""


WAYS = ["migrated before", "migrated at the start"]


@pytest.fixture(scope="module", params=itertools.product(RESTORED, WAYS), ids=" ".join)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """A server of this version on a store of the version before."""
    kind, way = request.param
    folder = tmp_path_factory.mktemp("upgraded")
    with RESTORED[kind](folder) as store:
        if way == "migrated before":
            command = [sys.executable, "-m", "agui_bridge", "migrate", "--store", store]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            assert told.endswith("is up to date.\n")
        with Target(folder, store=store, lease=2) as target:
            yield target


def written_to(server: Target, *names: str) -> list[str]:
    """Whom the agent has written to by now, of the people of one thread."""
    found = [line["to"].removesuffix("@example.com") for line in server.effects]
    return [name for name in found if name.startswith(names)]


def said(answered: Answered) -> str:
    return "".join(e["delta"] for e in answered.events if e["type"] == "TEXT_MESSAGE_CONTENT")


def open_asks(server: Target, thread: str) -> list[dict[str, Any]]:
    return [ask for ask in server.audit(thread) if ask["status"] == "open"]


@pytest.mark.parametrize("thread", PAUSED)
def test_what_waited_is_answered_and_carried_out_once(server: Target, thread: str) -> None:
    payload, text, people = PAUSED[thread]
    answers = [
        {"interruptId": ask["id"], "status": "resolved", "payload": payload}
        for ask in open_asks(server, thread)
    ]
    assert len(answers) == (2 if thread == "both" else 1)

    first = server.send(thread, resume=answers)
    again = server.send(thread, resume=answers)

    assert (first.outcome, said(first)) == ("success", text)
    assert again.outcome == "success"
    assert sorted(name for name in people if name in written_to(server, *people)) == people
    assert all(written_to(server, name) == [name] for name in people)
    assert server.thread(thread)["status"] == "idle"
    assert server.send(thread, "thanks").outcome == "success"


def test_what_waited_for_the_application_goes_on(server: Target) -> None:
    found = server.thread("frontend")
    (call,) = [c for m in found["messages"] for c in m.get("toolCalls", ())]
    result = {"id": str(uuid.uuid4()), "role": "tool", "toolCallId": call["id"], "content": "yes"}
    body = {
        "threadId": "frontend",
        "runId": "r2",
        "protocolVersion": "1.0",
        "messages": [result],
    }

    answer = server.client.post("/agents/target", json=body).text

    assert "Shown: yes." in answer
    assert '"type":"success"' in answer


@pytest.mark.parametrize("thread", ["answered", "declined"])
def test_what_was_answered_is_told_again_and_not_carried_out(server: Target, thread: str) -> None:
    (ask,) = server.audit(thread)
    assert ask["status"] == "resolved"

    told = server.send(thread, resume=[approve(ask, approved=thread == "answered")])

    assert told.outcome == "success"
    assert written_to(server, "hal", "ida") == []


def test_what_a_dead_process_was_carrying_out_is_not_carried_out_again(server: Target) -> None:
    (ask,) = server.audit("crashed")

    told = server.send("crashed", resume=[approve(ask)])

    assert told.code == "RUN_INDETERMINATE"
    assert [one["status"] for one in server.audit("crashed")] == ["indeterminate"]
    assert written_to(server, "jo") == []
    assert server.send("crashed", "hello").outcome == "success"


def test_what_a_dead_process_was_saying_is_over(server: Target) -> None:
    assert server.send("cut", "and now?").outcome == "success"
    assert server.thread("cut")["status"] == "idle"


def test_what_was_said_is_there(server: Target) -> None:
    assert [m["content"] for m in server.thread("idle")["messages"]] == ["hello", "You said: hello"]
