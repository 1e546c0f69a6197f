"""What an adapter notes of a thread reaches its next run, whichever process has it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.agents.keyword import KeywordAdapter
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Scripted, approval, outcome
from tests.support.waiting import PATIENCE

MEMO = {"session": "s", "at": [1, None]}


async def noting(run: Run) -> AsyncIterator[RunItem]:
    run.memo = MEMO
    yield "noted "
    if run.text == "ask":
        yield Pause([approval()])
    elif run.text == "fail":
        raise UpstreamError("no")
    elif run.text == "deny":
        raise NotDelivered("no")
    elif run.text == "wait":
        await asyncio.Event().wait()


async def looking(run: Run) -> AsyncIterator[RunItem]:
    found.append(run.memo)
    outdated.append(run.outdated_memo)
    yield "seen"


found: list[Any] = []
outdated: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_found() -> None:
    found.clear()
    outdated.clear()


async def after(store: MemoryStore) -> Any:
    """The memo as a run of another process finds it."""
    other = Bench(Scripted(looking), store=store, busy_patience=PATIENCE)
    assert outcome(await other.say("next")) == "success"
    return found[-1]


@pytest.mark.parametrize("text", ["end", "fail", "deny"])
async def test_it_is_kept_however_the_run_ends(text: str) -> None:
    store = MemoryStore()
    await Bench(Scripted(noting), store=store).say(text)
    assert await after(store) == MEMO


async def test_it_is_kept_over_a_pause_and_its_answer() -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting, looking), store=store)
    events = await bench.say("ask")
    await bench.say(resume=bench.entries(events[-1]["outcome"]["interrupts"]))
    assert found == [MEMO]
    assert await after(store) == MEMO


@pytest.mark.parametrize("force", [False, True])
async def test_it_is_kept_when_the_run_is_stopped(force: bool) -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting), store=store)
    reader = bench.begin("wait")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY, force=force)
    assert outcome(await reader.rest()) == "cancelled"
    assert await after(store) == MEMO


async def test_nothing_is_known_after_a_run_that_was_lost() -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting), store=store, lease_seconds=0.3)
    await bench.say("end")
    reader = bench.begin("wait")
    await reader.until("TEXT_MESSAGE_CONTENT")
    bench.engine.running[bench.KEY].owner.lost = True
    await reader.rest()
    assert await after(store) is None


async def test_what_is_no_json_is_left_out_and_the_run_ends_as_it_would() -> None:
    async def wrong(run: Run) -> AsyncIterator[RunItem]:
        run.memo = {"session": object()}
        yield "x"

    store = MemoryStore()
    assert outcome(await Bench(Scripted(wrong), store=store).say("go")) == "success"
    assert await after(store) is None


async def test_what_is_too_much_is_left_out_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    size = len(json.dumps(MEMO, separators=(",", ":")))
    assert outcome(await Bench(Scripted(noting), store=store, max_memo_bytes=size).say("a")) == (
        "success"
    )
    assert (await store.load(Bench.KEY)).record.memo == MEMO  # type: ignore[union-attr]  # it exists
    less = Bench(Scripted(noting), store=store, max_memo_bytes=size - 1)
    assert outcome(await less.say("b")) == "success"
    assert await after(store) is None
    assert (
        f"the memo of agent 'agent' is left out, and its next run on thread 't' has none: it takes "
        f"{size} bytes as JSON; at most {size - 1} are kept (max_memo_bytes)"
    ) in caplog.text


async def test_it_is_kept_when_nobody_was_reached_with_an_answer() -> None:
    async def denying(run: Run) -> AsyncIterator[RunItem]:
        run.memo = {"tried": run.memo}
        raise NotDelivered("no")
        yield

    store = MemoryStore()
    bench = Bench(Scripted(noting, denying, looking), store=store)
    asked = (await bench.say("ask"))[-1]["outcome"]["interrupts"]
    assert outcome(await bench.say(resume=bench.entries(asked))) == "UPSTREAM_ERROR"
    assert outcome(await bench.say(resume=bench.entries(asked))) == "success"
    assert found == [{"tried": MEMO}]


# --- going back ---


async def spoken(bench: Bench) -> list[dict[str, Any]]:
    """The conversation as a client has it, after two turns that left a memo."""
    await bench.say("one")
    await bench.say("two")
    return [dict(m.message) for m in (await bench.load()).messages]


async def test_an_answer_asked_anew_finds_nothing_of_what_was_rewound() -> None:
    store = MemoryStore()
    messages = await spoken(Bench(Scripted(noting), store=store))
    other = Bench(Scripted(looking), store=store)
    assert outcome(await other.say(messages=messages[:-1])) == "success"
    assert found == [None]


async def test_an_edited_message_finds_nothing_of_what_was_rewound() -> None:
    store = MemoryStore()
    messages = await spoken(Bench(Scripted(noting), store=store))
    other = Bench(Scripted(looking), store=store)
    edited = {"id": "edited", "role": "user", "content": "two, but other"}
    assert outcome(await other.say(messages=[*messages[:2], edited])) == "success"
    assert (found, outdated) == ([None], [MEMO])


async def test_what_it_was_is_shown_to_the_run_alone_that_goes_back() -> None:
    store = MemoryStore()
    bench = Bench(Scripted(noting, noting, looking), store=store)
    messages = await spoken(bench)
    for _ in range(2):
        assert outcome(await bench.say(messages=messages[:-1])) == "success"
    assert (found, outdated) == ([None, None], [MEMO, None])


async def test_what_was_rewound_stays_forgotten_when_the_run_is_lost() -> None:
    store = MemoryStore()
    messages = await spoken(Bench(Scripted(noting), store=store))
    other = Bench(Scripted(noting), store=store, lease_seconds=0.3)
    reader = other.begin(messages=[*messages[:2], {"id": "w", "role": "user", "content": "wait"}])
    await reader.until("TEXT_MESSAGE_CONTENT")
    record = (await store.load(Bench.KEY)).record
    assert record is not None and record.memo is None
    other.engine.running[other.KEY].owner.lost = True
    await reader.rest()


async def test_going_on_keeps_it() -> None:
    store = MemoryStore()
    messages = await spoken(Bench(Scripted(noting), store=store))
    other = Bench(Scripted(looking), store=store)
    new = {"id": "three", "role": "user", "content": "three"}
    assert outcome(await other.say(messages=[*messages, new])) == "success"
    assert (found, outdated) == ([MEMO], [None])


@pytest.mark.parametrize(
    ("shown", "memo"),
    [
        (slice(None), MEMO),  # all of it
        (slice(1, None), None),  # the first message is gone
        (slice(2, None), None),
    ],
)
async def test_a_client_whose_list_is_the_context_goes_back_in_it_unseen(
    shown: slice, memo: Any
) -> None:
    store = MemoryStore()
    messages = await spoken(Bench(Scripted(noting), store=store))
    other = Bench(Scripted(looking), store=store, history="client")
    new = {"id": "three", "role": "user", "content": "three"}
    assert outcome(await other.say(messages=[*messages[shown], new])) == "success"
    assert found == [memo]


async def test_a_client_whose_list_is_the_context_may_have_changed_a_message() -> None:
    store = MemoryStore()
    messages = await spoken(Bench(Scripted(noting), store=store))
    messages[0]["content"] = "another one"
    other = Bench(Scripted(looking), store=store, history="client")
    new = {"id": "three", "role": "user", "content": "three"}
    assert outcome(await other.say(messages=[*messages, new])) == "success"
    assert found == [None]


async def test_no_client_sees_it() -> None:
    bench = Bench(Scripted(noting))
    assert "session" not in str(await bench.say("end"))


async def test_an_adapter_inside_of_another_one_has_it_too() -> None:
    store = MemoryStore()
    await Bench(KeywordAdapter(Scripted(noting)), store=store).say("end")
    other = Bench(KeywordAdapter(Scripted(looking)), store=store)
    await other.say("next")
    assert found == [MEMO]
