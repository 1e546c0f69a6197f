"""Answers that come again, too late, or to a call that has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.http.around.home import NO, YES, Home, Try, at_home, carry_out, named, resume, told_by
from tests.support.waiting import eventually

SHOWN: Final = {"tool": "send_email", "to": "x-0@example.com", "body": "original"}
GONE: Final = "INTERRUPT_ALREADY_ANSWERED"
STOP: Final = "/agents/target/threads/t/stop"


async def again(home: Home) -> list[str]:
    body = home.body(resume=[resume(home.ask)])
    return [told_by(await home.post(body)) for _ in range(3)]


async def again_as_a_new_run(home: Home) -> list[str]:
    return [await home.answer() for _ in range(3)]


async def at_once(home: Home) -> set[str]:
    return set(await asyncio.gather(*(home.answer() for _ in range(5))))


async def by_two_doors(home: Home) -> int:
    path = f"/interrupts/{home.reference}/answer"
    body = {"status": "resolved", "payload": YES}
    headers = {"x-actor": "bob"}
    await asyncio.gather(
        home.answer(),
        home.http.post(path, json=body, headers=headers),
        home.http.post(
            "/api/v1/chat/resume",
            json={"agent_id": "target", "session_id": "t", "input": YES},
            headers=headers,
        ),
        home.answer(),
    )
    return len(home.effects)


async def another_edit_after_it(home: Home) -> list[str]:
    first = await home.answer()
    edited = {"to": "evil@example.com", "body": "b"}
    return [first, await home.answer({**YES, "editedArgs": edited})]


async def after_a_no(home: Home) -> list[str]:
    return [await home.answer(NO), await home.answer(), await home.answer(YES, "ann")]


async def after_a_cancel(home: Home) -> list[str]:
    return [await home.answer(status="cancelled"), await home.answer()]


async def after_its_time(home: Home) -> list[str]:
    path = "/agents/target/threads/t"

    async def expired() -> bool:
        told = await home.http.get(path, headers={"x-actor": "ann"})
        return not told.json()["interrupts"]

    await eventually(expired)
    return [await home.answer(), await home.answer({**YES, "reason": "x"})]


async def after_a_stop(home: Home) -> str:
    stopped = await home.http.post(STOP, json={}, headers={"x-actor": "ann"})
    assert stopped.status_code == 200
    return await home.answer()


async def after_the_threads_end(home: Home) -> list[str]:
    path = "/agents/target/threads/t"
    gone = await home.http.delete(path, headers={"x-actor": "ann"})
    assert gone.status_code in (200, 204)
    old = home.ask
    first = await home.answer()
    await home.asked("send x", "t")
    second = await home.say(resume=[resume(old)])
    third = await home.answer(NO)
    return [first, second, third]


async def after_going_back(home: Home) -> list[str]:
    """The message is said otherwise: while the question waits, and once it is declined."""
    said = [{"id": "u-else", "role": "user", "content": "send x"}]
    told = [await home.say("ann", messages=said), await home.answer(NO)]
    path = "/agents/target/threads/t"
    thread = (await home.http.get(path, headers={"x-actor": "ann"})).json()
    newest = {"agui_bridge": {"newest": thread["messages"][-1]["id"]}}
    told.append(await home.say("ann", messages=said, forwardedProps=newest))
    # The call is asked about again, with the same arguments.
    told += [await home.answer(), await home.say(resume=[resume(home.ask)])]
    [new] = await home.open()
    return [*told, await home.say(resume=[resume(new, NO)])]


async def after_it_is_asked_again(home: Home) -> list[str]:
    """The same call of another run: the first one's yes is not its."""
    old = home.ask
    declined = await home.answer(NO)
    await home.asked("send x again", "t")
    return [declined, await home.say(resume=[resume(old)]), await home.answer(NO)]


async def with_the_old_runs_id(home: Home) -> list[str]:
    first = await home.say(runId="run-1", resume=[resume(home.ask, NO)])
    return [first, await home.say(runId="run-1", resume=[resume(home.ask)])]


async def with_the_declined_runs_id(home: Home) -> list[str]:
    """A retry of the declining run, its answer turned."""
    return [
        await home.say(runId="run-7", resume=[resume(home.ask, NO)]),
        await home.say(runId="run-7", resume=[resume(home.ask)]),
    ]


async def with_the_calls_id_of_an_old_one(home: Home) -> list[str]:
    """A second question about the same arguments has a call of another id."""
    old, first = home.ask, await home.answer()
    await home.asked("send x once more", "t")
    new = home.ask
    assert new["id"] != old["id"] and new["toolCallId"] != old["toolCallId"]
    return [first, await home.say(resume=[resume(old)]), await home.answer(NO)]


AGAIN: Final[Mapping[str, Try]] = {
    "the same request": Try(["success"] * 3, again, ran=(SHOWN,), stays=False),
    "as new runs": Try(["success"] * 3, again_as_a_new_run, ran=(SHOWN,), stays=False),
    "five at once": Try({"success"}, at_once, ran=(SHOWN,), stays=False),
    "by three doors at once": Try(1, by_two_doors, ran=(SHOWN,), stays=False),
    "with other arguments": Try(
        ["success", GONE], another_edit_after_it, ran=(SHOWN,), stays=False
    ),
    "after a no": Try(["success", GONE, GONE], after_a_no, stays=False),
    "after it was withdrawn": Try(["success", GONE], after_a_cancel, stays=False),
    "after its time": Try(["INTERRUPT_EXPIRED"] * 2, after_its_time, "brief x", stays=False),
    "after a stop": Try(GONE, after_a_stop, stays=False),
    "after its thread's end": Try(
        ["INTERRUPT_NOT_FOUND", "INTERRUPT_NOT_FOUND", "success"],
        after_the_threads_end,
        stays=False,
    ),
    "after going back": Try(
        ["INTERRUPT_PENDING", "success", "interrupt", GONE, GONE, "success"],
        after_going_back,
        stays=False,
    ),
    "to the next question": Try(["success", GONE, "success"], after_it_is_asked_again, stays=False),
    "with the id of the run that asked": Try(["success", GONE], with_the_old_runs_id, stays=False),
    "with the id of the run that declined": Try(
        ["success", GONE], with_the_declined_runs_id, stays=False
    ),
    "of a call that ran, to one that is like it": Try(
        ["success", "interrupt", "success"],
        with_the_calls_id_of_an_old_one,
        ran=(SHOWN,),
        stays=False,
    ),
}


@pytest.mark.parametrize("row", named(AGAIN))
async def test_an_answer_counts_once_and_in_its_time(row: Try, tmp_path: Path) -> None:
    await carry_out(row, tmp_path)


async def test_two_servers_with_one_store_execute_it_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'target.db'}"
    async with at_home(tmp_path, store) as one, at_home(tmp_path, store) as two:
        two.asks = await one.asked("send x", "t")
        two.runs = 100
        told = await asyncio.gather(*(home.answer() for home in (one, two) for _ in range(4)))
        assert one.effects == [SHOWN]
        assert set(told) == {"success"}
