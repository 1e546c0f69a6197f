"""Sessions of SuperAgent's chat API over a real server: asked, answered, stopped, failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Adapter
from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.agents.keyword.phrases import CHINESE_REPLIES
from agui_bridge.errors import NotDelivered, UpstreamError
from tests.http.chat.cleaner import ASK, FORM, QUESTION, SAID, cleaner, state_url
from tests.http.chat.conftest import Serving
from tests.http.conftest import by_token
from tests.support.agents import Answering, Scripted, approval
from tests.support.server import post, run_input


async def test_the_state_is_exactly_the_seeds_json(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        url = state_url()
        assert (await site.http.get(url)).text == '{"interrupted":false}'
        await site.chat().say(ASK)
        state = (await site.http.get(url)).json()
    # The last part is a time in nanoseconds, which the engine's own work is a part of.
    _, _, nanoseconds = state["state"]["checkpoint_id"].rpartition("_")
    assert 0 <= int(nanoseconds) - 1746000000000000000 < 10**9
    assert state == {
        "interrupted": True,
        "state": {
            "session_id": "session-123",
            "agent_name": "agent",
            "reason": QUESTION,
            "fields": [
                {"name": "confirm", "type": "confirm", "label": "确认删除", "required": True}
            ],
            "timestamp": 1746000000,
            "checkpoint_id": f"agent_session-123_{nanoseconds}",
        },
    }
    assert list(state["state"]) == [
        "session_id", "agent_name", "reason", "fields", "timestamp", "checkpoint_id",
    ]  # fmt: skip


async def test_fields_have_the_seeds_json_of_each_type(serving: Serving) -> None:
    async with serving(cleaner(fields=FORM)) as site:
        chat = site.chat()
        asked = await chat.say(ASK)
        state = await chat.state()
    assert state is not None and asked.interrupt is not None
    assert (
        state["fields"]
        == asked.interrupt["fields"]
        == [
            {"name": "confirm", "type": "confirm", "label": "确认删除", "required": True},
            {
                "name": "when",
                "type": "select",
                "label": "When",
                "required": True,
                "options": ["now", "tonight"],
            },
            {"name": "note", "type": "text", "label": "Note", "required": False},
        ]
    )


@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_session_asks_is_answered_and_goes_on(serving: Serving, a2ui: bool) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat(a2ui=a2ui)
        asked = await chat.say(ASK)
        assert asked.interrupt is not None and asked.done is None
        assert (asked.text, asked.interrupt["reason"]) == ("".join(SAID), QUESTION)
        answered = await chat.answer(confirm=True)
        assert answered.text == f"已收到: {CHINESE_REPLIES.yes}"
        assert answered.done is not None and answered.interrupt is None
        assert await chat.state() is None
        assert (await chat.say("thanks")).text == "已收到: thanks"


async def test_a_refusal_is_told_to_the_agent(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat()
        await chat.say(ASK)
        assert CHINESE_REPLIES.no in (await chat.answer(confirm=False)).text


@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_message_on_a_pending_session_repeats_the_interrupt(
    serving: Serving, a2ui: bool
) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat(a2ui=a2ui)
        first = await chat.say(ASK)
        again = await chat.say("hello?")
        assert (again.interrupt, again.text, again.error) == (first.interrupt, "", None)
        thread = (await site.http.get("/agents/agent/threads/session-123")).json()
        assert "hello?" not in str(thread["messages"])
        assert (await chat.answer(confirm=True)).done is not None


async def test_an_agent_without_interrupts_is_404_to_an_answer_and_streams_as_ever(
    serving: Serving,
) -> None:
    talker = Scripted(["Hello."], approve=False, answer=False)
    async with serving(talker) as site:
        chat = site.chat()
        assert (await chat.say("hi")).text == "Hello."
        assert await chat.refused("resume", input={"confirm": True}) == (
            404,
            "INTERRUPTS_UNSUPPORTED",
        )
        assert await chat.state() is None


async def test_a_session_is_the_thread_of_the_same_id(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat()
        # Raised here, answered through AG-UI.
        await chat.say(ASK)
        thread = (await site.http.get("/agents/agent/threads/session-123")).json()
        (ask,) = thread["interrupts"]
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"confirm": True}}
        stream = await post(site.base, **run_input(None, thread="session-123", resume=[entry]))
        assert stream.events[-1]["outcome"] == {"type": "success"}
        assert await chat.state() is None
        # And the other way round.
        await post(site.base, **run_input(ASK, thread="session-123"))
        assert await chat.state() is not None
        assert (await chat.answer(confirm=True)).text == f"已收到: {CHINESE_REPLIES.yes}"


async def test_sessions_are_those_of_the_principal(serving: Serving) -> None:
    async with serving(cleaner(), authenticate=by_token) as site:

        def of(name: str) -> Any:
            return site.chat(headers={"Authorization": f"Bearer {name}"})

        await of("ann").say(ASK)
        assert await of("bob").state() is not None
        assert await of("eve").state() is None
        assert await of("eve").refused("resume", input={"confirm": True}) == (
            409,
            "INTERRUPT_NOT_PENDING",
        )
        assert (await of("bob").answer(confirm=True)).done == {}
        assert (await site.http.get(state_url())).status_code == 401
        assert await of("mallory").refused("stream", message="x") == (403, "FORBIDDEN")


async def test_questions_of_one_pause_are_answered_one_after_the_other(serving: Serving) -> None:
    asks = [approval(call) for call in ("c1", "c2", "c3")]
    agent = Answering(*asks)
    async with serving(agent) as site:
        chat = site.chat()
        asked, reasons, ids = await chat.say(), [], set()
        for approved in (True, False, True):
            assert asked.interrupt is not None
            state = await chat.state()
            assert state is not None and state["reason"] == asked.interrupt["reason"]
            ids.add(state["checkpoint_id"])
            reasons.append(state["reason"])
            # What was answered stays so: no answer reaches the agent before all are there.
            assert len(agent.runs) == 1
            asked = await chat.answer(approved=approved)
    assert [reason.splitlines() for reason in reasons] == [
        [f"May {call} run?", f'send {{"to": "{call}"}}'] for call in ("c1", "c2", "c3")
    ]
    assert len(ids) == 3
    assert (asked.interrupt, asked.done) == (None, {})
    assert [call for call, _ in agent.executed] == ["c1", "c3"]


async def test_a_held_answer_survives_a_message_and_is_409_when_repeated_for_another(
    serving: Serving,
) -> None:
    async with serving(Answering(approval("c1"), approval("c2"))) as site:
        chat = site.chat()
        await chat.say()
        second = await chat.answer(approved=True)
        assert (await chat.say("hello?")).interrupt == second.interrupt
        assert (await chat.answer(approved=True)).done == {}


async def test_a_question_without_a_schema_is_asked_in_one_field(serving: Serving) -> None:
    class Asking(Scripted):
        async def _again(self, run: Run) -> AsyncIterator[RunItem]:
            assert run.resume is not None
            yield f"You said {run.resume.decisions['q'].payload}."  # type: ignore[union-attr]  # it is resumed by an answer

        def __init__(self) -> None:
            super().__init__([Pause([Ask("q", message="Which one?")])], self._again)

    async with serving(Asking()) as site:
        chat = site.chat()
        asked = await chat.say()
        assert asked.interrupt is not None
        assert [field["name"] for field in asked.interrupt["fields"]] == ["value"]
        assert (await chat.answer(value="that")).text == "You said that."


@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_failure_is_told_with_its_code(serving: Serving, a2ui: bool) -> None:
    adapter: Adapter = Scripted(["So far. ", UpstreamError("The model is away.")])
    async with serving(adapter) as site:
        failed = await site.chat(a2ui=a2ui).say()
    assert failed.text == "So far. "
    assert failed.error == {"code": "UPSTREAM_ERROR", "message": "The model is away."}
    assert failed.done is (None if a2ui else True)


@pytest.mark.parametrize("a2ui", [True, False])
async def test_an_answer_that_was_not_delivered_asks_again(serving: Serving, a2ui: bool) -> None:
    adapter = Scripted(
        [Pause([Ask("q", "confirmation", "Go?")])], [NotDelivered("Nobody is there.")], ["Gone."]
    )
    async with serving(adapter) as site:
        chat = site.chat(a2ui=a2ui)
        asked = await chat.say()
        failed = await chat.answer(confirm=True)
        assert failed.error == {"code": "UPSTREAM_ERROR", "message": "Nobody is there."}
        assert failed.interrupt == asked.interrupt
        assert (await chat.answer(confirm=True)).text == "Gone."


async def test_a_stopped_session_says_so(serving: Serving) -> None:
    async def endless(run: Run) -> AsyncIterator[RunItem]:
        yield "On and on. "
        await asyncio.Event().wait()

    async with serving(Scripted(endless)) as site:
        chat = site.chat()
        async with chat.listening() as stream:
            await stream.until("On and on.")
            await site.http.post("/agents/agent/threads/session-123/stop", json={})
            ended = await stream.rest()
    assert ended.done == {"stop_reason": "USER_INTERRUPTED"}


async def test_the_conversation_is_the_stored_one_also_where_clients_keep_it(
    serving: Serving,
) -> None:
    agent = Scripted(["Hello."])
    async with serving(agent, history="client") as site:
        chat = site.chat()
        await chat.say("one")
        await chat.say("two")
    assert [m.content for m in agent.runs[-1].messages] == ["one", "Hello.", "two"]


@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_message_with_an_idempotency_key_is_carried_out_once(
    serving: Serving, a2ui: bool
) -> None:
    agent = cleaner()
    async with serving(agent) as site:
        keyed = site.chat(a2ui=a2ui, headers={"Idempotency-Key": "one"})
        first = await keyed.say(ASK)
        again = await keyed.say(ASK)
        assert again.text == first.text
        assert again.interrupt == first.interrupt is not None
        await site.chat(a2ui=a2ui).answer(confirm=True)
        later = site.chat(a2ui=a2ui, headers={"Idempotency-Key": "two"})
        replies = [await later.say("thanks") for _ in range(3)]
        assert [reply.text for reply in replies] == ["已收到: thanks"] * 3
        thread = (await site.http.get("/agents/agent/threads/session-123")).json()
        said = [m["content"] for m in thread["messages"] if m["role"] == "user"]
        assert said.count("thanks") == said.count(ASK) == 1


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_an_idempotency_key_that_cannot_be_one_is_refused(serving: Serving, key: str) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat(headers={"Idempotency-Key": key})
        assert await chat.refused("stream", message="hello") == (400, "INVALID_INPUT")


async def test_an_answer_that_names_its_question_answers_no_other(serving: Serving) -> None:
    agent = Answering(approval("c1"), approval("c2"))
    async with serving(agent) as site:
        chat = site.chat()
        await chat.say("go")
        first = await chat.state()
        assert first is not None
        await chat.answer_to(first["checkpoint_id"], approved=True)
        second = await chat.state()
        assert second is not None and second["checkpoint_id"] != first["checkpoint_id"]

        answer = {"input": {"approved": True}, "checkpoint_id": first["checkpoint_id"]}
        assert await chat.refused("resume", **answer) == (409, "INTERRUPT_NOT_PENDING")
        assert await chat.state() == second
        await chat.answer(approved=True)
        assert await chat.state() is None
        for wrong in (7, ""):
            refused = await chat.refused("resume", **{**answer, "checkpoint_id": wrong})
            assert refused == (400, "INVALID_INPUT")


async def test_agents_are_listed_at_superagents_address(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        listed = await site.http.get("/api/v1/agents")
        assert listed.json() == {"agents": [{"name": "agent", "description": ""}]}
        assert listed.content == (await site.http.get("/agents")).content


@pytest.mark.parametrize(
    ("query", "headers", "frames"),
    [
        ("", {}, False),
        ("", {"X-A2UI": "true"}, True),
        ("?a2ui=true", {}, True),
        ("?a2ui=1", {}, False),
        ("?a2ui=false", {"X-A2UI": "true"}, True),
    ],
)
async def test_frames_are_asked_for_by_a_header_or_by_the_address(
    serving: Serving, query: str, headers: dict[str, str], frames: bool
) -> None:
    body = {"agent_id": "agent", "session_id": "s", "message": ASK}
    async with serving(cleaner()) as site:
        url = f"/api/v1/chat/stream{query}"
        reply = (await site.http.post(url, json=body, headers=headers)).text
        assert ("event: interrupt" in reply, "\0INTERRUPT:" in reply) == (frames, not frames)
