"""What tools of Agno ask besides approvals: their own arguments, forms, choices, results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Principal, ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.agno.mailer import Mailer
from tests.adapters.agno.talking import conversing, serving, talking
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio

NO = {"declined": True, "reason": "never"}
SAID_NO = "The user declined to answer. Reason: never"


async def test_a_person_gives_the_arguments_that_the_model_is_not_to_give() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("bookat friday")
        (ask,) = asked.asks
        assert ask["reason"] == "input_required"
        schema = ask["responseSchema"]["anyOf"][0]
        assert schema["properties"]["hour"]["type"] == "integer"
        assert schema["properties"]["note"]["default"] == "by the window"
        refused = await one.answer(asked, {"hour": "five"})
        assert refused.ending not in ("success", "interrupt")
        assert (await one.answer(asked, {"hour": 0})).ending == "success"
    assert mailer.done == [{"hour": 0, "note": "by the window"}]
    assert mailer.results("book") == ["booked friday at 0"]


async def test_an_empty_answer_is_one() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.answer(await one.say("book friday"), {"hour": 0, "note": ""})
    assert mailer.done == [{"hour": 0, "note": ""}]


async def test_two_calls_of_one_tool_keep_their_arguments_apart() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("booktwice friday")
        schemas = [ask["responseSchema"]["anyOf"][0]["properties"] for ask in asked.asks]
        notes = [schema["note"].get("default") for schema in schemas]
        assert notes == ["one", None]
        await one.answer(asked, {"hour": 1}, {"hour": 2, "note": "two"})
    assert mailer.done == [{"hour": 1, "note": "one"}, {"hour": 2, "note": "two"}]


@pytest.mark.parametrize(
    ("say", "name"),
    [("book friday", "book"), ("fetch a", "fetch"), ("ask a", "get_user_input")],
)
async def test_what_is_declined_does_not_run_and_the_model_reads_why(say: str, name: str) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = await one.answer(await one.say(say), NO)
        assert stream.ending == "success"
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert mailer.done == []
    assert mailer.results(name) == [kept] == [SAID_NO]


async def test_a_model_asks_a_form_by_get_user_input() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("ask colour")
        (ask,) = asked.asks
        assert (ask["reason"], ask["message"]) == ("input_required", "Which colour?")
        stream = await one.answer(asked, {"answer": "blue"})
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    told = 'User inputs retrieved: [{"name": "answer", "value": "blue"}]'
    assert (stream.ending, kept) == ("success", told)
    assert mailer.results("get_user_input") == [told]


async def test_a_model_lets_people_choose_by_ask_user() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("choose colour")
        (ask,) = asked.asks
        assert (ask["reason"], ask["message"]) == ("agno:user_feedback", "Which colour?")
        refused = await one.answer(asked, {"Which colour?": ["green"]})
        assert refused.ending not in ("success", "interrupt")
        await one.answer(asked, {"Which colour?": ["blue"]})
    assert mailer.results("ask_user") == [
        'User feedback received: [{"question": "Which colour?", "selected": ["blue"]}]'
    ]


@pytest.mark.parametrize(
    ("payload", "told"), [("done", "done"), ("", ""), (None, "null"), (False, "false"), (0, "0")]
)
async def test_what_is_carried_out_elsewhere_has_the_result_that_a_person_gives(
    payload: Any, told: str
) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("fetch a")
        assert asked.asks[0]["reason"] == "agno:external_execution"
        assert (await one.answer(asked, payload)).ending == "success"
    assert mailer.done == []
    assert mailer.results("fetch") == [told]


async def test_what_is_carried_out_elsewhere_goes_to_the_application_that_has_such_a_tool() -> None:
    mailer = Mailer()
    fetch = {"name": "fetch", "description": "Fetch.", "parameters": {"type": "object"}}
    async with conversing(serving(mailer)) as one:
        await one.say("fetch a", tools=[fetch])
        assert one.events[-1]["outcome"]["type"] == "success"
        assert await one.hand_back("fetched") == "Done with 1 calls."
    assert mailer.done == []
    assert mailer.results("fetch") == ["fetched"]


async def test_all_kinds_at_once_are_one_pause_and_what_needs_nobody_ran_before(
    tmp_path: Path,
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        asked = await one.say("all bob")
        assert done == ["looked up bob"]
        assert [ask["reason"] for ask in asked.asks] == [
            *("tool_call", "input_required", "agno:external_execution"),
        ]
    mailer = Mailer(done.append)
    async with talk(serving(mailer), "mailer", store=store) as one:
        stream = await one.answer(asked, YES, {"hour": 5, "note": "-"}, "got it")
        assert stream.ending == "success"
        results = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert done[1:] == [{"to": "bob", "body": "original"}, {"hour": 5, "note": "-"}]
    assert sorted(results) == sorted(["bob is known", "sent to bob", "booked bob at 5", "got it"])


async def test_after_a_round_trip_each_approval_is_read_as_one_and_each_refusal_too() -> None:
    # Agno has two objects of each call then, and reads the one that nobody decided about.
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.answer(await one.say("both bob"), {"approved": False, "reason": "no"}, YES)
    assert [mail["to"] for mail in mailer.done] == ["second-bob"]
    assert mailer.results("send_email") == [
        "The user declined this tool call; it was not executed. Reason: no",
        "sent to second-bob",
    ]


async def test_a_policy_judges_the_arguments_that_people_gave() -> None:
    seen = list[tuple[dict[str, Any], bool, str | None]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((dict(call.args), call.approved, call.approved_by))
        return Verdict("deny", "closed") if call.args.get("hour") == 3 else Verdict("allow")

    mailer = Mailer()
    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        await one.answer(await one.say("book friday"), {"hour": 3, "note": ""})
        await one.answer(await one.say("book friday"), {"hour": 4, "note": ""})
    assert mailer.done == [{"hour": 4, "note": ""}]
    assert seen[0] == ({"day": "friday", "hour": 3, "note": ""}, True, "ann")
    assert "closed" in mailer.told()


async def test_a_policy_that_fails_leaves_the_question_open() -> None:
    mailer, failing = Mailer(), [False]

    def policy(call: ProposedCall) -> Verdict:
        if failing[0]:
            raise RuntimeError("down")
        return Verdict("allow")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("send bob")
        failing[0] = True
        assert (await one.answer(asked, YES)).events[-1]["type"] == "RUN_ERROR"
        assert mailer.done == []
        failing[0] = False
        assert (await one.answer(asked, YES)).ending == "success"
    assert len(mailer.done) == 1


async def test_a_pause_that_agno_can_not_read_any_more_can_be_answered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append)), "mailer", store=store) as one:
        asked = await one.say("send bob")
    mailer = Mailer(done.append)
    async with talk(serving(mailer), "mailer", store=store) as one:
        with monkeypatch.context() as patched:
            patched.setattr(
                "agui_bridge_agno.pauses.RunOutput.from_dict", lambda data: data["newMember"]
            )
            refused = await one.answer(asked, YES)
        assert refused.ending == "UPSTREAM_ERROR"
        assert "was paused by agno" in refused.fault
        mailer.agent.tools = []
        for tools in ([], mailer.tools[1:]):
            mailer.agent.tools = tools
            assert (await one.answer(asked, YES)).ending == "UPSTREAM_ERROR"
        mailer.agent.tools = mailer.tools
        assert (await one.answer(asked, YES)).ending == "success"
    assert len(done) == 1
