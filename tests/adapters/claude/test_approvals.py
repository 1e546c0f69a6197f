"""What people say of a call is what becomes of it, whatever Claude Code's own rules would do."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from agui_bridge import Bridge, Verdict
from agui_bridge.testing import Talk, talk
from agui_bridge_claude import ClaudeAgentAdapter
from tests.adapters.claude.coder import Coder
from tests.adapters.claude.model import FakeClaude
from tests.support.examples import few_or_many

pytestmark = [pytest.mark.timeout(240), pytest.mark.soak]

YES = {"approved": True}
NO = {"approved": False, "reason": "not now"}
LETTING = [
    *("default", "plan", "acceptEdits", "bypassPermissions", "dontAsk", "auto"),
    "allowed_tools",
]
"""Claude Code's ways to let a call pass without asking, its permission modes first."""


def talking(
    coder: Coder, bridge: Bridge | None = None, members: Any = None, **options: Any
) -> AbstractAsyncContextManager[Talk]:
    bridge = bridge or Bridge("memory:")
    bridge.add("coder", ClaudeAgentAdapter(coder.options(**(members or {})), **options))
    return talk(bridge, "coder", patience=100)


def lettings(way: str) -> dict[str, Any]:
    if way == "allowed_tools":
        return {"members": {"allowed_tools": ["Bash"]}}
    return {"members": {"permission_mode": way}, "mode_decides": True}


@few_or_many(1, 3)
@pytest.mark.parametrize("way", LETTING)
async def test_what_was_declined_is_not_carried_out(
    coder: Coder, model: FakeClaude, way: str, examples: int
) -> None:
    for number in range(examples):
        made = coder.work / f"made-{number}"
        async with talking(coder, approve=["Bash"], **lettings(way)) as one:
            asked = await one.say(f"run touch {made}")
            assert (asked.ending, made.exists()) == ("interrupt", False)
            told = await one.answer(asked, NO)
        assert (told.ending, made.exists()) == ("success", False)
        heard = str(model.requests[-1]["messages"])
        assert "The user declined this tool call; it was not executed. Reason: not now" in heard


async def test_a_command_runs_once_as_it_was_edited(coder: Coder) -> None:
    shown, edited = coder.work / "shown", coder.work / "edited"
    async with talking(coder) as one:
        asked = await one.say(f"run echo ran >> {shown}")
        (ask,) = asked.asks
        assert "command" in ask["responseSchema"]["properties"]["editedArgs"]["properties"]
        again = await one.answer(asked, {**YES, "editedArgs": {"cmd": "touch x"}})
        assert again.ending == "INVALID_RESUME_PAYLOAD"
        told = await one.answer(asked, {**YES, "editedArgs": {"command": f"echo ran >> {edited}"}})
        assert told.ending == "success"
    assert (shown.exists(), edited.read_text()) == (False, "ran\n")


async def test_of_two_calls_in_a_reply_the_second_is_proposed_again_and_neither_is_lost(
    coder: Coder,
) -> None:
    async with talking(coder) as one:
        first = await one.say("both bob")
        assert len(first.asks) == 1
        second = await one.answer(first, YES)
        assert [done["to"] for done in coder.executed] == ["bob"]
        assert (await one.answer(second, YES)).ending == "success"
    assert [done["to"] for done in coder.executed] == ["bob", "second-bob"]


async def test_a_question_that_nobody_answered_is_not_taken_up_by_the_next_message(
    coder: Coder, model: FakeClaude
) -> None:
    made = coder.work / "made"
    async with talking(coder, approve=["Bash"], **lettings("bypassPermissions")) as one:
        await one.say(f"run touch {made}")
        await one.stop()
        told = await one.say("hello")
        assert (told.ending, told.text) == ("success", "Hello.")
    assert not made.exists()
    assert "this tool call was not executed" in str(model.requests[-1]["messages"])


async def test_what_a_sub_agent_may_not_do_alone_is_said_to_it_and_not_done(coder: Coder) -> None:
    async with talking(coder) as one:
        told = await one.say("inside bob")
        assert told.ending == "success"
        results = [e["content"] for e in told.events if e["type"] == "TOOL_CALL_RESULT"]
    assert "a sub-agent can't wait" in results[0]
    assert coder.executed == []


async def test_a_policy_judges_calls_that_nobody_has_to_approve(
    coder: Coder, model: FakeClaude
) -> None:
    bridge = Bridge("memory:")
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talking(coder, bridge) as one:
        assert (await one.say("look bob")).ending == "success"
    assert coder.executed == []
    heard = str(model.requests[-1]["messages"])
    assert "The policy denied this tool call; it was not executed. Reason: not him" in heard


async def test_what_claude_codes_rules_want_asked_and_nobody_is_asked_about_is_not_done(
    coder: Coder,
) -> None:
    made = coder.work / "made"
    async with talking(coder, **lettings("default")) as one:
        told = await one.say(f"run python3 -c \"open('{made}', 'w')\"")
    assert told.ending == "success"
    assert not made.exists()


async def test_a_stop_lets_the_tool_that_runs_finish_and_begins_nothing_more(coder: Coder) -> None:
    async with talking(coder) as one:
        stream = one.begin("wait")
        await coder.begun.wait()
        stopping = asyncio.create_task(one.stop(timeout=60))
        await stream.until("RUN_STARTED")
        coder.finish.set()
        await stopping
        assert (await stream.rest()).ending == "cancelled"
        assert coder.executed == ["waited"]
        assert (await one.say("hello")).ending == "success"
