"""What SuperAgent's chat API refuses, and with which status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from tests.http.chat.cleaner import ASK, FORM, cleaner, state_url
from tests.http.chat.conftest import Serving
from tests.support.agents import Answering, Scripted, approval, eventually


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
        ("stream", {"agent_id": "agent", "session_id": "s/stop", "message": "x"}, 400),
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


def shown_by_the_original_sdks(body: dict[str, Any]) -> str | None:
    """What superagent-base's sdks/typescript (streaming.ts) and sdks/python (admin.py) show."""
    found = (body.get(name) for name in ("msg", "error", "message"))
    typescript = next((text for text in found if isinstance(text, str)), None)
    python = body.get("msg") or body.get("message")
    return typescript if typescript == python else None


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"agent_id": "agent", "session_id": "s", "input": {}}, {}, 409),
        ({"agent_id": "nobody", "session_id": "s", "input": {}}, {}, 404),
        ({"agent_id": "agent", "input": {}}, {}, 400),
        ({}, {"Origin": "http://elsewhere.example"}, 403),
        ({}, {"Content-Type": "text/plain"}, 415),
    ],
)
async def test_what_is_refused_is_shown_by_clients_of_either_kind(
    serving: Serving, body: Any, headers: dict[str, str], status: int
) -> None:
    async with serving(cleaner()) as site:
        answer = await site.http.post("/api/v1/chat/resume", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    refusal = answer.json()
    assert refusal["error"]["message"] == shown_by_the_original_sdks(refusal)


async def test_malformed_json_is_400_and_another_method_405(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        json = {"Content-Type": "application/json"}
        bad = await site.http.post("/api/v1/chat/stream", content=b"{", headers=json)
        assert bad.status_code == 400
        assert (await site.http.get("/api/v1/chat/stream")).status_code == 405


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
