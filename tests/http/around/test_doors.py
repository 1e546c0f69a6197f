"""Requests that only look, forms of others, links, and what Slack has or has not sent."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from tests.channels.receivers import click, form, signed
from tests.http.around.home import NO, YES, Home, Json, Try, at_home, carry_out, named, resume
from tests.http.inbox.pages import Page
from tests.support.waiting import eventually

SHOWN: Final = {"tool": "send_email", "to": "x-0@example.com", "body": "original"}
METHODS: Final = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "QUERY", "approve")
OVERRIDES: Final = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
SLACK: Final = "/channels/slack/ops"
FORM: Final = "application/x-www-form-urlencoded"


def doors(home: Home) -> list[str]:
    """Where somebody may decide."""
    ref = home.reference
    return [home.link(), f"/inbox/{ref}", "/inbox", f"/interrupts/{ref}/answer"]


async def by_looking(home: Home) -> set[int]:
    """Each door with a decision in its address, by every method but the right one."""
    decision = {"decision": "approve", "status": "resolved", "payload": json.dumps(YES)}
    decision |= {
        "approved": "true",
        "_method": "POST",
        "csrf": "x" * 43,
        "question": home.reference,
    }
    answer = {"status": "resolved", "payload": YES}
    found = set()
    for path in [*doors(home), "/agents/target", "/api/v1/chat/resume"]:
        for method in METHODS:
            told = await home.http.request(
                method, path, params=decision, json=answer, headers={"x-actor": "bob"}
            )
            found.add(told.status_code)
    return found


async def by_an_overridden_method(home: Home) -> set[int]:
    found = set()
    for path in doors(home):
        for header in OVERRIDES:
            for method in ("GET", "PUT"):
                headers = {header: "POST", "x-actor": "bob", "content-type": FORM}
                told = await home.http.request(
                    method, path, content=b"decision=approve", headers=headers
                )
                found.add(told.status_code)
    return found


async def by_fetching_ahead(home: Home) -> set[int]:
    """What browsers, mail programs and scanners do with an address that they find."""
    found = set()
    for headers in (
        {"sec-purpose": "prefetch", "purpose": "prefetch"},
        {"sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"},
        {"user-agent": "Slackbot-LinkExpanding 1.0"},
        {"x-moz": "prefetch"},
    ):
        for path in doors(home)[:3]:
            found.add(int(await home.look(path, **headers)))
            found.add(int(await home.look(f"{path}?here=1&decision=approve", "HEAD", **headers)))
    return found


def sent_as(kind: str, content: bytes) -> Try:
    """The right answer in a body of another type."""

    async def send(home: Home) -> set[int]:
        entry = json.dumps(home.body(resume=[resume(home.ask)]))
        answer = json.dumps({"status": "resolved", "payload": YES})
        found = set()
        for path, text in (("/agents/target", entry), (doors(home)[3], answer)):
            body = content.replace(b"@", text.encode())
            headers = {"content-type": kind, "x-actor": "bob"}
            told = await home.http.post(path, content=body, headers=headers)
            found.add(told.status_code)
        return found

    return Try({415}, send)


PART: Final = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n@\r\n--b--\r\n'
LOOKS: Final[Mapping[str, Try]] = {
    "by looking": Try({200, 400, 405}, by_looking),
    "by an overridden method": Try({200, 405}, by_an_overridden_method),
    "by fetching ahead": Try({200}, by_fetching_ahead),
    "as a text": sent_as("text/plain", b"@"),
    "as a text that claims more": sent_as("text/plain; application/json", b"@"),
    "as JSON's beginning": sent_as("application/jsonp", b"@"),
    "as a form": sent_as(FORM, b"@"),
    "as a form's part": sent_as("multipart/form-data; boundary=b", PART),
    "without a type": sent_as("", b"@"),
}


async def press(home: Home, who: str = "bob", **headers: str) -> Page:
    """Press Approve on the question's page with other headers."""
    async with home.person(who) as person:
        page = await person.look(f"/inbox/{home.reference}")
        return await person.press(page, "Approve", headers)


async def with_anothers_token(home: Home) -> list[int]:
    """A token of a session of dan's, and one whose cookie is gone."""
    found = []
    async with home.person("dan") as dan, home.person() as bob:
        theirs = dict((await dan.look(f"/inbox/{home.reference}")).sent(None))["csrf"]
        page = await bob.look(f"/inbox/{home.reference}")
        found.append((await bob.press(page, "Approve", csrf=theirs)).status)
        bob.http.cookies.clear()
        found.append((await bob.press(page, "Approve")).status)
        found.append((await bob.press(page, "Approve", csrf=["", theirs])).status)
    return found


async def as_another_site(home: Home) -> set[int]:
    return {
        (await press(home, **headers)).status
        for headers in (
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"host": "evil.example"},
            {"content-type": "text/plain"},
            {"content-type": "multipart/form-data; boundary=b"},
        )
    }


def with_decision(*decisions: str, **fields: str) -> Try:
    """The question's form with other words in place of a button's."""

    async def send(home: Home) -> int:
        async with home.person() as bob:
            page = await bob.look(f"/inbox/{home.reference}")
            sent = [*page.sent(None), *(("decision", it) for it in decisions), *fields.items()]
            headers = {"content-type": FORM, "sec-fetch-site": "same-origin"}
            told = await bob.http.post(page.response.url, content=urlencode(sent), headers=headers)
            return told.status_code

    return Try(400 if not fields else 422, send)


async def ticked_in_a_list(home: Home) -> list[bool]:
    """The list's form as ann, whose role may not, and with a question of another scope."""
    told = []
    for who in ("ann", "eve"):
        async with home.person(who) as person:
            token = (await person.look("/inbox")).response.cookies["agui-inbox"]
            sent = {"csrf": token, "decision": "approve", "question": home.reference}
            headers = {"content-type": FORM, "sec-fetch-site": "same-origin"}
            page = Page(await person.http.post("/inbox", content=urlencode(sent), headers=headers))
            told.append("0 of 1 decided" in page.text or "Not taken" in page.text)
    return told


FORMS: Final[Mapping[str, Try]] = {
    "with another's token": Try([403, 403, 403], with_anothers_token),
    "as another site": Try({403, 415}, as_another_site),
    "with no button": with_decision(),
    "with two buttons": with_decision("decline", "approve"),
    "with a button in capitals": with_decision("Approve"),
    "with a button of questions": with_decision("yes"),
    "ticked by who may not": Try([True, True], ticked_in_a_list, thread="dba"),
}


async def one_link_twice(home: Home) -> list[int]:
    async with home.person("") as anybody:
        page = await anybody.look(home.link())
        pressed = [await anybody.press(page, "Approve", {"origin": "null"}) for _ in range(3)]
        late = await anybody.press(page, "Decline", {"origin": "null"})
    return [*(each.status for each in pressed), late.status]


async def a_link_to_another(home: Home) -> list[int]:
    """Its signature before the reference of another question, and the other way round."""
    ask, link = home.ask, home.link()
    await home.asked("send y", "another")
    other = home.link()
    bodies, seals = zip(
        *(path.removeprefix("/d/").split(".") for path in (link, other)), strict=True
    )
    mixed = (f"{bodies[0]}.{seals[1]}", f"{bodies[1]}.{seals[0]}", bodies[0], f".{seals[0]}")
    home.asks = [ask]
    found = []
    for path in mixed:
        found.append(int(await home.look(f"/d/{path}")))
        answer = {"status": "resolved", "payload": YES}
        told = await home.http.post(f"/interrupts/{path}/answer", json=answer, headers=ANN)
        found.append(told.status_code)
    return found


ANN: Final = {"x-actor": "ann"}


async def a_link_in_anothers_hands(home: Home) -> list[Any]:
    """Ann, who may not approve, sends bob's link to the API as herself."""
    reference = home.link().removeprefix("/d/")
    answer = {"status": "resolved", "payload": YES}
    told = await home.http.post(f"/interrupts/{reference}/answer", json=answer, headers=ANN)
    page = await home.http.get(f"/inbox/{reference}", headers=ANN)
    return [told.status_code, page.status_code]


async def a_link_that_is_over(home: Home) -> list[int]:
    found = []
    async with home.person("") as anybody:
        fresh = await anybody.look(home.link())
        over = home.link(expires_at=time.time() - 1)
        found.append((await anybody.look(over)).status)
        told = await anybody.http.post(
            over,
            content=urlencode(fresh.sent("Approve")),
            headers={"content-type": FORM, "sec-fetch-site": "same-origin"},
        )
    return [*found, told.status_code]


LINKS: Final[Mapping[str, Try]] = {
    "one link twice": Try([200, 200, 200, 409], one_link_twice, ran=(SHOWN,), stays=False),
    "a link to another": Try([400] * 8, a_link_to_another),
    "a link in another's hands": Try([403, 403], a_link_in_anothers_hands, thread="dba"),
    "a link that is over": Try([410, 410], a_link_that_is_over),
}


async def from_slack(home: Home, payload: Json, **signing: Any) -> int:
    """What Slack sends, once it is dealt with: whoever is refused is told so."""
    told = len(home.slack.calls)
    status = (await home.http.post(SLACK, **signed(payload, **signing))).status_code
    if status == 200:
        await eventually(lambda: len(home.slack.calls) > told)
    return status


def clicked(home: Home, action: str = "approve", **members: Any) -> Json:
    return {**click(action, home.reference), **members}


def of_another_team(home: Home) -> Json:
    team = {"id": "U1", "username": "bob", "team_id": "T2"}
    return clicked(home, user=team, team={"id": "T2"})


async def unsigned(home: Home) -> list[int]:
    found = [
        await from_slack(home, clicked(home), secret="guessed"),
        await from_slack(home, clicked(home), secret=""),
        await from_slack(home, clicked(home), age=301),
        await from_slack(home, clicked(home), age=-301),
    ]
    request = signed(clicked(home))
    for header, value in (
        ("x-slack-signature", ""),
        ("x-slack-signature", "v0="),
        ("x-slack-signature", request["headers"]["x-slack-signature"].replace("v0=", "v1=")),
        ("x-slack-request-timestamp", ""),
        ("x-slack-request-timestamp", "9" * 15),
        ("x-slack-request-timestamp", request["headers"]["x-slack-request-timestamp"] + ".0"),
    ):
        headers = {**request["headers"], header: value}
        told = await home.http.post(SLACK, content=request["content"], headers=headers)
        found.append(told.status_code)
    declined = signed(clicked(home, "decline"))
    told = await home.http.post(SLACK, content=request["content"], headers=declined["headers"])
    return [*found, told.status_code]


async def replayed(home: Home) -> int:
    request = signed(clicked(home))
    for _ in range(3):
        await home.http.post(SLACK, **request)
    await eventually(lambda: home.slack.named("chat.update"))
    await home.http.post(SLACK, **request)
    return len(home.effects)


IN_SLACK: Final[Mapping[str, Try]] = {
    "what Slack has not signed, or long ago": Try([401] * 11, unsigned),
    "of another workspace": Try(200, lambda home: from_slack(home, of_another_team(home))),
    "by somebody unknown": Try(
        200, lambda home: from_slack(home, click("approve", home.reference, user="U9"))
    ),
    "by a form for reasons": Try(
        200,
        lambda home: from_slack(home, form("answer", home.reference, {"value": "true"})),
    ),
    "to a channel that is none": Try("404", lambda home: home.look("/channels/slack/no", "POST")),
    "sent again": Try(1, replayed, ran=(SHOWN,), stays=False),
}


async def chat(home: Home, said: Any, **members: Any) -> int:
    """Answer by the chat's API."""
    body = {"agent_id": "target", "session_id": home.thread, "input": said, **members}
    told = await home.http.post("/api/v1/chat/resume", json=body, headers={"x-actor": "bob"})
    return told.status_code


def chatted(status: int, said: Any, **members: Any) -> Try:
    return Try(status, lambda home: chat(home, said, **members))


async def with_the_checkpoint_of_the_last_one(home: Home) -> list[int]:
    """The second of two questions is not answered by what says that it is for the first."""
    query = {"agent_id": "target", "session_id": home.thread}
    path = "/api/v1/chat/interrupt_state"
    state = (await home.http.get(path, params=query, headers={"x-actor": "bob"})).json()["state"]
    named = {"checkpoint_id": state["checkpoint_id"]}
    return [await chat(home, NO, **named), await chat(home, YES, **named), await chat(home, NO)]


CHAT: Final[Mapping[str, Try]] = {
    "a text of true in the chat": chatted(400, {"approved": "true"}),
    "a yes in the chat": chatted(400, {"approved": "yes"}),
    "a one in the chat": chatted(400, {"approved": 1}),
    "another field in the chat": chatted(400, {"confirm": True}),
    "no object in the chat": chatted(400, True),
    "an unknown checkpoint": chatted(409, YES, checkpoint_id="target_t_1"),
    "the checkpoint of the last one": Try(
        [200, 409, 200], with_the_checkpoint_of_the_last_one, "both x", stays=False
    ),
}


async def executed(home: Home, count: int) -> None:
    """Wait until so much was executed."""
    await eventually(lambda: len(home.effects) == count)


@pytest.mark.parametrize("row", named(LOOKS, FORMS, LINKS, IN_SLACK, CHAT))
async def test_no_door_opens_without_the_right_press(row: Try, tmp_path: Path) -> None:
    await carry_out(row, tmp_path)


async def test_each_door_opens_for_the_right_press_once(tmp_path: Path) -> None:
    """Else the tables would prove nothing."""
    async with at_home(tmp_path) as home:
        # A list of one has nothing to tick.
        await home.asked("send late", "late")
        for number in range(5):
            await home.asked(f"send {number}", f"t-{number}")
            if number == 0:
                assert (await press(home)).status == 200
            if number == 1:
                async with home.person("") as anybody:
                    page = await anybody.look(home.link())
                    await anybody.press(page, "Approve", {"origin": "null"})
            if number == 2:
                answer = {"status": "resolved", "payload": YES}
                await home.http.post(doors(home)[3], json=answer, headers={"x-actor": "bob"})
            if number == 3:
                await home.http.post(SLACK, **signed(clicked(home)))
            if number == 4:
                async with home.person() as bob:
                    page = await bob.look("/inbox")
                    await bob.press(page, "Approve them", question=home.reference)
            await executed(home, number + 1)
            assert home.effects[number]["to"] == f"{number}-0@example.com"
