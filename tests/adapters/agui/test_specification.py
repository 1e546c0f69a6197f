"""The specification's streams behind the proxy: what is legal comes through, the rest is mended.

What cannot be mended is refused, with the reason. Whatever comes of a stream, a client that is as
strict as the reference client reads it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge.client import Client, RunFailed, open_exchange
from agui_bridge_agui import AguiAdapter
from tests.adapters.agui.upstream import Upstream, call, interrupt
from tests.support.server import serve
from tests.support.specification import CASES, Seen, faults_of

USER: Final = {"id": "u1", "role": "user", "content": "go"}

OUTCOMES: Final[Mapping[str, str]] = {
    "late-run-error-after-finished-run-continues": "UPSTREAM_ERROR",
    "run-error-first-run-continues": "UPSTREAM_ERROR",
    "run-finished-cancelled-outcome-accepted": "UPSTREAM_ERROR",
    "run-finished-interrupt-outcome-accepted": "interrupt",
}
"""How legal streams end that do not end in success: the agent failed, was stopped, or asks."""

MENDED: Final[Mapping[str, str]] = {
    "chunk-conflicting-role-fatal": "opened as a user message and continued as an assistant one",
    "content-without-start-fatal": "nothing is open",
    "custom-closes-chunk-stream-fatal": "Half and half.",
    "event-after-run-finished-fatal": "",
    "first-chunk-missing-id-fatal": "no message is open",
    "open-message-at-run-finished-fatal": "never closed",
    "reasoning-discipline-verified": "the answer",
    "run-finished-with-active-subagent-fatal": "working",
    "subagent-finished-unstarted-fatal": "",
}
"""Streams that a client refuses, and what is said in them once they are mended."""

REFUSED: Final[Mapping[str, str]] = {
    "chunk-conflicting-tool-name-fatal": "toolCallName",
    "first-event-not-run-started-fatal": "ended before its run",
    "first-tool-chunk-missing-name-fatal": "toolCallName",
    "malformed-known-field-fatal": "delta",
    "nested-run-started-fatal": "ended before its run",
    "reasoning-message-wrong-role-fatal": "role",
    "step-finished-without-start-fatal": "ended before its run",
    "subagent-attribution-mismatch-fatal": "does not match",
    "subagent-started-missing-name-fatal": "name",
    "unknown-enum-value-role-fatal": "role",
    "unknown-outcome-array-fatal": "outcome",
}
"""Streams that nobody can mend, or that end before their run does, and what the error says."""

OWN: Final[Mapping[str, str]] = {
    "messages-snapshot-reconciles-by-id": "the bridge's conversation is its own: see snapshot_news",
    "reopen-closed-message-appends": "what begins a second time is another message",
    "unknown-part-in-message-list": "users speak to the bridge, not to the server behind it",
}
"""Streams after which the bridge has other messages than a client of that server, and why."""

LEGAL: Final = [name for name, case in CASES.items() if case["expect"]["outcome"] == "completed"]


@contextlib.asynccontextmanager
async def client_of(upstream: Upstream, **options: Any) -> AsyncIterator[Client]:
    """A client as strict as the reference client, before a bridge before an upstream."""
    async with serve(upstream.app(), lifespan="off") as behind:
        bridge = Bridge()
        bridge.add("agent", AguiAdapter(f"{behind}/agent", **options))
        async with (
            serve(bridge.app(anonymous=True)) as url,
            Client(f"{url}/agents/agent") as client,
        ):
            yield client


async def run(client: Client) -> tuple[str, list[dict[str, Any]]]:
    """What the last event says of the run's end, and all events."""
    events = []
    with contextlib.suppress(RunFailed):
        async for event in client.run("go"):
            events.append(event)
    last = events[-1]
    how = last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"]
    return how, events


@pytest.mark.parametrize("name", LEGAL)
async def test_a_legal_stream_comes_through(name: str) -> None:
    case = CASES[name]
    async with client_of(Upstream(case["stream"])) as client:
        ended, events = await run(client)
        assert ended == OUTCOMES.get(name, "success"), events[-1]
        told = {message["id"] for message in case["expect"].get("messages", ()) if "id" in message}
        # The user's message is not in the file; a call without a result gets one from the bridge.
        seen = Seen(state=client.state, messages=[m for m in client.messages if m["id"] in told])
    wanted = {k: v for k, v in case["expect"].items() if k in ("messages", "state")}
    if not told or name in OWN:
        wanted.pop("messages", None)
    assert faults_of(seen, wanted) == []


@pytest.mark.parametrize("name", MENDED)
async def test_a_stream_that_breaks_a_rule_is_mended_and_the_log_says_how(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with client_of(Upstream(CASES[name]["stream"])) as client:
        ended, events = await run(client)
    said = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert (ended, said) == ("success", MENDED[name]), events[-1]
    assert "the upstream agent's stream: " in caplog.text


@pytest.mark.parametrize("name", REFUSED)
async def test_a_stream_that_nobody_can_mend_is_an_error_that_says_why(name: str) -> None:
    async with client_of(Upstream(CASES[name]["stream"])) as client:
        ended, events = await run(client)
    assert ended == "UPSTREAM_ERROR"
    assert REFUSED[name] in events[-1]["message"]


def test_every_stream_is_asked_for() -> None:
    assert sorted(CASES) == sorted([*LEGAL, *MENDED, *REFUSED])


STARTED: Final = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.1"}
FINISHED: Final = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


async def test_what_nobody_here_knows_is_passed_on_as_it_came() -> None:
    increment = {"op": "increment", "path": "/count", "value": 1}
    hologram = {"type": "hologram", "source": {"type": "data", "value": "AAAA"}}
    patched = {"type": "STATE_DELTA", "delta": [increment, {**increment, "op": "replace"}]}
    misfit = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/absent"}]}
    result = {
        "type": "TOOL_CALL_RESULT",
        "messageId": "m",
        "toolCallId": "c",
        "content": [{"type": "text", "text": "see"}, hologram],
    }
    stream: list[Any] = [
        STARTED,
        {"type": "STATE_SNAPSHOT", "snapshot": {"count": 3}},
        patched,
        misfit,
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "scan"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        result,
        {**FINISHED, "outcome": {"type": "resting"}},
    ]
    upstream = Upstream(stream)
    async with client_of(upstream) as client:
        body = {"threadId": "raw", "runId": "r", "protocolVersion": "1.1", "messages": [USER]}
        async with (
            httpx.AsyncClient() as http,
            open_exchange(http, client.url, body) as exchange,
        ):
            told = [event async for event in exchange.events()]
        assert [e["delta"] for e in told if e["type"] == "STATE_DELTA"] == [
            patched["delta"],
            misfit["delta"],
        ]
        assert [e["content"] for e in told if e["type"] == "TOOL_CALL_RESULT"] == [
            result["content"]
        ]
        for _ in range(2):
            assert (await run(client))[0] == "success"
    assert upstream.bodies[2]["state"] == {"count": 1}
    (kept,) = (m for m in upstream.bodies[2]["messages"] if m["role"] == "tool")
    assert kept["content"] == result["content"]


async def test_a_state_of_null_is_told_as_null() -> None:
    async with client_of(Upstream(CASES["state-null-snapshot-applies"]["stream"])) as client:
        _, events = await run(client)
    told = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    assert told == [{"count": 3}, None]


async def test_a_state_of_null_stays_null_when_it_is_told_again() -> None:
    null = {"type": "STATE_SNAPSHOT", "snapshot": None}
    stream: list[Any] = [STARTED, null, *call(), {**FINISHED, "outcome": interrupt()}]
    async with client_of(Upstream(stream)) as client:
        ended, events = await run(client)
        assert (ended, client.state) == ("interrupt", None)
    assert [e["snapshot"] for e in events if e["type"] == "STATE_SNAPSHOT"] == [None, None]


@pytest.mark.parametrize("dialect", ["1.1", "1.0"])
async def test_the_kind_of_an_encrypted_value_is_kept_and_sent_back(dialect: str) -> None:
    sealed = {"encryptedValue": "b3BhcXVl", "encryptedValueType": "acme.signature"}
    stream = [
        STARTED,
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi."},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", **sealed},
        FINISHED,
    ]
    upstream = Upstream(stream)
    async with client_of(upstream, dialect=dialect) as client:
        await run(client)
        assert sealed.items() <= client.messages[1].items()
        assert await client.load()
        assert sealed.items() <= client.messages[1].items()
        await run(client)
    (sent,) = (m for m in upstream.bodies[1]["messages"] if m["role"] == "assistant")
    assert upstream.bodies[1]["protocolVersion"] == dialect
    assert sent["encryptedValue"] == "b3BhcXVl"
    assert ("encryptedValueType" in sent) == (dialect == "1.1")


async def test_a_client_of_1_0_is_told_nothing_that_1_1_added() -> None:
    sealed = {"encryptedValue": "b3BhcXVl", "encryptedValueType": "acme.signature"}
    message = {"id": "m", "role": "assistant", "content": "Hi.", **sealed}

    def reply(body: Any) -> list[Any]:
        told = {"type": "MESSAGES_SNAPSHOT", "messages": [*body["messages"], message]}
        return [STARTED, told, FINISHED]

    upstream = Upstream(reply)
    async with client_of(upstream) as client, Client(client.url, dialect="1.0") as older:
        ended, events = await run(older)
        assert (ended, events[0]["protocolVersion"]) == ("success", "1.0")
        (told,) = (e for e in events if e["type"] == "REASONING_ENCRYPTED_VALUE")
        assert (told["encryptedValue"], "encryptedValueType" in told) == ("b3BhcXVl", False)
        _, events = await run(client)
        assert events[0]["protocolVersion"] == "1.1"
        (told,) = (e for e in events if e["type"] == "REASONING_ENCRYPTED_VALUE")
        assert told["encryptedValueType"] == "acme.signature"
