"""One question answered at once in two processes and three ways: decided once, told the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agui_bridge.inbox.reference import Reference
from agui_bridge.protocol.threads.records import ThreadKey
from examples.approval_target import make_bridge
from tests.processes.conftest import races
from tests.support.target import STREAM_SECONDS, Answered, Target, approve

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

AT_ONCE = 8
"""Rounds that are under way at a time."""

YES: dict[str, Any] = {"approved": True}
NO: dict[str, Any] = {"approved": False}


@races(few=6, many=200)
async def test_the_same_answer_in_three_ways_is_carried_out_once_and_told_alike(
    targets: Callable[..., Target], rounds: int
) -> None:
    served = targets()
    bridge = make_bridge(served.store, served.effects_file)
    turns = asyncio.Semaphore(AT_ONCE)

    async def race(number: int, http: httpx.AsyncClient) -> tuple[str, str, str | None]:
        async with turns:
            thread = f"race-{number}"
            asked = await asyncio.to_thread(served.send, thread, f"send {thread}")
            (interrupt,) = asked.interrupts
            reference = Reference(ThreadKey("default", "target", thread), interrupt["id"])
            path = f"/interrupts/{bridge.references.write(reference)}/answer"
            body = {"status": "resolved", "payload": YES}
            called, posted, resumed = await asyncio.gather(
                bridge.answer(reference, YES),
                http.post(path, json=body),
                asyncio.to_thread(served.send, thread, None, [approve(interrupt)]),
            )
            assert (posted.status_code, called.code) == (200, None), posted.text
            assert "code" not in posted.json()
            return called.status, posted.json()["status"], _outcome(resumed)

    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{served.port}", timeout=STREAM_SECONDS, trust_env=False
        ) as http:
            told = await asyncio.gather(*(race(number, http) for number in range(rounds)))
    finally:
        await bridge.aclose()

    executed = sorted(effect["to"] for effect in served.effects)
    assert executed == sorted(f"race-{number}-0@example.com" for number in range(rounds))
    assert set(told) == {("resolved", "resolved", "success")}


@races(few=4, many=50)
async def test_of_two_different_answers_one_is_taken_and_the_other_told_who_decided(
    targets: Callable[..., Target], rounds: int
) -> None:
    served = targets()
    bridge = make_bridge(served.store, served.effects_file)
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{served.port}", timeout=STREAM_SECONDS, trust_env=False
        ) as http:
            for number in range(rounds):
                thread = f"differ-{number}"
                asked = await asyncio.to_thread(served.send, thread, f"send {thread}")
                (interrupt,) = asked.interrupts
                reference = Reference(ThreadKey("default", "target", thread), interrupt["id"])
                path = f"/interrupts/{bridge.references.write(reference)}/answer"
                called, posted = await asyncio.gather(
                    bridge.answer(reference, YES),
                    http.post(path, json={"status": "resolved", "payload": NO}),
                )
                answers = [
                    (called.status, called.code, called.message),
                    tuple(posted.json().get(key) for key in ("status", "code", "message")),
                ]
                (refused,) = [each for each in answers if each[0] == "refused"]
                assert refused[1] == "INTERRUPT_ALREADY_ANSWERED"
                assert "resolved, by anonymous (via api)" in str(refused[2])
                sent = [e for e in served.effects if e["to"] == f"{thread}-0@example.com"]
                assert len(sent) == (0 if called.refused else 1)
    finally:
        await bridge.aclose()


def _outcome(resumed: Answered) -> str | None:
    return resumed.code or resumed.outcome or resumed.why
