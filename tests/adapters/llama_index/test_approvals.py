"""Approvals, edits, stops and policies, of the tools of an agent and of several."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.testing import talk
from tests.adapters.llama_index.mailer import BRIDGES, SIGNATURE, Mailer, Team
from tests.adapters.mails import YES, EditableMails, StatelessMails


class TestMails(StatelessMails, EditableMails):
    bridges = BRIDGES
    signature = SIGNATURE

    @pytest.fixture
    def mailer(self) -> Mailer:
        return Mailer()


async def test_the_model_reads_with_what_arguments_its_call_was_approved() -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        asked = await one.say("send bob")
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
        (told,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    (read,) = mailer.results("send_email")
    assert told == "sent to ann"
    assert read.startswith("The user approved this tool call with other arguments:")
    assert read.endswith(told)


async def test_a_text_stands_in_place_of_the_result_and_the_tool_does_not_run() -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        asked = await one.say("send bob")
        answered = await one.answer(asked, {"approved": False, "respond": "I phoned him."})
    assert (answered.ending, mailer.done) == ("success", [])
    told = [e["content"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
    assert told == mailer.results("send_email") == ["I phoned him."]


async def test_a_tool_that_asks_in_its_middle_is_let_begin_once_and_goes_on_with_its_answer() -> (
    None
):
    mailer = Mailer()
    async with BRIDGES.talking(mailer, approve=["book"]) as one:
        asked = await one.say("book friday")
        assert (asked.asks[0]["reason"], mailer.entered) == ("tool_call", [])
        within = await one.answer(asked, YES)
        assert within.asks[0]["message"] == "When on friday?"
        assert within.asks[0]["toolCallId"] == asked.asks[0]["toolCallId"]
        assert (await one.answer(within, 5)).ending == "success"
        await one.answer(within, 5)
    # Once up to its question, and once from its top with the answer.
    assert (mailer.entered, mailer.done) == (["friday"] * 2, [5])
    assert mailer.results("book") == ["booked 5"]


async def test_each_of_two_tools_that_ask_the_same_gets_its_own_answer(
    tmp_path: Any,
) -> None:
    before, again = Mailer(), Mailer()
    store = f"sqlite:///{tmp_path}/agents.db"
    async with talk(BRIDGES.serving(before), "mailer", store=store) as one:
        asked = await one.say("booktwo friday")
    hours = {"When on friday?": 5, "When on second-friday?": 9}
    async with talk(BRIDGES.serving(again), "mailer", store=store) as one:
        answers = [hours[ask["message"]] for ask in asked.asks]
        assert (await one.answer(asked, *answers)).ending == "success"
    assert sorted(again.done) == [5, 9]
    assert again.results("book") == ["booked 5", "booked 9"]


@pytest.mark.parametrize("answer", [None, {"declined": True}], ids=["stopped", "no"])
async def test_a_tool_whose_question_nobody_answers_goes_no_further(answer: Any) -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        asked = await one.say("booksend friday")
        if answer is None:
            await one.stop()
            assert (await one.say("hello")).ending == "success"
        else:
            question = next(ask for ask in asked.asks if ask["reason"] != "tool_call")
            payloads = [answer if ask is question else {"approved": False} for ask in asked.asks]
            assert (await one.answer(asked, *payloads)).ending == "success"
            assert mailer.results("book") == ["The user declined to answer."]
    assert mailer.done == []


async def test_whom_the_conversation_was_handed_to_goes_on_with_it() -> None:
    team = Team()
    async with BRIDGES.talking(team) as one:
        asked = await one.say("handoff bob")
        assert (await one.answer(asked, YES)).ending == "success"
        await one.say("handoff eve")
    assert team.done == [{"to": "bob", "body": "original"}]


@pytest.mark.parametrize("kind", [Mailer, Team])
async def test_the_state_that_an_agent_begins_with_is_shared_with_the_page(kind: Any) -> None:
    initial = {"mood": "calm", "left": 1}
    mailer = Team(initial_state=initial) if kind is Team else Mailer(initial_state=initial)
    async with BRIDGES.talking(mailer) as one:
        asked = await one.say("moodandsend merry", state={"left": 2, "page": 1})
        assert await one.state() == {"mood": "merry", "left": 2, "page": 1}
        assert (await one.answer(asked, YES)).ending == "success"
        await one.say("mood sad")
    assert mailer.results("set_mood")[-1] == "it was merry"
    assert "'page'" not in mailer.told()
