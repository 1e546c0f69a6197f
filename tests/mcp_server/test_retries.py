"""Retries at once, at two processes and after a kill; executions are counted outside the stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import mcp_types as types
import pytest

from tests.mcp_server.asking import Person, asking, request, retried
from tests.mcp_server.processes import Served
from tests.processes.conftest import STORES, quick_on, races
from tests.support.effects import Effects
from tests.support.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

APPROVED = types.ElicitResult(action="accept", content={"approved": True})
DECLINED = types.ElicitResult(action="decline")


@pytest.fixture(params=STORES)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Begins processes on one store."""
    store = STORES[request.param](tmp_path)
    with contextlib.ExitStack() as ended:

        def begin(**variables: str) -> Served:
            one = Served(tmp_path, MCP_STORE=store, **variables)
            ended.callback(one.kill)
            return one

        yield begin


@races(few=6, many=50)
async def test_retries_at_once_in_two_processes_are_carried_out_once_and_told_alike(
    served: Callable[..., Served], effects: Effects, rounds: int
) -> None:
    both = [await asyncio.to_thread(served) for _ in range(2)]
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(asking(one.address, Person())) for one in both * 2
        ]

        async def race(number: int) -> None:
            message = f"table-{number}"
            asked = await request(clients[number % 4], "ops", message=message)
            given = APPROVED if number % 3 else DECLINED
            told = await asyncio.gather(
                *(retried(client, "ops", asked, given, message=message) for client in clients)
            )
            late = await retried(clients[0], "ops", asked, given, message=message)
            other = await retried(
                clients[1], "ops", asked, DECLINED if number % 3 else APPROVED, message=message
            )
            reply = f"3 rows of {message} deleted" if number % 3 else "Kept: refused."
            assert {one.structured_content["text"] for one in (*told, late)} == {
                f"I will delete.\n\n{reply}"
            }
            assert other.is_error and "Another answer was given" in other.content[0].text

        for begin in range(0, rounds, 5):
            await asyncio.gather(*(race(n) for n in range(begin, min(begin + 5, rounds))))
    assert effects.counted == {f"deleted table-{n}": 1 for n in range(rounds) if n % 3}


@races(few=2, many=10)
async def test_a_retry_after_the_bridge_was_killed_is_carried_out_once(
    served: Callable[..., Served], effects: Effects, rounds: int
) -> None:
    for number in range(rounds):
        message, first = f"table-{number}", await asyncio.to_thread(served)
        async with asking(first.address, Person()) as client:
            asked = await request(client, "ops", message=message)
            await asyncio.to_thread(first.kill)
        second = await asyncio.to_thread(served)
        async with asking(second.address, Person()) as client:
            done = await retried(client, "ops", asked, APPROVED, message=message)
            assert f"3 rows of {message} deleted" in done.structured_content["text"]
            again = await retried(client, "ops", asked, APPROVED, message=message)
            assert again.structured_content == done.structured_content
        await asyncio.to_thread(second.kill)
    assert effects.counted == {f"deleted table-{n}": 1 for n in range(rounds)}


@quick_on("sqlite", fixture="served")
async def test_a_bridge_killed_while_it_carries_an_answer_out_never_does_so_again(
    served: Callable[..., Served], effects: Effects, tmp_path: Path
) -> None:
    first, kept = await asyncio.to_thread(served, MCP_LEASE="2"), []

    async def answer() -> None:
        async with asking(first.address, Person()) as client:
            kept.append(await request(client, "dig", message="go"))
            await retried(client, "dig", kept[0], APPROVED, message="go")

    answering = asyncio.ensure_future(answer())
    await eventually(lambda: effects.counted)
    await asyncio.to_thread(first.kill)
    # The client tells it as it likes.
    assert isinstance((await asyncio.gather(answering, return_exceptions=True))[0], Exception)
    (tmp_path / "go").touch()
    second = await asyncio.to_thread(served, MCP_LEASE="2")
    async with asking(second.address, Person()) as client:
        told = await retried(client, "dig", kept[0], APPROVED, message="go")
    assert told.is_error and told.structured_content["code"] == "RUN_INDETERMINATE"
    assert effects.counted == {"began": 1}
