"""SuperAgent's chat API over a real server: bodies, statuses, one answer after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Adapter, KeywordAdapter
from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.forms import FormField
from tests.chat.conftest import Serving
from tests.http.conftest import by_token
from tests.support.agents import Answering, Scripted, approval, eventually
from tests.support.server import post, run_input

SAID = ("我将要删除", "以下过期用户数据:共 1,234 条记录。")
QUESTION = "Please confirm: 即将删除 1,234 条记录,此操作不可逆。"
FORM = (
    FormField("confirm", "confirm", "确认删除", required=True),
    FormField("when", "select", "When", required=True, options=("now", "tonight")),
    FormField("note", "text", "Note"),
)


def cleaner(**options: Any) -> KeywordAdapter:
    """The seed's agent: it asks, and tells what it was answered."""

    async def agent(run: Any) -> AsyncIterator[str]:
        if run.text.startswith("请"):
            for piece in (*SAID, *QUESTION):
                yield piece
        else:
            yield f"已收到: {run.text}"

    return KeywordAdapter(agent, **{"label": "确认删除", **options})


ASK = "请帮我删除 prod 数据库中所有过期用户数据"


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


def state_url(agent: str = "agent", session: str = "session-123") -> str:
    return f"/api/v1/chat/interrupt_state?agent_id={agent}&session_id={session}"


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
        assert answered.text == "已收到: Yes, I confirm. Please proceed."
        assert answered.done is not None and answered.interrupt is None
        assert await chat.state() is None
        assert (await chat.say("thanks")).text == "已收到: thanks"


async def test_a_refusal_is_told_to_the_agent(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat()
        await chat.say(ASK)
        assert "No, I do not confirm" in (await chat.answer(confirm=False)).text


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


@pytest.mark.parametrize(
    ("call", "body", "status"),
    [
        ("stream", {"session_id": "s", "message": "x"}, 400),
        ("stream", {"agent_id": "", "session_id": "s", "message": "x"}, 400),
        ("stream", {"agent_id": "agent", "message": "x"}, 400),
        ("stream", {"agent_id": "agent", "session_id": 7, "message": "x"}, 400),
        ("stream", {"agent_id": "agent", "session_id": "s"}, 400),
        ("stream", {"agent_id": "agent", "session_id": "a\0b", "message": "x"}, 400),
        ("stream", {"agent_id": "agent", "session_id": "s" * 2000, "message": "x"}, 400),
        ("stream", ["agent"], 400),
        ("stream", {"agent_id": "nobody", "session_id": "s", "message": "x"}, 404),
        ("resume", {"session_id": "s", "input": {}}, 400),
        ("resume", {"agent_id": "agent", "input": {}}, 400),
        ("resume", {"agent_id": "agent", "session_id": "s"}, 400),
        ("resume", {"agent_id": "agent", "session_id": "s", "input": True}, 400),
        ("resume", {"agent_id": "nobody", "session_id": "s", "input": {}}, 404),
        ("resume", {"agent_id": "agent", "session_id": "never", "input": {"confirm": True}}, 409),
    ],
)
async def test_what_is_missing_or_unknown_has_its_status(
    serving: Serving, call: str, body: Any, status: int
) -> None:
    async with serving(cleaner()) as site:
        answer = await site.http.post(f"/api/v1/chat/{call}", json=body)
        assert answer.status_code == status, answer.text
        assert set(answer.json()["error"]) >= {"code", "message"}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("agent_id=agent", 400),
        ("session_id=s", 400),
        ("agent_id=agent&session_id=", 400),
        ("agent_id=nobody&session_id=s", 404),
    ],
)
async def test_the_state_of_nothing_has_its_status(
    serving: Serving, query: str, status: int
) -> None:
    async with serving(cleaner()) as site:
        answer = await site.http.get(f"/api/v1/chat/interrupt_state?{query}")
    assert answer.status_code == status


async def test_malformed_json_is_400_and_another_method_405(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        json = {"Content-Type": "application/json"}
        bad = await site.http.post("/api/v1/chat/stream", content=b"{", headers=json)
        assert bad.status_code == 400
        assert (await site.http.get("/api/v1/chat/stream")).status_code == 405


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


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"when": "now"},
        {"confirm": True},
        {"confirm": "true", "when": "now"},
        {"confirm": 1, "when": "now"},
        {"confirm": None, "when": "now"},
        {"confirm": True, "when": "tomorrow"},
        {"confirm": True, "when": ["now"]},
        {"confirm": True, "when": "now", "note": 7},
    ],
)
async def test_input_against_the_fields_is_400_and_the_interrupt_stays(
    serving: Serving, values: dict[str, Any]
) -> None:
    async with serving(cleaner(fields=FORM)) as site:
        chat = site.chat()
        await chat.say(ASK)
        before = await chat.state()
        assert await chat.refused("resume", input=values) == (400, "INVALID_RESUME_PAYLOAD")
        assert await chat.state() == before
        assert (await chat.answer(confirm=True, when="now")).done == {}


async def test_an_answer_is_taken_once(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        chat = site.chat()
        await chat.say(ASK)
        await chat.answer(confirm=True)
        for values in ({"confirm": True}, {"confirm": False}):
            assert await chat.refused("resume", input=values) == (409, "INTERRUPT_NOT_PENDING")


@pytest.mark.parametrize("other", [True, False])
async def test_of_two_answers_at_once_one_is_carried_out_and_the_other_is_409(
    serving: Serving, other: bool
) -> None:
    agent, release = Answering(approval()), asyncio.Event()
    agent.before_tool = release.wait
    async with serving(agent) as site:
        chat = site.chat()
        await chat.say()

        async def answer(approved: bool) -> int:
            body = {"agent_id": "agent", "session_id": "session-123"}
            reply = await site.http.post(
                "/api/v1/chat/resume", json={**body, "input": {"approved": approved}}
            )
            return reply.status_code

        answers = [asyncio.create_task(answer(approved)) for approved in (True, other)]
        if other:
            await eventually(lambda: len(agent.runs) == 2)
        release.set()
        assert sorted(await asyncio.gather(*answers)) == [200, 409]
        assert len(agent.runs) == 2
        assert len(agent.executed) <= 1


async def test_after_its_time_the_state_is_gone_and_an_answer_is_409(serving: Serving) -> None:
    async with serving(cleaner(expires_in=300)) as site:
        chat = site.chat()
        await chat.say(ASK)
        site.clock.advance(295)
        assert await chat.state() is not None
        site.clock.advance(10)
        assert await chat.state() is None
        status, _ = await chat.refused("resume", input={"confirm": True})
        assert status == 409
        assert (await chat.say("again")).text == "已收到: again"


async def test_a_bug_of_the_server_is_500_without_its_text(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError("secret")

    async with serving(cleaner(), authenticate=broken) as site:
        answer = await site.http.get(state_url())
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "RuntimeError" in caplog.text


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
        assert (await chat.answer(confirm=True)).text.startswith("已收到: Yes")


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


async def test_a_running_session_refuses_a_message_and_an_answer(serving: Serving) -> None:
    hold = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "Wait. "
        await hold.wait()

    async with serving(Scripted(slow), busy_patience=0.0) as site:
        chat = site.chat()
        async with chat.listening() as stream:
            await stream.until("Wait.")
            assert await chat.refused("stream", message="x") == (409, "RUN_IN_PROGRESS")
            assert await chat.refused("resume", input={}) == (409, "INTERRUPT_NOT_PENDING")
            hold.set()
            assert (await stream.rest()).done == {}


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
