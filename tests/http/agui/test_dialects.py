"""Dialects over HTTP: how one is asked for, and pauses that are answered in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge.adapters import Ask
from tests.http.conftest import Serving, Site
from tests.support.agents import Answering, approval
from tests.support.server import run_input

Event = dict[str, Any]


async def send(site: Site, query: str = "", header: str | None = None, **body: Any) -> list[Event]:
    """The events of a run, which are not all in AG-UI's own shapes."""
    headers = {} if header is None else {"AG-UI-Dialect": header}
    answer = await site.http.post(f"/agents/agent{query}", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    lines = answer.text.split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data")]


def shape(events: list[Event]) -> str:
    """Which dialect a pause is told in."""
    finished = events[-1]
    custom = any(event.get("name") == "on_interrupt" for event in events)
    if finished.get("outcome") == "interrupt":
        return "draft"
    if "outcome" not in finished:
        return "langgraph" if custom else "nothing"
    return "langgraph-both" if custom else "ag-ui"


@pytest.mark.parametrize(
    ("setting", "query", "header", "expected"),
    [
        ("auto", "", None, "ag-ui"),
        ("auto", "?dialect=draft", None, "draft"),
        ("auto", "", "draft", "draft"),
        ("auto", "", "langgraph", "langgraph"),
        ("auto", "?dialect=langgraph", "draft", "langgraph"),
        ("auto", "?dialect=langgraph-both", None, "langgraph-both"),
        ("draft", "", None, "draft"),
        ("langgraph", "?dialect=ag-ui", None, "ag-ui"),
        ("langgraph", "", None, "langgraph"),
    ],
)
async def test_query_goes_before_header_and_header_before_setting(
    serving: Serving, setting: Any, query: str, header: str | None, expected: str
) -> None:
    async with serving(dialect=setting) as site:
        assert shape(await send(site, query, header, **run_input("go"))) == expected


async def test_an_unknown_dialect_is_refused_before_anything_runs(serving: Serving) -> None:
    async with serving() as site:
        answer = await site.http.post("/agents/agent?dialect=klingon", json=run_input("go"))
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (422, "INVALID_INPUT")
        assert "draft" in error["message"]
        assert site.agent.runs == []


async def test_two_questions_of_the_draft_are_asked_and_answered_one_after_the_other(
    serving: Serving,
) -> None:
    async with serving(Answering(approval("c1"), approval("c2"))) as site:
        asked = (await send(site, "?dialect=draft", **run_input("go")))[-1]["interrupt"]
        assert asked["reason"] == "human_approval"
        assert asked["payload"]["proposal"] == {"tool": "send", "args": {"to": "c1"}}
        answer = {"interruptId": asked["id"], "payload": {"approved": True}}
        # The answer's own shape is enough from here on.
        body = {"threadId": "t", "runId": "r2"}
        held = await send(site, **body, resume=answer)
        second = held[-1]["interrupt"]
        assert second["payload"]["proposal"]["args"] == {"to": "c2"}
        assert site.agent.executed == []
        # Again: nothing changes, and the same question is asked.
        assert (await send(site, **body, resume=answer))[-1]["interrupt"] == second
        refusal = {"interruptId": second["id"], "payload": {"approved": False}}
        done = await send(site, **body, resume=refusal)
        assert done[-1]["outcome"] == "success"
        assert site.agent.executed == [("c1", {"to": "c1"})]
        # And a repetition is answered without being carried out.
        assert (await send(site, **body, resume=refusal))[-1]["outcome"] == "success"
        assert len(site.agent.executed) == 1


async def test_modifications_reach_the_agent(serving: Serving) -> None:
    ask = Ask("n", "database_modification", metadata={"action": "DELETE"})
    async with serving(Answering(ask)) as site:
        asked = (await send(site, "?dialect=draft", **run_input("go")))[-1]["interrupt"]
        assert asked["payload"] == {"action": "DELETE"}
        payload = {"approved": True, "modifications": {"batchSize": 10, "dryRun": True}}
        resume = {"interruptId": asked["id"], "payload": payload}
        done = await send(site, threadId="t", runId="r2", resume=resume)
        assert done[-1]["outcome"] == "success"
        assert site.agent.runs[-1].resume.decisions["n"].payload == payload


async def test_an_answer_that_names_nothing_is_told_what_to_name(serving: Serving) -> None:
    async with serving() as site:
        asked = (await send(site, "?dialect=draft", **run_input("go")))[-1]["interrupt"]
        before = await site.everything()
        answer = {"payload": {"approved": True}}
        refused = await send(site, threadId="t", runId="r2", resume=answer)
        assert refused[-1]["code"] == "INTERRUPT_NOT_COVERED"
        assert asked["id"] in refused[-1]["message"]
        # Its RUN_FINISHED would be the end of it.
        assert [event["type"] for event in refused] == ["RUN_STARTED", "RUN_ERROR"]
        assert site.agent.executed == []
        assert await site.everything() == before


async def test_a_command_answers_what_its_event_asked_and_nothing_that_came_later(
    serving: Serving,
) -> None:
    async with serving(Answering(approval("c1"), approval("c2"))) as site:
        (value,) = [
            event["value"]
            for event in await send(site, "?dialect=langgraph", **run_input("go"))
            if event["type"] == "CUSTOM"
        ]
        assert value["proposal"] == {"tool": "send", "args": {"to": "c1"}}
        command = {"resume": {"approved": True}, "interruptEvent": value}
        props = {"forwardedProps": {"command": command}}
        held = await send(site, **{**run_input(None, version=None), **props})
        assert shape(held) == "langgraph"
        (second,) = [event["value"] for event in held if event["type"] == "CUSTOM"]
        assert second["proposal"]["args"] == {"to": "c2"}
        # A double click on the first card is no answer to the second.
        await send(site, **{**run_input(None, version=None), **props})
        assert site.agent.executed == []
        command |= {"interruptEvent": second}
        done = await send(site, **{**run_input(None, version=None), **props})
        assert done[-1]["outcome"] == {"type": "success"}
        assert [call for call, _ in site.agent.executed] == ["c1", "c2"]
