"""Slack: blocks within its limits, and clicks that are signed, mapped, and answered once."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from slack_sdk.signature import SignatureVerifier

from agui_bridge import Principal
from agui_bridge.channels.channel import Undelivered
from agui_bridge.channels.notice import Event
from agui_bridge.channels.slack import (
    ANSWER,
    REASON,
    Slack,
    SlackUser,
    is_signed,
    notice_blocks,
    view,
)
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey, ToolCall
from tests.channels.bridges import bridge_with, notice, the_question
from tests.channels.receivers import SIGNING_SECRET, FakeSlack, check_block, click, form, signed
from tests.support.server import client, post, run_input, serve
from tests.support.waiting import eventually

NASTY = "<!channel> <@U1> *b* `x` :tada: <https://evil.example|here> \ud83d \x00 🏳️‍🌈 "
ADDRESS = "/channels/slack/ops"


def people(user: SlackUser) -> Principal | None:
    known = {"U1": Principal(actor="bob"), "U2": Principal(actor="eve")}
    return known.get(user.id)


def slack_at(slack: FakeSlack, **options: Any) -> Slack:
    options.setdefault("show_args", True)
    return Slack(
        "xoxb-token", SIGNING_SECRET, "C1", people, api=slack.url, **{"per_second": 50, **options}
    )


def test_a_request_of_slacks_documentation_is_signed() -> None:
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id="
        b"G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-"
        b"collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700"
        b"885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c"
        b"447fce8b6703c"
    )
    headers = {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    }

    assert is_signed(SIGNING_SECRET, headers, body, 1531420618.0)
    assert not is_signed(SIGNING_SECRET, headers, body, 1531420618.0 + 301)
    assert not is_signed(SIGNING_SECRET, headers, body + b"x", 1531420618.0)
    assert not is_signed("another", headers, body, 1531420618.0)


@pytest.mark.parametrize("age", [0, 200, 400, -400])
def test_we_and_slacks_own_verifier_agree(age: int) -> None:
    request = signed(click("approve", "ref"), age=age)
    theirs = SignatureVerifier(SIGNING_SECRET).is_valid(
        request["content"],
        request["headers"]["x-slack-request-timestamp"],
        request["headers"]["x-slack-signature"],
    )

    ours = is_signed(SIGNING_SECRET, request["headers"], request["content"], time.time())
    assert ours is theirs is (abs(age) < 300)


@pytest.mark.soak
@pytest.mark.parametrize("event", ["opened", "reminded", "escalated", "answered", "expired"])
@pytest.mark.parametrize("long", [1, 5000])
def test_blocks_keep_slacks_limits_whatever_the_agent_says(event: Event, long: int) -> None:
    text = NASTY * long
    call = ToolCall("c", text, {text: text})
    key = ThreadKey("default", "<@U1>ü", "é" * 300 * long)
    status = InterruptStatus.OPEN if event != "answered" else InterruptStatus.RESOLVED
    told = notice(event, tool_call=call, message=text, asked_by=text, key=key, status=status)
    blocks = notice_blocks(told, show_args=True)

    for block in blocks:
        check_block(block)
    assert len(blocks) <= 50
    assert json.dumps(blocks).encode()
    assert ("actions" in [block["type"] for block in blocks]) is (
        event in ("opened", "reminded", "escalated") and long == 1
    )


def test_a_form_keeps_slacks_limits_or_there_is_none() -> None:
    long = "ü" * 4000
    options = [f"{long}{number}" for number in range(100)]
    schema = {
        "type": "object",
        "properties": {
            long: {"type": "string"},
            "pick": {"enum": options},
            "sure": {"type": "boolean", "title": long},
        },
    }
    ask = notice(tool_call=None, response_schema=schema, allowed=(), message=NASTY * 999).ask
    shown = view(ask, ANSWER, "ref")
    many = {"type": "object", "properties": {"pick": {"enum": [str(n) for n in range(101)]}}}
    too_many = notice(tool_call=None, response_schema=many, allowed=()).ask

    assert shown is not None
    for block in shown["blocks"]:
        check_block(block)
    assert view(too_many, ANSWER, "ref") is None
    assert view(ask, REASON, "r" * 3001) is None


async def test_a_click_is_acknowledged_at_once_and_its_message_is_changed(slack: FakeSlack) -> None:
    bridge, done = bridge_with({"ops": slack_at(slack)})
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "ops", **run_input())
        value = await shown_value(slack)
        began = time.monotonic()
        answers = await asyncio.gather(
            *(session.post(ADDRESS, **signed(click(APPROVE, value))) for _ in range(3))
        )
        took = time.monotonic() - began
        await eventually(lambda: slack.named("chat.update"))
        row = await the_question(bridge)

    assert [answer.status_code for answer in answers] == [200] * 3
    assert took < 1
    assert done == ["users"]
    assert {(entry.actor, entry.via) for entry in row.interrupt.audit[1:]} >= {("bob", "slack")}
    (update,) = slack.named("chat.update")
    (message,) = slack.named("chat.postMessage")
    assert (update["channel"], update["ts"]) == ("C1", "17.1")
    assert "users" in json.dumps(message)
    assert "approved by bob through Slack" in json.dumps(update["blocks"])
    assert "actions" not in [block["type"] for block in update["blocks"]]


async def test_who_is_unknown_or_late_is_told_so_alone(slack: FakeSlack) -> None:
    bridge, done = bridge_with({"ops": slack_at(slack)})
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "ops", **run_input())
        value = await shown_value(slack)
        await session.post(ADDRESS, **signed(click(APPROVE, value, user="U9")))
        await eventually(lambda: slack.named("chat.postEphemeral"))
        before = (await the_question(bridge)).interrupt.status
        await session.post(ADDRESS, **signed(click(DECLINE, value)))
        await eventually(lambda: slack.named("chat.update"))
        await session.post(ADDRESS, **signed(click(APPROVE, value, user="U2")))
        await eventually(lambda: len(slack.named("chat.postEphemeral")) == 2)

    stranger, late = slack.named("chat.postEphemeral")
    assert before is InterruptStatus.OPEN
    assert (stranger["user"], late["user"]) == ("U9", "U2")
    assert "not known here" in stranger["text"]
    assert "decided already" in late["text"]
    assert done == []


async def test_what_slack_has_not_signed_lately_does_nothing(slack: FakeSlack) -> None:
    bridge, done = bridge_with({"ops": slack_at(slack)})
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "ops", **run_input())
        value = await shown_value(slack)
        forged = await session.post(ADDRESS, **signed(click(APPROVE, value), secret="guessed"))
        old = await session.post(ADDRESS, **signed(click(APPROVE, value), age=400))
        bare = await session.post(ADDRESS, content=b"payload={}")
        elsewhere = await session.post("/channels/slack/other", **signed(click(APPROVE, value)))
        changed = await session.post(ADDRESS, **signed(click(APPROVE, value + "x")))
        await eventually(lambda: slack.named("chat.postEphemeral"))
        row = await the_question(bridge)

    assert [r.status_code for r in (forged, old, bare)] == [401] * 3
    assert [r.status_code for r in (elsewhere, changed)] == [404, 200]
    assert row.interrupt.status is InterruptStatus.OPEN
    assert done == []


async def test_a_message_is_changed_when_the_question_is_decided_elsewhere(
    slack: FakeSlack,
) -> None:
    bridge, _ = bridge_with({"ops": slack_at(slack)})
    async with serve(bridge.app(anonymous=True)) as base:
        await post(base, "ops", **run_input())
        await shown_value(slack)
        row = await the_question(bridge)
        await bridge.resume("ops", "t", {row.interrupt.id: {"approved": False}})
        await eventually(lambda: slack.named("chat.update"))

    assert "declined by anonymous" in json.dumps(slack.named("chat.update")[0]["blocks"])


async def test_a_decline_with_a_reason_is_a_form(slack: FakeSlack) -> None:
    bridge, done = bridge_with({"ops": slack_at(slack)})
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "ops", **run_input())
        value = await shown_value(slack)
        await session.post(ADDRESS, **signed(click(REASON, value)))
        await eventually(lambda: slack.named("views.open"))
        opened = slack.named("views.open")[0]
        sent = form(REASON, opened["view"]["private_metadata"], {"value": "not on a Friday"})
        answer = await session.post(ADDRESS, **signed(sent))
        await eventually(lambda: slack.named("chat.update"))
        row = await the_question(bridge)

    assert (opened["trigger_id"], answer.status_code, answer.content) == ("trigger", 200, b"")
    assert row.interrupt.answer is not None
    assert row.interrupt.answer.payload == {"approved": False, "reason": "not on a Friday"}
    assert done == []


async def test_a_question_with_fields_is_answered_in_a_form_and_told_its_faults(
    slack: FakeSlack,
) -> None:
    bridge, _ = bridge_with({"ops": slack_at(slack)})
    answers: list[Any] = []

    @bridge.agent("asker")
    async def asker(run: Any) -> Any:
        schema = {
            "type": "object",
            "properties": {
                "rows": {"type": "integer", "maximum": 9},
                "mode": {"enum": ["soft", "hard"]},
                "sure": {"type": "boolean"},
            },
            "required": ["rows", "mode", "sure"],
        }
        answers.append(await run.ask("How many?", schema=schema))
        yield "done"

    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "asker", **run_input())
        value = await shown_value(slack)
        await session.post(ADDRESS, **signed(click(ANSWER, value)))
        await eventually(lambda: slack.named("views.open"))
        rest = ({"selected_option": {"value": "1"}}, {"selected_option": {"value": "0"}})
        wrong = await session.post(ADDRESS, **signed(form(ANSWER, value, {"value": "12"}, *rest)))
        right = await session.post(ADDRESS, **signed(form(ANSWER, value, {"value": "7"}, *rest)))
        await eventually(lambda: answers)

    assert wrong.json()["response_action"] == "errors"
    assert "9" in wrong.json()["errors"]["field-0"]
    assert right.content == b""
    assert "'rows': 7, 'mode': 'hard', 'sure': True" in str(answers[0])


async def test_what_slack_throttles_arrives_later_once(slack: FakeSlack) -> None:
    slack.limited = 1
    channel = slack_at(slack)
    with pytest.raises(Undelivered, match="429"):
        await channel.send(notice())
    noted = await channel.send(notice())
    await channel.aclose()

    assert noted == {"channel": "C1", "ts": "17.1"}


async def shown_value(slack: FakeSlack) -> str:
    """What the buttons of the first message carry."""
    await eventually(lambda: slack.named("chat.postMessage"))
    blocks = slack.named("chat.postMessage")[0]["blocks"]
    (actions,) = (block for block in blocks if block["type"] == "actions")
    found: str = actions["elements"][0]["value"]
    return found
