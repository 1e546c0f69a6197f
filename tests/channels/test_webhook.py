"""Webhooks: signed as Standard Webhooks wants it, small, tried again, and stopped when gone."""

from __future__ import annotations

import base64
import json
import time

import pytest
from standardwebhooks.webhooks import Webhook as Verifier

from agui_bridge.channels.channel import Undelivered
from agui_bridge.channels.webhooks import Webhook
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.protocol.wire.webhook_signatures import signature
from tests.channels.bridges import SECRET, bridge_with, notice, the_question
from tests.channels.receivers import Receiver
from tests.support.server import client, post, run_input, serve
from tests.support.waiting import eventually


def test_a_signature_is_that_of_the_specification() -> None:
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    made = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_abc", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
def test_a_secret_that_is_none_is_refused(secret: str) -> None:
    with pytest.raises(ConfigurationError, match="whsec_") as refusal:
        Webhook("https://hooks.example", secret)
    assert len(secret) < 7 or secret not in str(refusal.value)


async def test_during_a_rotation_both_secrets_verify(receiver: Receiver) -> None:
    new = "whsec_" + base64.b64encode(b"n" * 32).decode()
    hook = Webhook(receiver.url, [new, SECRET])
    await hook.send(notice())
    await hook.aclose()
    ((headers, body),) = receiver.got

    assert Verifier(new).verify(body, headers) == Verifier(SECRET).verify(body, headers)


async def test_a_body_has_the_tool_and_the_message_and_no_arguments(receiver: Receiver) -> None:
    silent = Webhook(receiver.url, SECRET)
    telling = Webhook(receiver.url, SECRET, show_args=True)
    for hook in (silent, telling):
        await hook.send(notice())
        await hook.aclose()
    without, with_args = (json.loads(body) for _, body in receiver.got)

    assert without["type"] == "interrupt.opened"
    assert without["timestamp"] == "2023-11-14T22:13:20Z"
    assert (without["data"]["tool"], without["data"]["message"]) == ("delete_rows", "Delete <b>&?")
    assert without["data"]["url"].startswith("https://agents.example/inbox/")
    assert "args" not in without["data"]
    assert with_args["data"]["args"] == {"table": "users"}


async def test_a_body_stays_below_20_kb_and_names_what_is_left_out(receiver: Receiver) -> None:
    hook = Webhook(receiver.url, SECRET, show_args=True)
    huge = ToolCall("c", "ü" * 5000, {"x": "y" * 50_000})
    await hook.send(notice(tool_call=huge, message="é" * 50_000, asked_by="ö" * 5000))
    await hook.aclose()
    ((_, body),) = receiver.got

    assert len(body) < 20_000
    assert "args" in json.loads(body)["data"]["leftOut"]


@pytest.mark.parametrize("status", [301, 400, 500])
async def test_anything_but_a_2xx_is_a_failure(receiver: Receiver, status: int) -> None:
    receiver.answers.append((status, {"location": receiver.url}))
    hook = Webhook(receiver.url, SECRET)
    with pytest.raises(Undelivered, match=str(status)) as failure:
        await hook.send(notice())
    await hook.aclose()

    assert len(receiver.got) == 1, "a redirect is not followed"
    assert not failure.value.final


async def test_a_retry_after_is_told_and_410_is_the_end(receiver: Receiver) -> None:
    receiver.answers += [(429, {"retry-after": "7"}), (410, {})]
    hook = Webhook(receiver.url, SECRET)
    with pytest.raises(Undelivered) as throttled:
        await hook.send(notice())
    with pytest.raises(Undelivered) as gone:
        await hook.send(notice())
    await hook.aclose()

    assert throttled.value.retry_after == 7
    assert gone.value.gone


async def test_nobody_there_is_a_failure_that_quotes_no_address() -> None:
    hook = Webhook("http://127.0.0.1:9/secret", SECRET)
    with pytest.raises(Undelivered) as failure:
        await hook.send(notice())
    await hook.aclose()

    assert "secret" not in str(failure.value)


async def test_a_question_is_told_in_milliseconds_and_so_is_its_end(receiver: Receiver) -> None:
    hook = Webhook(receiver.url, SECRET)
    # Were it the sweeper who tells, the test would take minutes.
    bridge, done = bridge_with({"hook": hook}, settings=Settings(sweep_interval=60.0))
    async with serve(bridge.app(anonymous=True)) as base:
        began = time.monotonic()
        await post(base, "ops", **run_input())
        await eventually(lambda: receiver.got)
        took = time.monotonic() - began
        row = await the_question(bridge)
        await bridge.resume("ops", "t", {row.interrupt.id: {"approved": True}})
        await eventually(lambda: len(receiver.got) == 2)

    assert took < 2
    assert done == ["users"]
    opened, answered = (Verifier(SECRET).verify(body, headers) for headers, body in receiver.got)
    assert opened["data"]["ref"] == answered["data"]["ref"]
    assert answered["type"] == "interrupt.answered"
    assert answered["data"]["outcome"].startswith("approved by anonymous")
    assert receiver.told[0][1] == f"{row.interrupt.id}:hook:opened"


async def test_a_cancelled_question_is_told_as_cancelled(receiver: Receiver) -> None:
    bridge, done = bridge_with({"hook": Webhook(receiver.url, SECRET)})
    async with serve(bridge.app(anonymous=True)) as base:
        await post(base, "ops", **run_input())
        await eventually(lambda: receiver.got)
        row = await the_question(bridge)
        await bridge.resume("ops", "t", {}, cancel=[row.interrupt.id])
        await eventually(lambda: len(receiver.got) == 2)

    assert [event for event, _ in receiver.told] == ["opened", "cancelled"]
    assert done == []


async def test_deliveries_are_listed_with_their_errors(receiver: Receiver) -> None:
    receiver.answers.append((410, {}))
    bridge, _ = bridge_with({"hook": Webhook(receiver.url, SECRET)})
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        await post(base, "ops", **run_input())
        await eventually(lambda: receiver.got)

        async def dead() -> list[dict[str, object]]:
            answer = await session.get("/deliveries", params={"state": "dead"})
            found: list[dict[str, object]] = answer.json()["deliveries"]
            return found

        await eventually(dead)
        (listed,) = await dead()
        wrong = await session.get("/deliveries", params={"state": "lost"})

    assert (listed["channel"], listed["event"], listed["error"]) == ("hook", "opened", "HTTP 410")
    assert wrong.json()["error"]["code"] == "INVALID_INPUT"


async def test_a_body_names_the_tool_that_a_question_is_about(receiver: Receiver) -> None:
    hook = Webhook(receiver.url, SECRET, show_args=True)
    await hook.send(notice(tool_call=None, about="c", about_tool="delete_rows"))
    await hook.aclose()
    ((_, body),) = receiver.got
    data = json.loads(body)["data"]

    assert (data["tool"], data["reason"]) == ("delete_rows", "input_required")
    assert "args" not in data
