"""One text where several names are meant is refused at the line that wrote it.

Python finds `admin` in the text `not-an-admin`: whoever has that role would be taken for an admin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from agui_bridge import (
    ApprovalRule,
    Ask,
    BearerTokens,
    BridgeError,
    Escalation,
    Pause,
    Principal,
    Remember,
)
from tests.bridge.several_people import Office, always

TEXT: Final = "not-an-admin"


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda wrong: Principal("team", "eve", roles=wrong), "Principal.roles"),
        (lambda wrong: Principal("team", "eve", reviews=wrong), "Principal.reviews"),
        (lambda wrong: Escalation(60.0, approvers=wrong), "Escalation.approvers"),
        (lambda wrong: Escalation(60.0, notify=wrong), "Escalation.notify"),
        (lambda wrong: ApprovalRule(approvers=wrong), "ApprovalRule.approvers"),
        (lambda wrong: ApprovalRule(each_of=wrong), "ApprovalRule.each_of"),
        (lambda wrong: ApprovalRule(each_of=(wrong,)), "ApprovalRule.each_of"),
        (lambda wrong: ApprovalRule(within=(wrong,)), "ApprovalRule.within"),
        (lambda wrong: ApprovalRule(notify=wrong), "ApprovalRule.notify"),
        (lambda wrong: ApprovalRule(escalate=wrong), "ApprovalRule.escalate"),
        (lambda wrong: Ask("1", approvers=wrong), "Ask.approvers"),
        (lambda wrong: Ask("1", allowed=wrong), "Ask.allowed"),
        (lambda wrong: Pause([Ask("1")], frontend_calls=wrong), "Pause.frontend_calls"),
    ],
)
@pytest.mark.parametrize("wrong", [TEXT, b"admin", 5, {"admin": True}, ["admin", 5]])
def test_what_is_no_list_of_names_is_refused_with_the_field_and_what_it_must_be(
    make: Callable[[Any], object], field: str, wrong: Any
) -> None:
    with pytest.raises(BridgeError) as caught:
        make(wrong)
    assert f"{field} must be a " in str(caught.value)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: Principal("team", "eve", roles=TEXT),  # type: ignore[arg-type]
            'Principal.roles must be a set of names, such as frozenset({"admin"}), not str '
            "'not-an-admin'.",
        ),
        (lambda: Principal(5), "Principal.scope must be a str that is not empty, not int 5."),  # type: ignore[arg-type]
        (lambda: Principal(""), "Principal.scope must be a str that is not empty, not str ''."),
        (
            lambda: Principal("team", None),  # type: ignore[arg-type]
            "Principal.actor must be a str that is not empty, not None.",
        ),
        (
            lambda: ApprovalRule(approvers=("bob", "role:")),
            "ApprovalRule.approvers must be a list of actors and role:NAME, not tuple with str "
            "'role:'.",
        ),
        (lambda: Escalation(-1), "Escalation.after must be 0 or more seconds, not int -1."),
        (
            lambda: Remember("everybody"),  # type: ignore[arg-type]
            "Remember.holder must be one of 'thread', 'actor', 'scope', not str 'everybody'.",
        ),
        (lambda: Remember("scope", max_uses=0), "Remember.max_uses must be 1 or more or None"),
    ],
)
def test_the_error_says_what_was_given(make: Callable[[], object], told: str) -> None:
    with pytest.raises(BridgeError) as caught:
        make()
    assert str(caught.value).startswith(told)


def test_sets_and_lists_of_names_are_names() -> None:
    for several in (["dba", "law"], ("dba", "law"), {"dba", "law"}, {"dba": 1, "law": 2}.keys()):
        who = Principal("team", "eve", roles=several, reviews=several)  # type: ignore[arg-type]
        assert who.roles == frozenset({"dba", "law"})
        assert sorted(who.reviews) == ["dba", "law"]
        assert hash(who) == hash(who)
    step = Escalation(60.0, approvers=["role:boss"])  # type: ignore[arg-type]
    assert step.approvers == ("role:boss",)


@pytest.mark.parametrize("key", ["roles", "reviews"])
def test_a_text_is_refused_in_a_list_of_tokens(key: str) -> None:
    entry = {"actor": "eve", "token": "a-token-of-sixteen", key: TEXT}
    with pytest.raises(BridgeError, match=rf"tokens\[0\].{key} must be a list"):
        BearerTokens.from_settings([entry])


async def test_nobody_comes_in_whose_sign_in_gives_a_text_as_roles() -> None:
    office = Office(always(ApprovalRule(approvers=("role:admin",))))
    await office.say("ann", "rows")
    (interrupt,) = await office.ids()
    roles: Any = TEXT
    office.bridge.authenticate = lambda request: Principal("team", "eve", roles)
    transport = httpx.ASGITransport(office.bridge.app(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = {"interruptId": interrupt, "status": "resolved", "payload": {"approved": True}}
        response = await client.post(
            "/agents/office",
            json={"threadId": "t", "runId": "r", "messages": [], "resume": [answer]},
        )
    assert response.status_code == 500
    assert office.done == []


async def test_a_text_as_approvers_ends_the_run_before_anybody_is_asked() -> None:
    office = Office(approvers="role:admin")
    assert (await office.say("ann", "rows"))["code"] == "AGENT_ERROR"
    assert await office.ids() == []
