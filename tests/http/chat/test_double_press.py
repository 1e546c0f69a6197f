"""The same answer, sent twice without the name of its question: it answers no question unseen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_bridge import Bridge, FunctionRun
from agui_bridge.http.chat import repeated_answers
from tests.support.chat import Chat
from tests.support.server import client, serve

PAID: list[tuple[str, int]] = []


async def payer(run: FunctionRun) -> AsyncIterator[str]:
    """Pays twice, one after the other or both at once, each after an approval."""

    async def pay(n: int) -> str:
        PAID.append((run.thread_id, n))
        return "paid"

    async def ask(n: int) -> None:
        approval = await run.approve("pay", {"n": n}, key=f"{run.text}{n}")
        if approval.approved:
            await run.tool(approval, pay)

    if run.text.startswith("both"):
        await asyncio.gather(ask(1), ask(2))
    else:
        await ask(1)
        await ask(2)
    yield "Done."


@pytest.fixture
async def chat() -> AsyncIterator[Chat]:
    """A session with it."""
    PAID.clear()
    bridge = Bridge()
    bridge.agent("agent")(payer)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        yield Chat(http)


def paid() -> list[int]:
    return [n for _, n in PAID]


@pytest.mark.parametrize("how", ["one", "both"])
async def test_a_second_press_answers_no_question_that_came_up_since(chat: Chat, how: str) -> None:
    await chat.say(how)
    second = await chat.answer(approved=True)
    assert second.interrupt is not None
    before = paid()

    for _ in range(2):
        refused = await chat.refused("resume", input={"approved": True})
        assert refused == (409, "INTERRUPT_NOT_PENDING")
    assert (paid(), 2 in before) == (before, False)

    asked = await chat.state()
    assert asked is not None and asked["reason"] == second.interrupt["reason"]
    done = await chat.answer_to(asked["checkpoint_id"], approved=True)
    assert (done.done, paid()) == ({}, [1, 2])


async def test_two_presses_at_once_carry_out_what_was_read_and_nothing_else(chat: Chat) -> None:
    await chat.say("one")
    asked = await chat.state()
    body = {**chat._ids, "input": {"approved": True}}
    presses = [chat._http.post("/api/v1/chat/resume", json=body) for _ in range(6)]
    told = [response.status_code for response in await asyncio.gather(*presses)]
    assert 200 in told and set(told) <= {200, 409}
    assert paid() == [1]
    left = await chat.state()
    assert asked is not None and left is not None
    assert left["checkpoint_id"] != asked["checkpoint_id"]


@pytest.mark.parametrize("how", ["one", "both"])
async def test_who_was_told_the_question_or_has_had_time_to_read_it_answers_it(
    chat: Chat, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat.say(how)
    await chat.answer(approved=True)
    await chat.state()
    assert (await chat.answer(approved=True)).done == {}
    # A message begins anew.
    await chat.say(f"{how} more")
    await chat.answer(approved=True)
    monkeypatch.setattr(repeated_answers, "_SECONDS", 0.0)
    assert (await chat.answer(approved=True)).done == {}
    assert paid() == [1, 2, 1, 2]


async def test_another_answer_is_taken_at_once(chat: Chat) -> None:
    await chat.say("one")
    await chat.answer(approved=True)
    assert (await chat.answer(approved=False)).done == {}
    assert paid() == [1]
