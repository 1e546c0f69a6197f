"""Notices of a channel that was removed are closed by somebody, and never told as delivered."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agui_bridge import Bridge, Principal, Settings, __version__
from agui_bridge.channels import Webhook
from agui_bridge.channels.channel import ScopedChannels
from agui_bridge.channels.closing import close_notices
from agui_bridge.channels.dispatcher import Dispatcher
from agui_bridge.cli import app
from agui_bridge.engine.engine import mint
from agui_bridge.engine.telemetry import NO_TELEMETRY
from agui_bridge.inbox import Inbox
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.audit.verifying import verify_questions
from agui_bridge.protocol.threads.records import (
    RECORD_FORMAT,
    AuditEntry,
    Interrupt,
    InterruptStatus,
    ThreadKey,
)
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.deliveries import Delivery, DeliveryState
from agui_bridge.stores.memory import MemoryStore
from agui_bridge.stores.open import open_store
from agui_bridge.stores.servers import Server
from tests.channels.bridges import SECRET
from tests.channels.test_dispatcher import Told
from tests.http.inbox.pages import Person
from tests.stores.conftest import COMPARED
from tests.stores.samples import ask, idle, interrupted, put, running
from tests.support.agents import Scripted
from tests.support.clock import FakeClock
from tests.support.own_modules import importing_own
from tests.support.server import client, serve

KEY = ThreadKey("default", "agent", "t")
OTHERS = replace(KEY, scope="other")
AUDIT_KEY = "k" * 32
HOOK = "https://hooks.example/kept"
LASTING = [backend.name for backend in COMPARED]
STORES = ["memory", *LASTING]
"""No command sees a store in memory."""
URLS = {backend.name: backend.url for backend in COMPARED}
GONE: tuple[DeliveryState, ...] = ("queued", "dead", "sent")
CLOSED = "Closed: 3 notices (2 not sent; 1 sent, and not changed any more)."


@dataclass
class Left:
    """A store with the notices of a channel `Gone` that was removed, in two scopes.

    Attributes:
        store: the store.
        url: its address; "" where it has none.
        folder: where a configuration file may lie.
    """

    store: Store
    url: str
    folder: Path

    async def told(self, key: ThreadKey = KEY) -> dict[str, Delivery]:
        """The notices of a scope, by their ids."""
        return {one.id: one for one in await self.store.deliveries.of_question((key, "i1"))}

    async def history(self, key: ThreadKey = KEY) -> tuple[AuditEntry, ...]:
        """What the question's history has beyond its beginning."""
        return (await self.question(key)).audit[1:]

    async def question(self, key: ThreadKey = KEY) -> Interrupt:
        """The question of a scope."""
        return (await self.store.load(key, ["i1"])).interrupts["i1"]

    async def by_command(self, *more: str, name: str = "Gone") -> Result:
        """Close them from the command line, by a file that has the channel `kept` alone."""
        file = self.folder / "bridge.yaml"
        text = (
            f"store: {self.url}\nagents: {{ops: {{function: 'agents_of_closing:ops'}}}}\n"
            "channels: {kept: {type: webhook, url_env: HOOK_URL, secret_env: HOOK}}\n"
            "audit: {keys_env: [AUDIT_KEY]}\n"
        )
        await asyncio.to_thread(file.write_text, text)
        given = ("channels", "close", name, str(file), "--actor", "ann", *more)
        environment = {"HOOK": SECRET, "HOOK_URL": HOOK, "AUDIT_KEY": AUDIT_KEY}
        return await asyncio.to_thread(CliRunner().invoke, app, given, env=environment)

    def bridge(self) -> Bridge:
        """A server that has the channel `kept` alone, and delivers nothing."""
        bridge = Bridge(
            self.url or self.store,
            settings=Settings(sweep_interval=0),
            audit_keys=[AUDIT_KEY],
            inbox=Inbox(keys=["a-key-of-the-tests-0123456789"]),
            authenticate=lambda _: Principal("default", "ann"),
            channels={"kept": Webhook(HOOK, SECRET, scopes=["default", "other"])},
        )
        bridge.add("agent", Scripted(["x"]))
        return bridge


async def leave(store: Store, key: ThreadKey) -> None:
    """A question, a notice of each state to `Gone`, and one to `kept`."""
    one = ask("i1")
    asked = AuditEntry(one.status, (await store.load(key)).now, "ann")
    await put(store, interrupted(key), interrupts=(replace(one, audit=(asked,)),))
    for state in GONE:
        await store.deliveries.plan((key, "i1"), [planned(key, state, "Gone")])
        for claimed in await store.deliveries.claim("Gone", "lease", lease_seconds=30):
            if claimed.id == state and state != "queued":
                await store.deliveries.finish(claimed, state, noted={"ts": "1"})
            else:
                await store.deliveries.finish(claimed, "queued", retry_in=1000.0)
    await store.deliveries.plan((key, "i1"), [planned(key, "kept", "kept")])


def planned(key: ThreadKey, id: str, channel: str) -> Delivery:
    """A notice that is due."""
    return Delivery(key, id, "i1", channel, "opened", 0.0)


@pytest.fixture(params=STORES)
async def left(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Left]:
    module = tmp_path / "agents_of_closing.py"
    await asyncio.to_thread(module.write_text, "async def ops(run):\n    yield 'x'\n")
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    make = URLS.get(request.param)
    url = make(tmp_path) if make is not None else ""
    store = await open_store(url) if url else MemoryStore()
    store.audit.keys = AuditKeys([AUDIT_KEY])
    for key in (KEY, OTHERS):
        await leave(store, key)
    with importing_own("agents_of_closing"):
        yield Left(store, url, tmp_path)
    await store.aclose()


async def command(left: Left) -> str:
    result = await left.by_command()
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


async def page(left: Left) -> str:
    async with serve(left.bridge().app()) as base, Person(base, "ann") as ann:
        before = await ann.look("/inbox/notices")
        for said in ("Not sent 1", "Given up 1", "whatever is decided 1"):
            assert said in before.text
        done = await ann.press(before, "Close them")
        assert "Nothing is left" in done.text
        shown = await ann.look()
        question = await ann.look(next(it for it in shown.links.values() if "inbox/W" in it))
        assert "Notices to Gone closed by ann through the inbox" in question.text
        return CLOSED if CLOSED in done.text else done.text


async def code(left: Left) -> str:
    return (await close_notices(left.store, "default", "Gone", "ann", "inbox", mint)).told


WAYS = [
    pytest.param(name, way, via, id=f"{name}-{via}")
    for way, via in ((command, "cli"), (page, "inbox"))
    for name in (STORES if way is page else LASTING)
]


@pytest.mark.parametrize(("left", "way", "via"), WAYS, indirect=["left"])
async def test_they_are_closed_as_the_history_says_and_no_others(
    left: Left, way: Callable[[Left], Awaitable[str]], via: str
) -> None:
    before = await left.told(OTHERS)
    said = await way(left)
    told, entries = await left.told(), await left.history()

    assert said == CLOSED
    assert {id: (one.state, one.closed_by) for id, one in told.items()} == {
        "queued": ("dropped", "ann"),
        "dead": ("dropped", "ann"),
        "sent": ("sent", "ann"),
        "kept": ("queued", None),
    }
    assert [(one.actor, one.via, one.event) for one in entries] == [
        ("ann", via, "notices to Gone closed")
    ]
    assert (await left.question()).is_open
    assert (await left.told(OTHERS), await left.history(OTHERS)) == (before, ())
    rows, keys = await left.store.audit.rows(KEY), AuditKeys([AUDIT_KEY])
    assert list(verify_questions(KEY, rows, {"i1": await left.question()}, keys)) == []


async def test_they_are_listed_as_closed_by_whom(left: Left) -> None:
    await code(left)
    async with serve(left.bridge().app()) as base, client(base) as http:
        listed = (await http.get("/deliveries")).json()["deliveries"]
    assert {(one["id"], one["state"], one["closedBy"]) for one in listed} == {
        ("queued", "dropped", "ann"),
        ("dead", "dropped", "ann"),
        ("sent", "sent", "ann"),
        ("kept", "queued", None),
    }
    if left.url:
        given = ("channels", "deliveries", "--store", left.url)
        result = await asyncio.to_thread(CliRunner().invoke, app, given)
        closed = [line for line in result.stdout.splitlines() if line.endswith("closed by ann")]
        assert len(closed) == 3


async def test_who_closes_them_again_changes_nothing(left: Left) -> None:
    assert await code(left) == CLOSED
    told, entries = await left.told(), await left.history()
    assert await code(left) == ""
    assert (await left.told(), await left.history()) == (told, entries)


async def test_who_died_in_between_is_the_one_who_closed_them(
    left: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(left.store.deliveries, "close", dies)
        with pytest.raises(KeyboardInterrupt):
            await code(left)
    completed = await close_notices(left.store, "default", "Gone", "bob", "cli", mint)

    assert completed.told == CLOSED
    assert {one.closed_by for one in (await left.told()).values()} == {"ann", None}
    assert [(one.actor, one.event) for one in await left.history()] == [
        ("ann", "notices to Gone closed")
    ]


async def test_a_channel_that_a_running_server_has_is_not_listed(left: Left) -> None:
    await left.store.servers.note(Server("x", __version__, RECORD_FORMAT, ("Gone",)))
    async with serve(left.bridge().app()) as base, Person(base, "ann") as ann:
        shown = await ann.look("/inbox/notices")
    assert "Nothing is left" in shown.text


@pytest.mark.parametrize("left", LASTING, indirect=True)
@pytest.mark.parametrize(
    ("name", "told"),
    [("Gone", "A server that runs has the channel Gone"), ("kept", "has the channel kept")],
)
async def test_a_channel_that_there_is_is_refused(left: Left, name: str, told: str) -> None:
    await left.store.servers.note(Server("x", __version__, RECORD_FORMAT, ("Gone",)))
    result = await left.by_command(name=name)
    assert (result.exit_code, told in result.output) == (2, True), result.output
    assert {one.closed_by for one in (await left.told()).values()} == {None}
    assert await left.history() == ()


async def test_another_scopes_are_refused_in_the_inbox(left: Left) -> None:
    async with serve(left.bridge().app()) as base, Person(base, "ann") as ann:
        seen = await ann.look("/inbox/notices")
        done = await ann.press(seen, "Close them", scope="other")
    assert "Nothing was closed: these notices are not yours." in done.text
    assert await left.history(OTHERS) == ()


@pytest.mark.parametrize("left", LASTING, indirect=True)
async def test_a_command_without_the_keys_of_a_sealed_history_is_refused(left: Left) -> None:
    given = ("channels", "close", "Gone", "--store", left.url, "--actor", "ann")
    result = await asyncio.to_thread(CliRunner().invoke, app, given)

    assert result.exit_code != 0
    assert "name the configuration file" in result.output
    assert {one.closed_by for one in (await left.told()).values()} == {None}


@pytest.mark.parametrize("left", LASTING, indirect=True)
async def test_where_nothing_is_left_the_command_says_so(left: Left) -> None:
    result = await left.by_command("--scope", "nobody")

    assert result.exit_code == 1
    assert "There are no notices left of the channel Gone in the scope nobody." in result.output


async def test_those_of_a_thread_that_is_at_work_are_left(left: Left) -> None:
    version = (await left.store.load(KEY)).record
    assert version is not None
    await put(left.store, running(KEY), Expected(version=version.version))
    told = await code(left)

    assert told.startswith("Not closed: 3, being sent, or of a thread that is at work.")
    assert await left.history() == ()
    assert {one.closed_by for one in (await left.told()).values()} == {None}


@pytest.mark.parametrize("closes", [False, True], ids=["left", "closed"])
async def test_a_channel_that_comes_back_is_told_of_no_closed_notice(
    left: Left, closes: bool
) -> None:
    if closes:
        await code(left)
    clock, gone = FakeClock(), Told()
    record = (await left.store.load(KEY)).record
    assert record is not None
    over = replace(await left.question(), status=InterruptStatus.RESOLVED)
    await put(left.store, idle(KEY), Expected(version=record.version), interrupts=(over,))
    dispatcher = Dispatcher(
        left.store,
        ScopedChannels({"Gone": gone}, {"default"}),
        Inbox(),
        telemetry=NO_TELEMETRY,
        clock=clock,
        interval=5.0,
        mint=mint,
    )
    await dispatcher.sweep()
    await dispatcher.aclose()

    assert gone.events == ([] if closes else ["answered"])
