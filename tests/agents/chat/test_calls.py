"""What becomes of the calls that a model asks for: executions are counted by the tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge, Verdict
from agui_bridge.agents.chat import AskUser, ChatAgent, tool
from agui_bridge.protocol.answers.unexecuted import EXPIRED
from tests.support.scripted_model import Reply, ScriptedModel, ToolUse
from tests.support.server import Streamed, client, post, run_input, serve

MAIL = {"to": "ann@example.com", "copies": 1}
SEND = ToolUse("send", MAIL)
LOOK = ToolUse("look", {"day": "monday"}, id="call_2")


class Office:
    """An agent, its model, and what was executed."""

    def __init__(self, base: str, model: ScriptedModel, executed: list[Any]) -> None:
        self.base = base
        self.model = model
        self.executed = executed
        self._runs = 0

    async def say(self, text: str | None = "go", **more: Any) -> Streamed:
        self._runs += 1
        return await post(self.base, **run_input(text, run=f"r{self._runs}", **more))

    async def answer(self, asked: Streamed, **payload: Any) -> Streamed:
        interrupts = asked.events[-1]["outcome"]["interrupts"]
        resume = [
            {"interruptId": each["id"], "status": "resolved", "payload": payload}
            for each in interrupts
        ]
        return await self.say(None, resume=resume)

    def heard(self, request: int = -1) -> list[tuple[str, Any]]:
        """The conversation as the model got it, without instructions."""
        messages = self.model.requests[request].messages
        return [(m["role"], m["content"]) for m in messages if m["role"] != "system"]


@contextlib.asynccontextmanager
async def office(
    *replies: Reply, policy: Any = None, settings: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Office]:
    executed: list[Any] = []

    @tool(approval=options.pop("approval", "always"), destructive=True)
    async def send(to: str, copies: int = 1) -> str:
        executed.append({"to": to, "copies": copies})
        return f"sent to {to}"

    @tool
    def look(day: str) -> list[str]:
        executed.append(day)
        if day == "never":
            raise LookupError("secret")
        return ["09:00"]

    async with ScriptedModel(*replies) as model:
        agent = ChatAgent(
            "scripted",
            tools=[send, look, AskUser(), *options.pop("tools", ())],
            base_url=model.base_url,
            api_key="k",
            retries=0,
            **options,
        )
        bridge = Bridge()
        bridge.add("agent", agent, **(settings or {}))
        if policy is not None:
            bridge.policy(policy)
        async with serve(bridge.app(anonymous=True)) as base:
            yield Office(base, model, executed)


def kinds(stream: Streamed) -> list[str]:
    return [e["type"] for e in stream.events]


def results(stream: Streamed) -> list[str]:
    return [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]


def snapshot(stream: Streamed) -> list[dict[str, Any]]:
    """The conversation as the stream told it last."""
    *_, last = (e for e in stream.events if e["type"] == "MESSAGES_SNAPSHOT")
    return list(last["messages"])


async def test_a_call_without_approval_is_carried_out_and_read_by_the_model() -> None:
    async with office(Reply("Wait. ", calls=[LOOK]), Reply("At nine.")) as it:
        stream = await it.say()
        assert it.executed == ["monday"]
        assert results(stream) == ['["09:00"]']
        assert it.heard() == [("user", "go"), ("assistant", "Wait. "), ("tool", '["09:00"]')]
        assert stream.events[-1]["outcome"] == {"type": "success"}


async def test_arguments_are_streamed_while_the_model_writes_them() -> None:
    async with office(Reply(calls=[SEND], fragment=5)) as it:
        stream = await it.say()
        parts = [e["delta"] for e in stream.events if e["type"] == "TOOL_CALL_ARGS"]
        assert len(parts) > 3 and json.loads("".join(parts)) == MAIL
        assert kinds(stream).count("TOOL_CALL_START") == 1
        assert it.executed == []


async def test_long_arguments_are_told_whole() -> None:
    mail = {"to": "é" * 9000, "copies": 1}
    async with office(Reply(calls=[ToolUse("send", json.dumps(mail))], fragment=700)) as it:
        stream = await it.say()
        parts = [e["delta"] for e in stream.events if e["type"] == "TOOL_CALL_ARGS"]
        assert 10 < len(parts) < 60 and json.loads("".join(parts)) == mail


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


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (ToolUse("fly", {}), "There is no tool 'fly'."),
        (ToolUse("look", "{not json"), "they are no JSON object"),
        (ToolUse("look", '{"day": "mon'), "they are no JSON object"),
        (ToolUse("look", '{"day": NaN}'), "they are no JSON object"),
        (ToolUse("look", "[1]"), "they are no JSON object. It was not executed."),
        (ToolUse("look", '{"day": 1e999}'), "inf is not a JSON number"),
        (ToolUse("look", '{"day": ' + "9" * 1500 + "}"), "an integer of over 1000 digits"),
        (ToolUse("look", '{"day": "a", "day": "b"}'), "they name a key of an object twice"),
        (ToolUse("look", r'{"day": "\u0000"}'), "NUL character"),
        (ToolUse("look", r'{"day": "\ud800"}'), "lone surrogate"),
        (ToolUse("look", '{"day": ' + "[" * 90 + "]" * 90 + "}"), "nested deeper than 80 levels"),
        (ToolUse("look", '{"day": ' + "[" * 20_000 + "]" * 20_000 + "}"), "nest too deep"),
        (ToolUse("look", {"day": 5}), "5 is not of type"),
        (ToolUse("look", {"week": 5}), "are allowed. It was not executed."),
    ],
    ids=[
        "unknown",
        "no json",
        "cut",
        "NaN",
        "no object",
        "infinite",
        "long integer",
        "key twice",
        "NUL",
        "surrogate",
        "deep",
        "too deep",
        "wrong type",
        "wrong name",
    ],
)
async def test_a_call_that_can_not_be_is_answered_and_the_model_goes_on(
    call: ToolUse, told: str
) -> None:
    async with office(Reply(calls=[call]), Reply("I see.")) as it:
        stream = await it.say()
        assert it.executed == []
        assert told in results(stream)[0] and told in it.heard()[-1][1]
        assert stream.events[-1]["outcome"] == {"type": "success"}


async def test_a_model_that_only_tries_unknown_tools_leaves_the_user_a_sentence() -> None:
    async with office(Reply(calls=[ToolUse("fly", {})]), Reply("")) as it:
        stream = await it.say()
        said = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert said == "I wanted to use a tool that I don't have: fly."


async def test_a_tool_that_fails_is_told_by_its_type_alone_and_logged_whole(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = ToolUse("look", {"day": "never"})
    async with office(Reply(calls=[failing]), Reply("Hm.")) as it:
        stream = await it.say()
        assert results(stream) == ["The tool failed: LookupError"]
        assert it.heard()[-1] == ("tool", "The tool failed: LookupError")
        assert "secret" not in json.dumps(stream.events)
        (logged,) = (r for r in caplog.records if r.getMessage() == "The tool 'look' failed.")
        assert logged.exc_info is not None and "secret" in str(logged.exc_info[1])


@pytest.mark.parametrize("approval", ["never", "always"])
async def test_a_tool_whose_result_can_not_be_told_is_told_as_one_that_ran(
    approval: Any, caplog: pytest.LogCaptureFixture
) -> None:
    opened: list[str] = []

    @tool(approval=approval)
    def unlock(door: str) -> object:
        opened.append(door)
        return object()

    replies = (Reply(calls=[ToolUse("unlock", {"door": "front"})]), Reply("Done."), Reply("Yes."))
    async with office(*replies, tools=[unlock]) as it:
        stream = await it.say()
        if approval == "always":
            stream = await it.answer(stream, approved=True)
        told = "The tool ran; its result has no JSON form, so it is not known here."
        assert (opened, results(stream)) == (["front"], [told])
        assert it.heard()[-1] == ("tool", told)
        await it.say("and?")
        assert ("tool", told) in it.heard()
    assert "The tool 'unlock' returned what has no JSON form." in caplog.messages


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


async def test_a_question_of_the_model_becomes_a_form_and_its_answer_a_result() -> None:
    question = {"question": "Which city?", "options": ["Paris", "Oslo"]}
    async with office(Reply(calls=[ToolUse("ask_user", question)]), Reply("Oslo it is.")) as it:
        asked = await it.say()
        (ask,) = asked.events[-1]["outcome"]["interrupts"]
        assert ask["message"] == "Which city?"
        assert ask["responseSchema"]["properties"]["answer"]["enum"] == ["Paris", "Oslo"]
        refused = await it.answer(asked, answer="Rome")
        assert refused.events[-1]["type"] == "RUN_ERROR"
        done = await it.answer(asked, answer="Oslo")
        assert results(done) == ["Oslo"]
        assert it.heard()[-1] == ("tool", "Oslo")


ASK_CITY = ToolUse("ask_user", {"question": "Which city?"})


async def test_a_question_that_a_stop_ended_is_told_to_the_model_then_and_later() -> None:
    replies = (Reply("Hm. ", calls=[ASK_CITY]), Reply(calls=[SEND]), Reply("Sent."), Reply("Yes."))
    async with office(*replies) as it:
        await it.say()
        async with client(it.base) as http:
            stopped = await http.post("/agents/agent/threads/t/stop", json={})
        assert stopped.json()["status"] == "success"
        asked = await it.say("never mind, write to Ann")
        told = "The run was stopped before the user answered."
        assert results(asked) == [told]
        await it.answer(asked, approved=True)
        await it.say("thanks")
        for request in it.model.requests[1:]:
            _, said, more, question, result = request.messages[:5]
            assert (said["content"], more["content"]) == ("Hm. ", "never mind, write to Ann")
            (call,) = question["tool_calls"]
            assert call["function"]["name"] == "ask_user"
            assert json.loads(call["function"]["arguments"]) == {"question": "Which city?"}
            assert (result["role"], result["content"]) == ("tool", told)
        assert it.executed == [MAIL]


async def test_a_question_that_expired_is_told_to_the_model() -> None:
    replies = (Reply(calls=[ASK_CITY, LOOK]), Reply("Later."))
    async with office(*replies, settings={"expires_in": 0.0}) as it:
        await it.say()
        await it.say("well?")
        heard = it.heard()
        assert heard[-1] == ("tool", "The user did not answer in time.")
        assert ("tool", '["09:00"]') in heard


async def test_a_tool_of_the_application_is_handed_over_and_goes_on_with_its_result() -> None:
    paint = {"name": "paint", "description": "Paint it", "parameters": {"type": "object"}}
    call = ToolUse("paint", {"color": "red"})
    async with office(Reply(calls=[call], fragment=3), Reply("Painted.")) as it:
        asked = await it.say(tools=[paint])
        (pending,) = asked.events[-1]["outcome"]["pendingToolCallIds"]
        assert [t["function"]["name"] for t in it.model.requests[0].body["tools"]][-1] == "paint"
        result = {"id": "t1", "role": "tool", "toolCallId": pending, "content": "it is red"}
        done = await it.say(None, messages=[result], tools=[paint])
        assert done.events[-1]["outcome"] == {"type": "success"}
        assert it.heard()[-1] == ("tool", "it is red")


async def test_a_call_of_the_applications_is_still_one_when_the_answer_brings_no_tools() -> None:
    paint = {"name": "paint", "description": "Paint it", "parameters": {"type": "object"}}
    call = ToolUse("paint", {"color": "red"})
    replies = (Reply(calls=[call]), Reply(calls=[SEND]), Reply("Sent."))
    async with office(*replies) as it:
        handed = await it.say(tools=[paint])
        (pending,) = handed.events[-1]["outcome"]["pendingToolCallIds"]
        result = {"id": "t1", "role": "tool", "toolCallId": pending, "content": "it is red"}
        asked = await it.say(None, messages=[result])
        assert asked.events[-1]["outcome"]["type"] == "interrupt"
        done = await it.answer(asked, approved=True)
        assert done.events[-1]["outcome"] == {"type": "success"}
        assert it.executed == [MAIL]
        assert it.heard()[2:] == [
            ("tool", "it is red"),
            ("assistant", None),
            ("tool", "sent to ann@example.com"),
        ]


async def test_an_applications_call_beside_an_approval_waits_and_is_told_so() -> None:
    paint = {"name": "paint", "description": "Paint it", "parameters": {"type": "object"}}
    call = ToolUse("paint", {"color": "red"}, id="call_9")
    async with office(Reply(calls=[call, SEND]), Reply("Both.")) as it:
        asked = await it.say(tools=[paint])
        (pending,) = (e["toolCallId"] for e in asked.events if e.get("toolCallName") == "paint")
        approved = await it.answer(asked, approved=True)
        assert it.executed == [MAIL]
        assert approved.events[-1]["outcome"] == {
            "type": "success",
            "pendingToolCallIds": [pending],
        }
        result = {"id": "t1", "role": "tool", "toolCallId": pending, "content": "it is red"}
        done = await it.say(None, messages=[result])
        assert done.events[-1]["outcome"] == {"type": "success"}
        assert [told for role, told in it.heard() if role == "tool"] == [
            "it is red",
            "sent to ann@example.com",
        ]


async def test_the_number_of_rounds_is_bounded() -> None:
    async with office(*[Reply(calls=[LOOK])] * 3, max_rounds=3) as it:
        stream = await it.say()
        said = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert said == "I stop here: 3 replies with tool calls were not enough."
        assert it.executed == ["monday"] * 3


async def test_the_number_of_tokens_is_bounded() -> None:
    async with office(*[Reply(calls=[LOOK])] * 2, max_tokens=10) as it:
        stream = await it.say()
        said = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert said == "I stop here: the run has taken 14 tokens."


async def test_a_call_cut_off_by_a_broken_stream_is_told_as_not_executed() -> None:
    broken = Reply("So: ", calls=[SEND], fragment=5, breaks_off=True)
    async with office(broken, Reply("Again?")) as it:
        stream = await it.say()
        assert stream.events[-1]["code"] == "UPSTREAM_ERROR"
        assert results(stream) == ["The run failed; this tool call was not executed."]
        await it.say("again")
        assert it.heard()[2] == ("tool", "The run failed; this tool call was not executed.")
