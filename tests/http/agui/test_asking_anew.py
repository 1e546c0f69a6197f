"""Refusals for clients that take RUN_ERROR for the end of everything: `refusals: ask`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import ApprovalRule, NotDelivered
from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.approvals import Question
from tests.http.conftest import Serving, Site
from tests.support.agents import Answering, Scripted, approval
from tests.support.server import Streamed, open_stream_at, run_input

ASKED_ANEW = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "CUSTOM", "RUN_FINISHED"]
ASKED_ANEW_BEFORE_1 = [ASKED_ANEW[0], "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", *ASKED_ANEW[1:]]
REFUSED = [*ASKED_ANEW[:3], "RUN_FINISHED", "RUN_ERROR"]

Json = dict[str, Any]


async def send(site: Site, query: str = "", header: str | None = None, **body: Any) -> Streamed:
    """A run's stream, read to its end."""
    headers = {} if header is None else {"AG-UI-Refusals": header}
    path = f"/agents/agent{query}"
    async with open_stream_at(site.base, path, body, headers=headers) as stream:
        await stream.rest()
    return stream


def approve(interrupt: Json, approved: Any = True) -> list[Json]:
    """An answer, which is none unless it is a boolean."""
    payload = {"approved": approved}
    return [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]


@pytest.mark.parametrize(
    ("setting", "query", "header", "forwarded", "kinds"),
    [
        ("error", "", None, {}, REFUSED),
        ("ask", "", None, {}, ASKED_ANEW),
        ("error", "?refusals=ask", None, {}, ASKED_ANEW),
        ("error", "", "ask", {}, ASKED_ANEW),
        ("error", "", None, {"refusals": "ask"}, ASKED_ANEW),
        ("ask", "?refusals=error", "ask", {"refusals": "ask"}, REFUSED),
        ("ask", "", "error", {"refusals": "ask"}, REFUSED),
        ("ask", "", None, {"refusals": "error"}, REFUSED),
        ("ask", "", None, {"refusals": None}, ASKED_ANEW),
    ],
)
async def test_query_goes_before_header_before_the_input_before_the_setting(
    serving: Serving,
    setting: Any,
    query: str,
    header: str | None,
    forwarded: Json,
    kinds: list[str],
) -> None:
    async with serving(refusals=setting) as site:
        await site.ask()
        body = run_input("anybody?", forwardedProps=forwarded)
        assert (await send(site, query, header, **body)).kinds == kinds


@pytest.mark.parametrize("where", ["query", "header", "input"])
async def test_an_unknown_choice_is_refused_before_anything_runs(
    serving: Serving, where: str
) -> None:
    async with serving() as site:
        answer = await site.http.post(
            "/agents/agent" + ("?refusals=never" if where == "query" else ""),
            headers={"AG-UI-Refusals": "never"} if where == "header" else {},
            json=run_input("go", forwardedProps={"refusals": "never"} if where == "input" else {}),
        )
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (422, "INVALID_INPUT")
        assert "'ask'" in error["message"]
        assert error["details"]["field"].endswith("refusals")
        assert site.agent.runs == []


@pytest.mark.parametrize("method", ["info", "agent/run", "agent/connect", "agent/stop"])
async def test_copilotkits_envelopes_refuse_an_unknown_choice_whatever_they_ask_for(
    serving: Serving, method: str
) -> None:
    body = run_input("go")
    params = {"agentId": "agent", "threadId": body["threadId"]}
    async with serving() as site:
        answer = await site.http.post(
            "/copilotkit?refusals=never", json={"method": method, "params": params, "body": body}
        )
        assert answer.status_code == 422
        assert answer.json()["error"]["details"]["field"] == "refusals"
        assert site.agent.runs == []


async def test_each_question_says_why_it_is_asked_again_and_a_good_answer_is_taken(
    serving: Serving,
) -> None:
    """Row 15, on `refusals: ask`."""
    asks = (approval("c1", metadata={"agui_bridge": {"kept": 1}, "mine": 2}), approval("c2"))
    async with serving(Answering(*asks), refusals="ask") as site:
        first, second = await site.ask()
        before = await site.everything()
        wrong = approve(first, "yes") + approve(second)
        events = (await send(site, **run_input(None, run="r2", resume=wrong))).events

        assert [event["type"] for event in events] == ASKED_ANEW
        told = events[-2]["value"]
        assert (events[-2]["name"], told["code"]) == (
            "agui_bridge.refused",
            "INVALID_RESUME_PAYLOAD",
        )
        assert "approved" in told["message"]
        again = events[-1]["outcome"]["interrupts"]
        words = f"INVALID_RESUME_PAYLOAD: {told['message']}"
        assert again == [
            {
                **first,
                "message": f"{words} May c1 run?",
                "metadata": {"agui_bridge": {"kept": 1, "refused": told}, "mine": 2},
            },
            {
                **second,
                "message": f"{words} May c2 run?",
                "metadata": {"agui_bridge": {"refused": told}},
            },
        ]
        assert events[-1]["runId"] == "r2"
        # What is stored has no trace of it.
        assert await site.everything() == before
        shown = (await site.http.get("/agents/agent/threads/t")).json()["interrupts"]
        assert [ask["message"] for ask in shown] == ["May c1 run?", "May c2 run?"]

        good = approve(again[0]) + approve(again[1], False)
        assert (await send(site, **run_input(None, resume=good))).kinds[-1] == "RUN_FINISHED"
        assert site.agent.executed == [("c1", {"to": "c1"})]


async def test_a_question_without_words_gets_the_reason_as_its_words(serving: Serving) -> None:
    schema = {"type": "object", "required": ["year"], "properties": {"year": {"type": "integer"}}}
    ask = Ask("n", "input_required", response_schema=schema)
    async with serving(Answering(ask), refusals="ask") as site:
        (asked,) = await site.ask()
        wrong = [{"interruptId": asked["id"], "status": "resolved", "payload": {"year": "x"}}]
        (again,) = (await site.run(None, resume=wrong)).events[-1]["outcome"]["interrupts"]
        refused = again["metadata"]["agui_bridge"]["refused"]
        assert again["message"] == f"INVALID_RESUME_PAYLOAD: {refused['message']}"


async def test_a_message_while_a_question_is_open_brings_the_question(serving: Serving) -> None:
    async with serving(refusals="ask") as site:
        (asked,) = await site.ask()
        events = (await site.run("anybody?")).events
        (again,) = events[-1]["outcome"]["interrupts"]
        assert again["id"] == asked["id"]
        assert again["metadata"]["agui_bridge"]["refused"]["code"] == "INTERRUPT_PENDING"
        assert [m["content"] for m in events[2]["messages"] if m["role"] == "user"] == ["go"]


async def test_where_nothing_is_left_to_restate_there_is_an_error_all_the_same(
    serving: Serving,
) -> None:
    async with serving(refusals="ask") as site:
        (asked,) = await site.ask()
        await site.run(None, resume=approve(asked))
        late = await site.run(None, resume=approve(asked, False))
        assert late.kinds == REFUSED
        assert late.events[-1]["code"] == "INTERRUPT_ALREADY_ANSWERED"
        # And of a thread that there is not.
        unknown = await site.run(None, thread="other", resume=approve(asked))
        assert unknown.kinds == ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]
        assert unknown.events[-1]["code"] == "INTERRUPT_NOT_FOUND"


async def test_a_message_on_a_thread_that_is_busy_is_an_error(serving: Serving) -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()

    async with (
        serving(Scripted(script), refusals="ask", busy_patience=0.0) as site,
        open_stream_at(site.base, "/agents/agent", run_input("go")) as running,
    ):
        await running.until("TEXT_MESSAGE_CONTENT")
        busy = await site.run("and I?")
        assert busy.kinds == ["RUN_STARTED", "RUN_ERROR"]
        assert busy.events[-1]["code"] == "RUN_IN_PROGRESS"
        go.set()
        await running.rest()


async def test_an_answer_that_reached_nobody_can_be_given_again(serving: Serving) -> None:
    agent = Scripted([Pause([approval()])], [NotDelivered("Nobody is there.")], ["thanks"])
    async with serving(agent, refusals="ask") as site:
        (asked,) = await site.ask()
        events = (await site.run(None, resume=approve(asked))).events
        assert [event["type"] for event in events][-3:] == [
            "MESSAGES_SNAPSHOT",
            "CUSTOM",
            "RUN_FINISHED",
        ]
        (again,) = events[-1]["outcome"]["interrupts"]
        assert events[-2]["value"] == {"code": "UPSTREAM_ERROR", "message": "Nobody is there."}
        done = await site.run(None, resume=approve(again))
        assert done.events[-1]["outcome"] == {"type": "success"}


async def test_clients_from_before_1_get_shapes_that_they_accept(serving: Serving) -> None:
    async with serving(expires_in=60.0, refusals="ask") as site:
        await site.ask(version=None)
        events = (await site.run("anybody?", version=None)).events
        assert [event["type"] for event in events] == ASKED_ANEW_BEFORE_1
        assert "expiresAt" not in events[-1]["outcome"]["interrupts"][0]
        # What carries the question on assistant-ui's pages is no part of the conversation.
        assert events[1]["messageId"] not in [m["id"] for m in events[4]["messages"]]


@pytest.mark.parametrize(("choice", "more"), [("ask", ASKED_ANEW_BEFORE_1[1:3]), ("error", [])])
async def test_a_question_that_one_vote_does_not_answer_is_carried_too(
    serving: Serving, choice: Any, more: list[str]
) -> None:
    async def two(question: Question) -> ApprovalRule:
        return ApprovalRule("two", quorum=2)

    async with serving(refusals=choice) as site:
        site.bridge.approvals(two)
        (asked,) = await site.ask(version=None)
        voted = await site.run(None, version=None, resume=approve(asked))
        snapshots = ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
        assert voted.kinds == ["RUN_STARTED", *more, *snapshots, "RUN_FINISHED"]
        assert voted.events[-1]["outcome"]["interrupts"][0]["id"] == asked["id"]


async def test_a_question_after_the_users_words_needs_no_message_beside_it(
    serving: Serving,
) -> None:
    async with serving(Scripted([Pause([Ask("n", "confirmation")])]), refusals="ask") as site:
        await site.ask(version=None)
        assert (await site.run("anybody?", version=None)).kinds == ASKED_ANEW


@pytest.mark.parametrize("dialect", ["langgraph", "langgraph-both"])
async def test_the_event_of_langgraphs_clients_says_why(serving: Serving, dialect: Any) -> None:
    async with serving(dialect=dialect, refusals="ask") as site:
        await site.http.post("/agents/agent", json=run_input("go"))
        answer = await site.http.post("/agents/agent", json=run_input("anybody?"))
        lines = answer.text.split("\n")
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        assert [event["type"] for event in events] == [*ASKED_ANEW[:4], "CUSTOM", "RUN_FINISHED"]
        value = events[-2]["value"]
        assert value["metadata"]["agui_bridge"]["refused"]["code"] == "INTERRUPT_PENDING"
        assert value["message"].endswith("May c1 run?")
        assert ("outcome" in events[-1]) == (dialect == "langgraph-both")


@pytest.mark.parametrize("refusals", ["error", "ask"])
async def test_a_client_of_the_draft_gets_the_error_alone(serving: Serving, refusals: Any) -> None:
    """Its RUN_FINISHED is the end: an outcome before the error reads as success."""
    async with serving(refusals=refusals) as site:
        await send(site, **run_input("other", thread="other"))
        for thread in ("t", "other"):
            body = run_input("hello", thread=thread, resume={"interruptId": "x", "payload": True})
            events = (await send(site, "?dialect=draft", **body)).events
            assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_ERROR"]
            assert events[-1]["code"] == "INTERRUPT_NOT_FOUND"


async def test_a_client_of_the_draft_whose_answer_reached_nobody_gets_the_error_alone(
    serving: Serving,
) -> None:
    agent = Scripted([Pause([approval()])], [NotDelivered("Nobody is there.")])
    async with serving(agent, refusals="ask") as site:
        (asked,) = await site.ask()
        resume = {"interruptId": asked["id"], "payload": {"approved": True}}
        events = (await send(site, "?dialect=draft", **run_input(None, resume=resume))).events
        assert events[-1]["code"] == "UPSTREAM_ERROR"
        assert "RUN_FINISHED" not in [event["type"] for event in events]


@pytest.mark.parametrize("path", ["/copilotkit/agent/agent/run", "/copilotkit"])
@pytest.mark.parametrize(("header", "kinds"), [("error", REFUSED), ("ask", ASKED_ANEW_BEFORE_1)])
async def test_copilotkits_routes_know_the_choice_too(
    serving: Serving, path: str, header: str, kinds: list[str]
) -> None:
    async with serving() as site:
        await site.ask()
        body = run_input("anybody?", version=None)
        asked = {"method": "agent/run", "params": {"agentId": "agent"}, "body": body}
        sent = asked if path == "/copilotkit" else body
        headers = {"AG-UI-Refusals": header}
        async with open_stream_at(site.base, path, sent, headers=headers) as stream:
            await stream.rest()
        assert stream.kinds == kinds
