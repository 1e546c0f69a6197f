"""Microsoft's own clients of OpenAI: each call runs once, and each word is told once.

The models are servers on 127.0.0.1. Their streams are written after OpenAI's documents of Responses
and Chat Completions, and held to the types of its package (tests/servers/model): none is recorded.
Executions are counted in the tools, whatever a stream tells of them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, Workflow, tool
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from openai import AsyncOpenAI

from agui_bridge import Bridge
from agui_bridge.testing import Talk, talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework import flows
from tests.adapters.mails import YES
from tests.servers.model.responses import ResponsesReply
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.folds import fold

pytestmark = pytest.mark.anyio

NO = {"approved": False, "reason": "too much"}


@dataclass
class Till:
    """What the tools of one agent did."""

    paid: list[tuple[str, int]] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)


CLIENTS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Responses, which keeps the conversation": (OpenAIChatClient, {}),
    "Responses, which keeps nothing": (OpenAIChatClient, {"store": False}),
    "Chat Completions": (OpenAIChatCompletionClient, {}),
}

any_client = pytest.mark.parametrize("client", CLIENTS)


def payer(sdk: AsyncOpenAI, client: str, till: Till) -> Agent[Any]:
    """An agent that pays once it may, and looks people up."""

    @tool(approval_mode="always_require")
    async def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        till.paid.append((to, amount))
        return f"paid {to}"

    @tool
    async def look_up(name: str) -> str:
        """Look somebody up."""
        till.looked.append(name)
        return f"{name} is known"

    kind, options = CLIENTS[client]
    made = kind(model="m", async_client=sdk)
    return Agent(made, name="payer", tools=[pay, look_up], default_options=options)


@contextlib.asynccontextmanager
async def paying(
    client: str, *scripts: Reply, checkpoints: Path | None = None
) -> AsyncIterator[tuple[Talk, Till, ScriptedModel]]:
    """A conversation with the payer; in a workflow where there is a folder for its checkpoints."""
    till, bridge = Till(), Bridge("memory:")
    async with (
        ScriptedModel(*scripts) as model,
        AsyncOpenAI(api_key="k", base_url=model.base_url, max_retries=0) as sdk,
    ):

        def build(_: Any) -> Workflow:
            return flows.agents(payer(sdk, client, till))

        if checkpoints is None:
            bridge.add("payer", payer(sdk, client, till))
        else:
            bridge.add("payer", AgentFrameworkAdapter(build, checkpoints=checkpoints))
        # The first request imports much of OpenAI's package, seconds of a core.
        async with talk(bridge, "payer", patience=60) as one:
            yield one, till, model


def pay(to: str, amount: int = 100, own: str = "call_1") -> ToolUse:
    return ToolUse("pay", {"to": to, "amount": amount}, own)


def look(name: str, own: str) -> ToolUse:
    return ToolUse("look_up", {"name": name}, own)


def results_of(run: Any) -> list[str]:
    return [event["content"] for event in run.events if event["type"] == "TOOL_CALL_RESULT"]


def kept(messages: Sequence[Any], role: str) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == role]


@any_client
@pytest.mark.parametrize("text", ["Hello.", ["He", "llo", "."]])
@pytest.mark.parametrize("in_workflow", [False, True])
async def test_a_text_is_told_and_kept_once(
    client: str, text: Any, in_workflow: bool, tmp_path: Path
) -> None:
    scripts = Reply(text), Reply("Bye.")
    checkpoints = tmp_path if in_workflow else None
    async with paying(client, *scripts, checkpoints=checkpoints) as (one, _, model):
        assert (await one.say("hello")).text == "Hello."
        await one.say("bye")
        assert kept(await one.messages(), "assistant") == ["Hello.", "Bye."]
    sent = model.requests[1].body
    expected = 0 if sent.get("previous_response_id") == "resp_0" else 1
    assert json.dumps(sent).count("Hello.") == expected


@any_client
@pytest.mark.parametrize("fragment", [0, 4])
@pytest.mark.parametrize("count", [1, 2])
async def test_each_call_of_a_reply_runs_once(client: str, fragment: int, count: int) -> None:
    calls = [look(name, f"call_{name}") for name in ("ann", "bob")[:count]]
    scripts = Reply("I look. ", calls, fragment=fragment), Reply("Done.")
    async with paying(client, *scripts) as (one, till, model):
        ended = await one.say("look")
        assert (ended.ending, ended.text) == ("success", "I look. Done.")
        assert sorted(results_of(ended)) == [f"{name} is known" for name in ("ann", "bob")[:count]]
    assert sorted(till.looked) == ["ann", "bob"][:count]
    given = json.dumps(model.requests[1].body)
    assert [given.count(f"{name} is known") for name in ("ann", "bob")] == [1, count - 1]


@any_client
@pytest.mark.parametrize("fragment", [0, 4])
@pytest.mark.parametrize("in_workflow", [False, True])
async def test_an_approved_call_is_asked_about_once_and_runs_once(
    client: str, fragment: int, in_workflow: bool, tmp_path: Path
) -> None:
    scripts = Reply("I pay. ", [pay("ann")], fragment=fragment), Reply("Paid.")
    checkpoints = tmp_path if in_workflow else None
    async with paying(client, *scripts, checkpoints=checkpoints) as (one, till, _):
        asked = await one.say("pay")
        assert [ask["toolCallId"] for ask in asked.asks] == ["call_1"]
        assert (asked.text, till.paid) == ("I pay. ", [])
        ended = await one.answer(asked, YES)
        assert (ended.ending, ended.text) == ("success", "Paid.")
    assert till.paid == [("ann", 100)]


@any_client
@pytest.mark.parametrize("fragment", [0, 4])
async def test_of_two_calls_each_is_answered_for_itself(client: str, fragment: int) -> None:
    calls = [pay("ann", own="call_1"), pay("bob", own="call_2")]
    scripts = Reply((), calls, fragment=fragment), Reply("Done.")
    async with paying(client, *scripts) as (one, till, model):
        asked = await one.say("pay")
        assert [ask["toolCallId"] for ask in asked.asks] == ["call_1", "call_2"]
        ended = await one.answer(asked, {**YES, "editedArgs": {"to": "eve", "amount": 5}}, NO)
        assert ended.ending == "success"
    assert till.paid == [("eve", 5)]
    given = json.dumps(model.requests[1].body)
    assert (given.count("paid eve"), given.count("Reason: too much")) == (1, 1)


@any_client
@pytest.mark.parametrize("in_workflow", [False, True])
async def test_a_declined_call_never_runs(client: str, in_workflow: bool, tmp_path: Path) -> None:
    scripts = Reply((), [pay("ann")]), Reply("Not paid.")
    checkpoints = tmp_path if in_workflow else None
    async with paying(client, *scripts, checkpoints=checkpoints) as (one, till, model):
        ended = await one.answer(await one.say("pay"), NO)
        assert (ended.ending, ended.text) == ("success", "Not paid.")
    assert till.paid == []
    assert json.dumps(model.requests[1].body).count("Reason: too much") == 1


@any_client
@pytest.mark.parametrize("fragment", [0, 4])
@pytest.mark.parametrize("in_workflow", [False, True])
async def test_calls_of_one_id_are_calls_of_their_own(
    client: str, fragment: int, in_workflow: bool, tmp_path: Path
) -> None:
    calls = [pay("ann", own="pay"), pay("bob", own="pay")]
    scripts = Reply((), calls, fragment=fragment), Reply("Done.")
    checkpoints = tmp_path if in_workflow else None
    async with paying(client, *scripts, checkpoints=checkpoints) as (one, till, model):
        asked = await one.say("pay")
        assert len({ask["toolCallId"] for ask in asked.asks}) == len(asked.asks) == 2
        assert (await one.answer(asked, NO, YES)).ending == "success"
    assert till.paid == [("bob", 100)]
    named, answered = ids_in(model.requests[1].body)
    # A service that keeps the conversation knows the calls by the ids that it gave them.
    assert answered == (named or ["pay", "pay"])


PAINT = {
    "name": "paint",
    "description": "Paint the page.",
    "parameters": {"type": "object", "properties": {}},
}


@any_client
async def test_a_service_that_keeps_the_conversation_gets_the_results_of_a_reply_together(
    client: str,
) -> None:
    calls = [pay("ann", own="c"), pay("bob", own="c"), ToolUse("paint", {}, "c")]
    async with paying(client, Reply((), calls), Reply("Done.")) as (one, till, model):
        asked = await one.say("pay", tools=[PAINT])
        own = [e["toolCallId"] for e in asked.events if e["type"] == "TOOL_CALL_START"]
        assert (await one.answer(asked, NO, YES)).ending == "success"
        assert (len(model.requests), till.paid) == (1, [("bob", 100)])
        red = {"id": "r", "role": "tool", "toolCallId": own[2], "content": "carmine"}
        assert (await one.send([red])).text == "Done."
    sent = model.requests[1].body
    named, answered = ids_in(sent)
    assert sorted(answered) == sorted(named or ["c", "c", "c"])
    told = json.dumps(sent)
    assert [told.count(text) for text in ("Reason: too much", "paid bob", "carmine")] == [1, 1, 1]


def ids_in(sent: Any) -> tuple[list[str], list[str]]:
    """The ids of calls that a request has, and those that it has results of."""
    items = sent.get("input") or sent["messages"]
    named = [one["call_id"] for one in items if one.get("type") == "function_call"]
    named += [call["id"] for one in items for call in one.get("tool_calls") or ()]
    answered = [one["call_id"] for one in items if one.get("type") == "function_call_output"]
    return named, answered + [one["tool_call_id"] for one in items if one.get("role") == "tool"]


async def test_calls_without_ids_get_ids() -> None:
    calls = [ToolUse("pay", {"to": to, "amount": 1}, None) for to in ("ann", "bob")]
    async with paying("Chat Completions", Reply((), calls), Reply("Done.")) as (one, till, _):
        asked = await one.say("pay")
        assert len({ask["toolCallId"] for ask in asked.asks}) == len(asked.asks) == 2
        assert (await one.answer(asked, YES, NO)).ending == "success"
    assert till.paid == [("ann", 1)]


# --- what Responses alone has ---

RESPONSES = "Responses, which keeps nothing"


async def test_messages_and_thoughts_of_several_parts_are_told_whole() -> None:
    reply = ResponsesReply("One. ", messages=["Two."], thoughts=["Hm. ", "Well."])
    async with paying(RESPONSES, reply) as (one, _, _model):
        ended = await one.say("hello")
        thoughts = [e["delta"] for e in ended.events if e["type"] == "REASONING_MESSAGE_CONTENT"]
        assert ("".join(thoughts), ended.text) == ("Hm. Well.", "One. Two.")
        messages = await one.messages()
    assert kept(messages, "assistant") == ["One. Two."]
    assert kept(messages, "reasoning") == ["Hm. Well."]


@pytest.mark.parametrize(
    ("streamed", "whole"),
    [(["Pay 1", "00"], "Pay 100."), (["Pay ", "100."], "Pay [hidden].")],
    ids=["longer", "another"],
)
async def test_a_text_that_is_replaced_is_what_clients_and_the_thread_have(
    streamed: list[str], whole: str
) -> None:
    reply = ResponsesReply(streamed, [look("ann", "c1")], whole_text=whole)
    async with paying(RESPONSES, reply, Reply("Done.")) as (one, till, model):
        ended = await one.say("hello")
        for messages in (await one.messages(), fold(*ended.events).messages):
            assert kept(messages, "assistant") == [whole, "Done."]
            assert kept(messages, "tool") == ["ann is known"]
    assert till.looked == ["ann"]
    assert whole in json.dumps(model.requests[1].body)


async def test_arguments_that_are_replaced_are_what_people_approve_and_what_runs() -> None:
    whole = '{"to": "ann", "amount": 5}'
    reply = ResponsesReply((), [pay("ann", 100)], whole_args=whole, fragment=4)
    async with paying(RESPONSES, reply, Reply("Paid.")) as (one, till, _):
        asked = await one.say("pay")
        (call,) = (await one.messages())[-1]["toolCalls"]
        assert call["function"]["arguments"] == whole
        assert (await one.answer(asked, YES)).ending == "success"
    assert till.paid == [("ann", 5)]
