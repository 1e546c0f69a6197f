"""A question's page: what it shows, and what its buttons do."""

from typing import Any

import pytest

from agui_bridge.adapters import Ask
from agui_bridge.protocol.threads.records import InterruptStatus, ToolCall
from tests.http.inbox.conftest import Serving
from tests.support.agents import approval


async def test_what_waits_is_listed_and_approved_once(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        await site.ask("ops")
        page = await ann.look()
        question = await ann.follow(page, "delete")
        done = await ann.press(question, "Approve")
        again = await ann.press(question, "Approve")
        empty = await ann.look()

    assert page.title == "1 waiting · Inbox"
    assert "delete Delete rows? Agent ops Asked by ann" in question.text
    assert (done.status, done.title) == (200, "Approved: delete")
    assert again.status == 200
    assert site.ran == [{"table": "users", "limit": 5}]
    assert "Nothing waits for you." in empty.text


async def test_the_history_says_who_decided_and_through_what(serving: Serving) -> None:
    async with serving() as site, site.person("bob") as bob:
        [path] = await site.ask("ops")
        done = await bob.press(await bob.look(path), "Approve", reason="All old.")
        decided = await bob.look("/inbox/decided")
        [row] = await site.rows("ops")

    assert "Approved: All old. by bob through the inbox, just now" in done.text
    assert "Approved: All old., bob through the inbox" in decided.text
    assert row.status is InterruptStatus.RESOLVED
    assert [e.via for e in row.audit if e.actor == "bob"][:1] == ["inbox"]


async def test_arguments_are_changed_and_keep_their_types(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        done = await ann.press(await ann.look(path), "Approve with these changes", edit__limit="2")

    assert (done.status, done.title) == (200, "Approved with changes: delete")
    assert site.ran == [{"table": "users", "limit": 2}]


async def test_a_wrong_argument_is_told_at_its_field_and_nothing_runs(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        page = await ann.look(path)
        wrong = await ann.press(page, "Approve with these changes", edit__limit="many")
        [row] = await site.rows("ops")
        control = wrong.controls["edit:limit"]
        mended = await ann.press(wrong, "Approve with these changes", edit__limit="3")

    assert (wrong.status, wrong.title) == (422, "Error: delete")
    assert row.is_open
    assert control["aria-invalid"] == "true" and control["value"] == "many"
    told = [wrong.texts[name] for name in control["aria-describedby"].split()]
    assert told == ["Enter a number, such as 42 or 0.5."]
    assert wrong.links["Limit"] == f"#{control['id']}"
    assert mended.status == 200 and site.ran == [{"table": "users", "limit": 3}]


async def test_what_the_tools_schema_refuses_is_told_at_its_field(serving: Serving) -> None:
    schema = {
        "type": "object",
        "required": ["limit"],
        "properties": {"limit": {"$ref": "#/$defs/few"}},
        "$defs": {"few": {"type": "integer", "maximum": 10, "title": "How many"}},
    }
    ask = Ask("n", "tool_call", "May it?", ToolCall("c", "cut", {"limit": 4}), parameters=schema)
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        wrong = await ann.press(page, "Approve with these changes", edit__limit="11")
        right = await ann.press(page, "Approve with these changes", edit__limit="10")

    assert wrong.status == 422 and "How many: must be at most 10, not 11" in wrong.text
    assert wrong.controls["edit:limit"]["aria-invalid"] == "true"
    assert right.status == 200
    assert site.agent.executed == [("c", {"limit": 10})]


async def test_arguments_that_nobody_touched_stay_as_they_are(serving: Serving) -> None:
    args = {
        "n": None,
        "s": "",
        "big": 10**17,
        "f": 1.0,
        "list": [1, "1"],
        "lines": "a\nb",
        "x": True,
    }
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": ["string", "null"]},
            "s": {"type": "string"},
            "big": {"type": "integer"},
            "f": {"type": "number"},
            "list": {"type": "array"},
            "lines": {"type": "string"},
            "other": {"type": "string"},
        },
    }
    ask = Ask("n", "tool_call", "May it?", ToolCall("c", "cut", args), parameters=schema)
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        done = await ann.press(await ann.look(path), "Approve with these changes")
        [row] = await site.rows()

    assert done.status == 200
    assert row.answer is not None
    assert repr(row.answer.payload["editedArgs"]) == repr(args)


async def test_arguments_without_a_schema_are_changed_as_json(serving: Serving) -> None:
    ask = approval("c", allowed=("approve", "decline", "edit"))
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        broken = await ann.press(page, "Approve with these changes", edit__value='{"to": ')
        twice = await ann.press(page, "Approve with these changes", edit__value='{"to":1,"to":2}')
        done = await ann.press(page, "Approve with these changes", edit__value='{"to": "you"}')

    assert broken.status == twice.status == 422
    assert "more than once" in twice.text
    assert done.status == 200 and site.agent.executed == [("c", {"to": "you"})]


async def test_a_decline_brings_its_reason_to_the_agent(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        done = await ann.press(await ann.look(path), "Decline", reason="Not on a Friday.")

    assert (done.title, site.ran) == ("Declined: delete", [])
    assert "Not done: Not on a Friday." in done.text


async def test_a_result_is_given_in_place_of_the_tools(serving: Serving) -> None:
    ask = approval("c", allowed=("approve", "decline", "respond"))
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        empty = await ann.press(page, "Answer in place of the tool", respond=" ")
        done = await ann.press(page, "Answer in place of the tool", respond="By hand.")
        [row] = await site.rows()

    assert empty.status == 422 and empty.controls["respond"]["aria-invalid"] == "true"
    assert done.title == "Answered in place of the tool: send"
    assert row.answer is not None and row.answer.payload["respond"] == "By hand."
    assert site.agent.executed == []


async def test_a_question_is_withdrawn(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        done = await ann.press(await ann.look(path), "Withdraw the question")
        [row] = await site.rows("ops")

    assert done.title == "Withdrawn: delete"
    assert row.status is InterruptStatus.CANCELLED and site.ran == []


async def test_buttons_are_those_that_the_question_offers(serving: Serving) -> None:
    ask = approval("c", allowed=("approve", "decline"))
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        forged = await ann.press(page, None, decision="edit", edit__value="{}")

    words = [b.words for b in page.forms[-1].buttons if b.words]
    assert words == ["Approve", "Decline", "Withdraw the question"]
    assert forged.status == 400 and site.agent.executed == []


@pytest.mark.parametrize("decision", [[], ["no such"], ["approve", "decline"], [""]])
async def test_a_form_without_one_button_decides_nothing_and_keeps_what_was_typed(
    serving: Serving, decision: list[str]
) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        page = await ann.look(path)
        answer = await ann.press(page, None, decision=decision, reason="Half a thought")
        [row] = await site.rows("ops")

    assert answer.status == 400
    assert answer.title.startswith("Nothing was decided")
    assert ("reason", "Half a thought") in answer.forms[-1].fields
    assert row.is_open and len(row.audit) == 1


async def test_looking_never_acts(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        for method in ("GET", "HEAD", "GET", "HEAD"):
            answer = await ann.http.request(method, path, params={"decision": "approve"})
            assert answer.status_code == 200
        for method in ("PUT", "DELETE", "PATCH"):
            assert (await ann.http.request(method, path)).status_code == 405
        [row] = await site.rows("ops")

    assert row.is_open and site.ran == []


async def test_another_answer_is_told_who_decided(serving: Serving) -> None:
    async with serving() as site, site.person() as ann, site.person("bob") as bob:
        [path] = await site.ask("ops")
        open_page = await bob.look(path)
        await ann.press(await ann.look(path), "Decline")
        late = await bob.press(open_page, "Approve")
        look = await bob.look(path)

    assert late.status == 409
    assert late.title == "Decided already: delete"
    assert "It was declined by ann through the inbox, just now." in late.text
    assert site.ran == []
    assert "Decided already" in look.text and look.forms == []


async def test_the_conversation_stands_beside_the_question(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        page = await ann.look(path)

    assert "The conversation before it Person Clean up, please. Agent delete(" in page.text


async def test_what_agents_write_is_shown_as_text_of_which_all_is_seen(serving: Serving) -> None:
    sly = "<script>alert(1)</script>\u202egpj.exe\u200b"
    ask = Ask("n", "tool_call", sly, ToolCall("c", sly, {sly: sly}), metadata={"note": sly})
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page, listed = await ann.look(path), await ann.look()

    for seen in (page, listed):
        assert "script" not in seen.tags
        assert "<script>alert(1)</script>\\u202egpj.exe\\u200b" in seen.text
        shown = seen.response.text.partition('<article class="card main"')[2].partition("<form")[0]
        assert "\u202e" not in shown and "\u200b" not in shown


async def test_several_questions_of_a_pause_are_answered_one_by_one(serving: Serving) -> None:
    asks: Any = [approval("c1"), approval("c2")]
    async with serving(*asks) as site, site.person() as ann:
        first, second = await site.ask()
        one = await ann.press(await ann.look(first), "Approve")
        assert site.agent.executed == []
        two = await ann.press(await ann.look(second), "Approve")

    assert "once all that it asked with this question is answered" in one.text
    assert two.status == 200 and [call for call, _ in site.agent.executed] == ["c1", "c2"]


async def test_a_question_that_there_is_not_is_a_page_that_says_so(serving: Serving) -> None:
    async with serving() as site, site.person() as ann, site.person("eve") as eve:
        [path] = await site.ask("ops")
        for person, where, status in (
            (eve, path, 404),
            (ann, f"{path[:-3]}abc", 400),
            (ann, "/inbox/nothing", 400),
        ):
            page = await person.look(where)
            assert (page.status, "main" in page.tags) == (status, True)
            assert (await person.press(page, None)).status == status if page.forms else True


async def test_a_question_about_a_call_is_found_by_its_tool_and_names_it(serving: Serving) -> None:
    ask = Ask("q", message="To whom?", about=ToolCall("c", "wire_money", {"amount": 9}))
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        question = await ann.look(path)
        found = await ann.look("/inbox?tool=wire_money")
        others = await ann.look("/inbox?tool=delete")

    assert "A question about wire_money" in question.text
    assert "To whom?" in found.text
    assert "To whom?" not in others.text


async def test_what_the_agent_gave_is_shown_to_who_may_see_the_thread(serving: Serving) -> None:
    async with serving() as site:

        @site.bridge.agent("report")
        async def report(run: Any) -> Any:
            await run.confirm("Report?")
            return {"rows": "<b>" * 700}

        shown = {}
        for thread, actor in (("t", ""), ("t2", "ann"), ("t3", "rita")):
            [path] = await site.ask("report", thread)
            if by_link := not actor:
                path = await site.link("bob", agent="report")
            async with site.person(actor) as person:
                sent = {"origin": "null"} if by_link else None
                page = await person.press(await person.look(path), "Yes", sent)
            assert page.title == "Answered: Report?"
            shown[actor] = page

    assert "What the agent gave" in shown["ann"].text
    assert "<b><b>" in shown["ann"].text
    for stranger in ("", "rita"):
        assert "What the agent gave" not in shown[stranger].text
        assert "<b>" not in shown[stranger].text
