"""Approved tools run once, with what was approved and nothing else."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.errors import AgentMistake, ApprovalSpent
from agui_bridge.protocol.answers.decisions import Approve, Cancel, Decline
from tests.agents.function.harness import Thread, yes

pytestmark = pytest.mark.anyio


async def test_an_approved_tool_runs_once_with_the_approved_arguments() -> None:
    done: list[Any] = []

    def delete(table: str, db: str) -> str:
        done.append((table, db))
        return "deleted"

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("delete", {"table": "users"}, message="Delete?")
        yield str(approval.edited)
        yield await run.tool(approval, delete, db="main")
        await run.confirm("more?")
        yield "end"

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert first.items == []
    (ask,) = first.pause.asks
    assert ask.tool_call is not None
    assert (ask.reason, ask.message, ask.tool_call.name) == ("tool_call", "Delete?", "delete")
    assert (ask.tool_call.args, ask.allowed) == ({"table": "users"}, None)
    second = await thread.answer([Approve({"table": "logs"}, {"approved": True}, edited=True)])
    assert second.wire == ["True", ("TOOL_CALL_RESULT", ask.tool_call.id, "deleted"), "deleted"]
    assert (await thread.answer(yes)).items == ["end"]
    assert done == [("logs", "main")]


async def test_an_approval_is_spent_once_and_only_when_approved() -> None:
    async def twice(run: FunctionRun) -> None:
        approval = await run.approve("t", {})
        await run.tool(approval, lambda: 1)
        await run.tool(approval, lambda: 1)

    async def anyway(run: FunctionRun) -> None:
        approval = await run.approve("t", {})
        assert not approval
        await run.tool(approval, lambda: 1)

    thread = Thread(lambda: twice)
    await thread.go()
    with pytest.raises(ApprovalSpent, match="used already"):
        await thread.answer(yes)
    for decision, why in ((Decline("no"), "declined"), (Cancel("expired"), "expired")):
        thread = Thread(lambda: anyway)
        await thread.go()
        with pytest.raises(ApprovalSpent, match=rf"not approved \({why}\)"):
            await thread.answer([decision])


async def test_extra_arguments_never_replace_what_was_approved() -> None:
    async def agent(run: FunctionRun) -> None:
        approval = await run.approve("t", {"table": "a"})
        await run.tool(approval, lambda table: 1, table="b")

    thread = Thread(lambda: agent)
    await thread.go()
    with pytest.raises(AgentMistake, match="table"):
        await thread.answer(yes)


async def test_a_failed_tool_is_spent_and_fails_alike_on_replay() -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise OSError("/secret")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("t", {})
        try:
            await run.tool(approval, fail)
        except StepFailed as failure:
            yield failure.error
        await run.confirm("ok?")
        with pytest.raises(ApprovalSpent):
            await run.tool(approval, fail)
        yield "end"

    thread = Thread(lambda: agent)
    await thread.go()
    second = await thread.answer(yes)
    assert second.wire == [("TOOL_CALL_RESULT", "id0", "The tool failed: OSError"), "OSError"]
    assert (await thread.answer(yes)).items == ["end"]
    assert done == [1]


async def test_an_approval_of_another_run_is_none() -> None:
    kept: list[Any] = []

    async def first(run: FunctionRun) -> None:
        kept.append(await run.approve("t", {}))

    async def second(run: FunctionRun) -> None:
        await run.tool(kept[0], lambda: 1)

    thread = Thread(lambda: first)
    await thread.go()
    await thread.answer(yes)
    with pytest.raises(ApprovalSpent, match="of another run"):
        await Thread(lambda: second).go()
