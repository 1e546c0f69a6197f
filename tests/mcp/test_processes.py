"""An MCP server, two bridges and a store: whoever dies, whoever answers, the server acts once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.mcp.conftest import Shop
from tests.processes.conftest import races
from tests.support.target import Target, approve
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

MODULE = "tests.mcp.servers.buying"
AT_ONCE = 5


def answer(interrupt: dict[str, Any], **payload: Any) -> list[dict[str, Any]]:
    return [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]


def test_bridge_and_server_are_killed_between_each_question_and_its_answer(
    targets: Callable[..., Target],
    mortal: Shop,
) -> None:
    options = {"module": MODULE, "options": ["--shop", mortal.url]}
    first = targets(**options)
    (deletion,) = first.send("d", "delete users").interrupts
    (size,) = first.send("o", "order hat").interrupts
    assert (deletion["reason"], size["reason"]) == ("tool_call", "mcp:elicitation")
    first.kill()
    mortal.kill()
    mortal.start()
    second = targets(**options)

    assert second.send("d", resume=[approve(deletion)]).outcome == "success"
    refused = second.send("o", resume=answer(size, size=3))
    assert (refused.code, len(refused.interrupts)) == ("INVALID_RESUME_PAYLOAD", 1)
    last = second.send("o", resume=answer(size, size="M", gift=True))

    assert last.outcome == "success"
    assert mortal.effects == ["deleted 3 users", "ordered hat M True"]
    told = [e["toolCallId"] for e in last.events if e["type"] == "TOOL_CALL_RESULT"]
    assert told == [size["toolCallId"]]
    # requestState is the bridge's alone.
    assert "v1." not in str(second.thread("o")) + str(last.events)


@races(few=3, many=50)
def test_of_five_answers_at_once_at_two_bridges_the_server_hears_one(
    targets: Callable[..., Target],
    mortal: Shop,
    rounds: int,
) -> None:
    options = {"module": MODULE, "options": ["--shop", mortal.url]}
    both = [targets(**options), targets(**options)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(rounds):
            name = f"hat-{number}"
            (size,) = both[number % 2].send(name, f"order {name}").interrupts
            gate = threading.Barrier(AT_ONCE)

            def answered(
                index: int,
                name: str = name,
                size: dict[str, Any] = size,
                gate: threading.Barrier = gate,
            ) -> tuple[str | None, str | None]:
                gate.wait(PATIENCE)
                told = both[index % 2].send(name, resume=answer(size, size="M"))
                return told.outcome, told.code

            assert set(pool.map(answered, range(AT_ONCE))) == {("success", None)}
    assert mortal.effects == [f"ordered hat-{number} M False" for number in range(rounds)]
