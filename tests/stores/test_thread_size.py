"""A thread at its size: what leaves the context, what pages are told, and what still counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import Refused
from agui_bridge.protocol.threads.messages.archived import archived_for
from agui_bridge.protocol.threads.messages.sizes import THREAD_SIZE, bytes_of
from agui_bridge.stores.base import Store
from tests.engine.input.shop import kept_reason, sign, texts_told
from tests.support.agents import Bench, Scripted, approval, call_events, outcome, result

MOST = 4_000


class Talk(Bench):
    """A thread of messages of about 1,000 bytes, four of which fit.

    Attributes:
        page: the list of a client that keeps all it was told.
    """

    def __init__(self, store: Store, **settings: Any) -> None:
        self.scripted = Scripted(self._answer)
        super().__init__(self.scripted, store=store, max_thread_bytes=MOST, **settings)
        self.page: list[dict[str, Any]] = []

    async def _answer(self, run: Run) -> AsyncIterator[RunItem]:
        verb = run.text.partition(" ")[0]
        if verb == "look":
            call = f"call-{run.mint()}"
            for event in [*call_events(call), result(call, "seen")]:
                yield event
        if verb == "ask" and run.resume is None:
            yield Pause([approval()])
            return
        yield f"heard {verb}"

    async def tell(self, name: str, size: int = 900, **members: Any) -> list[dict[str, Any]]:
        """Say something long as a page that has kept everything."""
        said = {"id": name, "role": "user", "content": f"{name} ".ljust(size, "x")}
        events = await self.say(messages=[*self.page, said], **members)
        stood = {m["id"] for m in self.page}
        now = [dict(m.message) for m in (await self.load()).messages]
        self.page += [m for m in now if m["id"] not in stood]
        return events

    @property
    def sent(self) -> list[str]:
        """What the newest run was sent, in its first words."""
        sent = self.scripted.runs[-1].raw_messages
        return [str(m.get("content") or "call").split(" x")[0].strip() for m in sent]

    async def marks(self) -> dict[str, str | None]:
        """Why messages of the thread are archived, those out of context too."""
        return {m.id: archived_for(m.message) for m in await self.store.history(self.KEY)}


def told_size(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [e["value"] for e in events if e["type"] == "CUSTOM" and e["name"] == THREAD_SIZE]


def types_of(events: list[dict[str, Any]]) -> set[str]:
    return {event["type"] for event in events}


async def test_the_oldest_turns_leave_and_the_page_is_told_before_and_then(store: Store) -> None:
    talk = Talk(store)
    told = [told_size(await talk.tell(f"m{n}")) for n in range(6)]

    near, left = told[3], told[4]
    assert told[:3] == [[], [], []]
    assert [set(value) for value in near] == [{"bytes", "max"}]
    assert MOST * 0.8 < near[0]["bytes"] <= near[0]["max"] == MOST
    assert [value["archived"] for value in left] == [6]
    assert left[0]["bytes"] < MOST / 2
    # The newest run was sent what stands, and nothing of what has left.
    assert talk.sent == ["m3", "heard m3", "m4", "heard m4", "m5"]
    assert next(m.id for m in (await talk.load()).messages) == "m3"
    archived = [id for id, why in (await talk.marks()).items() if why == "size"]
    assert len(archived) == 6
    assert archived[::2] == ["m0", "m1", "m2"]


async def test_a_thread_stays_within_its_bound_however_long_it_goes_on(store: Store) -> None:
    talk = Talk(store)
    sizes = []
    for n in range(20):
        await talk.tell(f"m{n}")
        sizes.append(bytes_of(m.message for m in (await talk.load()).messages))
    assert max(sizes) < MOST + 200
    assert len(await store.history(talk.KEY)) == 40


LISTS: dict[str, Callable[[list[dict[str, Any]], set[str]], list[dict[str, Any]]]] = {
    "all that it was ever told": lambda page, stands: page,
    "what stands in context": lambda page, stands: [m for m in page if m["id"] in stands],
    "some of what was archived": lambda page, stands: page[4:],
    "nothing but what is new": lambda page, stands: [],
}


@pytest.mark.parametrize("kept", LISTS)
async def test_a_page_is_level_whether_it_kept_what_was_archived_or_not(
    store: Store, kept: str
) -> None:
    talk = Talk(store)
    for n in range(6):
        await talk.tell(f"m{n}")
    stands = {m.id for m in (await talk.load()).messages}
    talk.page = LISTS[kept](talk.page, stands)

    events = await talk.tell("newest", 10)

    # It is neither behind, nor does it go back; it is shown nothing again, and so loses nothing.
    assert (kept_reason(events), outcome(events)) == (None, "success")
    assert "MESSAGES_SNAPSHOT" not in types_of(events)
    assert talk.sent[-1] == "newest"
    assert len(await store.history(talk.KEY)) == 14


async def test_a_page_that_is_behind_is_shown_what_stands(store: Store) -> None:
    talk = Talk(store)
    for n in range(6):
        await talk.tell(f"m{n}")
    talk.page = talk.page[:-1]
    events = await talk.tell("newest", 10)
    assert kept_reason(events) == "unfinished"
    assert [text.split(" ")[0] for text in texts_told(events)][:2] == ["m3", "m4"]


@pytest.mark.parametrize("signed", [False, True])
async def test_going_back_into_what_was_archived_takes_nothing_back(
    store: Store, signed: bool
) -> None:
    talk = Talk(store)
    for n in range(6):
        await talk.tell(f"m{n}")
    newest = talk.page[-1]["id"]
    talk.page = talk.page[:2]

    events = await talk.tell("edited", 10, **(sign(newest) if signed else {}))

    assert kept_reason(events) == "archived"
    assert talk.sent[-3:] == ["m5", "heard m5", "edited"]


async def test_going_back_in_context_goes_on_as_ever(store: Store) -> None:
    talk = Talk(store)
    for n in range(6):
        await talk.tell(f"m{n}")
    talk.page = talk.page[:-4]

    events = await talk.tell("edited", 10)

    assert kept_reason(events) is None
    assert talk.sent == ["m3", "heard m3", "edited"]
    assert [id for id, why in (await talk.marks()).items() if why][::2] == ["m0", "m1", "m2"]


async def test_what_is_said_again_under_new_ids_is_not_new(store: Store) -> None:
    talk = Talk(store)
    for n in range(6):
        await talk.tell(f"m{n}")
    talk.page = [{**m, "id": f"other-{n}"} for n, m in enumerate(talk.page)]
    # A client that keeps no ids of people's messages, and those of the assistant's.
    known = [m.id for m in await store.history(talk.KEY) if m.message["role"] == "assistant"]
    for message, id in zip([m for m in talk.page if m["role"] == "assistant"], known, strict=True):
        message["id"] = id

    await talk.tell("newest", 10)

    assert talk.sent == ["m3", "heard m3", "m4", "heard m4", "m5", "heard m5", "newest"]


@pytest.mark.parametrize(
    ("before", "refused"), [(0, True), (2, True), (6, True)], ids=["first", "short", "at size"]
)
async def test_a_message_that_passes_the_bound_alone_changes_nothing(
    store: Store, before: int, refused: bool
) -> None:
    talk = Talk(store)
    for n in range(before):
        await talk.tell(f"m{n}")
    had = (await talk.load(), await store.history(talk.KEY))

    with pytest.raises(Refused) as error:
        await talk.tell("huge", MOST + 1)

    assert (error.value.code, error.value.status) == ("PAYLOAD_TOO_LARGE", 413)
    assert "max_thread_bytes" in error.value.message
    now = (await talk.load(), await store.history(talk.KEY))
    assert (now[0].record, now[0].messages, now[1]) == (had[0].record, had[0].messages, had[1])
    if before:
        assert outcome(await talk.tell("fits", 10)) == "success"


async def test_a_call_leaves_with_its_result_and_its_id_stays_taken(store: Store) -> None:
    talk = Talk(store)
    await talk.tell("look")
    for n in range(4):
        await talk.tell(f"m{n}")
    loaded = await talk.load()
    assert loaded.record is not None
    calls = [
        (m.message.get("toolCalls") or [{"id": m.message.get("toolCallId")}])[0]["id"]
        for m in await store.history(talk.KEY)
        if "toolCalls" in m.message or m.message["role"] == "tool"
    ]
    assert len(calls) == 2
    assert len({*calls}) == 1
    assert {*calls} == {*loaded.record.gone_calls}
    assert all(m.message["role"] != "tool" for m in loaded.messages)


async def test_the_turn_of_a_question_stays_until_it_is_answered(store: Store) -> None:
    talk = Talk(store)
    for n in range(3):
        await talk.tell(f"m{n}")
    events = await talk.tell("ask", 900)
    assert outcome(events) == "interrupt"
    asked = events[-1]["outcome"]["interrupts"]

    # An answer is never refused, nor does anything leave while it is carried out.
    said = [{"id": "more", "role": "user", "content": "y" * 3_000}]
    events = await talk.say(messages=said, resume=talk.entries(asked))

    assert outcome(events) == "success"
    assert talk.sent[0] == "m0"
    events = await talk.tell("next", 10)
    assert [value["archived"] for value in told_size(events)]
    assert talk.sent[-1] == "next"


async def test_in_the_clients_history_what_was_archived_comes_to_no_agent(store: Store) -> None:
    talk = Talk(store, history="client")
    for n in range(6):
        await talk.tell(f"m{n}")
        # Neither with the run before which it left, nor later.
        assert ("m0" in talk.sent) == (n < 4)
    assert "m0" in [m["id"] for m in talk.page]
    assert talk.sent == ["m3", "heard m3", "m4", "heard m4", "m5"]
