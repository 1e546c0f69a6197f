"""Callbacks at odd moments and of odd kinds: heard once, or refused without a trace."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from agui_bridge import Principal, Settings
from tests.adapters.webhook.bench import Between, Scripted, between, signed
from tests.adapters.webhook.tool import SECRET
from tests.support.postgres import emptied
from tests.support.redis_server import redis_url
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.timeout(60)

OTHER_SECRET = "whsec_" + "b3RoZXItc2VjcmV0LW9mLXRoZS10ZXN0cy0zMi1ieXQ="
MESSAGE = b'{"type": "message", "message": "Half done."}'
FINISHED = {"type": "finished", "message": "All done.", "result": {"n": 1}}


# --- what is refused ---

Wrong = tuple[Any, dict[str, str] | None, str, int, str]


def wrong_callbacks(tool: Scripted) -> dict[str, Wrong]:
    """By name: what is sent, its headers, what the address ends with, and what is answered."""
    asked = json.dumps(tool.question()).encode()
    changed = asked.replace(b"v2", b"v3")
    host, far = tool.url.split("//")[1], "https://elsewhere.example/resume"

    def at(url: str) -> Wrong:
        return tool.question(resumeUrl=url), None, "", 403, "FORBIDDEN"

    def misread(told: Any) -> Wrong:
        return told, None, "", 422, "INVALID_INPUT"

    return {
        "unsigned": (asked, {}, "", 401, "UNAUTHENTICATED"),
        "another secret": (asked, signed(asked, secret=OTHER_SECRET), "", 401, "UNAUTHENTICATED"),
        "old": (asked, signed(asked, at=time.time() - 400), "", 401, "UNAUTHENTICATED"),
        "of tomorrow": (asked, signed(asked, at=time.time() + 400), "", 401, "UNAUTHENTICATED"),
        "changed": (changed, signed(asked), "", 401, "UNAUTHENTICATED"),
        "another address": (asked, None, "x", 401, "UNAUTHENTICATED"),
        "another host": at(far),
        "a private address": at("http://169.254.169.254/latest/meta-data"),
        "another port": at("http://127.0.0.1:1/resume"),
        "a host as user": at(f"http://{host}@elsewhere.example/resume"),
        "a file": at("file:///etc/passwd"),
        "no JSON": misread(b"{"),
        "no object": misread([1]),
        "another type": misread({"type": "start"}),
        "a question without id": misread({**tool.question(), "id": None}),
        "no address": misread({**tool.question(), "resumeUrl": None}),
        "arguments of no tool": misread({**tool.question(), "tool": None}),
        "a key twice": misread(asked.replace(b'{"version"', b'{"version": "v1", "version"')),
        "nested too deep": misread(tool.question(args=nested(85))),
        "a wait without end": misread(tool.question(expiresIn=1e11)),
        "a wait beyond numbers": misread(tool.question(expiresIn=10**400)),
        "a step of a path": misread(tool.question(executionId="..")),
        "a long name": (MESSAGE, signed(MESSAGE, id="x" * 300), "", 422, "INVALID_INPUT"),
        "too large": (tool.question(message="x" * 70_000), None, "", 413, "PAYLOAD_TOO_LARGE"),
    }


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels else {}


async def test_what_is_not_genuine_is_refused_and_changes_nothing() -> None:
    async with between() as it:
        await it.talk().say("deploy")
        own, before = it.tool.starts()[0]["callbackUrl"], await shown(it)
        for name, (told, headers, suffix, status, code) in wrong_callbacks(it.tool).items():
            response = await it.call_back(told, url=own + suffix, headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (status, code), name
        assert await shown(it) == before
        assert (await it.call_back(it.tool.question())).json() == {"status": "taken"}


async def shown(it: Between) -> dict[str, Any]:
    return {**await it.thread(), "updatedAt": None}


async def test_without_signatures_the_address_alone_counts() -> None:
    async with between(signed=False) as it:
        await it.talk().say("deploy")
        headers = {"content-type": "application/json"}
        assert (await it.call_back(it.tool.question(), headers=headers)).status_code == 200
        url = it.tool.starts()[0]["callbackUrl"][:-1]
        response = await it.call_back(it.tool.question(id="q2"), headers=headers, url=url)
        assert response.status_code == 401


async def test_a_callback_tells_of_its_own_thread_and_execution_alone() -> None:
    async with between() as it:
        await it.talk("a").say("deploy")
        await it.talk("b").say("deploy")
        first, second = (start["callbackUrl"] for start in it.tool.starts())
        await it.call_back(it.tool.question(), url=first)
        await eventually(lambda: it.asked("a"))
        assert not await it.asked("b")
        await it.call_back(FINISHED, url=second)
        await eventually(lambda: told(it, "All done.", "b"))
        await it.talk("b").say("again")
        # The address of what is over is good for nothing, though its thread goes on.
        assert (await it.call_back(it.tool.question(), url=second)).status_code == 410
        assert not await it.asked("b")


async def told(it: Between, text: str, thread: str = "t") -> bool:
    messages = (await it.thread(thread))["messages"]
    return any(text in str(message.get("content")) for message in messages)


# --- when it comes ---


async def test_one_that_comes_before_the_starts_answer_is_heard() -> None:
    async with between() as it:

        async def start(body: Any) -> Response:
            await it.call_back(it.tool.question(), url=body["callbackUrl"])
            await asyncio.sleep(0.2)
            return JSONResponse({})

        it.tool.replies["/start"] = start
        talk = it.talk()
        await talk.say("deploy")
        assert [ask["message"] for ask in talk.asks] == ["Deploy?"]


async def test_the_same_twice_is_one_question() -> None:
    async with between() as it:
        talk = it.talk()
        await talk.say("deploy")
        body = json.dumps(it.tool.question()).encode()
        headers = signed(body)
        answers = [(await it.call_back(body, headers=headers)).json() for _ in range(2)]
        await eventually(it.asked)
        answers.append((await it.call_back(it.tool.question())).json())
        assert [each["status"] for each in answers] == ["taken", "known", "known"]
        (ask,) = await it.asked()
        await talk._send(resume=[approval(ask)])
        assert len(it.tool.at("/resume")) == 1
        assert (await it.call_back(body, headers=headers)).json() == {"status": "known"}
        assert not await it.asked()


def approval(ask: Any) -> dict[str, Any]:
    return {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}


STORES: dict[str, Callable[[Path], str]] = {
    "memory": lambda _: "memory:",
    "sqlite": lambda folder: f"sqlite:///{folder / 'threads.db'}",
    "redis": redis_url,
    "postgres": lambda _: emptied(),
}


@pytest.mark.parametrize("name", STORES)
async def test_many_at_once_are_kept_each_once_in_every_store(name: str, tmp_path: Path) -> None:
    async with between(STORES[name](tmp_path)) as it:
        await it.talk().say("deploy")
        said = [{"type": "message", "message": f"Part {n}.", "id": f"m{n}"} for n in range(4)]
        answers = await asyncio.gather(*(it.call_back(one) for one in [*said, *said]))
        statuses = [each.json()["status"] for each in answers]
        assert sorted(statuses) == ["known"] * 4 + ["taken"] * 4
        await it.call_back(FINISHED)
        await eventually(lambda: told(it, "All done."))
        text = "".join(str(m.get("content")) for m in (await it.thread())["messages"])
        assert [text.count(f"Part {n}.") for n in range(4)] == [1] * 4


async def test_what_is_told_on_an_idle_thread_is_heard_in_its_order() -> None:
    async with between() as it:
        talk = it.talk()
        assert "The workflow goes on" in await talk.say("deploy")
        await it.call_back({"type": "message", "message": "Half way."})
        await it.call_back(it.tool.question())
        await eventually(it.asked)
        assert await told(it, "Half way.")
        (ask,) = await it.asked()
        said = await talk._send(resume=[approval(ask)])
        assert "The workflow has the approval" in json.dumps(talk.events)
        assert "goes on" in said
        await it.call_back({**FINISHED, "toolResult": "deployed v2"})
        await eventually(lambda: told(it, "All done."))
        assert await told(it, "deployed v2")
        assert (await it.thread())["result"] == {"n": 1}
        assert (await it.call_back({**FINISHED, "id": "more"})).status_code == 410


async def test_after_a_stop_nothing_is_asked_and_the_tool_is_told() -> None:
    async with between() as it:
        await it.talk().say("deploy")
        await it.bridge.stop("agent", "t")
        response = await it.call_back(it.tool.question())
        assert response.json()["error"]["code"] == "CALLBACK_NOT_AWAITED"
        assert not await it.asked()


async def test_a_stop_in_a_run_cancels_the_execution() -> None:
    async with between(cancel_url="{tool}/cancel/{execution}", patience=30.0) as it:
        it.tool.replies["/start"] = reply({"executionId": 7})
        talking = asyncio.create_task(it.talk().say("deploy"))
        await eventually(lambda: len(it.tool.starts()) == 1)
        await it.call_back({"type": "message", "message": "At work."})
        await eventually(lambda: told(it, "At work."))
        await it.bridge.stop("agent", "t")
        await talking
        assert [body["type"] for body in it.tool.at("/cancel/7")] == ["cancel"]
        assert (await it.call_back(it.tool.question())).status_code == 410


def reply(told: Any, status: int = 200) -> Callable[[Any], Any]:
    async def answer(_: Any) -> Response:
        return JSONResponse(told, status)

    return answer


async def test_an_end_that_came_while_people_thought_is_told_and_no_answer_is_sent() -> None:
    async with between() as it:
        talk = it.talk()
        await talk.say("deploy")
        await it.call_back(it.tool.question())
        await eventually(it.asked)
        (ask,) = await it.asked()
        await it.call_back({"type": "finished", "message": "I waited too long."})
        await talk._send(resume=[approval(ask)])
        assert talk.events[-1]["code"] == "INTERRUPT_EXPIRED"
        assert not it.tool.at("/resume")
        assert "not executed" in json.dumps(talk.events)
        await eventually(lambda: told(it, "I waited too long."))


async def test_a_message_while_it_works_is_refused_and_starts_nothing() -> None:
    async with between() as it:
        talk = it.talk()
        await talk.say("deploy")
        await talk.say("and now?")
        assert talk.events[-1]["code"] == "UPSTREAM_ERROR"
        assert "still at work" in talk.events[-1]["message"]
        assert len(it.tool.starts()) == 1
        await it.call_back(it.tool.question())
        await eventually(it.asked)


async def test_one_that_is_never_heard_of_is_given_up_and_told_as_that() -> None:
    async with between(patience=0.1, longest=0.2) as it:
        talk = it.talk()
        await talk.say("deploy")
        await eventually(lambda: told(it, "what became of it is unknown"))
        assert (await it.call_back(it.tool.question())).status_code == 410
        await talk.say("again")
        assert len(it.tool.starts()) == 2


async def test_a_question_that_nobody_answers_is_withdrawn_at_the_next_message() -> None:
    async with between() as it:
        it.tool.replies["/start"] = reply(it.tool.question(expiresIn=0.2))
        talk = it.talk()
        await talk.say("deploy")
        await asyncio.sleep(0.3)
        it.tool.replies["/start"] = reply(FINISHED)
        assert await talk.say("again") == "All done."
        (told,) = it.tool.at("/resume")
        assert (told["status"], told["approved"]) == ("expired", False)


async def test_what_is_kept_for_a_thread_goes_with_it(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path / 'threads.db'}"
    async with between(store, Settings(sweep_interval=0)) as it:
        it.tool.replies["/start"] = reply(it.tool.question())
        await it.talk().say("deploy")
        await it.call_back({"type": "message", "message": "Private words."})
        assert await rows_of(it) == 1
        engine = await it.bridge.open()
        (key,) = [row.key for row in await engine.store.list_interrupts("default")]
        await engine.delete(key, Principal())
        assert await rows_of(it) == 0


async def rows_of(it: Between) -> int:
    engine = await it.bridge.open()
    return len(await engine.store.list_threads("default", "agent/callbacks"))


@pytest.mark.parametrize("size", [b"Content-Length: 70000", b"Transfer-Encoding: chunked"])
async def test_of_what_is_too_large_no_more_is_read(size: bytes) -> None:
    async with between() as it:
        host, _, port = it.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /agents/agent/callbacks/x HTTP/1.1\r\nHost: 127.0.0.1\r\n" + size)
        # All but the end of it.
        writer.write(b"\r\n\r\n" + (b"1117f\r\n" if b"chunked" in size else b"") + b"x" * 69_999)
        answer = await asyncio.wait_for(reader.readline(), PATIENCE)
        assert answer.startswith(b"HTTP/1.1 413")
        writer.close()


async def test_whoever_does_not_sign_in_is_not_told_which_agents_there_are() -> None:
    async with between() as it:

        @it.bridge.agent
        async def hidden(run: Any) -> Any:
            yield "hello"

        for agent in ("hidden", "no-such"):
            url = f"{it.url}/agents/{agent}/callbacks/x"
            response = await it.call_back(FINISHED, url=url)
            told = response.json()["error"]
            assert (response.status_code, told["code"]) == (404, "NOT_FOUND")
            assert "hidden" not in told["message"]


# --- what is sent to the tool ---


@pytest.mark.parametrize("id", ["vrâag één", "a\r\nx-evil: 1", " q ", "x" * 200, "{{ $json.id }}"])
async def test_a_question_may_have_any_text_as_its_name(id: str) -> None:
    async with between() as it:
        it.tool.replies["/start"] = reply(it.tool.question(id=id))
        it.tool.replies["/resume"] = reply(FINISHED)
        talk = it.talk()
        await talk.say("deploy")
        assert await talk.answer({"approved": True}) == "All done."
        ((_, headers, body),) = [one for one in it.tool.requests if one[0] == "/resume"]
        assert (body["id"], body["approved"]) == (id, True)
        assert "x-evil" not in headers and headers["webhook-id"].isprintable()


async def test_what_is_sent_is_signed_and_credentials_go_to_the_operators_hosts_alone() -> None:
    async with (
        between() as elsewhere,
        between(
            headers={"Authorization": "Bearer s3cret"}, hosts=[elsewhere.tool.url.split("//")[1]]
        ) as it,
    ):
        there = f"{elsewhere.tool.url}/resume"
        it.tool.replies["/start"] = reply(it.tool.question(resumeUrl=there))
        talk = it.talk()
        await talk.say("deploy")
        await talk.answer({"approved": True})
        (started,) = [headers for path, headers, _ in it.tool.requests if path == "/start"]
        assert started["authorization"] == "Bearer s3cret"
        ((_, answered, body),) = elsewhere.tool.requests
        assert "authorization" not in answered
        assert answered["webhook-signature"].startswith("v1,")
        assert body["args"] == {"version": "v2"}
        assert SECRET not in json.dumps(it.tool.starts())
