"""Who may not approve alone, and decisions that were remembered for other calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.http.around.home import NO, YES, Home, Json, Try, at_home, carry_out, named, resume

SHOWN: Final = {"tool": "send_email", "to": "x-0@example.com", "body": "original"}
NOBODY: Final = "NOT_AN_APPROVER"
BIG: Final = 2**53


async def in_bobs_name(home: Home) -> set[str]:
    """Ann sends his name wherever one might be read."""
    bob = {"scope": "team", "actor": "bob", "roles": ["dba"]}
    entry = resume(home.ask, {**YES, "principal": bob, **bob}, principal=bob, **bob)
    told = {await home.say("ann", resume=[entry], principal=bob, actor="bob", forwardedProps=bob)}
    for headers in (
        {"x-user": "bob", "x-forwarded-user": "bob", "x-roles": "dba", "cookie": "x-actor=bob"},
        {"X_Actor": "bob"},
    ):
        response = await home.post(home.body(resume=[entry]), "ann", **headers)
        told.add("NOT_AN_APPROVER" if NOBODY in response.text else response.text)
    return told


async def by_each_door(home: Home) -> list[int | str]:
    """Ann tries the API, the chat's, and the page."""
    ann = {"x-actor": "ann"}
    answer = {"status": "resolved", "payload": YES}
    one = await home.http.post(f"/interrupts/{home.reference}/answer", json=answer, headers=ann)
    chat = {"agent_id": "target", "session_id": home.thread, "input": YES}
    two = await home.http.post("/api/v1/chat/resume", json=chat, headers=ann)
    async with home.person("ann") as page:
        seen = await page.look(f"/inbox/{home.reference}")
        assert seen.button("Approve").disabled
        pressed = await page.press(seen, "Approve")
    return [one.json()["status"], two.status_code, pressed.status]


async def twice_by_one(home: Home) -> list[str]:
    return [
        await home.answer(),
        await home.answer({**YES, "reason": "again"}),
        await home.answer(YES),
    ]


async def twice_by_one_elsewhere(home: Home) -> list[str]:
    told = [await home.answer()]
    async with home.person("bob") as page:
        pressed = await page.press(await page.look(f"/inbox/{home.reference}"), "Approve")
        told.append(str(pressed.status))
        link = home.link()
    async with home.person("") as anybody:
        await anybody.press(await anybody.look(link), "Approve", {"origin": "null"})
    return told


async def changed_after_a_vote(home: Home) -> list[str]:
    """Dan's vote is for what he changed: bob's does not count for it."""
    edited = {"to": "evil@example.com", "body": "original"}
    told = [await home.answer(), await home.answer({**YES, "editedArgs": edited}, "dan")]
    # Who agreed to what was first shown says so again.
    return [*told, await home.answer()]


async def withdrawn_by_a_colleague(home: Home) -> list[str]:
    thread = f"/agents/target/threads/{home.thread}"
    stop = await home.http.post(f"{thread}/stop", json={}, headers={"x-actor": "bob"})
    return [str(stop.status_code), await home.answer(YES, "ann")]


DBA: Final[Mapping[str, Try]] = {
    "without the role": Try(NOBODY, lambda home: home.answer(YES, "ann"), thread="dba"),
    "in somebody's name": Try({NOBODY}, in_bobs_name, thread="dba"),
    "by each door": Try(["refused", 403, 403], by_each_door, thread="dba"),
    "with the role in another scope": Try(
        "INTERRUPT_NOT_FOUND", lambda home: home.answer(YES, "eve"), thread="dba"
    ),
    "without a name": Try("UNAUTHENTICATED", lambda home: home.answer(YES, "nobody"), thread="dba"),
    "in capitals": Try("UNAUTHENTICATED", lambda home: home.answer(YES, "BOB"), thread="dba"),
    "who asked": Try("SELF_APPROVAL", lambda home: home.answer(YES, "ann"), thread="other"),
}
TWO: Final[Mapping[str, Try]] = {
    "twice by one": Try(["interrupt"] * 3, twice_by_one, thread="two"),
    "twice by one elsewhere": Try(["interrupt", "200"], twice_by_one_elsewhere, thread="two"),
    "by one, and by one without the role": Try(
        NOBODY, lambda home: home.answer(YES, "ann"), thread="two"
    ),
    "changed after a vote": Try(["interrupt"] * 3, changed_after_a_vote, thread="two"),
}


@pytest.mark.parametrize("row", named(DBA, TWO))
async def test_nobody_counts_who_may_not_and_nobody_twice(row: Try, tmp_path: Path) -> None:
    await carry_out(row, tmp_path)


APPROVED: Final[Json] = {"limit": 1, "to": "a", "deep": {"list": [1, 2]}}


def changed(**members: Any) -> Json:
    return {**APPROVED, **members}


UNLIKE: Final[Mapping[str, Json]] = {
    "true for 1": changed(limit=True),
    "1.0 for 1": changed(limit=1.0),
    "a text for 1": changed(limit="1"),
    "another number": changed(limit=2),
    "a list of 1": changed(limit=[1]),
    "more": changed(bcc="b"),
    "less": {"limit": 1, "to": "a"},
    "null more": changed(bcc=None),
    "another order in a list": changed(deep={"list": [2, 1]}),
    "more within": changed(deep={"list": [1, 2], "x": 1}),
    "a space": changed(to="a "),
    "capitals": changed(to="A"),
    "a letter of another alphabet": changed(to="\u0430"),
    "what shows nothing": changed(to="a\u200b"),
    "a key that shows nothing": {**APPROVED, "to\u200b": "b"},
    "a prototype": changed(**{"__proto__": {"limit": 5}}),
}
BIG_PAIRS: Final = ((BIG, BIG + 1), (BIG, float(BIG)), (10**30, 10**30 + 1), (0.1, 0.1 + 1e-17 * 2))


async def learn(home: Home, args: Json, remember: str, thread: str, tool: str = "pay") -> None:
    """Have bob approve a call for good."""
    await home.asked(f"{tool} {json.dumps(args)}", thread, "caller")
    assert await home.answer({**YES, "remember": remember}) == "success"


@pytest.fixture
async def learnt(tmp_path: Path) -> Any:
    async with at_home(tmp_path) as home:
        await learn(home, APPROVED, "scope", "learnt-0")
        yield home


async def test_a_remembered_decision_is_good_for_no_other_arguments(learnt: Home) -> None:
    for number, (name, args) in enumerate(UNLIKE.items(), 1):
        asks = await learnt.asked(f"pay {json.dumps(args)}", f"learnt-{number}", "caller")
        assert len(asks) == 1, name
    assert len(learnt.effects) == 1
    reordered = dict(reversed(APPROVED.items()))
    assert await learnt.asked(f"pay {json.dumps(reordered)}", "learnt-same", "caller") == []
    assert learnt.effects == [{"tool": "pay", **APPROVED}] * 2


async def test_a_remembered_number_is_that_number_however_big(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        for number, (one, other) in enumerate(BIG_PAIRS):
            tool = f"pay-{number}"
            await learn(home, {"n": one}, "scope", f"learnt-{number}", tool)
            again = f"{tool} {json.dumps({'n': other})}"
            same = json.dumps(one) == json.dumps(other)
            assert bool(await home.asked(again, f"learnt-{number}-1", "caller")) is not same
        assert await home.asked('pay-0 {"n": 9007199254740992}', "learnt-x", "caller") == []


@pytest.mark.parametrize(
    ("remember", "text", "thread"),
    [
        ("scope", 'refund {"limit": 1}', "learnt-1"),
        ("scope", 'Pay {"limit": 1}', "learnt-1"),
        ("scope", 'pay {"limit": 1}', "dba-1"),
        ("scope", 'pay {"limit": 1}', "bounded-1"),
        ("thread", 'pay {"limit": 1}', "learnt-1"),
    ],
)
async def test_a_remembered_decision_is_good_for_no_other_tool_rule_or_thread(
    tmp_path: Path, remember: str, text: str, thread: str
) -> None:
    async with at_home(tmp_path) as home:
        await learn(home, {"limit": 1}, remember, "learnt-0")
        assert len(await home.asked(text, thread, "caller")) == 1
        assert len(home.effects) == 1
        assert await home.asked('pay {"limit": 1}', "learnt-0", "caller") == []
        assert len(home.effects) == 2


@pytest.mark.parametrize("limit", ["6", "true", '"1"', "null", "[1]", "5.000001", "1e30", "{}"])
async def test_a_bound_takes_numbers_within_it_alone(tmp_path: Path, limit: str) -> None:
    async with at_home(tmp_path) as home:
        await learn(home, {"limit": 1}, "scope", "bounded-0")
        assert len(await home.asked(f'pay {{"limit": {limit}}}', "bounded-1", "caller")) == 1
        assert len(home.effects) == 1
        assert await home.asked('pay {"limit": 5}', "bounded-2", "caller") == []


async def test_what_is_not_offered_is_not_remembered(tmp_path: Path) -> None:
    refused = "INVALID_RESUME_PAYLOAD"
    tries = (
        ("dba", "scope", "success"),
        ("learnt", "actor", refused),
        ("learnt-2", "All", refused),
    )
    async with at_home(tmp_path) as home:
        for thread, remember, told in tries:
            await home.asked('pay {"limit": 1}', thread, "caller")
            assert await home.answer({**YES, "remember": remember}) == told
            await home.answer({**NO, "remember": remember})
            assert len(home.effects) == 1
        for thread in ("dba-2", "learnt-3"):
            assert len(await home.asked('pay {"limit": 1}', thread, "caller")) == 1
        assert len(home.effects) == 1
