"""Arguments that a person edited: the conversation tells what ran, and what was proposed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun
from agui_bridge.adapters import Pause
from agui_bridge.errors import NotDelivered, OutcomeUnknown
from agui_bridge.protocol.turns import (
    proposed_arguments,
    with_executed,
    with_proposed,
)
from agui_bridge.testing import talk
from tests.support.agents import Bench, Scripted, approval, outcome

PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}}
EDIT = {"approved": True, "editedArgs": {"to": "bo"}}
ASK = approval(parameters=PARAMETERS)


def call_of(messages: list[dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
    """The arguments of the only call, and those that its message says were proposed."""
    (message,) = (m for m in messages if m.get("toolCalls"))
    (call,) = message["toolCalls"]
    proposed = proposed_arguments(message.get("metadata"))
    told = {key: json.loads(text) for key, text in proposed.items()}
    return json.loads(call["function"]["arguments"]), told


async def stored(bench: Bench) -> list[dict[str, Any]]:
    return [stored.message for stored in (await bench.load()).messages]


@pytest.mark.parametrize("history", ["server", "client"])
async def test_an_agents_turns_tell_what_ran_and_what_was_proposed(history: str) -> None:
    bridge = Bridge(telemetry=False)
    heard: list[Any] = []

    def send(to: str) -> str:
        return f"sent to {to}"

    @bridge.agent("agent", history=history)
    async def agent(run: FunctionRun) -> str:
        heard[:] = [call for turn in run.turns() for call in turn.calls]
        if not heard:
            await run.tool(await run.approve("send", {"to": "ann"}, fn=send), send)
        return "Done."

    async with talk(bridge, "agent") as it:
        asked = await it.say("go")
        assert call_of(await it.messages()) == ({"to": "ann"}, {})
        await it.answer(asked, EDIT)
        executed, proposed = call_of(await it.messages())
        await it.say("and?")
    assert (executed, list(proposed.values())) == ({"to": "bo"}, [{"to": "ann"}])
    if history == "server":
        (call,) = heard
        assert (json.loads(call.arguments), json.loads(call.proposed)) == (
            {"to": "bo"},
            {"to": "ann"},
        )
        assert call.result == "sent to bo"


async def test_an_edit_that_reached_nobody_is_taken_back_with_the_answer() -> None:
    adapter = Scripted([Pause([ASK], None)], [NotDelivered("away")], ["Done."], edit=True)
    async with Bench(adapter).open() as bench:
        asked = await bench.ask()
        failed = await bench.say(resume=bench.entries(asked, EDIT))
        assert call_of(await stored(bench)) == ({"to": "c1"}, {})
        last = [e for e in failed if e["type"] == "MESSAGES_SNAPSHOT"][-1]
        assert call_of(last["messages"]) == ({"to": "c1"}, {})
        await bench.say(resume=bench.entries(asked, {"approved": True}))
        assert call_of(await stored(bench)) == ({"to": "c1"}, {})


async def test_an_edit_whose_fate_is_unknown_stands() -> None:
    adapter = Scripted([Pause([ASK], None)], [OutcomeUnknown("gone")], edit=True)
    async with Bench(adapter).open() as bench:
        asked = await bench.ask()
        failed = await bench.say(resume=bench.entries(asked, EDIT))
        assert outcome(failed) == "RUN_INDETERMINATE"
        assert call_of(await stored(bench)) == ({"to": "bo"}, {"c1": {"to": "c1"}})


async def test_the_same_arguments_sent_as_edited_are_no_edit() -> None:
    adapter = Scripted([Pause([ASK], None)], ["Done."], edit=True)
    async with Bench(adapter).open() as bench:
        asked = await bench.ask()
        same = {"approved": True, "editedArgs": {"to": "c1"}}
        await bench.say(resume=bench.entries(asked, same))
        assert call_of(await stored(bench)) == ({"to": "c1"}, {})


def test_calls_of_one_message_are_edited_and_taken_back_one_by_one() -> None:
    calls = [{"id": i, "function": {"name": "f", "arguments": i}} for i in ("a", "b")]
    message = {"id": "m", "toolCalls": calls, "metadata": {"agui_bridge": {"truncated": True}}}
    both = with_executed(with_executed(message, "a", "A"), "b", "B")
    assert [call["function"]["arguments"] for call in both["toolCalls"]] == ["A", "B"]
    assert proposed_arguments(both["metadata"]) == {"a": "a", "b": "b"}
    one = with_proposed(both, "a")
    assert [call["function"]["arguments"] for call in one["toolCalls"]] == ["a", "B"]
    assert one["metadata"]["agui_bridge"] == {"truncated": True, "proposed": {"b": "b"}}
    assert with_proposed(one, "b") == message
    assert with_proposed(message, "b") == message


@pytest.mark.parametrize(
    "metadata",
    [None, 1, {"agui_bridge": 1}, {"agui_bridge": {"proposed": [1]}}],
)
def test_metadata_of_clients_may_be_anything(metadata: Any) -> None:
    assert proposed_arguments(metadata) == {}
