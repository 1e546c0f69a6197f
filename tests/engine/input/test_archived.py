"""What is archived stands in the thread, and comes to no agent unless somebody brings it again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import UpstreamError
from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.messages.archived import archived_for, as_archived, with_calls
from agui_bridge.stores.base import Expected
from tests.support.agents import Bench, Scripted, approval, call_events, outcome, result, users


class Talk(Bench):
    """A thread whose agent notes, in its memo, what it was sent.

    Attributes:
        memos: what each run found noted.
    """

    def __init__(self, **settings: Any) -> None:
        self.memos: list[Any] = []
        self.scripted = Scripted(self._answer)
        super().__init__(self.scripted, **settings)

    async def _answer(self, run: Run) -> AsyncIterator[RunItem]:
        verb = "resumed" if run.resume is not None else run.text.partition(" ")[0]
        self.memos.append(run.memo)
        run.memo = self.sent
        if verb == "look":
            call = f"call-{run.mint()}"
            for event in [*call_events(call), result(call, f"did {run.text}")]:
                yield event
        if verb == "fail":
            raise UpstreamError("no")
        if verb:
            yield f"{verb}."
        if verb == "ask":
            yield Pause([approval()])

    async def archive(self, *contents: str) -> None:
        """Have messages leave the context, by what they say, and what was noted with them."""
        loaded = await self.load()
        messages = [m.message for m in loaded.messages]
        ids = with_calls(messages, [m["id"] for m in messages if m.get("content") in contents])
        rows = [
            m._replace(message=as_archived(m.message, "size"))
            for m in loaded.messages
            if m.id in ids
        ]
        assert loaded.record is not None
        change = Change(replace(loaded.record, memo=None), messages=tuple(rows))
        version = Expected(version=loaded.record.version)
        await self.store.commit(self.KEY, change, version, "archive")

    @property
    def run(self) -> Run:
        return self.scripted.runs[-1]

    @property
    def sent(self) -> list[str]:
        """What the newest run was sent, in few words."""
        return [str(m.get("content") or "call") for m in self.run.raw_messages]

    async def shown(self) -> list[dict[str, Any]]:
        return [dict(stored.message) for stored in (await self.load()).messages]

    async def archived(self) -> list[str]:
        return [str(m.get("content")) for m in await self.shown() if archived_for(m) is not None]

    async def go_on(self, *texts: str, **members: Any) -> list[dict[str, Any]]:
        """Say something as a page that has all of the thread."""
        return await self.say(messages=[*await self.shown(), *users(*texts)], **members)


async def test_no_agent_is_sent_it_and_people_see_it_in_its_place() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.go_on("two")
    await talk.archive("one", "one.")

    events = await talk.go_on("three")

    assert talk.sent == ["two", "two.", "three"]
    assert [m["content"] for m in talk.run.raw_new_messages] == ["three"]
    assert [m["content"] for m in await talk.shown()][:3] == ["one", "one.", "two"]
    # The page had all: it is shown nothing again.
    assert "MESSAGES_SNAPSHOT" not in [event["type"] for event in events]


async def test_a_call_leaves_with_its_result_and_its_id_stays_taken() -> None:
    talk = Talk()
    await talk.say("look here")
    await talk.archive("look here", "did look here", "look.")
    await talk.go_on("two")
    assert talk.sent == ["two"]
    (call,) = [c["id"] for m in await talk.shown() for c in m.get("toolCalls") or ()]
    assert call in talk.run.known_calls


HISTORIES: Final = ("server", "client")


@pytest.mark.parametrize("history", HISTORIES)
async def test_neither_mode_of_history_brings_it_back(history: str) -> None:
    talk = Talk(history=history)
    await talk.say("one")
    await talk.go_on("two")
    await talk.archive("one", "one.")
    await talk.go_on("three")
    assert talk.sent == ["two", "two.", "three"]


async def test_an_adapters_note_of_other_messages_is_dropped() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.go_on("two")
    await talk.archive("one", "one.")
    await talk.go_on("three")
    await talk.go_on("four")
    await talk.archive("four")
    page = await talk.shown()
    await talk.go_on("five")
    # It is brought again, by itself: the note was made without it.
    at = next(n for n, m in enumerate(page) if m["id"] == "four")
    await talk.say(messages=page[: at + 1])
    await talk.go_on("six")
    three = ["two", "two.", "three"]
    four = [*three, "three.", "four"]
    assert talk.memos == [None, ["one"], None, three, None, None, four]


async def test_a_note_made_with_one_that_stays_archived_is_dropped() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.go_on("fail")
    await talk.archive("fail")
    await talk.say(messages=await talk.shown())
    assert talk.sent == ["one", "one.", "fail"]
    await talk.go_on("two")
    assert talk.memos[-1] is None
    assert talk.sent == ["one", "one.", "two"]


async def test_a_note_made_without_one_that_is_brought_again_is_dropped() -> None:
    talk = Talk(acts_on_state=True)
    await talk.say("one")
    await talk.go_on("fail")
    await talk.archive("fail")
    # A run for the sake of the state, that says nothing: the message stays the last one.
    await talk.say(messages=[], state={"n": 1})
    await talk.say(messages=await talk.shown())
    assert talk.sent == ["one", "one.", "fail"]
    assert talk.memos == [None, ["one"], None, None]


@pytest.mark.parametrize(
    ("last", "ends", "left"),
    [
        pytest.param("one", "success", [], id="it succeeds"),
        pytest.param("ask", "interrupt", [], id="it asks"),
        pytest.param("fail", "UPSTREAM_ERROR", ["fail"], id="it fails"),
    ],
)
async def test_one_that_is_brought_again_is_tried_again(
    last: str, ends: str, left: list[str]
) -> None:
    talk = Talk()
    await talk.say("first")
    await talk.say(messages=[*await talk.shown(), *users(last)])
    if last == "ask":
        await talk.engine.stop(talk.KEY)
    await talk.archive(last)
    page = await talk.shown()
    at = next(n for n, m in enumerate(page) if m.get("content") == last)
    newest = [m["id"] for m in page if m["role"] in ("user", "assistant")][-1]
    sign = {"forwardedProps": {"agui_bridge": {"newest": newest}}}

    events = await talk.say(messages=page[: at + 1], **sign)

    assert outcome(events) == ends
    assert [sent.partition("\n")[0] for sent in talk.sent] == ["first", "first.", last]
    # To a framework with a history of its own it is new.
    assert [m["id"] for m in talk.run.raw_new_messages] == [last]
    assert await talk.archived() == left
    if not left:
        told = [e["messages"] for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]
        assert all(archived_for(m) is None for m in told)


async def test_a_run_that_goes_on_sees_what_it_began_with() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.archive("one", "one.")
    asked = (await talk.go_on("ask"))[-1]["outcome"]["interrupts"]
    began = talk.sent
    await talk.say(messages=await talk.shown(), resume=talk.entries(asked))
    assert talk.sent[: len(began)] == began == ["ask"]


async def test_going_back_takes_it_back_as_any_other() -> None:
    talk = Talk()
    await talk.say("one")
    before = await talk.shown()
    await talk.go_on("two")
    await talk.archive("two", "two.")
    await talk.say(messages=[*before, *users("other")])
    assert [m["content"] for m in await talk.shown()] == ["one", "one.", "other", "other."]
    assert talk.sent == ["one", "one.", "other"]


async def test_nobody_can_claim_that_a_message_is_archived() -> None:
    talk = Talk()
    (claimed,) = users("one")
    await talk.say(messages=[as_archived(claimed, "size")])
    assert talk.sent == ["one"]
    assert await talk.archived() == []
