"""A message that a model refuses fails one run, and not the thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import AgentRefused, NotDelivered, UpstreamError
from agui_bridge.protocol.threads.messages.archived import archived_for, is_suspect
from agui_bridge.stores.base import Store
from agui_bridge.stores.memory import MemoryStore
from tests.engine.run.test_refused_request import of_openai
from tests.stores.conftest import BACKENDS, Backend
from tests.support.agents import Bench, Scripted, approval, call_events, outcome, result, users
from tests.support.clock import FakeClock

PICTURE: Final = {"type": "image", "source": {"type": "url", "value": "http://pictures/1.png"}}


class Model(Bench):
    """A thread whose agent sends all of its context to a model that takes no pictures.

    Attributes:
        refuses: what else the model answers to everything, as a status and words.
        sees: whether it takes pictures.
        raises: makes the error that comes out of the framework.
        sent: the contexts that the model was sent.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.refuses: tuple[int, str] | None = None
        self.raises: Any = lambda error: error
        self.sees = False
        self.sent: list[list[str]] = []
        self.before: Sequence[RunItem] = ()
        self.scripted = Scripted(self._answer)
        super().__init__(self.scripted, store=store or MemoryStore())

    async def _answer(self, run: Run) -> AsyncIterator[RunItem]:
        contents = [message.get("content", "") for message in run.raw_messages]
        self.sent.append([_words(content) for content in contents])
        for item in self.before:
            yield item
        if self.refuses is not None:
            raise self.raises(of_openai(self.refuses[0], {"message": self.refuses[1]}))
        if not self.sees and any(isinstance(content, list) for content in contents):
            raise self.raises(of_openai(400, {"message": "no images, please"}))
        if any(isinstance(content, str) and "forbidden" in content for content in contents):
            raise self.raises(of_openai(400, {"message": "no", "code": "content_filter"}))
        yield "Yes."
        if run.text == "ask":
            yield Pause([approval()])

    async def shown(self) -> list[dict[str, Any]]:
        return [dict(stored.message) for stored in (await self.load()).messages]

    async def do(self, step: str) -> str:
        """One step of a person's: say something, say it with a picture, try the last one again."""
        page = await self.shown()
        if step == "again":
            last = max(n for n, m in enumerate(page) if m["role"] == "user")
            return outcome(await self.say(messages=page[: last + 1]))
        (message,) = users(step.removeprefix("pic "))
        made: dict[str, Any] = dict(message)
        if step.startswith("pic "):
            made["content"] = [{"type": "text", "text": message["content"]}, PICTURE]
        return outcome(await self.say(messages=[*page, made]))

    async def marks(self) -> dict[str, str]:
        """Which messages are archived, and which of those are only suspect."""
        return {
            m["id"]: "suspect" if is_suspect(m) else "archived"
            for m in await self.shown()
            if archived_for(m) == "refused"
        }


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "+picture") for part in content)


OK, NO = "success", "AGENT_ERROR"

# What people do, how each run ends, what is marked then, and what the last run was sent.
TALKS: Final[dict[str, tuple[list[str], list[str], dict[str, str], list[str]]]] = {
    "it fails its run": (
        ["a", "pic b"],
        [OK, NO],
        {"b": "suspect"},
        ["a", "Yes.", "b +picture"],
    ),
    "the thread goes on without it": (
        ["a", "pic b", "c"],
        [OK, NO, OK],
        {"b": "archived"},
        ["a", "Yes.", "c"],
    ),
    "and stays so": (
        ["a", "pic b", "c", "d"],
        [OK, NO, OK, OK],
        {"b": "archived"},
        ["a", "Yes.", "c", "Yes.", "d"],
    ),
    "the first message of all": (["pic a", "b"], [NO, OK], {"a": "archived"}, ["b"]),
    "one picture after the other": (
        ["a", "pic b", "pic c", "d"],
        [OK, NO, NO, OK],
        {"b": "archived", "c": "archived"},
        ["a", "Yes.", "d"],
    ),
    "another one later on": (
        ["pic a", "b", "pic c", "d"],
        [NO, OK, NO, OK],
        {"a": "archived", "c": "archived"},
        ["b", "Yes.", "d"],
    ),
    "tried again at once": (
        ["a", "pic b", "again"],
        [OK, NO, NO],
        {"b": "suspect"},
        ["a", "Yes.", "b +picture"],
    ),
    "tried again, then left": (
        ["a", "pic b", "again", "c"],
        [OK, NO, NO, OK],
        {"b": "archived"},
        ["a", "Yes.", "c"],
    ),
    "what is said is against the policy, twice": (
        ["forbidden a", "forbidden b", "c"],
        [NO, NO, OK],
        {"forbidden a": "archived", "forbidden b": "archived"},
        ["c"],
    ),
}


@pytest.mark.parametrize("talk", TALKS)
async def test_a_refused_message_fails_its_run_and_not_the_thread(talk: str) -> None:
    steps, ends, marks, sent = TALKS[talk]
    model = Model()
    assert [await model.do(step) for step in steps] == ends
    assert await model.marks() == marks
    assert model.sent[-1] == sent
    # People see all of it.
    said = [m["id"] for m in await model.shown() if m["role"] == "user"]
    assert said == [step.removeprefix("pic ") for step in steps if step != "again"]


@pytest.mark.parametrize("backend", [b for b in BACKENDS if not b.slow], ids=lambda b: b.name)
async def test_every_store_keeps_it(backend: Backend, tmp_path: Path) -> None:
    url = backend.url(tmp_path) if backend.url else ""
    store = await backend.open(url, FakeClock())
    try:
        assert [await Model(store).do(step) for step in ("a", "pic b", "c")] == [OK, NO, OK]
        model = Model(store)
        await model.do("d")
        assert await model.marks() == {"b": "archived"}
        assert model.sent == [["a", "Yes.", "c", "Yes.", "d"]]
    finally:
        await store.aclose()


async def test_one_that_comes_with_an_applications_results_leaves_without_them() -> None:
    model = Model()
    model.before = call_events("c1", "pick")
    tools = [{"name": "pick", "description": "", "parameters": {}}]
    await model.say("a", tools=tools)
    model.before = ()
    picked = {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "red"}
    picture = {**users("b")[0], "content": [PICTURE]}
    assert outcome(await model.say(messages=[*await model.shown(), picked, picture])) == NO
    assert await model.marks() == {"b": "suspect"}
    assert await model.do("c") == OK
    assert await model.marks() == {"b": "archived"}
    assert model.sent[-1][2:] == ["red", "Yes.", "c"]


async def test_a_refusal_for_another_reason_changes_nothing_in_the_end() -> None:
    model = Model()
    await model.do("a")
    model.refuses = (400, "the tools are malformed somehow")
    assert [await model.do(step) for step in ("pic b", "c")] == [NO, NO]
    assert model.sent[-1] == ["a", "Yes.", "c"]
    # It is refused without the picture as well: that was not it.
    assert await model.marks() == {}
    model.refuses = None
    await model.do("d")
    assert model.sent[-1] == ["a", "Yes.", "b +picture", "c", "d"]
    # A framework with a history of its own was told that it is gone: now it is new.
    new = model.scripted.runs[-1].raw_new_messages
    assert [m["id"] for m in new] == ["b", "d"]


@pytest.mark.parametrize(
    "refusal",
    [
        (401, "no such key"),
        (403, "not with this key"),
        (404, "no such model"),
        (413, "too large"),
        (400, "This model's maximum context length is 10 tokens"),
        (429, "slow down"),
        (500, "oops"),
        (503, "overloaded"),
    ],
    ids=lambda refusal: f"{refusal[0]} {refusal[1]}",
)
async def test_what_is_no_refusal_of_the_message_changes_nothing_at_all(
    refusal: tuple[int, str],
) -> None:
    model = Model()
    model.refuses = refusal
    assert await model.do("a") == NO
    assert await model.marks() == {}
    model.refuses = None
    await model.do("b")
    assert model.sent[-1] == ["a", "b"]


async def test_one_that_waits_for_its_proof_waits_through_other_failures() -> None:
    model = Model()
    await model.do("a")
    await model.do("pic b")
    model.refuses = (503, "overloaded")
    assert await model.do("c") == NO
    assert await model.marks() == {"b": "suspect"}
    assert model.sent[-1] == ["a", "Yes.", "c"]
    model.refuses = None
    assert await model.do("d") == OK
    assert await model.marks() == {"b": "archived"}
    assert model.sent[-1] == ["a", "Yes.", "c", "d"]


async def test_with_a_model_that_takes_it_another_try_brings_it_back() -> None:
    model = Model()
    await model.do("a")
    await model.do("pic b")
    await model.do("c")
    assert await model.marks() == {"b": "archived"}
    page = await model.shown()
    model.sees = True
    at = next(n for n, m in enumerate(page) if m["id"] == "b")

    events = await model.say(messages=page[: at + 1])

    assert outcome(events) == OK
    assert model.sent[-1] == ["a", "Yes.", "b +picture"]
    assert await model.marks() == {}
    await model.do("d")
    assert model.sent[-1] == ["a", "Yes.", "b +picture", "Yes.", "d"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(["Let me look. "], id="text"),
        pytest.param([*call_events("c1"), result("c1")], id="a tool's call"),
    ],
)
async def test_a_run_that_said_something_was_not_refused_for_what_it_was_sent(
    before: list[RunItem],
) -> None:
    model = Model()
    model.before = before
    assert await model.do("pic a") == NO
    assert await model.marks() == {}


async def test_a_run_that_answers_a_question_brings_nothing_that_could_be_it() -> None:
    model = Model()
    await model.do("pic a")
    events = await model.say(messages=[*await model.shown(), *users("ask")])
    assert await model.marks() == {"a": "archived"}
    model.refuses = (400, "no")
    resume = model.entries(events[-1]["outcome"]["interrupts"])
    assert outcome(await model.say(messages=await model.shown(), resume=resume)) == NO
    assert await model.marks() == {"a": "archived"}
    assert "a +picture" not in model.sent[-1]


RAISED: Final = {
    "as it is": lambda error: error,
    "as not delivered": lambda error: _of(NotDelivered("The server answered 400."), error),
    "as a failure upstream": lambda error: _of(UpstreamError("It failed."), error),
}


def _of(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("raised", RAISED)
async def test_the_page_is_told_what_comes_of_it(raised: str) -> None:
    model = Model()
    model.raises = RAISED[raised]
    await model.do("a")
    page = await model.shown()
    picture = {**users("b")[0], "content": [PICTURE]}

    refused = await model.say(messages=[*page, picture])
    told = [e["messages"] for e in refused if e["type"] == "MESSAGES_SNAPSHOT"][-1]
    assert [m["id"] for m in told if archived_for(m) == "refused"] == ["b"]
    assert "sent without" in refused[-1]["message"]

    went_on = await model.say(messages=[*page, picture, *users("c")])
    assert outcome(went_on) == OK
    told = [e["messages"] for e in went_on if e["type"] == "MESSAGES_SNAPSHOT"][-1]
    assert [m["id"] for m in told if archived_for(m) == "refused"] == ["b"]
    assert model.sent[-1] == ["a", "Yes.", "c"]
    # To a framework with a history of its own it is gone.
    assert model.scripted.runs[-1].superseded == ["b"]
    assert [m["id"] for m in model.scripted.runs[-1].raw_new_messages] == ["c"]


async def test_an_edit_takes_it_back() -> None:
    model = Model()
    await model.do("a")
    page = await model.shown()
    await model.do("pic b")
    assert outcome(await model.say(messages=[*page, *users("c")])) == OK
    assert [m["id"] for m in await model.shown() if m["role"] == "user"] == ["a", "c"]
    assert await model.marks() == {}


# --- what a guard of the agent refuses ---

CALLED: Final = [*call_events("c1"), result("c1")]
GUARDED: Final[dict[str, tuple[list[RunItem], Any, list[str]]]] = {
    "the message": ([], "message", ["a", "Yes.", "c"]),
    "the message, after words": (["Let me see. "], "message", ["a", "Yes.", "c"]),
    "the message, after a call": (CALLED, "message", ["a", "Yes.", "", "ok", "c"]),
    "the reply": (["Let me see. "], "reply", ["a", "Yes.", "c"]),
    "the reply, after a call": (
        [*CALLED, "Let me see. "],
        "reply",
        ["a", "Yes.", "b", "", "ok", "c"],
    ),
    "nobody knows what": (["Let me see. "], None, ["a", "Yes.", "b", "Let me see. ", "c"]),
}


@pytest.mark.parametrize("guarded", GUARDED)
async def test_what_a_guard_refuses_no_agent_is_sent_any_more(guarded: str) -> None:
    before, of, sent = GUARDED[guarded]
    model = Model()
    await model.do("a")
    model.before, model.refuses = before, (400, "")
    model.raises = lambda error: AgentRefused("Not this.", of=of)
    page = await model.shown()
    events = await model.say(messages=[*page, *users("b")])
    assert (outcome(events), events[-1]["message"]) == ("AGENT_REFUSED", "Not this.")
    model.before, model.refuses = (), None
    assert await model.do("c") == OK
    assert model.sent[-1] == sent
    # People see all of it, and that somebody meant the message.
    said = [m["content"] for m in await model.shown() if m["role"] == "user"]
    assert said == ["a", "b", "c"]
    assert ("b" in await model.marks()) == ("b" not in sent)
