"""Links to one question: for one person, for a time, and never acting by being opened."""

import time

from agui_bridge.inbox import Inbox
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from tests.http.inbox.conftest import Serving
from tests.http.inbox.pages import Person
from tests.support.agents import approval


async def test_a_link_decides_for_whom_it_was_made_without_signing_in(serving: Serving) -> None:
    async with serving() as site, Person(site.base) as anybody:
        await site.ask()
        page = await anybody.look(await site.link("bob"))
        # So browsers send the form of a page whose address goes nowhere.
        done = await anybody.press(page, "Approve", {"origin": "null"})
        [row] = await site.rows()

    assert page.response.headers["referrer-policy"] == "no-referrer"
    assert page.response.headers["cache-control"] == "no-store"
    assert "For bob" in page.text
    assert "Clean up, please." not in page.text, "a link may be passed on"
    assert list(page.links) == ["Skip to the content"]
    assert done.title == "Approved: send"
    assert next(entry.via for entry in row.audit if entry.actor == "bob") == "link"
    assert len(site.agent.executed) == 1


async def test_a_scanner_that_opens_and_sends_everything_decides_nothing(serving: Serving) -> None:
    async with serving() as site, Person(site.base) as scanner:
        await site.ask()
        path = await site.link("bob")
        for method in ("GET", "HEAD", "GET", "HEAD", "GET", "HEAD", "OPTIONS"):
            await scanner.http.request(method, path)
        page = await scanner.look(path)
        answer = await scanner.press(page, None)
        bare = await scanner.http.post(path)
        [row] = await site.rows()

    assert (answer.status, bare.status_code) == (400, 415)
    assert row.is_open and len(row.audit) == 1 and site.agent.executed == []


async def test_after_somebody_elses_answer_a_link_says_who_decided(serving: Serving) -> None:
    async with serving() as site, Person(site.base) as bob, site.person() as ann:
        [path] = await site.ask()
        page = await bob.look(await site.link("bob"))
        await ann.press(await ann.look(path), "Decline")
        look = await bob.look(str(page.response.url))
        late = await bob.press(page, "Approve")

    for seen, status in ((look, 200), (late, 409)):
        assert seen.status == status
        assert "Decided already It was declined by ann through the inbox" in seen.text
    assert site.agent.executed == []


async def test_a_link_that_was_changed_or_is_over_shows_nothing(serving: Serving) -> None:
    async with serving() as site, Person(site.base) as anybody:
        [path] = await site.ask()
        link = await site.link("bob")
        over = await anybody.look(await site.link("bob", time.time() - 1))
        changed = await anybody.look(link[:-2] + ("AA" if link[-2:] != "AA" else "BB"))
        no_link = await anybody.look(path.replace("/inbox/", "/d/"))

    assert (over.status, over.title) == (410, "This link has expired")
    assert (changed.status, changed.title) == (400, "This link is not valid")
    assert no_link.status == 400, "the address of a question is no link"
    assert "send" not in over.text + changed.text + no_link.text


async def test_a_link_is_nobody_elses(serving: Serving) -> None:
    async with serving() as site, site.person() as ann, site.person("bob") as bob:
        await site.ask()
        path = (await site.link("bob")).replace("/d/", "/inbox/")
        others, own = await ann.look(path), await bob.look(path)

    assert (others.status, own.status) == (403, 200)


async def test_a_link_decides_with_the_roles_that_it_carries_and_no_others(
    serving: Serving,
) -> None:
    async with serving(rule=ApprovalRule(approvers=("role:dba",))) as site:
        await site.ask("ops")
        async with Person(site.base) as anybody:
            without = await site.link("bob", agent="ops")
            bare = await anybody.look(without)
            other = await anybody.look(await site.link("bob", agent="ops", roles="clerk"))
            link = await site.link("bob", agent="ops", roles="dba clerk")
            forged = await anybody.look(f"{link.partition('.')[0]}.{without.partition('.')[2]}")
            refused = await anybody.press(bare, "Approve", {"origin": "null"})
            assert site.ran == []
            done = await anybody.press(await anybody.look(link), "Approve", {"origin": "null"})
        [row] = await site.rows("ops")

    for seen in (bare, other):
        assert seen.button("Approve").disabled
        assert "Only role:dba may answer this." in seen.text
    assert (refused.status, refused.title) == (403, "Not taken: delete")
    assert (forged.status, forged.title) == (400, "This link is not valid")
    assert done.title == "Approved: delete"
    assert len(site.ran) == 1
    assert next(entry.actor for entry in row.audit if entry.via == "link") == "bob"


async def test_without_a_key_there_are_no_links(serving: Serving) -> None:
    async with serving(approval("c"), inbox=Inbox()) as site, site.person() as ann:
        [path] = await site.ask()
        unsigned = await ann.look(path)
        link = await ann.look(path.replace("/inbox/", "/d/"))

    assert (unsigned.status, link.status) == (200, 400)
