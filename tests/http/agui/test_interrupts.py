"""Questions over HTTP: found by filters and pages, read, and answered one alone."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import ApprovalRule, Principal, Refused
from agui_bridge.inbox.settings import Inbox
from tests.inbox.office import BOB, NO, YES, Office
from tests.support.server import client, serve

PEOPLE = {
    "ann": Principal("team", "ann"),
    "bob": Principal("team", "bob", frozenset({"treasurer"})),
    "dora": Principal("office", "dora", reviews=("team",)),
    "eve": Principal("elsewhere", "eve"),
}


def by_name(request: Request) -> Principal:
    name = request.headers.get("authorization", "").removeprefix("Bearer ")
    if name not in PEOPLE:
        raise Refused("UNAUTHENTICATED", "Send a bearer token.")
    return PEOPLE[name]


class Desk:
    """The office behind HTTP; each call is somebody's."""

    def __init__(self, office: Office, http: httpx.AsyncClient) -> None:
        self.office = office
        self._http = http

    async def get(self, who: str, path: str, code: int = 200, /, **query: Any) -> Any:
        headers = {"authorization": f"Bearer {who}"}
        answer = await self._http.get(path, params=query, headers=headers)
        assert answer.status_code == code, answer.text[:300]
        return answer.json()

    async def answer(self, who: str, ref: str, body: Any, code: int = 200, /, **query: Any) -> Any:
        headers = {"authorization": f"Bearer {who}"}
        path = f"/interrupts/{ref}/answer"
        answer = await self._http.post(path, params=query, json=body, headers=headers)
        assert answer.status_code == code, answer.text[:300]
        return answer.json()


class Open:
    """Serves an office for the length of a block."""

    def __init__(self, office: Office | None = None) -> None:
        self._office = office or Office(inbox=Inbox(keys=["a key of sixteen bytes"]))
        self._office.bridge.authenticate = by_name

    async def __aenter__(self) -> Desk:
        self._served = serve(self._office.bridge.app())
        self._client = client(await self._served.__aenter__())
        return Desk(self._office, await self._client.__aenter__())

    async def __aexit__(self, *error: Any) -> None:
        await self._client.__aexit__(*error)
        await self._served.__aexit__(*error)


async def refs(desk: Desk, who: str = "ann") -> dict[str, str]:
    rows = (await desk.get(who, "/interrupts", status="open"))["interrupts"]
    return {row["toolCall"]["name"]: row["ref"] for row in rows}


async def test_one_question_is_answered_and_the_same_again_has_the_same_outcome() -> None:
    async with Open() as desk:
        await desk.office.ask()
        asked = await refs(desk)
        taken = await desk.answer("bob", asked["pay"], {"status": "resolved", "payload": YES})
        assert (taken["status"], taken.keys()) == ("answered", {"status", "interrupt"})
        for who in ("ann", "bob"):
            last = await desk.answer(who, asked["post"], {"status": "resolved", "payload": YES})
            assert last["status"] == last["interrupt"]["status"] == "resolved"
        assert desk.office.done == ["pay", "post"]
        history = last["interrupt"]["history"]
        assert [(e["status"], e["actor"], e.get("via")) for e in history] == [
            ("open", "agent", None),
            ("claimed", "ann", "api"),
            ("resolved", "ann", None),
        ]


async def test_another_answer_afterwards_is_told_who_decided() -> None:
    async with Open() as desk:
        await desk.office.ask()
        pay = (await refs(desk))["pay"]
        await desk.answer("bob", pay, {"status": "resolved", "payload": YES})
        other = await desk.answer("ann", pay, {"status": "resolved", "payload": NO})
        assert (other["status"], other["code"]) == ("refused", "INTERRUPT_ALREADY_ANSWERED")
        assert "answered, by bob (via api)" in other["message"]
        assert other["interrupt"]["answer"] == {"status": "resolved", "payload": YES}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "status"),
        ({"payload": YES}, "status"),
        ({"status": "approved"}, "status"),
        ({"status": True, "payload": YES}, "status"),
        ({"status": "cancelled", "payload": YES}, "payload"),
        ([], "JSON object"),
        ("resolved", "JSON object"),
    ],
)
async def test_what_does_not_say_what_it_is_decides_nothing(body: Any, field: str) -> None:
    async with Open() as desk:
        await desk.office.ask()
        pay = (await refs(desk))["pay"]
        refused = await desk.answer("ann", pay, body, 422)
        assert field in refused["error"]["message"]
        assert (await desk.get("ann", f"/interrupts/{pay}"))["status"] == "open"


async def test_a_reviewer_sees_and_answers_questions_and_nothing_else() -> None:
    async with Open() as desk:
        await desk.office.ask()
        page = await desk.get("dora", "/interrupts")
        assert [row["scope"] for row in page["interrupts"]] == ["team", "team"]
        pay = page["interrupts"][0]["ref"]
        assert (await desk.get("dora", f"/interrupts/{pay}"))["mayAnswer"] is True
        taken = await desk.answer("dora", pay, {"status": "resolved", "payload": YES})
        assert taken["status"] == "answered"
        await desk.get("dora", "/agents/office/threads/t", 404)
        await desk.get("dora", "/agents/office/threads/t/interrupts", 404)


async def test_a_stranger_is_told_of_nothing() -> None:
    async with Open() as desk:
        await desk.office.ask()
        pay = (await refs(desk))["pay"]
        assert await desk.get("eve", "/interrupts") == {
            "interrupts": [],
            "cursor": None,
            "count": 0,
        }
        for told in (
            await desk.get("eve", f"/interrupts/{pay}", 404),
            await desk.answer("eve", pay, {"status": "resolved", "payload": YES}, 404),
        ):
            assert told["error"]["code"] == "INTERRUPT_NOT_FOUND"
        await desk.get("nobody", f"/interrupts/{pay}", 401)
        assert (await desk.get("ann", f"/interrupts/{pay}"))["status"] == "open"


async def test_a_reference_that_was_changed_is_refused() -> None:
    async with Open() as desk:
        await desk.office.ask()
        pay = (await refs(desk))["pay"]
        for wrong in (pay[:-1], pay + "A", "A" + pay[1:], pay.partition(".")[0], "x"):
            told = await desk.get("ann", f"/interrupts/{wrong}", 400)
            assert told["error"]["code"] == "INVALID_REFERENCE"


async def test_questions_are_found_by_agent_tool_thread_and_page() -> None:
    async with Open() as desk:
        for thread in ("t1", "t2", "t3"):
            await desk.office.ask(thread)
        every: list[tuple[dict[str, str], int]] = [
            ({}, 6),
            ({"agent": "office"}, 6),
            ({"agent": "other"}, 0),
            ({"tool": "pay"}, 3),
            ({"tool": "pay", "thread": "t2"}, 1),
            ({"tool": "nothing"}, 0),
            ({"status": "resolved"}, 0),
        ]
        for query, count in every:
            page = await desk.get("ann", "/interrupts", **query)
            assert (len(page["interrupts"]), page["count"], page["cursor"]) == (count, count, None)
        found: list[tuple[str, str]] = []
        after: dict[str, str] = {}
        while True:
            page = await desk.get("ann", "/interrupts", limit=2, status="open", **after)
            found += [(row["threadId"], row["toolCall"]["name"]) for row in page["interrupts"]]
            assert page["count"] == 6
            if page["cursor"] is None:
                break
            after = {"after": page["cursor"]}
        assert found == [(f"t{n}", tool) for n in (1, 2, 3) for tool in ("pay", "post")]


@pytest.mark.parametrize(
    "query",
    [
        {"after": "x"},
        {"after": "W10"},
        {"after": "WzEuMCwiIiwiIiwxLDFd"},
        {"after": "é"},
        {"mine": "maybe"},
        {"mine": "true", "status": "resolved"},
        {"tool": "a\x00"},
        {"limit": "0"},
        {"status": "closed"},
    ],
)
async def test_a_filter_that_is_none_is_refused(query: dict[str, str]) -> None:
    async with Open() as desk:
        told = await desk.get("ann", "/interrupts", 422, **query)
        assert told["error"]["code"] == "INVALID_INPUT"


async def test_each_row_says_who_asked_who_may_answer_and_why_not() -> None:
    office = Office(inbox=Inbox(keys=["a key of sixteen bytes"]))
    rule = ApprovalRule("payments", approvers=("role:treasurer",), self_approval=False)
    office.bridge.approvals(lambda question: rule if question.tool == "pay" else None)
    async with Open(office) as desk:
        await office.ask()
        rows = {who: (await desk.get(who, "/interrupts"))["interrupts"] for who in ("ann", "bob")}
        assert [row["mayAnswer"] for row in rows["ann"]] == [False, True]
        assert [row["mayAnswer"] for row in rows["bob"]] == [True, True]
        assert rows["ann"][0]["why"]["code"] == "SELF_APPROVAL"
        assert rows["ann"][0]["askedBy"] == "ann"
        assert rows["ann"][0]["approval"]["approvers"] == ["role:treasurer"]
        assert (rows["ann"][1]["why"], rows["ann"][1]["approval"]) == (None, None)
        mine = await desk.get("ann", "/interrupts", mine="true")
        assert [row["toolCall"]["name"] for row in mine["interrupts"]] == ["post"]
        assert mine["count"] == 1
        refused = await desk.answer(
            "ann", rows["ann"][0]["ref"], {"status": "resolved", "payload": YES}
        )
        assert (refused["status"], refused["code"]) == ("refused", "SELF_APPROVAL")
        assert refused["interrupt"]["status"] == "open"
        withdrawn = await desk.answer("ann", rows["ann"][0]["ref"], {"status": "cancelled"})
        assert withdrawn["status"] == "answered"
        closed = (await desk.get("bob", "/interrupts", status="answered"))["interrupts"]
        assert closed[0]["why"]["code"] == "INTERRUPT_ALREADY_ANSWERED"


async def test_a_vote_is_told_as_a_vote_and_the_last_one_decides() -> None:
    office = Office(inbox=Inbox(keys=["a key of sixteen bytes"]))
    office.bridge.approvals(lambda _: ApprovalRule(quorum=2))
    async with Open(office) as desk:
        await office.ask()
        yes = {"status": "resolved", "payload": YES}
        for ref in (await refs(desk)).values():
            voted = [await desk.answer("ann", ref, yes) for _ in range(2)]
            assert {(each["status"], each.get("code")) for each in voted} == {("voted", None)}
            assert voted[0]["interrupt"]["approval"]["votedBy"] == ["ann"]
            assert voted[0]["message"] == "Your vote counts: 1 of 2 have approved the same."
        assert (await desk.get("ann", "/interrupts", mine="1"))["count"] == 0
        assert (await desk.get("bob", "/interrupts", mine="1"))["count"] == 2
        statuses = [
            (await desk.answer("bob", r, yes))["status"] for r in (await refs(desk)).values()
        ]
        assert statuses == ["answered", "resolved"]
        assert office.done == ["pay", "post"]


async def test_who_waits_no_longer_finds_the_outcome_later() -> None:
    async with Open() as desk:
        desk.office.may_go_on = asyncio.Event()
        await desk.office.ask()
        asked = await refs(desk)
        yes = {"status": "resolved", "payload": YES}
        await desk.answer("ann", asked["pay"], yes)
        assert (await desk.answer("ann", asked["post"], yes, wait=0))["status"] == "claimed"
        desk.office.may_go_on.set()
        assert (await desk.answer("ann", asked["post"], yes))["status"] == "resolved"
        await desk.answer("ann", asked["post"], yes, 422, wait=301)


async def test_pending_gives_the_same_list_to_programs() -> None:
    office = Office()
    await office.ask()
    page = await office.bridge.pending(BOB, limit=1)
    assert (len(page.rows), page.count) == (1, 2)
    rest = await office.bridge.pending(BOB, after=page.cursor)
    assert (len(rest.rows), rest.cursor) == (1, None)
    for row in (*page.rows, *rest.rows):
        assert row.may_answer
        await office.bridge.answer(row.ref, YES, principal=BOB)
    assert office.done == ["pay", "post"]
    assert (await office.bridge.pending(replace(BOB, scope="other", reviews=("team",)))).count == 0
