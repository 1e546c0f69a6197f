"""Clients from before 1.0 over real sockets: whatever shows them a thread, they can read it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

import pytest
from ag_ui.core import (
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallResultEvent,
)

from agui_bridge.adapters import Pause, Run, RunItem
from tests.http.conftest import Serving, Site
from tests.support.agents import Scripted, approval, call_events, text_events
from tests.support.server import open_stream_at, run_input

Json = dict[str, Any]

AGENT: Final = "/agents/agent"
CONNECT: Final = f"{AGENT}/threads/t/connect"
KIT: Final = "/copilotkit"

FILE: Final[Json] = {"type": "image", "source": {"type": "file", "value": "file-1"}}
SAID: Final[list[Json]] = [{"type": "text", "text": "go"}, FILE]
RESULT: Final[Any] = [{"type": "text", "text": "a chart"}, FILE]
HEADER: Final = {"AG-UI-Protocol-Version": "0.0.44"}


def showing(go: asyncio.Event | None = None) -> Scripted:
    """An agent that thinks, draws and asks; and that waits before it does."""

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in text_events("m", "Hi."):
            yield item
        if go is not None:
            await go.wait()
        yield ReasoningStartEvent(message_id="r")
        yield ReasoningMessageStartEvent(message_id="r", role="reasoning")
        yield ReasoningMessageContentEvent(message_id="r", delta="Hm.")
        yield ReasoningMessageEndEvent(message_id="r")
        yield ReasoningEndEvent(message_id="r")
        for item in call_events("c"):
            yield item
        yield ToolCallResultEvent(message_id="t", tool_call_id="c", content=RESULT)
        yield Pause([approval("c1")])

    return Scripted(script)


def asking(version: str | None = None, **members: Any) -> Json:
    body = run_input(None, version=version, **members)
    return {**body, "messages": [{"id": "u", "role": "user", "content": SAID}]}


async def told(site: Site, path: str, body: Json | None, **request: Any) -> list[Json]:
    """All that a stream tells."""
    async with open_stream_at(site.base, path, body, **request) as stream:
        await stream.rest()
    return stream.events


Surface = Callable[[Site, "str | None", "dict[str, str]"], Coroutine[Any, Any, list[Json]]]


async def run(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    return await told(site, AGENT, asking(version), headers=headers)


async def refusal(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    await told(site, AGENT, asking("1.1"))
    more = run_input("more", run="r2", version=version)
    return await told(site, AGENT, more, headers=headers)


async def connect(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    await told(site, AGENT, asking("1.1"))
    return await told(site, CONNECT, run_input(None, version=version), headers=headers)


async def replay(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    asked = (await told(site, AGENT, asking("1.1")))[-1]["outcome"]["interrupts"]
    cancelled = [{"interruptId": ask["id"], "status": "cancelled"} for ask in asked]
    answer = run_input(None, run="r2", resume=cancelled)
    await told(site, AGENT, answer)
    body = run_input(None, run="r2", version=version, resume=cancelled)
    return await told(site, AGENT, body, headers=headers)


async def kit_run(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    return await told(site, f"{KIT}/agent/agent/run", asking(version), headers=headers)


async def kit_connect(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    await told(site, AGENT, asking("1.1"))
    body = run_input(None, version=version)
    return await told(site, f"{KIT}/agent/agent/connect", body, headers=headers)


async def kit_single_run(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    envelope = {"method": "agent/run", "params": {"agentId": "agent"}, "body": asking(version)}
    return await told(site, KIT, envelope, headers=headers)


async def kit_single(site: Site, version: str | None, headers: dict[str, str]) -> list[Json]:
    await told(site, AGENT, asking("1.1"))
    body = run_input(None, version=version)
    envelope = {"method": "agent/connect", "params": {"agentId": "agent"}, "body": body}
    return await told(site, KIT, envelope, headers=headers)


SURFACES: Final[list[Surface]] = [
    run,
    refusal,
    connect,
    replay,
    kit_run,
    kit_connect,
    kit_single_run,
    kit_single,
]


def check_readable(events: list[Json], *, reasons: bool) -> None:
    """Assert that 0.0.59, or one that knows no reasoning, can read it, and gets what it can."""
    kinds = {event["type"] for event in events}
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert results in ([], ["a chart"])
    snapshots = [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert snapshots
    for messages in snapshots:
        contents = {message["id"]: message.get("content") for message in messages}
        assert contents["u"] in ("go", SAID[:1])
        assert contents.get("t", "a chart") == "a chart"
        assert reasons or "r" not in contents
    assert contents["m"] == "Hi."
    assert reasons or not any(kind.startswith("REASONING") for kind in kinds)
    assert (reasons and "r" in contents) or "r" not in contents


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
@pytest.mark.parametrize(
    ("version", "headers", "reasons"),
    [(None, {}, True), ("0.0.59", {}, True), ("0.0.44", {}, False), (None, HEADER, False)],
    ids=["none", "0.0.59", "0.0.44", "header"],
)
async def test_whatever_shows_a_thread_an_old_client_reads_it(
    serving: Serving, surface: Surface, version: str | None, headers: dict[str, str], reasons: bool
) -> None:
    async with serving(showing()) as site:
        events = await surface(site, version, headers)
    check_readable(events, reasons=reasons)


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
async def test_one_of_1_1_is_told_all_of_it(serving: Serving, surface: Surface) -> None:
    async with serving(showing()) as site:
        events = await surface(site, "1.1", {})
    (*_, snapshot) = (event for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    contents = {message["id"]: message.get("content") for message in snapshot["messages"]}
    assert (contents["u"], contents["r"], contents["t"]) == (SAID, "Hm.", RESULT)


@pytest.mark.parametrize("query", ["?protocolVersion=0.0.44", ""])
async def test_a_stream_without_a_body_is_in_the_version_of_its_address(
    serving: Serving, query: str
) -> None:
    async with serving(showing()) as site:
        await told(site, AGENT, asking("1.1"))
        events = await told(site, f"{CONNECT}{query}", None)
    (snapshot,) = (event for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    roles = [message["role"] for message in snapshot["messages"]]
    assert ("reasoning" in roles) is not bool(query)
    assert ("CUSTOM" in [event["type"] for event in events]) is bool(query)


async def test_what_the_input_declares_goes_before_what_the_address_does(serving: Serving) -> None:
    async with serving(showing()) as site:
        events = await told(site, f"{AGENT}?protocolVersion=0.0.44", asking("1.1"))
    assert events[0]["protocolVersion"] == "1.1"


async def test_another_major_version_of_an_address_is_refused(serving: Serving) -> None:
    async with serving(showing()) as site:
        refused = await site.http.post(f"{AGENT}?protocolVersion=2.0", json=asking())
    assert refused.json()["error"]["code"] == "UNSUPPORTED_VERSION"


@pytest.mark.parametrize("runs", ["1.1", "0.0.44", None])
@pytest.mark.parametrize("follows", ["1.1", "0.0.44", None])
async def test_who_runs_and_who_follows_are_each_told_what_they_can_read(
    serving: Serving, runs: str | None, follows: str | None
) -> None:
    go = asyncio.Event()
    async with (
        serving(showing(go)) as site,
        open_stream_at(site.base, AGENT, asking(runs)) as one,
    ):
        await one.until("TEXT_MESSAGE_END")
        body = run_input(None, run="mine", version=follows)
        async with open_stream_at(site.base, CONNECT, body) as other:
            await other.until("MESSAGES_SNAPSHOT")
            go.set()
            await one.rest()
            await other.rest()
    for stream, version in ((one, runs), (other, follows)):
        (result,) = (e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT")
        assert result == (RESULT if version == "1.1" else "a chart")
        assert ("REASONING_MESSAGE_CONTENT" in stream.kinds) is (version != "0.0.44")
        if version != "1.1":
            check_readable(stream.events, reasons=version is None)


async def test_the_log_says_once_a_stream_what_is_left_out(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "agui_bridge"):
        async with serving(showing()) as site:
            await told(site, AGENT, asking("1.1"))
            assert caplog.messages == []
            await told(site, CONNECT, run_input(None, run="mine", version=None))
    found = sorted(message for message in caplog.messages if "left out" in message)
    assert found == [
        "run 'mine': the client is too old for parts of the type 'image' with a source of the "
        "type 'file', left out",
    ]


@pytest.mark.parametrize(
    ("version", "offers", "reads"),
    [
        # Offers come from CopilotKit's runtime, whose client may be older than 0.0.59.
        (None, {"injectA2UITool": True}, False),
        (None, {"injectA2UITool": False}, False),
        (None, {}, True),
        ("0.0.59", {"injectA2UITool": True}, True),
        ("1.0", {"injectA2UITool": True}, True),
    ],
)
async def test_who_offers_surfaces_and_declares_nothing_is_told_of_no_subagents(
    serving: Serving, version: str | None, offers: Json, reads: bool
) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield SubagentStartedEvent(subagent_run_id="s", name="a2ui")
        for item in text_events("m", "Hi."):
            yield item
        yield SubagentFinishedEvent(subagent_run_id="s")

    async with serving(Scripted(script)) as site:
        events = await told(site, AGENT, asking(version, forwardedProps=offers))
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "RUN_FINISHED" and "TEXT_MESSAGE_CONTENT" in kinds
    assert ("SUBAGENT_STARTED" in kinds, "SUBAGENT_FINISHED" in kinds) == (reads, reads)
