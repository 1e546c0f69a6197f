"""A plain function of the program that blocks keeps nobody else waiting, whatever it is for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pytest

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.channels.slack import Slack
from agui_bridge.channels.smtp import Smtp
from agui_bridge.protocol.answers.decisions import APPROVE, Answer
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from tests.channels.bridges import bridge_with, notice
from tests.channels.receivers import SIGNING_SECRET, FakeSlack, click, signed
from tests.support.agents import outcome
from tests.support.server import PATIENCE, client, post, run_input, serve
from tests.support.waiting import eventually

Act: TypeAlias = Callable[[str], Coroutine[Any, Any, None]]
"""Brings a hook to be called once, by the address of its bridge, and waits for what it gives."""

Make: TypeAlias = Callable[[Any, FakeSlack], tuple[Bridge, Act]]

BLOCKED: Final = 10.0
"""Seconds after which a hook gives up: on the loop it waits for what can't come."""


@dataclass
class Hook:
    """A hook as a plain function and as an async one.

    Attributes:
        gives: what it returns.
        entered: once it was called.
        answered: once somebody else's request was answered.
        others_were_answered: what it saw of that before it returned.
        on_loop: whether it ran in the loop's thread.
    """

    gives: Any
    entered: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    others_were_answered: bool = False
    on_loop: bool = False

    def plain(self, *_: Any) -> Any:
        self.on_loop = threading.current_thread() is threading.main_thread()
        self.entered.set()
        self.others_were_answered = self.answered.wait(BLOCKED)
        return self.gives

    async def awaited(self, *_: Any) -> Any:
        self.on_loop = threading.current_thread() is threading.main_thread()
        self.entered.set()
        async with asyncio.timeout(PATIENCE):
            while not self.answered.is_set():
                await asyncio.sleep(0)
        self.others_were_answered = True
        return self.gives


async def agent(run: FunctionRun) -> Any:
    await run.call("pay", {"amount": 1}, lambda amount: amount)
    name = await run.ask("Name?", schema={"type": "string"})
    yield f"Hello {name}"


def sign_in(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    async def act(base: str) -> None:
        async with client(base) as session:
            assert (await session.get("/agents")).status_code == 200

    return Bridge("memory:", authenticate=hook), act


def policy(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    bridge = Bridge("memory:")
    bridge.policy(hook)
    return bridge, asks


def approvals(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    bridge = Bridge("memory:")
    bridge.approvals(hook)
    return bridge, asks


async def asks(base: str) -> None:
    assert outcome((await post(base, "a", **run_input())).events) == "interrupt"


def run_end(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    bridge = Bridge("memory:")
    bridge.on_run_end(hook)
    return bridge, asks


def extract(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    bridge = Bridge("memory:")
    bridge.agent("a", extract=hook, auto_resume="on")(agent)

    async def act(base: str) -> None:
        await asks(base)
        async with client(base) as session:
            messages = (await session.get("/agents/a/threads/t")).json()["messages"]
        said = {"id": "m", "role": "user", "content": "the usual"}
        told = await post(base, "a", **run_input(None, messages=[*messages, said]))
        assert outcome(told.events) == "success"

    return bridge, act


def people(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    channel = Slack(
        *("xoxb-token", SIGNING_SECRET, "C1", hook), api=slack.url, per_second=50, show_args=True
    )
    bridge, done = bridge_with({"ops": channel})

    async def act(base: str) -> None:
        await post(base, "ops", **run_input())
        await eventually(lambda: slack.named("chat.postMessage"))
        blocks = slack.named("chat.postMessage")[0]["blocks"]
        (buttons,) = (block for block in blocks if block["type"] == "actions")
        pressed = signed(click(APPROVE, buttons["elements"][0]["value"]))
        async with client(base) as session:
            await session.post("/channels/slack/ops", **pressed)
        await eventually(lambda: done == ["users"])

    return bridge, act


def recipients(hook: Any, slack: FakeSlack) -> tuple[Bridge, Act]:
    channel = Smtp("smtp://127.0.0.1:25?starttls=never", "agents@example.com", hook)

    async def act(base: str) -> None:
        assert await channel.send(notice()) == {"sent": []}

    return Bridge("memory:"), act


KINDS: Final[dict[Make, Any]] = {
    sign_in: Principal(),
    policy: "allow",
    approvals: ApprovalRule("two", quorum=2),
    extract: Answer("Ann"),
    run_end: None,
    people: Principal(actor="bob"),
    recipients: {},
}
"""All hooks that decide or tell, each with what one gives."""


@pytest.fixture
async def slack() -> Any:
    async with FakeSlack().serving() as serving:
        yield serving


@pytest.mark.parametrize("way", ["plain", "awaited"])
@pytest.mark.parametrize("make", KINDS)
async def test_others_are_answered_while_a_hook_takes_its_time(
    make: Make, way: str, slack: FakeSlack
) -> None:
    hook = Hook(KINDS[make])
    bridge, act = make(getattr(hook, way), slack)
    if "a" not in bridge.agents and "ops" not in bridge.agents:
        bridge.agent("a")(agent)
    app = bridge.app(anonymous=bridge.authenticate is None)
    async with serve(app) as base, client(base) as session, asyncio.TaskGroup() as group:
        acting = group.create_task(act(base))
        await asyncio.to_thread(hook.entered.wait, PATIENCE)
        assert (await session.get("/healthz")).status_code == 200
        hook.answered.set()
        await acting

    assert hook.others_were_answered
    assert hook.on_loop is (way == "awaited")
