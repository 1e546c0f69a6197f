"""Teams: the card that its Workflows take, over HTTP; the decision is made in the inbox."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.channels.channel import Channel, Undelivered
from agui_bridge.channels.notice import Links
from agui_bridge.channels.webhooks import Teams, Webhook
from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import ThreadKey, ToolCall
from tests.channels.bridges import INBOX, KEY, SECRET, bridge_with, notice, the_question
from tests.channels.receivers import Receiver
from tests.support.server import post, run_input, serve
from tests.support.waiting import eventually

TEAMS_TAKES = 28 * 1024


async def received(receiver: Receiver, channel: Channel, *notices: Any) -> list[dict[str, Any]]:
    for one in notices:
        await channel.send(one)
    await channel.aclose()
    return [json.loads(body) for _, body in receiver.got]


async def test_a_card_has_the_shape_that_workflows_take(receiver: Receiver) -> None:
    asked = notice(asked_by="ann", expires_at=1_700_000_600.0)
    [message] = await received(receiver, Teams(receiver.url), asked)
    [(headers, _)] = receiver.got
    [action] = message["attachments"][0]["content"].pop("actions")
    link = action.pop("url")

    assert headers["content-type"] == "application/json"
    assert message == {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": [
                        {
                            "type": "TextBlock",
                            "text": "Approve delete\\_rows?",
                            "wrap": True,
                            "weight": "Bolder",
                            "size": "Medium",
                        },
                        {"type": "TextBlock", "text": "Delete \\<b\\>&?", "wrap": True},
                        {
                            "type": "FactSet",
                            "facts": [
                                {"title": "Agent", "value": "ops"},
                                {"title": "Asked for by", "value": "ann"},
                                {"title": "Open until", "value": "2023-11-14 22:23 UTC"},
                            ],
                        },
                    ],
                },
            }
        ],
    }
    assert action == {"type": "Action.OpenUrl", "title": "Decide"}
    reference = link.removeprefix("https://agents.example/inbox/")
    assert References(INBOX.keys).read(reference) == Reference(KEY, "i1")


async def test_arguments_are_shown_only_where_they_shall_be(receiver: Receiver) -> None:
    channels = [Teams(receiver.url), Teams(receiver.url, show_args=True)]
    for channel in channels:
        await received(receiver, channel, notice())
    without, with_args = (body.decode() for _, body in receiver.got)

    assert "users" not in without
    assert json.loads(with_args)["attachments"][0]["content"]["body"][-1] == {
        "type": "TextBlock",
        "text": '{\n  "table": "users"\n}',
        "wrap": True,
        "fontType": "Monospace",
    }


async def test_without_an_address_a_card_has_no_button(receiver: Receiver) -> None:
    asked = replace(notice(), links=Links(Inbox(), KEY, "i1"))
    [message] = await received(receiver, Teams(receiver.url), asked)

    assert "actions" not in message["attachments"][0]["content"]


@pytest.mark.parametrize("letter", ["x", "<", "\\", "\n", "ü", "語", "😀", "\x01"])
async def test_a_card_is_small_enough_whatever_the_agent_says(
    receiver: Receiver, letter: str
) -> None:
    text = letter * 20_000
    asked = notice(
        tool_call=ToolCall("c", text, {text: text}),
        message=text,
        asked_by=text,
        key=ThreadKey("s" * 1024, letter * 300, "t" * 1024),
    )
    [message] = await received(receiver, Teams(receiver.url, show_args=True), asked)

    assert len(receiver.got[0][1]) < TEAMS_TAKES
    assert message["attachments"][0]["content"]["actions"]


async def test_a_question_is_told_and_its_end_is_not(receiver: Receiver) -> None:
    hooked = Receiver()
    async with hooked.serving(), contextlib.AsyncExitStack() as stack:
        bridge, done = bridge_with(
            {"teams": Teams(receiver.url), "hook": Webhook(hooked.url, SECRET)}
        )
        base = await stack.enter_async_context(serve(bridge.app(anonymous=True)))
        await post(base, "ops", **run_input())
        await eventually(lambda: receiver.got)
        row = await the_question(bridge)
        await bridge.resume("ops", "t", {row.interrupt.id: {"approved": True}})
        # By then its end is told to whoever wants to know.
        await eventually(lambda: len(hooked.got) == 2)

    assert len(receiver.got) == 1
    assert done == ["users"]


async def test_what_teams_refuses_is_said_without_its_address(receiver: Receiver) -> None:
    receiver.answers += [(429, {"retry-after": "9"}), (413, {})]
    channel = Teams(receiver.url)
    with pytest.raises(Undelivered) as throttled:
        await channel.send(notice())
    with pytest.raises(Undelivered) as refused:
        await channel.send(notice())
    await channel.aclose()

    assert throttled.value.retry_after == 9
    assert str(refused.value) == "HTTP 413"


def test_an_address_that_is_none_is_refused_and_not_quoted() -> None:
    with pytest.raises(ConfigurationError, match="whole address") as refusal:
        Teams("secret")
    assert "secret" not in str(refusal.value)
    assert "secret" not in repr(Teams("https://example.org/secret"))
