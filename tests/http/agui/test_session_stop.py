"""`POST /stop` as NexAU's clients send it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving, by_token
from tests.support.agents import Scripted
from tests.support.server import open_stream, run_input

ANN = {"authorization": "Bearer ann"}
EVE = {"authorization": "Bearer eve"}


async def forever(run: Run) -> AsyncIterator[RunItem]:
    yield "partial"
    await asyncio.Event().wait()


def unknown(session: str, user: str = "anonymous", agent: str = "any") -> dict[str, Any]:
    return {
        "status": "error",
        "stop_reason": None,
        "message_count": 0,
        "error": f"No running agent found for user_id={user}, session_id={session}, "
        f"agent_id={agent}",
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"force": True},
        {"agent_id": None, "force": False, "timeout": 30.0},
        {"user_id": "anonymous", "agent_id": "agent"},
        # All that NexAU's own client sends.
        {"user_id": "default-user", "agent_id": None, "force": False, "timeout": 30.0},
    ],
)
async def test_a_running_session_is_stopped_and_counted(
    serving: Serving, options: dict[str, Any]
) -> None:
    async with (
        serving(Scripted(forever)) as site,
        open_stream(site.base, **run_input("go")) as stream,
    ):
        await stream.until("TEXT_MESSAGE_CONTENT")
        response = await site.http.post("/stop", json={"session_id": "t", **options})
        assert response.status_code == 200
        assert response.json() == {
            "status": "success",
            "stop_reason": "USER_INTERRUPTED",
            "message_count": 2,
            "error": None,
        }
        assert (await stream.rest())[-1]["outcome"] == {"type": "cancelled"}


async def test_an_unknown_session_or_agent_is_an_error_with_status_200(serving: Serving) -> None:
    async with serving(Scripted(["x"])) as site:
        await site.run()
        for body, answer in (
            ({"session_id": "nope"}, unknown("nope")),
            ({"session_id": "t", "agent_id": "other"}, unknown("t", agent="other")),
            ({"session_id": "t", "user_id": "u1"}, unknown("t", user="u1")),
        ):
            response = await site.http.post("/stop", json=body)
            assert (response.status_code, response.json()) == (200, answer)


async def test_a_session_that_does_nothing_is_an_error_that_says_so(serving: Serving) -> None:
    async with serving(Scripted(["x"])) as site:
        await site.run()
        response = await site.http.post("/stop", json={"session_id": "t"})
        assert response.status_code == 200
        assert response.json() == {
            "status": "error",
            "stop_reason": None,
            "message_count": 2,
            "error": "The thread has no run to stop.",
        }


async def test_an_interrupted_session_is_closed(serving: Serving) -> None:
    async with serving() as site:
        await site.ask()
        told = (await site.http.post("/stop", json={"session_id": "t"})).json()
        assert (told["status"], told["stop_reason"]) == ("success", "USER_INTERRUPTED")
        assert (await site.http.get("/interrupts?status=open")).json()["interrupts"] == []


async def test_a_session_of_two_agents_is_stopped_in_both_or_in_the_one_named(
    serving: Serving,
) -> None:
    async with serving(Scripted(forever)) as site:
        site.bridge.add("second", Scripted(forever))
        for agent_id, stopped in (("second", 2), (None, 4)):
            async with (
                open_stream(site.base, **run_input("go", thread=f"of-{agent_id}")) as one,
                open_stream(site.base, "second", **run_input("go", thread=f"of-{agent_id}")) as two,
            ):
                await one.until("TEXT_MESSAGE_CONTENT")
                await two.until("TEXT_MESSAGE_CONTENT")
                body = {"session_id": f"of-{agent_id}", "agent_id": agent_id}
                told = (await site.http.post("/stop", json=body)).json()
                assert (told["status"], told["message_count"]) == ("success", stopped)
                assert (await two.rest())[-1]["outcome"] == {"type": "cancelled"}
                if agent_id is None:
                    assert (await one.rest())[-1]["outcome"] == {"type": "cancelled"}
                else:
                    assert "RUN_FINISHED" not in one.kinds


async def test_the_session_of_another_user_is_unknown_and_runs_on(serving: Serving) -> None:
    async with serving(Scripted(forever), authenticate=by_token, headers=ANN) as site:
        request = site.http.stream("POST", "/agents/agent", json=run_input("go"))
        async with request as response:
            chunks = response.aiter_text()
            while "partial" not in await anext(chunks):
                pass
            for headers, body, answer in (
                (EVE, {"session_id": "t"}, unknown("t", "eve")),
                (EVE, {"session_id": "t", "user_id": "ann"}, unknown("t", "ann")),
                (ANN, {"session_id": "t", "user_id": "bob"}, unknown("t", "bob")),
            ):
                refused = await site.http.post("/stop", json=body, headers=headers)
                assert (refused.status_code, refused.json()) == (200, answer)
            told = await site.http.post("/stop", json={"session_id": "t", "user_id": "ann"})
            assert told.json()["status"] == "success"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "session_id"),
        ({"user_id": "u1", "force": True}, "session_id"),
        ({"session_id": None}, "session_id"),
        ({"session_id": ""}, "session_id"),
        ({"session_id": 7}, "session_id"),
        ({"session_id": "a\u0000b"}, "session_id"),
        ({"session_id": "x" * 2000}, "session_id"),
        ({"session_id": "t", "user_id": 7}, "user_id"),
        ({"session_id": "t", "agent_id": []}, "agent_id"),
        ({"session_id": "t", "force": "yes"}, "force"),
        ({"session_id": "t", "timeout": -1}, "timeout"),
        ({"session_id": "t", "timeout": 1e9}, "timeout"),
        ({"session_id": "t", "timeout": None}, "timeout"),
        ([], "object"),
    ],
)
async def test_a_malformed_stop_is_refused_with_422(
    serving: Serving, body: Any, field: str
) -> None:
    async with serving(Scripted(["x"])) as site:
        await site.run()
        response = await site.http.post("/stop", json=body)
        assert response.status_code == 422
        error = response.json()["error"]
        assert error["code"] == "INVALID_INPUT"
        assert field in error["message"]


async def test_a_stop_needs_the_same_credentials_and_method_as_all_else(serving: Serving) -> None:
    async with serving(Scripted(["x"]), authenticate=by_token) as site:
        refused = await site.http.post("/stop", json={"session_id": "t"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
        assert (await site.http.get("/stop", headers=ANN)).status_code == 405
