"""What a run is saying: kept on the way, told by other processes, not lost with its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from ag_ui.core import TextMessageContentEvent, TextMessageStartEvent

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.run import keeper
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.threads.history import TRUNCATED
from agui_bridge.protocol.threads.records import ThreadKey, ThreadStatus
from agui_bridge.stores import watching
from agui_bridge.stores.base import Expected, StoredMessage
from tests.engine.run.hooked import HookedStore
from tests.support.agents import (
    Bench,
    Reader,
    Scripted,
    call_events,
    outcome,
    pass_time,
    result,
    settle,
    text_events,
)
from tests.support.clock import FakeClock

KEY = Bench.KEY


@pytest.fixture(autouse=True)
def readers_look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LONGEST_SILENCE", 0.02)


class WordyStore(HookedStore):
    """Notes what is kept of texts.

    Attributes:
        kept: every text that was kept, in order.
        refuses: raised in place of keeping, if there is something.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.kept: list[str] = []
        self.refuses: Exception | None = None

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        if self.refuses is not None:
            raise self.refuses
        self.kept.append(said.message["content"])
        return await super().keep_words(key, lease, said)


class Speaking(Scripted):
    """Says what it is given, piece by piece; None is its end."""

    def __init__(self) -> None:
        super().__init__(self._script)
        self.pieces: asyncio.Queue[RunItem | None] = asyncio.Queue()

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        while (piece := await self.pieces.get()) is not None:
            yield piece

    def say(self, *pieces: RunItem | None) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)


class World:
    """A run in one process, its clock, and a second process on the same store."""

    def __init__(self, store: type[WordyStore] = WordyStore, **settings: Any) -> None:
        self.clock = FakeClock()
        self.store = store(self.clock.time)
        self.agent = Speaking()
        self.there = Bench(self.agent, store=self.store, clock=self.clock, **settings)
        self.here = Bench(Scripted(["never"]), store=self.store, clock=self.clock)
        self.running = self.there.begin("go")

    async def say(self, *pieces: RunItem | None, seconds: float = 2.0) -> None:
        """Let the agent say something, and time pass in which it is kept."""
        self.agent.say(*pieces)
        await settle()
        await pass_time(self.clock, seconds)

    def come(self) -> Reader:
        """Come to the thread through the other process, as a page does that was reloaded."""
        return Reader(*show_thread(self.here.engine, self.here.call(runId="mine")))

    async def words(self) -> str | None:
        """The text that is kept."""
        words = await self.store.words(KEY)
        return None if words is None else str(words.message["content"])


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    made.agent.say(None)
    await made.running.rest()
    await settle()


async def told(reader: Reader, text: str) -> None:
    """Read until the reader was told a text."""
    while reader.text != text:
        assert await reader.step(), f"the stream ended with {reader.text!r}"


# --- what is kept, and when ---


async def test_what_is_said_is_kept_at_its_pace_and_only_when_it_has_grown(world: World) -> None:
    await world.say("a", seconds=0.9)
    assert world.store.kept == []
    await world.say(seconds=1.1)
    assert world.store.kept == ["a"]
    for piece in "bcdefghij":
        await world.say(piece, seconds=0.1)
    await world.say(seconds=5)
    assert world.store.kept[-1] == "abcdefghij" and len(world.store.kept) <= 3
    await world.say(seconds=20)
    await world.say("k")
    assert len(world.store.kept) <= 4 and world.store.kept[-1] == "abcdefghijk"


async def test_a_run_shorter_than_the_pace_keeps_nothing_on_the_way(world: World) -> None:
    await world.say("all of it", None, seconds=0.75)
    assert outcome(await world.running.rest()) == "success"
    assert world.store.kept == []
    assert not any(change.drops_words for _, change in world.store.commits)


@pytest.mark.parametrize("interval", [None, 0, 0.0])
async def test_turned_off_it_keeps_nothing(interval: float | None) -> None:
    world = World(text_interval=interval)
    await world.say("a", "b", seconds=10)
    assert (world.store.kept, await world.words()) == ([], None)
    world.agent.say(None)
    assert outcome(await world.running.rest()) == "success"


@pytest.mark.parametrize("interval", [0.3, 3.0])
async def test_the_pace_is_the_agents_own(interval: float) -> None:
    world = World(text_interval=interval)
    for _ in range(120):
        await world.say("x", seconds=0.1)
    assert 12 / interval * 0.6 <= len(world.store.kept) <= 12 / interval
    world.agent.say(None)
    await world.running.rest()


async def test_of_a_long_text_the_beginning_is_kept_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "MOST_CHARACTERS", 10)
    await world.say("x" * 8)
    await world.say("y" * 8)
    for _ in range(5):
        await world.say("z" * 8)
    assert world.store.kept == ["x" * 8, "x" * 8 + "yy"]


KEPT_OF: list[tuple[str, list[RunItem], str | None]] = [
    ("a message with events", text_events("m", "so ", "far", end=False), "so far"),
    ("a message that has ended", text_events("m", "done"), None),
    ("no words yet", [TextMessageStartEvent(message_id="m", role="assistant")], None),
    (
        "text before a call whose arguments still come",
        [*text_events("m", "I look"), *call_events("c")[:2]],
        "I look",
    ),
    (
        "a subagent's text",
        [
            TextMessageStartEvent(message_id="m", role="assistant", subagent_run_id="sub"),
            TextMessageContentEvent(message_id="m", delta="inner", subagent_run_id="sub"),
        ],
        None,
    ),
    (
        "the later of two at once",
        [*text_events("m", "one", end=False), *text_events("n", "two", end=False)],
        "two",
    ),
    ("a message before a call and its result", ["Before. ", *call_events("c"), result("c")], None),
    ("after a call", ["Before. ", *call_events("c"), result("c"), "After."], "After."),
]


@pytest.mark.parametrize(
    ("items", "kept"), [row[1:] for row in KEPT_OF], ids=[r[0] for r in KEPT_OF]
)
async def test_of_what_is_said_only_an_open_text_is_kept(
    world: World, items: list[RunItem], kept: str | None
) -> None:
    await world.say(*items)
    assert await world.words() == kept


async def test_what_has_finished_is_a_message_and_no_longer_kept_beside(world: World) -> None:
    await world.say("Before. ")
    assert await world.words() == "Before. "
    await world.say(*call_events("c"), result("c"))
    assert await world.words() is None
    assert ("assistant", "Before. ") in await world.there.texts()
    await world.say("After. ")
    await world.say(None)
    assert (await world.words(), world.store.kept) == (None, ["Before. ", "After. "])
    assert (await world.there.load()).status is ThreadStatus.IDLE
    assert [change.drops_words for _, change in world.store.commits][-1]


@pytest.mark.parametrize("error", [StoreUnavailable("down"), RuntimeError("a bug")])
async def test_a_store_that_does_not_keep_it_costs_the_run_nothing(
    world: World, error: Exception
) -> None:
    world.store.refuses = error
    await world.say("a", seconds=40)
    world.store.refuses = None
    await world.say("b")
    assert await world.words() == "ab"
    world.agent.say(None)
    assert outcome(await world.running.rest()) == "success"


async def test_while_the_store_is_slow_to_keep_it_leases_are_renewed_and_runs_end() -> None:
    never = asyncio.Event()

    class Stuck(WordyStore):
        async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
            self.kept.append(said.message["content"])
            await never.wait()
            return False

    world = World(Stuck)
    for _ in range(100):
        await world.say("x", seconds=1.0)
    assert len(world.store.kept) == 1
    assert len(world.store.renewals) >= 5
    await world.say(None)
    assert outcome(await world.running.rest()) == "success"


# --- through another process ---


async def test_who_comes_back_sees_what_was_said_and_what_is_said_from_there_on(
    world: World,
) -> None:
    await world.say("The quick ")
    reader = world.come()
    await told(reader, "The quick ")
    assert [m["content"] for m in reader.events[2]["messages"]] == ["go"]
    await world.say("brown fox ")
    await told(reader, "The quick brown fox ")
    await world.say("jumps.", None, seconds=0.0)
    events = await reader.rest()

    assert reader.kinds == [
        *["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"],
        *["TEXT_MESSAGE_CONTENT"] * 3,
        *["TEXT_MESSAGE_END", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"],
    ]
    final = events[-2]["messages"][-1]
    ids = {e["messageId"] for e in events if e["type"].startswith("TEXT_")}
    assert ids == {final["id"]} == {e["messageId"] for e in await started(world)}
    assert final["content"] == reader.text == "The quick brown fox jumps."
    assert "metadata" not in final


async def started(world: World) -> list[dict[str, Any]]:
    """The TEXT_MESSAGE_STARTs that the run itself has told."""
    return [e for e in await world.running.rest() if e["type"] == "TEXT_MESSAGE_START"]


async def test_each_message_is_closed_with_its_rest_before_the_next_one_is_opened(
    world: World,
) -> None:
    await world.say("I look ")
    reader = world.come()
    await told(reader, "I look ")
    await world.say("it up.", *call_events("c"), result("c"), seconds=0.6)
    await told(reader, "I look it up.")
    await world.say("It ")
    await told(reader, "I look it up.It ")
    await world.say("is 5.", None, seconds=0.0)
    await reader.rest()
    assert [kind.removeprefix("TEXT_MESSAGE_") for kind in reader.kinds if "TEXT" in kind] == [
        *["START", "CONTENT", "CONTENT", "END"],
        *["START", "CONTENT", "CONTENT", "END"],
    ]
    assert [m.get("content") for m in reader.events[-2]["messages"]] == [
        *["go", "I look it up.", "ok", "It is 5."]
    ]


async def test_two_messages_at_once_are_both_told_whole(world: World) -> None:
    def more(message: str, text: str) -> RunItem:
        return TextMessageContentEvent(message_id=message, delta=text)

    await world.say(*text_events("m", "one ", end=False))
    reader = world.come()
    await told(reader, "one ")
    await world.say(*text_events("n", "two ", end=False))
    await told(reader, "one two ")
    await world.say(more("m", "is"), more("n", "are"), None, seconds=0.0)
    await reader.rest()
    said = [(e["messageId"], e["delta"]) for e in reader.events if "delta" in e]
    assert said == [("m", "one "), ("n", "two "), ("m", "is"), ("n", "are")]


async def test_a_reader_that_comes_between_two_messages_sees_both(world: World) -> None:
    await world.say("First. ", *call_events("c"), result("c"))
    reader = world.come()
    shown = await reader.until("MESSAGES_SNAPSHOT")
    assert [m.get("content") for m in shown["messages"]] == ["go", "First. ", "ok"]
    await world.say("Second. ")
    await told(reader, "Second. ")


@pytest.mark.parametrize("come", ["before", "after"])
async def test_a_run_that_is_lost_leaves_what_was_kept_marked_as_cut_off(
    world: World, come: str
) -> None:
    await world.say("Dear customer, ")
    await world.say("we", seconds=0.0)
    reader = world.come() if come == "before" else None
    if reader is not None:
        await told(reader, "Dear customer, ")
    # The process stands still, and its lease passes.
    world.clock.advance(world.there.settings.lease_seconds + 1)
    reader = reader or world.come()
    events = await reader.rest()

    assert outcome(events) == "success"
    last = events[-2]["messages"][-1]
    assert (last["role"], last["content"]) == ("assistant", "Dear customer, ")
    assert last["metadata"] == TRUNCATED
    assert (await world.here.load()).status is ThreadStatus.IDLE
    assert await world.words() is None
    assert ("TEXT_MESSAGE_END" in reader.kinds) == (come == "before")
    assert outcome(await world.running.rest()) == "RUN_INDETERMINATE"


async def test_the_next_run_knows_what_the_lost_one_said() -> None:
    world = World()
    await world.say("Dear customer, ")
    world.clock.advance(world.there.settings.lease_seconds + 1)
    agent = Scripted(["Again."])
    again = Bench(agent, store=world.store, clock=world.clock)
    assert outcome(await again.say("on")) == "success"
    said = [(m["role"], m["content"]) for m in agent.runs[0].raw_messages]
    assert said == [("user", "go"), ("assistant", "Dear customer, "), ("user", "on")]
    await world.running.rest()


async def test_a_shutdown_closes_what_a_reader_has_open(world: World) -> None:
    await world.say("so far")
    reader = world.come()
    await told(reader, "so far")
    world.here.engine.closing = True
    assert outcome(await reader.rest()) == "SHUTTING_DOWN"
    assert reader.kinds[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]


async def test_a_thread_that_is_deleted_closes_what_a_reader_has_open() -> None:
    world = World(lease_seconds=60.0)
    await world.say("so far")
    reader = world.come()
    await told(reader, "so far")
    loaded = await world.here.load()
    assert loaded.record is not None
    await world.store.delete(KEY, Expected(version=loaded.record.version))
    assert outcome(await reader.rest()) == "success"
    assert "TEXT_MESSAGE_END" in reader.kinds
    world.agent.say(None)
    await world.running.rest()
