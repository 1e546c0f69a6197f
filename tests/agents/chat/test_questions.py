"""What the model asks the user."""

from __future__ import annotations

import json

from agui_bridge import Answer, Ask, NeedsInput, answered
from agui_bridge.agents.chat import tool
from tests.agents.chat.office import LOOK, MAIL, SEND, office, results
from tests.servers.model.script import Reply, ToolUse
from tests.support.server import client


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


CODE = {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}
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


async def test_a_tool_asks_in_its_middle_and_the_model_reads_one_result() -> None:
    begun: list[str] = []

    @tool
    def transfer(to: str) -> str | NeedsInput:
        """Send money."""
        given = answered()
        if given is None:
            begun.append(to)
            return NeedsInput([Ask("code", message="Code?", response_schema=CODE)], {"payment": 7})
        code = given.answers["code"]
        assert isinstance(code, Answer)
        return f"{given.state} {code.payload['code']} {to}"

    call = ToolUse("transfer", {"to": "ann"})
    async with office(Reply(calls=[call]), Reply("Sent."), tools=[transfer]) as it:
        asked = await it.say()
        (ask,) = asked.events[-1]["outcome"]["interrupts"]
        assert (ask["message"], results(asked)) == ("Code?", [])
        done = await it.answer(asked, code="4711")
        assert results(done) == ["{'payment': 7} 4711 ann"]
        again = await it.answer(asked, code="4711")
        assert again.events[-1]["type"] == "RUN_FINISHED"
        assert it.heard()[-1] == ("tool", "{'payment': 7} 4711 ann")
        assert len(it.model.requests) == 2
    assert begun == ["ann"]
