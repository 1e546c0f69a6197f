"""A question that says its call says what is not known of it; what a page rounds is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.errors import Refused
from agui_bridge.protocol.threads.records import Interrupt
from agui_bridge.protocol.wire.run_events import public_interrupt
from agui_bridge.stdio.json_rpc import read_query
from agui_bridge.surfaces.reading import say_call
from tests.channels.bridges import notice
from tests.support.agents import Scripted
from tests.support.server import client, run_input, serve


def said(ask: Interrupt) -> str:
    message = say_call(public_interrupt(ask), ask)["message"]
    assert isinstance(message, str)
    return message


def test_a_question_that_lets_run_what_is_not_known_says_so() -> None:
    ask = replace(notice(tool_call=None, message="Go\u200b?").ask, permits=True, asked_by=None)
    assert said(ask) == "Which tool would run, and its arguments, are not known here.\n\nGo\\u200b?"
    told = replace(ask, permits=False, reason="input", metadata={"to": "bob", "agui_bridge": 1})
    assert said(told) == '{\n  "to": "bob"\n}\n\nGo\\u200b?'


async def test_another_choice_is_refused_before_anything_runs() -> None:
    with pytest.raises(Refused, match="tell: there is 'calls'"):
        read_query({"messages": "go", "tell": "all"}, Settings().input_limits, lambda: "id")
    bridge, agent = Bridge(), Scripted(["Hello."])
    bridge.add("ops", agent)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        answer = await http.post("/agents/ops?tell=all", json=run_input())
    assert (answer.status_code, agent.runs) == (422, [])


@pytest.mark.parametrize("tells", [False, True])
@pytest.mark.parametrize(
    ("payload", "rounded"),
    [
        (2**53 - 1, False),
        (2**53, True),
        ({"a": [1, {"b": -(2**53)}]}, True),
        ({"a": 1e21}, True),
        ({"a": str(2**60), "b": True, "c": None, "d": 0.1}, False),
    ],
)
async def test_an_answer_that_a_page_may_have_rounded_is_refused_where_its_question_was_told(
    tells: bool, payload: Any, rounded: bool
) -> None:
    bridge, answered = Bridge(), []

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        answered.append(await run.ask("How much?", schema={}))
        yield "Done."

    path = "/agents/ops" + ("?tell=calls" if tells else "")
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        asked = (await http.post(path, json=run_input())).text.rpartition("data: ")[2]
        [question] = json.loads(asked)["outcome"]["interrupts"]
        answer = {"interruptId": question["id"], "status": "resolved", "payload": payload}
        told = await http.post(path, json={**run_input(), "runId": "2", "resume": [answer]})
    refused = tells and rounded
    assert ("INVALID_RESUME_PAYLOAD" in told.text) == ("a browser rounds" in told.text) == refused
    assert answered == ([] if refused else [payload])
