"""The pauses of LangGraph's documentation on a real `langgraph dev`, behind the bridge."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from agui_bridge import Bridge, Principal
from agui_bridge.engine.engine import mint
from agui_bridge_langgraph_server import LangGraphServerAdapter
from agui_bridge_langgraph_server.adapter import thread_of
from tests.docs.pages import Conversation
from tests.examples.served import serving
from tests.support.langgraph_server import LangGraphProcess
from tests.support.proxy import Proxy, proxy_to
from tests.support.waiting import eventually

APPROVE: dict[str, Any] = {"approved": True}
DECLINE: dict[str, Any] = {"approved": False, "reason": "no mail today"}
EDIT: dict[str, Any] = {"approved": True, "editedArgs": {"to": "bea", "body": "short"}}
GO: dict[str, Any] = {"confirm": True}


class Talk(Conversation):
    """A conversation on a thread of its own, and what was done since it began."""

    def __init__(self, server: LangGraphProcess, graph: str, url: str = "", **options: Any) -> None:
        self.server = server
        self.bridge = Bridge(telemetry=False)
        self.bridge.add("g", LangGraphServerAdapter(url or server.url, graph, **options))
        self._before = len(server.effects)
        super().__init__(self.bridge, "g", mint())

    @property
    def done(self) -> list[Any]:
        return self.server.effects[self._before :]

    @property
    def code(self) -> str:
        return str(self.events[-1].get("code") or self.events[-1]["outcome"]["type"])

    @property
    def results(self) -> list[str]:
        return [e["content"] for e in self.events if e["type"] == "TOOL_CALL_RESULT"]


def place_of(talk: Talk) -> str:
    """The id that the server has the conversation under."""
    return thread_of(Principal().scope, "g", talk.thread)


@pytest.mark.parametrize(
    ("graph", "said", "answers", "done"),
    [
        ("mailer", "send ann", [APPROVE], [{"to": "ann", "body": "original"}]),
        ("mailer", "send ann", [EDIT], [{"to": "bea", "body": "short"}]),
        ("mailer", "send ann", [DECLINE], []),
        ("mailer", "both ann", [DECLINE, APPROVE], [{"to": "second-ann", "body": "original"}]),
        ("mailer", "ask colour", [{"answer": "blue"}], [{"answer": "blue"}]),
        ("mailer", "delegate send ann", [APPROVE], [{"to": "ann", "body": "original"}]),
        ("deploy", "deploy", [True], [True]),
        ("deploy", "deploy", [False], [False]),
        ("deploy", "deploy", [None], [None]),
        ("several", "hello", ["Ann", 7], ["age 7", "name Ann"]),
        ("within", "hello", [True], ["before", True]),
        ("stands", "hello", [GO], ["went"]),
        ("stands", "hello", [{"confirm": False}], []),
    ],
)
async def test_every_pause_is_asked_and_each_answer_arrives_as_it_was_given(
    langgraph: LangGraphProcess, graph: str, said: str, answers: list[Any], done: list[Any]
) -> None:
    talk = Talk(langgraph, graph)
    await talk.say(said)
    assert len(talk.asks) == len(answers), talk.events[-1]
    await talk.answer(*answers)
    assert talk.code == "success", talk.events[-1]
    assert sorted(talk.done, key=str) == sorted(done, key=str)


async def test_the_example_deploys_what_was_answered_and_takes_no_text(
    langgraph: LangGraphProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_SERVER", langgraph.url)
    async with serving("examples.langgraph_server.__main__", "deployer", tmp_path) as talk:
        await talk.say("deploy shop")
        assert "How many replicas of shop?" in talk.asks[0]["message"]
        await talk.answer("two")
        assert talk.error == "INVALID_RESUME_PAYLOAD"
        await talk.restart()
        assert await talk.answer(2) == "shop runs with 2 replicas."
        await talk.send_again()
        messages = (await talk.thread())["messages"]
    assert [each["content"] for each in messages if each["role"] == "assistant"] == [
        "shop runs with 2 replicas."
    ]


async def test_a_text_where_a_boolean_is_asked_for_is_refused_and_nothing_is_sent(
    langgraph: LangGraphProcess,
) -> None:
    talk = Talk(langgraph, "deploy")
    await talk.say("deploy")
    (ask,) = talk.asks
    assert ask["responseSchema"] == {"type": "boolean"}
    await talk.answer("no")
    assert talk.code == "INVALID_RESUME_PAYLOAD"
    assert talk.done == []
    entry = {"interruptId": ask["id"], "status": "resolved", "payload": False}
    assert await talk._send(resume=[entry]) == "left alone"
    assert talk.done == [False]


async def test_edited_arguments_fit_the_schema_that_the_adapter_was_given(
    langgraph: LangGraphProcess,
) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}, "body": {}}}
    talk = Talk(langgraph, "mailer", tools={"send_email": schema})
    await talk.say("send ann")
    await talk.answer({"approved": True, "editedArgs": {"to": 7}})
    assert (talk.code, talk.done) == ("INVALID_RESUME_PAYLOAD", [])


async def test_a_run_is_as_its_assistant_and_its_options_say_and_state_goes_both_ways(
    langgraph: LangGraphProcess,
) -> None:
    client = get_client(url=langgraph.url, api_key=None)
    made = await client.assistants.create("configured", context={"language": "fr"})
    talk = Talk(langgraph, made["assistant_id"])
    assert await talk.say("hello", state={"document": "draft"}) == "fr: draft"
    shown = [e["snapshot"] for e in talk.events if e["type"] == "STATE_SNAPSHOT"]
    assert shown[-1] == {"document": "draft!"}
    own = Talk(langgraph, "configured", graph_context={"language": "de"})
    assert await own.say("hello") == "de: nothing"
    await client.aclose()


@pytest.mark.parametrize("force", [False, True])
async def test_a_stop_ends_the_run_at_the_server_and_keeps_what_was_said(
    langgraph: LangGraphProcess, force: bool
) -> None:
    talk = Talk(langgraph, "mailer")
    saying = asyncio.create_task(talk.say("slow"))
    await eventually(lambda: "Working" in json.dumps(talk.events))
    stopped = await talk.bridge.stop("g", talk.thread, force=force)
    assert stopped.status == "success"
    assert "Working" in await saying
    client = get_client(url=langgraph.url, api_key=None)
    (run,) = await client.runs.list(place_of(talk))
    assert run["status"] == "interrupted"
    # The conversation goes on.
    assert await talk.say("hello") == "Hello."
    await client.aclose()


async def test_a_run_that_somebody_cancels_at_the_server_is_told_as_cancelled_there(
    langgraph: LangGraphProcess,
) -> None:
    talk = Talk(langgraph, "mailer")
    saying = asyncio.create_task(talk.say("slow"))
    await eventually(lambda: "Working" in json.dumps(talk.events))
    client = get_client(url=langgraph.url, api_key=None)
    (run,) = await client.runs.list(place_of(talk))
    await client.runs.cancel(place_of(talk), run["run_id"])
    await saying
    assert talk.code == "UPSTREAM_ERROR"
    assert "cancelled at its LangGraph server" in talk.events[-1]["message"]
    await client.aclose()


async def test_a_question_that_was_answered_at_the_server_takes_no_answer_any_more(
    langgraph: LangGraphProcess,
) -> None:
    talk = Talk(langgraph, "mailer")
    await talk.say("send ann")
    client = get_client(url=langgraph.url, api_key=None)
    thread = place_of(talk)
    (found,) = (await client.threads.get_state(thread))["interrupts"]
    decided = {found["id"]: {"decisions": [{"type": "approve"}]}}
    await client.runs.wait(thread, "mailer", command={"resume": decided})
    await talk.answer(APPROVE)
    assert talk.code == "UPSTREAM_ERROR"
    assert talk.done == [{"to": "ann", "body": "original"}]
    await client.aclose()


async def test_a_message_beside_an_answer_is_said_once_that_is_carried_out(
    langgraph: LangGraphProcess,
) -> None:
    talk = Talk(langgraph, "mailer")
    await talk.say("send ann")
    entry = {"interruptId": talk.asks[0]["id"], "status": "resolved", "payload": APPROVE}
    message = {"id": "u9", "role": "user", "content": "hello"}
    assert await talk._send(resume=[entry], messages=[message]) == "Done with 1 calls.Hello."
    assert talk.done == [{"to": "ann", "body": "original"}]


async def test_an_assistant_that_the_server_does_not_have_is_named_and_nothing_begins(
    langgraph: LangGraphProcess,
) -> None:
    talk = Talk(langgraph, "nobody")
    await talk.say("hello")
    assert talk.code == "UPSTREAM_ERROR"
    assert "knows no such assistant" in talk.events[-1]["message"]


# --- a network that breaks ---


async def through(
    server: LangGraphProcess, proxy: Proxy, graph: str = "mailer", **options: Any
) -> Talk:
    return Talk(server, graph, f"http://127.0.0.1:{proxy.port}", **options)


async def test_a_stream_that_was_cut_is_taken_up_where_it_was(langgraph: LangGraphProcess) -> None:
    async with proxy_to(int(langgraph.url.rpartition(":")[2])) as proxy:
        talk = await through(langgraph, proxy)
        saying = asyncio.create_task(talk.say("slowlytwice ann"))

        def has_told(times: int) -> bool:
            return json.dumps(talk.events).count("TOOL_CALL_START") == times

        for times in (1, 2):
            await eventually(partial(has_told, times))
            proxy.cut()
        said = await saying
        # Nothing is lost, told twice or begun twice.
        assert said == "I will do it. I will do it. Done with 2 calls."
        assert talk.code == "success"
        assert talk.done == ["looked up ann"] * 2


@pytest.mark.parametrize(
    ("fault", "code", "done"),
    [("lose reply", "success", 1), ("lose request", "RUN_INDETERMINATE", 0)],
)
async def test_an_answer_whose_request_is_cut_is_looked_for_and_never_sent_again(
    langgraph: LangGraphProcess, fault: Any, code: str, done: int
) -> None:
    async with proxy_to(int(langgraph.url.rpartition(":")[2])) as proxy:
        talk = await through(langgraph, proxy)
        await talk.say("send ann")
        entry = {"interruptId": talk.asks[0]["id"], "status": "resolved", "payload": APPROVE}
        proxy.fault, proxy.marker = fault, b"/runs/stream"
        await talk.answer(APPROVE)
        assert talk.code == code, talk.events[-1]
        await talk._send(resume=[entry])
        assert len(talk.done) == done


async def test_a_server_that_is_not_reached_leaves_the_question_open(
    langgraph: LangGraphProcess,
) -> None:
    async with proxy_to(int(langgraph.url.rpartition(":")[2])) as proxy:
        talk = await through(langgraph, proxy)
        await talk.say("send ann")
        entry = {"interruptId": talk.asks[0]["id"], "status": "resolved", "payload": APPROVE}
        proxy.take_down()
        await talk.answer(APPROVE)
        assert (talk.code, talk.done) == ("UPSTREAM_ERROR", [])
        proxy.down = False
        await talk._send(resume=[entry])
        assert (talk.code, len(talk.done)) == ("success", 1)
