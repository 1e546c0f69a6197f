"""Every id that is accepted has a path: what is there can be read, stopped and deleted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.http.conftest import Serving
from tests.http.hostile.inputs import JSON, check_error
from tests.support.server import run_input

ODD = [
    " ", "a b", " a ", "a/b", "/a", "a/", "a//b", "//", "/", "a/../b", "../a", "...", ".a", "a/.",
    "%", "%2F", "%252F", "100%", "%00", "a%20b", "a+b", "a?b=c", "a#b", "a&b", "a;b", "a:b", "a@b",
    "'", '"', "\\", "`", "<a>", "{thread}", "[1]", "*", "$", "=", "|", "^", "~", ",", "!",
    "\u00e9", "e\u0301", "日本語", "\u200b", "\u202e", "\u00a0", "\u00ad", "\ufeff", "\ufffd",
    "\U0001f600", "\U0010ffff", "interrupts", "stop", "threads", "null", "0", "-1", "a" * 1024,
]  # fmt: skip

CONTROL = [*map(chr, range(1, 32)), "\x7f", "\x80", "\x85", "\x9f", "\u2028", "\u2029"]


@pytest.mark.parametrize("thread", ODD, ids=ascii)
async def test_a_thread_of_an_odd_id_is_read_stopped_and_deleted_by_its_path(
    serving: Serving, thread: str
) -> None:
    path = f"/agents/agent/threads/{quote(thread, safe='')}"
    async with serving() as site:
        [ask] = await site.ask(thread=thread)

        read = await site.http.get(path)
        assert (read.status_code, read.json()["threadId"]) == (200, thread)
        [open_] = (await site.http.get(f"{path}/interrupts")).json()["interrupts"]
        assert open_["id"] == ask["id"]

        stopped = await site.http.post(f"{path}/stop", json={})
        assert stopped.status_code == 200 and stopped.json()["status"] == "success"
        assert (await site.http.delete(path)).status_code in (200, 204)
        assert (await site.http.get(path)).status_code == 404


@pytest.mark.parametrize("id", ODD, ids=ascii)
async def test_runs_and_messages_of_odd_ids_are_kept_as_they_are(serving: Serving, id: str) -> None:
    messages = [{"id": id, "role": "user", "content": "hi"}]
    async with serving() as site:
        answer = await site.http.post(
            "/agents/agent", json=run_input(None, run=id, messages=messages)
        )
        assert answer.status_code == 200
        [thread] = (await site.http.get("/agents/agent/threads")).json()["threads"]
        kept = (await site.http.get(f"/agents/agent/threads/{thread['threadId']}")).json()
        assert kept["messages"][0]["id"] == id


@pytest.mark.parametrize("character", CONTROL, ids=ascii)
async def test_no_id_may_hold_a_control_character(serving: Serving, character: str) -> None:
    id = f"a{character}b"
    bodies: dict[str, dict[str, Any]] = {
        "threadId": run_input("hi", thread=id),
        "runId": run_input("hi", run=id),
        "parentRunId": {**run_input("hi"), "parentRunId": id},
        "messages.0.id": run_input(None, messages=[{"id": id, "role": "user", "content": "hi"}]),
        "resume.0.interruptId": run_input(
            None, resume=[{"interruptId": id, "status": "cancelled"}]
        ),
    }
    async with serving() as site:
        for field, body in bodies.items():
            response = await site.http.post("/agents/agent", json=body)
            error = check_error(response, "INVALID_INPUT")
            assert error["details"]["field"] == field
            assert f"U+{ord(character):04X}" in error["message"]
        for path, given in (
            ("/stop", {"session_id": id}),
            ("/stop", {"session_id": "a", "user_id": id}),
        ):
            check_error(await site.http.post(path, json=given, headers=JSON), "INVALID_INPUT")
        at = f"/agents/agent/threads/{quote(id, safe='')}"
        assert (await site.http.get(at)).status_code in (404, 422)
        assert site.store.commits == []


@pytest.mark.parametrize("thread", [".", ".."])
async def test_an_id_that_every_client_removes_from_a_path_is_refused(
    serving: Serving, thread: str
) -> None:
    async with serving() as site:
        response = await site.http.post("/agents/agent", json=run_input("hi", thread=thread))
        assert check_error(response, "INVALID_INPUT")["details"]["field"] == "threadId"
