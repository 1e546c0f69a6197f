"""A test of an agent of one's own, as its author writes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.testing import CheckFailed, talk

deleted: list[str] = []
bridge = Bridge("sqlite:////never/made.db", telemetry=False)


@bridge.agent
async def ops(run: FunctionRun) -> str:
    run.state["runs"] = run.state.get("runs", 0) + 1
    approval = await run.approve("delete", {"table": "users"}, message="Delete users?")

    def delete(table: str) -> str:
        deleted.append(table)
        return "gone"

    return f"It is {await run.tool(approval, delete)}." if approval else "Kept."


@bridge.agent
async def slow(run: FunctionRun) -> None:
    await run.stream("words", words())


async def words() -> AsyncIterator[str]:
    yield "Working"
    await asyncio.Event().wait()


@bridge.agent
async def who(run: FunctionRun) -> str:
    return run.principal.actor


@bridge.agent
async def page(run: FunctionRun) -> str:
    return f"{[tool.name for tool in run.input.tools or ()]} {run.state}"


async def test_a_frontends_tools_and_state_go_along_with_a_message() -> None:
    locate = {"name": "locate", "description": "Where it is", "parameters": {"type": "object"}}
    async with talk(bridge, "page") as it:
        said = await it.say("hello", tools=[locate], state={"open": "map"})
        assert said.text == "['locate'] {'open': 'map'}"
        assert (await it.say("hello")).text == "[] {'open': 'map'}"


async def test_an_approved_call_runs_once() -> None:
    deleted.clear()
    async with talk(bridge, "ops") as it:
        asked = await it.say("clean up")
        assert (asked.asks[0]["message"], deleted) == ("Delete users?", [])
        done = await it.answer(asked, {"approved": True})
        again = await it.answer(asked, {"approved": True})
        assert (done.text, again.ending, deleted) == ("It is gone.", "success", ["users"])
        assert [m["role"] for m in await it.messages()] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]
        assert await it.state() == {"runs": 1}


async def test_a_cancelled_question_runs_nothing() -> None:
    deleted.clear()
    async with talk(bridge, "ops") as it:
        done = await it.cancel(await it.say("clean up"))
        assert (done.text, deleted) == ("Kept.", [])


async def test_each_talk_has_a_memory_of_its_own_and_the_bridge_keeps_its_store() -> None:
    for _ in range(2):
        async with talk(bridge, "ops") as it:
            await it.say("clean up")
            assert len(await it.messages()) == 2
    assert bridge.store == "sqlite:////never/made.db"  # it could not have been opened


async def test_a_question_survives_a_restart_on_a_file(tmp_path: Path) -> None:
    deleted.clear()
    store = f"sqlite:///{tmp_path}/test.db"
    async with talk(bridge, "ops", store=store) as it:
        asked = await it.say("clean up")
    async with talk(bridge, "ops", store=store) as it:
        assert (await it.answer(asked, {"approved": True})).text == "It is gone."
        assert (await it.say("again")).ending == "interrupt"
    assert deleted == ["users"]


async def test_a_run_can_be_stopped_while_it_speaks() -> None:
    async with talk(bridge, "slow") as it:
        stream = it.begin("go")
        assert await stream.until("TEXT_MESSAGE_CONTENT")
        stopped = await it.stop()
        assert (stopped.status, stopped.partial_response) == ("success", "Working")
        assert (await stream.rest()).ending == "cancelled"


async def test_somebody_else_talks_and_nobody_is_told() -> None:
    async with talk(bridge, "who", principal=Principal("acme", "ann")) as it:
        assert (await it.say("me?")).text == "ann"
    with pytest.raises(Refused, match="no agent 'nobody'"):
        async with talk(bridge, "nobody"):
            pass


async def test_a_silent_run_fails_the_test_with_what_came_so_far() -> None:
    async with talk(bridge, "slow", patience=0.2) as it:
        with pytest.raises(CheckFailed, match=r"nothing came for 0.2 s.*TEXT_MESSAGE_CONTENT"):
            await it.say("go")


async def test_what_fails_within_a_talk_leaves_the_bridge_as_it_was() -> None:
    settings = bridge.settings
    with pytest.raises(ValueError, match="of the test's own"):
        async with talk(bridge, "slow", patience=0.2) as it:
            assert await it.begin("go").until("TEXT_MESSAGE_CONTENT")
            # What still runs may do so for as long as a stream may be silent.
            assert bridge.settings.shutdown_grace == 0.2
            raise ValueError("of the test's own")
    assert (bridge.store, bridge.settings) == ("sqlite:////never/made.db", settings)
    async with talk(bridge, "who") as it:
        with pytest.raises(ConfigurationError, match="is open"):
            async with talk(bridge, "ops"):
                pass
        assert (await it.say("me?")).ending == "success"
