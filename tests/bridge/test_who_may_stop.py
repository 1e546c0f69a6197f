"""A stop of a thread that waits withdraws its question: only some may, however they ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import ApprovalRule, Principal, Refused
from agui_bridge.errors import CODES
from tests.bridge.several_people import ROLES, Office, always

THREAD: Final = "/agents/office/threads/t"
STOPS: Final[Mapping[str, tuple[str, str, Mapping[str, Any] | None]]] = {
    "stop": ("POST", f"{THREAD}/stop", None),
    "forced": ("POST", f"{THREAD}/stop", {"force": True}),
    "session": ("POST", "/stop", {"session_id": "t"}),
    "copilotkit": ("POST", "/copilotkit/agent/office/stop/t", {}),
    "envelope": (
        "POST",
        "/copilotkit",
        {"method": "agent/stop", "params": {"agentId": "office", "threadId": "t"}},
    ),
    "delete": ("DELETE", THREAD, None),
}
BOB: Final = ApprovalRule(approvers=("bob",))


def who(actor: str) -> Principal:
    return Principal("team", actor, ROLES.get(actor, frozenset()))


async def ask(office: Office, way: str, actor: str) -> httpx.Response:
    """Have somebody stop or delete the thread over HTTP."""

    def authenticate(request: Request) -> Principal:
        return who(request.headers["x-actor"])

    office.bridge.authenticate = authenticate
    transport = httpx.ASGITransport(office.bridge.app())
    method, path, body = STOPS[way]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        headers = {"x-actor": actor, "content-type": "application/json"}
        return await client.request(method, path, json=body, headers=headers)


@pytest.mark.parametrize("way", STOPS)
async def test_whoever_may_neither_answer_nor_withdraw_ends_no_pause(way: str) -> None:
    office = Office(always(BOB))
    await office.say("ann", "rows")
    before = await office.rows()

    response = await ask(office, way, "eve")

    told = response.json()
    if way == "session":  # NexAU's clients look at `status`.
        assert (response.status_code, told["status"]) == (200, "error")
        message = told["error"]
    else:
        assert (response.status_code, told["error"]["code"]) == (403, "NOT_AN_APPROVER")
        message = told["message"]
    assert "only bob may, or whoever asked for it" in message
    assert await office.rows() == before
    await office.answer("bob", await office.ids())
    assert office.done == ["rows"]


@pytest.mark.parametrize("actor", ["ann", "bob"])
@pytest.mark.parametrize("way", STOPS)
async def test_whoever_asked_and_whoever_may_answer_end_it(way: str, actor: str) -> None:
    office = Office(always(BOB))
    await office.say("ann", "rows")

    response = await ask(office, way, actor)

    assert response.is_success, response.text
    rows = await office.rows()
    assert [row.status for row in rows] == ([] if way == "delete" else ["cancelled"])
    assert all(row.audit[-1].actor == actor for row in rows)


@pytest.mark.parametrize("way", STOPS)
async def test_without_a_rule_anybody_of_the_scope_ends_it(way: str) -> None:
    office = Office()
    await office.say("ann", "rows")

    assert (await ask(office, way, "eve")).is_success
    assert all(row.status == "cancelled" for row in await office.rows())


async def test_an_answer_that_is_held_is_taken_back_only_by_whoever_may_give_it() -> None:
    eves = ApprovalRule(approvers=("eve",))
    office = Office(lambda asked: BOB if asked.tool == "delete_a" else eves)
    await office.say("ann", "a b")
    first, _ = await office.ids()
    await office.answer("bob", [first])

    with pytest.raises(Refused, match="only bob may"):
        await office.bridge.stop("office", "t", principal=who("eve"))
    assert [row.status for row in await office.rows()] == ["answered", "open"]


async def test_what_has_expired_is_ended_by_anybody() -> None:
    office = Office(always(BOB), expires_in=60.0)
    await office.say("ann", "rows")
    office.clock.advance(61.0)

    assert (await office.bridge.stop("office", "t", principal=who("eve"))).status == "success"


async def test_the_operator_ends_every_pause() -> None:
    office = Office(always(BOB))
    await office.say("ann", "rows")

    engine = await office.bridge.open()
    (key,) = {row.key for row in await engine.store.list_interrupts("team", limit=10)}
    assert (await engine.stop(key)).status == "success"


async def test_a_late_answer_is_told_that_a_stop_was_sooner_and_not_an_answer() -> None:
    office = Office(always(BOB))
    await office.say("ann", "rows")
    asked = await office.ids()
    await office.bridge.stop("office", "t", principal=who("ann"))

    late = await office.answer("bob", asked)

    assert (late["type"], late["code"]) == ("RUN_ERROR", "INTERRUPT_ALREADY_ANSWERED")
    assert late["message"] == (
        f"The thread was stopped before interrupt {asked[0]} had an answer; it can have none."
    )
    assert "stop" in CODES[late["code"]].cause
    assert office.done == []
