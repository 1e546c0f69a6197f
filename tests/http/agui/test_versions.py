"""Each client is answered in the version of AG-UI that it declares, whoever runs the thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from ag_ui.core import (
    ReasoningEncryptedValueEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving
from tests.support.agents import Scripted
from tests.support.server import open_stream_at, run_input

TYPED: Final[dict[str, Any]] = {"encryptedValueType": "acme.signature"}
AGENT: Final = "/agents/agent"
CONNECT: Final = "/agents/agent/threads/t/connect"


def sealing(go: asyncio.Event) -> Scripted:
    """An agent that says something and, once it is let go, adds an encrypted value of a kind."""

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield TextMessageStartEvent(message_id="m", role="assistant")
        yield TextMessageContentEvent(message_id="m", delta="Hi.")
        yield TextMessageEndEvent(message_id="m")
        await go.wait()
        yield ReasoningEncryptedValueEvent(
            subtype="message", entity_id="m", encrypted_value="v", **TYPED
        )

    return Scripted(script)


@pytest.mark.parametrize(("runs", "follows"), [("1.0", "1.1"), ("1.1", "1.0"), (None, "1.1")])
async def test_who_runs_and_who_follows_are_each_told_in_their_version(
    serving: Serving, runs: str | None, follows: str
) -> None:
    go = asyncio.Event()
    async with (
        serving(sealing(go)) as site,
        open_stream_at(site.base, AGENT, run_input("go", version=runs)) as one,
    ):
        await one.until("TEXT_MESSAGE_END")
        body = run_input(None, run="mine", version=follows)
        async with open_stream_at(site.base, CONNECT, body) as other:
            await other.until("MESSAGES_SNAPSHOT")
            go.set()
            await one.rest()
            await other.rest()
        for stream, version in ((one, runs), (other, follows)):
            assert stream.events[0]["protocolVersion"] == (version or "1.0")
            (told,) = (e for e in stream.events if e["type"] == "REASONING_ENCRYPTED_VALUE")
            assert told["encryptedValue"] == "v"
            assert (TYPED.items() <= told.items()) == (version == "1.1")


async def test_a_thread_keeps_what_an_older_client_is_not_told(serving: Serving) -> None:
    go = asyncio.Event()
    go.set()
    async with serving(sealing(go)) as site:
        await site.run("hi", version="1.0")
        thread = (await site.http.get(f"{AGENT}/threads/t")).json()
        assert TYPED.items() <= thread["messages"][-1].items()
        for version in ("1.0", "1.1"):
            async with open_stream_at(
                site.base, CONNECT, run_input(None, run="mine", version=version)
            ) as stream:
                await stream.rest()
            (shown,) = (e for e in stream.events if e["type"] == "MESSAGES_SNAPSHOT")
            message = shown["messages"][-1]
            assert message["encryptedValue"] == "v"
            assert (TYPED.items() <= message.items()) == (version == "1.1")


async def test_a_client_may_bring_a_kind_with_its_history(serving: Serving) -> None:
    go = asyncio.Event()
    go.set()
    user = {"id": "u", "role": "user", "content": "hi", "encryptedValue": "w", **TYPED}
    async with serving(sealing(go)) as site:
        body = {**run_input(None, version="1.1"), "messages": [user]}
        async with open_stream_at(site.base, AGENT, body) as stream:
            await stream.rest()
        thread = (await site.http.get(f"{AGENT}/threads/t")).json()
        assert thread["messages"][0] == user
        wrong = {**body, "messages": [{**user, "encryptedValueType": 7}]}
        refused = await site.http.post(AGENT, json=wrong)
        assert refused.status_code == 422
        assert refused.json()["error"]["details"]["field"] == "messages.0.encryptedValueType"
