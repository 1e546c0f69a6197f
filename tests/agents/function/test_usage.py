"""Each run tells what its own calls used, however often the function's plain code runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agui_bridge.agents.function.run import FunctionRun
from tests.agents.function.harness import Thread, yes

pytestmark = pytest.mark.anyio


def used(tokens: int) -> dict[str, Any]:
    return {"model": "m", "inputTokens": tokens}


async def appended(run: FunctionRun) -> None:
    run.usage.append(used(1))
    await run.confirm("first?")
    run.usage.append(used(2))
    await run.confirm("second?")
    run.usage.append(used(3))


async def added_in_other_ways(run: FunctionRun) -> None:
    run.usage.extend([used(1)])
    await run.confirm("first?")
    usage = run.usage
    usage += [used(2)]
    await run.confirm("second?")
    run.usage.insert(0, used(3))


async def inside_steps(run: FunctionRun) -> None:
    async def think(tokens: int) -> None:
        run.usage.append(used(tokens))

    await run.step("think", think, 1)
    await run.confirm("first?")
    await run.step("think", lambda tokens: run.usage.append(used(tokens)), 2)
    await run.confirm("second?")
    await run.step("think", think, 3)


async def beside_steps(run: FunctionRun) -> None:
    run.usage.append(used(await run.step("one", lambda: 1)))
    await run.step("said", lambda: None)
    await run.confirm("first?")
    await run.step("two", lambda: run.usage.append(used(2)))
    await run.confirm("second?")
    run.usage.append(used(3))


async def in_branches(run: FunctionRun) -> None:
    async def branch(tokens: int) -> None:
        await asyncio.sleep(0)
        if tokens:
            run.usage.append(used(tokens))
        await run.confirm(f"branch {tokens}?", key=str(tokens))

    await asyncio.gather(branch(0), branch(1))
    await asyncio.gather(branch(2), branch(-2))
    run.usage.append(used(3))
    run.usage.append(used(0))


async def counted_up(run: FunctionRun) -> None:
    entry = used(0)
    run.usage.append(entry)
    entry["inputTokens"] += 1
    await run.confirm("first?")
    run.usage.append(used(1))
    run.usage[-1]["inputTokens"] += 1
    await run.confirm("second?")
    run.usage.append(used(9))
    run.usage[-1] = used(3)


async def the_same_object(run: FunctionRun) -> None:
    entry = used(1)
    run.usage.append(entry)
    await run.confirm("first?")
    run.usage.append(entry)
    run.usage.append(entry)
    await run.confirm("second?")


async def with_a_frontend_tool(run: FunctionRun) -> None:
    run.usage.append(used(1))
    await run.frontend_tool("pick", {})
    run.usage.append(used(2))
    await run.confirm("second?")
    run.usage.append(used(3))


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (appended, [[1], [2], [3]]),
        (added_in_other_ways, [[1], [2], [3]]),
        (inside_steps, [[1], [2], [3]]),
        (beside_steps, [[1], [2], [3]]),
        (in_branches, [[1], [2, -2], [3, 0]]),
        (counted_up, [[1], [2], [3]]),
        (the_same_object, [[1], [1, 1], []]),
        (with_a_frontend_tool, [[1], [2], [3]]),
    ],
)
async def test_a_run_tells_what_its_own_calls_used_and_no_earlier_run_has_told(
    agent: Callable[[FunctionRun], Awaitable[None]], told: list[list[int]]
) -> None:
    thread = Thread(lambda: agent)
    runs = [await thread.go()]
    while runs[-1].final is not None:
        if agent is with_a_frontend_tool and len(runs) == 1:
            runs.append(await thread.hand_back({"id0": "picked"}))
        else:
            runs.append(await thread.answer(yes))
    assert [[entry["inputTokens"] for entry in run.run.usage] for run in runs] == told
