"""What people and policies decide of the calls that a model asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge import Verdict
from agui_bridge.agents.chat import tool
from agui_bridge.protocol.answers.unexecuted import EXPIRED
from tests.agents.chat.office import LOOK, MAIL, SEND, office, results, snapshot
from tests.servers.model.script import Reply, ToolUse


async def test_an_approved_call_runs_once_and_the_model_is_not_asked_again_for_it() -> None:
    async with office(Reply("I will. ", calls=[SEND]), Reply("Sent.")) as it:
        asked = await it.say()
        (ask,) = asked.events[-1]["outcome"]["interrupts"]
        assert ask["message"] == "Allow send?"
        assert ask["metadata"]["destructive"] is True
        done = await it.answer(asked, approved=True)
        again = await it.answer(asked, approved=True)
        assert it.executed == [MAIL]
        assert results(done) == ["sent to ann@example.com"]
        assert again.events[-1]["outcome"] == {"type": "success"}
        assert len(it.model.requests) == 2
        assert it.heard()[1:] == [("assistant", "I will. "), ("tool", "sent to ann@example.com")]


def allow_what_was_approved(call: Any) -> Verdict:
    return Verdict("allow") if call.approved else Verdict("ask", editable=True)


@pytest.mark.parametrize(
    "asking",
    [{"approval": "always"}, {"approval": "never", "policy": allow_what_was_approved}],
    ids=["the tool", "the policy"],
)
async def test_edited_arguments_run_as_edited_and_the_model_reads_so_in_this_turn_and_later(
    asking: dict[str, Any],
) -> None:
    async with office(Reply(calls=[SEND]), Reply("Sent."), Reply("To Bo."), **asking) as it:
        asked = await it.say()
        edited = {"to": "bo@example.com", "copies": 2}
        done = await it.answer(asked, approved=True, editedArgs=edited)
        assert (it.executed, results(done)) == ([edited], ["sent to bo@example.com"])
        await it.say("to whom?")
        for request in it.model.requests[1:]:
            called, result = request.messages[1:3]
            (call,) = called["tool_calls"]
            assert json.loads(call["function"]["arguments"]) == edited
            assert result["content"] == (
                f"The user changed the arguments, which were {json.dumps(MAIL)}. "
                "sent to bo@example.com"
            )
        # What a page is told last is what ran, with what was proposed beside.
        (told,) = (m for m in snapshot(done) if m.get("toolCalls"))
        assert json.loads(told["toolCalls"][0]["function"]["arguments"]) == edited
        (proposed,) = told["metadata"]["agui_bridge"]["proposed"].values()
        assert json.loads(proposed) == MAIL


async def test_a_declined_call_is_not_executed_and_told_alike_to_model_and_history() -> None:
    async with office(Reply(calls=[SEND]), Reply("Then not."), Reply("Yes?")) as it:
        asked = await it.say()
        done = await it.answer(asked, approved=False, reason="too early")
        told = "The user declined this tool call; it was not executed. Reason: too early"
        assert (it.executed, results(done)) == ([], [told])
        assert it.heard()[-1] == ("tool", told)
        await it.say("and now?")
        assert it.heard() == [
            ("user", "go"),
            ("assistant", None),
            ("tool", told),
            ("assistant", "Then not."),
            ("user", "and now?"),
        ]


async def test_an_expired_approval_is_told_to_the_model() -> None:
    async with office(Reply(calls=[SEND]), Reply("Later."), settings={"expires_in": 0.0}) as it:
        await it.say()
        await it.say("well?")
        assert it.executed == []
        assert ("tool", EXPIRED) in it.heard()


async def test_calls_of_one_reply_that_need_approval_are_asked_together_the_rest_runs() -> None:
    other = ToolUse("send", {"to": "bo@example.com"}, id="call_3")
    async with office(Reply(calls=[SEND, LOOK, other], fragment=3), Reply("Done.")) as it:
        asked = await it.say()
        assert len(asked.events[-1]["outcome"]["interrupts"]) == 2
        assert it.executed == ["monday"]
        await it.answer(asked, approved=True)
        assert it.executed[0] == "monday"
        assert sorted(call["to"] for call in it.executed[1:]) == [
            "ann@example.com",
            "bo@example.com",
        ]
        assert [content for _, content in it.heard()[2:]] == [
            "sent to ann@example.com",
            '["09:00"]',
            "sent to bo@example.com",
        ]


@pytest.mark.parametrize(("copies", "asked"), [(1, False), (50, True)])
async def test_an_approval_can_depend_on_the_arguments(copies: int, asked: bool) -> None:
    def many(args: dict[str, Any]) -> bool:
        return bool(args["copies"] > 10)

    call = ToolUse("send", {"to": "a", "copies": copies})
    async with office(Reply(calls=[call]), Reply("Done."), approval=many) as it:
        stream = await it.say()
        assert (stream.events[-1]["outcome"]["type"] == "interrupt") is asked
        assert bool(it.executed) is not asked


async def test_a_rule_that_fails_executes_nothing() -> None:
    def broken(args: dict[str, Any]) -> bool:
        raise KeyError("amount")

    async with office(Reply(calls=[SEND]), approval=broken) as it:
        stream = await it.say()
        assert stream.events[-1]["code"] == "AGENT_ERROR"
        assert it.executed == []


async def test_the_bridges_policy_stands_above_the_tools_own_word() -> None:
    def deny(call: Any) -> Verdict:
        return Verdict("deny" if call.name == "look" else "allow", "not today")

    async with office(Reply(calls=[LOOK]), Reply("No."), policy=deny) as it:
        stream = await it.say()
        told = "The policy denied this tool call; it was not executed. Reason: not today"
        assert (it.executed, results(stream)) == ([], [told])
        assert it.heard()[-1] == ("tool", told)


async def test_a_policy_that_asks_about_a_streamed_call_has_it_run_once() -> None:
    async with office(Reply(calls=[LOOK]), Reply("Nine."), policy=lambda call: "ask") as it:
        asked = await it.say()
        assert it.executed == []
        done = await it.answer(asked, approved=True)
        assert (it.executed, results(done)) == (["monday"], ['["09:00"]'])


async def test_a_policy_that_lets_edit_does_not_widen_what_the_tool_lets_edit() -> None:
    def ask(call: Any) -> Verdict:
        return Verdict("allow") if call.approved else Verdict("ask", editable=True)

    replies = (Reply(calls=[ToolUse("pin", {"day": "monday"})]), Reply("Done."))
    pinned: list[str] = []

    @tool(editable=False)
    def pin(day: str) -> str:
        pinned.append(day)
        return "pinned"

    async with office(*replies, tools=[pin], policy=ask) as it:
        asked = await it.say()
        (question,) = asked.events[-1]["outcome"]["interrupts"]
        assert "editedArgs" not in question["responseSchema"]["properties"]
        edited = await it.answer(asked, approved=True, editedArgs={"day": "sunday"})
        assert edited.events[-1]["code"] == "INVALID_RESUME_PAYLOAD"
        await it.answer(asked, approved=True)
        assert pinned == ["monday"]
