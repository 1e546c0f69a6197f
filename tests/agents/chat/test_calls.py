"""What becomes of the calls that a model asks for: executions are counted by the tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge.agents.chat import tool
from tests.agents.chat.office import LOOK, MAIL, SEND, kinds, office, results
from tests.servers.model.script import Reply, ToolUse


async def test_a_call_without_approval_is_carried_out_and_read_by_the_model() -> None:
    async with office(Reply("Wait. ", calls=[LOOK]), Reply("At nine.")) as it:
        stream = await it.say()
        assert it.executed == ["monday"]
        assert results(stream) == ['["09:00"]']
        assert it.heard() == [("user", "go"), ("assistant", "Wait. "), ("tool", '["09:00"]')]
        assert stream.events[-1]["outcome"] == {"type": "success"}


async def test_calls_of_one_id_in_two_turns_are_two_calls() -> None:
    look = ToolUse("look", {"day": "monday"}, id="functions.look:0")
    other = ToolUse("look", {"day": "tuesday"}, id="functions.look:0")
    replies = [Reply(calls=[look]), Reply("At nine."), Reply(calls=[other]), Reply("At ten.")]
    async with office(*replies) as it:
        told = [await it.say("monday"), await it.say("tuesday")]
        ids = [e["toolCallId"] for s in told for e in s.events if e["type"] == "TOOL_CALL_RESULT"]
        assert len(set(ids)) == 2
        assert it.executed == ["monday", "tuesday"]
        calls = [c for m in it.model.requests[-1].messages for c in m.get("tool_calls") or ()]
        assert [json.loads(c["function"]["arguments"])["day"] for c in calls] == it.executed


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
        (ToolUse("look", {"day": 5}), "day: must be a string, not 5"),
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


@pytest.mark.parametrize(
    ("content", "told"),
    [("", "The tool failed: no paint"), ("half red", "half red\n\nThe tool failed: no paint")],
)
async def test_the_model_reads_what_went_wrong_at_the_application(content: str, told: str) -> None:
    paint = {"name": "paint", "description": "Paint it", "parameters": {"type": "object"}}
    replies = (Reply(calls=[ToolUse("paint", {})]), Reply(calls=[SEND]), Reply("."), Reply("."))
    async with office(*replies) as it:
        handed = await it.say(tools=[paint])
        (pending,) = handed.events[-1]["outcome"]["pendingToolCallIds"]
        result = {"id": "t1", "role": "tool", "toolCallId": pending, "content": content}
        asked = await it.say(None, messages=[{**result, "error": "no paint"}], tools=[paint])
        assert it.heard()[-1] == ("tool", told)
        await it.answer(asked, approved=True)
        assert it.heard()[2] == ("tool", told)
        await it.say("and?")
        assert it.heard()[2] == ("tool", told)


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
