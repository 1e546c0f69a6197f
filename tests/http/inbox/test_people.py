"""Who sees and decides what: approvers, votes, reviewers of a scope; several at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import InterruptStatus, ToolCall
from tests.http.inbox.conftest import Serving
from tests.support.agents import approval

DBA = ApprovalRule("dbas", approvers=("role:dba",), self_approval=False)


@pytest.mark.parametrize(
    "args",
    [
        {"a": 1, "b": 2, "c": 3, "d": 4, "to": "attacker"},
        {"note": "n" * 121},
        {"note": "two\nlines"},
        {"deep": {"er": ["n"] * 40}},
    ],
    ids=["the fifth", "long", "lines", "deep"],
)
async def test_what_a_list_does_not_show_whole_is_not_approved_there(
    serving: Serving, args: dict[str, Any]
) -> None:
    hidden = replace(approval("c3"), tool_call=ToolCall("c3", "send", args))
    async with serving(approval("c1"), approval("c2"), hidden) as site, site.person() as ann:
        paths = await site.ask()
        listed = await ann.look()
        references = [path.removeprefix("/inbox/") for path in paths]
        boxes = re.findall(r'name="question" value="([^"]+)"', listed.response.text)
        done = await ann.press(listed, "Approve them", question=references)
        statuses = [ask.status.value for ask in await site.rows()]

        assert site.agent.executed == []
        declined = await ann.press(listed, "Decline them", question=references[2:])
        late = await ann.press(listed, "Approve them", question=references[2:])

    assert boxes == references[:2]
    # A decline needs no reading, and what is decided already is told as that.
    assert "send: Declined." in declined.text
    assert "send: Decided already." in late.text
    assert "Open it to decide" in listed.links
    assert "The list does not show all of it: open it." in done.text
    assert statuses == ["answered", "answered", "open"]
    assert [call for call, _ in site.agent.executed] == ["c1", "c2"]


async def test_who_may_not_answer_reads_why_and_can_press_nothing(serving: Serving) -> None:
    async with serving(rule=DBA) as site, site.person() as ann, site.person("bob") as bob:
        [path] = await site.ask("ops", actor="bob")
        page, own = await ann.look(path), await bob.look(path)
        forged = await ann.press(page, "Approve")
        listed, mine = await ann.look(), await ann.look(mine="1")
        [row] = await site.rows("ops")

    for seen, why in ((page, "Only role:dba may answer this."), (own, "bob asked for this")):
        assert seen.button("Approve").disabled and seen.button("Decline").disabled
        assert why in seen.texts[seen.button("Approve").described_by]
    assert page.button("Withdraw the question").disabled
    assert (forged.status, forged.title, row.is_open) == (403, "Not taken: delete", True)
    assert "Only role:dba may answer this." in listed.text
    assert "Nothing here fits this filter." in mine.text
    assert site.ran == []


async def test_who_asked_may_withdraw_all_the_same(serving: Serving) -> None:
    async with serving(rule=DBA) as site, site.person("bob") as bob:
        [path] = await site.ask("ops", actor="bob")
        done = await bob.press(await bob.look(path), "Withdraw the question")
        [row] = await site.rows("ops")

    assert done.status == 200 and row.status is InterruptStatus.CANCELLED


async def test_votes_are_counted_and_shown_until_they_are_enough(serving: Serving) -> None:
    two = ApprovalRule("two dbas", approvers=("role:dba",), quorum=2)
    async with serving(rule=two) as site, site.person("bob") as bob, site.person("dan") as dan:
        [path] = await site.ask("ops")
        first = await bob.press(await bob.look(path), "Approve")
        again = await bob.press(first, "Approve")
        assert site.ran == []
        seen = await dan.look(path)
        done = await dan.press(seen, "Approve")

    assert (first.status, first.title) == (200, "Vote recorded: delete")
    assert again.status == 200
    assert "1 of 2 approvals" in seen.text and "bob approved just now" in seen.text
    assert "2 approvals of role:dba" in seen.text
    assert done.title == "Approved: delete" and len(site.ran) == 1


async def test_arguments_that_one_has_changed_are_there_for_the_next_to_approve(
    serving: Serving,
) -> None:
    two = ApprovalRule(quorum=2)
    async with serving(rule=two) as site, site.person("bob") as bob, site.person("dan") as dan:
        [path] = await site.ask("ops")
        await bob.press(await bob.look(path), "Approve with these changes", edit__limit="2")
        seen = await dan.look(path)
        done = await dan.press(seen, "Approve as changed")

    assert "With these arguments, as bob changed them table users limit 2" in seen.text
    assert "As the agent first proposed it table users limit 5" in seen.text
    assert "the vote of bob counts no more" in seen.text
    words = [button.words for form in seen.forms for button in form.buttons if button.words]
    assert words[0] == "Approve as changed"
    assert done.title == "Approved with changes: delete"
    assert site.ran == [{"table": "users", "limit": 2}]


async def test_whose_vote_falls_is_said_to_who_approves_something_else(serving: Serving) -> None:
    two = ApprovalRule(quorum=2)
    async with serving(rule=two) as site, site.person("bob") as bob, site.person("dan") as dan:
        [path] = await site.ask("ops")
        await bob.press(await bob.look(path), "Approve with these changes", edit__limit="2")
        seen = await dan.look(path)
        first = await dan.press(seen, "Approve as first proposed")
        late = await dan.press(seen, "Approve as changed")
        rows = await site.rows("ops")

    assert "1 of 2 have approved the same. The vote of bob was for other arguments" in first.text
    assert late.status == 400 and "decided" in late.text
    assert [vote.actor for vote in rows[0].votes] == ["dan"]
    assert site.ran == []


async def test_arguments_that_were_changed_again_meanwhile_are_not_agreed_to(
    serving: Serving,
) -> None:
    three = ApprovalRule(quorum=3)
    people = [("bob", "2"), ("dan", "3")]
    async with serving(rule=three) as site, site.person("rita") as rita:
        [path] = await site.ask("ops")
        pages = []
        for name, limit in people:
            async with site.person(name) as one:
                await one.press(
                    await one.look(path), "Approve with these changes", edit__limit=limit
                )
            pages.append(await rita.look(path))
        stale = await rita.press(pages[0], "Approve as changed")
        rows = await site.rows("ops")

    assert "The arguments were changed meanwhile. Look at them again." in stale.text
    assert [vote.actor for vote in rows[0].votes] == ["dan"]


async def test_a_reviewer_of_the_scope_sees_the_question_and_not_the_thread(
    serving: Serving,
) -> None:
    async with serving() as site, site.person("rita") as rita, site.person("eve") as eve:
        [path] = await site.ask("ops")
        listed, other = await rita.look(), await eve.look()
        page = await rita.look(path)
        done = await rita.press(page, "Approve")
        decided = await rita.look("/inbox/decided")

    assert "delete" in listed.links and "Nothing waits for you." in other.text
    assert "Scope team" in page.text
    assert "Clean up, please." not in page.text + done.text
    assert "rows are gone" not in done.text
    assert done.status == 200 and len(site.ran) == 1
    assert "Approved, rita through the inbox" in decided.text


async def test_the_list_is_filtered(serving: Serving) -> None:
    async with serving(approval("c1"), approval("c2")) as site, site.person() as ann:
        await site.ask("ops")
        await site.ask()
        every = await ann.look()
        by_agent, by_tool = await ann.look(agent="ops"), await ann.look(tool="send")
        none = await ann.look(agent="ops", tool="send")

    assert every.title == "3 waiting · Inbox"
    assert by_agent.title == "1 waiting · Inbox" and "delete" in by_agent.links
    assert by_tool.title == "2 waiting · Inbox" and "delete" not in by_tool.links
    assert "Nothing here fits this filter." in none.text


async def test_the_list_loads_anew_only_for_who_asks_for_it(serving: Serving) -> None:
    async with serving(approval("c1"), approval("c2")) as site, site.person() as ann:
        [path, _] = await site.ask()
        still = await ann.look()
        live = await ann.follow(still, "Update by itself")
        question = await ann.look(path)
        stopped = await ann.follow(live, "Stop updating")

    assert live.response.headers["refresh"] == "30"
    for page in (still, question, stopped):
        assert "refresh" not in page.response.headers
    assert "question" in still.controls and "question" not in live.controls


async def test_several_are_decided_one_after_the_other_each_on_its_own(serving: Serving) -> None:
    async with serving() as site, site.person() as ann, site.person("bob") as bob:
        paths = [(await site.ask("ops", f"t{n}"))[0] for n in range(3)]
        references = [path.removeprefix("/inbox/") for path in paths]
        page = await ann.look()
        await bob.press(await bob.look(paths[1]), "Decline")
        done = await ann.press(
            page, "Approve them", question=[*references[:2], "no-reference"], reason="Checked."
        )

    assert done.status == 200
    assert "1 of 3 questions decided" in done.text
    assert "delete: Approved. It has been carried out." in done.text
    assert "delete: Decided already. It was declined by bob through the inbox" in done.text
    assert "A question: Not taken. The reference names no question" in done.text
    assert done.title == "1 waiting · Inbox" and len(site.ran) == 1


async def test_several_with_nothing_ticked_or_pressed_decide_nothing(serving: Serving) -> None:
    async with serving(approval("c1"), approval("c2")) as site, site.person() as ann:
        first, _ = await site.ask()
        page = await ann.look()
        unticked = await ann.press(page, "Approve them")
        unpressed = await ann.press(page, None, question=first.removeprefix("/inbox/"))
        rows = await site.rows()

    assert (unticked.status, unpressed.status) == (400, 400)
    assert unticked.title.startswith("Error: ")
    assert "checked" in unpressed.controls["question"]
    assert all(row.is_open for row in rows)


async def test_long_lists_are_read_page_by_page(serving: Serving) -> None:
    asks = [approval(f"c{n}") for n in range(53)]
    async with serving(*asks) as site, site.person() as ann:
        await site.ask()
        first = await ann.look(agent="agent")
        second = await ann.follow(first, "Show the next ones")

    assert first.title == second.title == "53 waiting · Inbox"
    assert first.response.text.count('class="card row"') == 50
    assert second.response.text.count('class="card row"') == 3
    assert "Show the next ones" not in second.links
