"""Questions of an agent that was removed: everybody sees that, and they can be withdrawn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import ApprovalRule, Bridge, Principal
from agui_bridge.errors import Refused
from agui_bridge.inbox import Inbox
from agui_bridge.stores.memory import MemoryStore
from tests.bridge.several_people import Office
from tests.http.inbox.pages import Person
from tests.support.clock import FakeClock
from tests.support.server import serve

GONE = "There is no agent 'office' any more. Its question can only be withdrawn."
KEY = "a-key-of-the-tests-0123456789"
OWNERS = {"delete_rows": "bob", "delete_logs": "cy"}


def by_header(request: Request) -> Principal:
    return Principal("team", request.headers.get("x-actor", "nobody"))


@dataclass
class Left:
    """A bridge without the agent that has asked.

    Attributes:
        bridge: the bridge.
        base: its address.
        office: who asked, and what was done.
        refs: of the questions.
    """

    bridge: Bridge
    base: str
    office: Office
    refs: list[str]

    async def answer(self, actor: str, body: dict[str, Any]) -> httpx.Response:
        """Answer the first question over HTTP."""
        async with httpx.AsyncClient(base_url=self.base) as http:
            return await http.post(
                f"/interrupts/{self.refs[0]}/answer", json=body, headers={"x-actor": actor}
            )


@pytest.fixture
async def left() -> AsyncIterator[Left]:
    store = MemoryStore(FakeClock().time)
    office = Office(
        lambda asked: ApprovalRule("one", (OWNERS[str(asked.tool)],), self_approval=False),
        bridge=Bridge(store),
    )
    await office.say("ann", "rows logs")
    bridge = Bridge(store, inbox=Inbox(keys=[KEY]), authenticate=by_header)

    @bridge.agent("other")
    async def other(run: Any) -> AsyncIterator[str]:
        yield "Here."

    async with serve(bridge.app()) as base:
        page = await bridge.pending(principal=Principal("team", "bob"))
        yield Left(bridge, base, office, [row.ref for row in page.rows])


async def test_lists_say_that_it_is_gone_and_it_waits_for_nobody(left: Left) -> None:
    bob = Principal("team", "bob")
    shown = await left.bridge.pending(principal=bob)
    assert [(row.may_answer, row.why and row.why.code) for row in shown.rows] == [
        (False, "AGENT_NOT_FOUND")
    ] * 2
    mine = await left.bridge.pending(principal=bob, mine=True)
    assert (mine.rows, mine.count) == ((), 0)


async def test_its_page_has_one_button_that_can_be_pressed(left: Left) -> None:
    async with Person(left.base, "ann") as ann:
        page = await ann.look(f"/inbox/{left.refs[0]}")
        listed = await ann.look()
        done = await ann.press(page, "Withdraw the question")
    buttons = {b.words: b.disabled for form in page.forms for b in form.buttons if b.words}
    assert buttons == {"Approve": True, "Decline": True, "Withdraw the question": False}
    assert GONE in page.text
    assert "Approve them" not in listed.text
    assert done.title.startswith("Withdrawn: ")
    assert {ask.status.value for ask in await left.office.rows()} == {"cancelled"}
    assert left.office.done == []


@pytest.mark.parametrize(
    ("actor", "status", "code"),
    [("ann", 200, None), ("bob", 403, "NOT_AN_APPROVER"), ("eve", 403, "NOT_AN_APPROVER")],
)
async def test_who_asked_withdraws_the_whole_pause_and_nobody_who_may_not(
    left: Left, actor: str, status: int, code: str | None
) -> None:
    told = await left.answer(actor, {"status": "cancelled"})
    assert told.status_code == status, told.text
    statuses = [ask.status.value for ask in await left.office.rows()]
    if code is None:
        assert told.json()["status"] == "cancelled"
        assert statuses == ["cancelled", "cancelled"]
        assert {ask.audit[-1].actor for ask in await left.office.rows()} == {"ann"}
        again = await left.answer(actor, {"status": "cancelled"})
        assert again.json()["status"] == "cancelled"
    else:
        # Bob may answer one of the two, and the other is not his to withdraw.
        assert told.json()["error"]["code"] == code
        assert statuses == ["open", "open"]


async def test_every_other_answer_is_refused(left: Left) -> None:
    told = await left.answer("bob", {"status": "resolved", "payload": {"approved": True}})
    assert (told.status_code, told.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")
    assert told.json()["error"]["message"] == GONE
    with pytest.raises(Refused, match="no agent"):
        await left.bridge.resume(
            "office", "t", {"any": {"approved": True}}, principal=Principal("team", "bob")
        )
