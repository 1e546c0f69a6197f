"""What real clients make of each dialect: the table of docs/dialects.md."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.clients import Driver, resolved
from tests.e2e.target import Target

Json = dict[str, Any]
Run = Callable[..., Json]


@pytest.fixture
def run(driver: Driver, target: Target) -> Run:
    """Runs the target in a dialect, on one thread of the test's own; gives what the client has."""
    thread = f"dialects-{secrets.token_hex(6)}"
    opened: set[str] = set()

    def run(dialect: str, text: str | None = None, **options: Any) -> Json:
        page = f"{thread}-{dialect}"
        if page not in opened:
            opened.add(page)
            url = f"{target.url}?dialect={dialect}"
            driver.send("open", page=page, url=url, threadId=thread).result()
        message = {"id": secrets.token_hex(6), "role": "user", "content": text}
        options |= {"message": message} if text is not None else {}
        reply = driver.send("run", page=page, runId=secrets.token_hex(6), **options)
        return {**reply.result(), "events": reply.events}

    return run


def customs(seen: Json) -> list[Any]:
    return [event["value"] for event in seen["events"] if event["type"] == "CUSTOM"]


@pytest.mark.parametrize("dialect", ["ag-ui", "langgraph-both"])
def test_the_outcome_is_read_and_answered(
    run: Run, target: Target, name: str, dialect: str
) -> None:
    asked = run(dialect, f"send {name}")
    (ask,) = asked["pendingInterrupts"]
    assert len(customs(asked)) == (dialect == "langgraph-both")
    done = run(dialect, resume=[resolved(ask, {"approved": True})])
    assert (done["rejected"], done["pendingInterrupts"]) == (None, [])
    assert len(target.executed(name)) == 1


def test_langgraph_reaches_the_application_as_its_custom_event_alone(
    run: Run, target: Target, name: str
) -> None:
    asked = run("langgraph", f"send {name}")
    assert (asked["rejected"], asked["pendingInterrupts"]) == (None, [])
    (value,) = customs(asked)
    assert value["proposal"]["tool"] == "send_email"
    command = {"resume": {"approved": True}, "interruptEvent": value}
    done = run("langgraph", forwardedProps={"command": command})
    assert done["messages"][-1]["content"].startswith("Outcome: sent")
    assert len(target.executed(name)) == 1


def test_no_current_client_reads_the_draft(run: Run, target: Target, name: str) -> None:
    asked = run("draft", f"send {name}")
    assert asked["rejected"] is not None
    assert asked["pendingInterrupts"] == []
    assert target.executed(name) == []
