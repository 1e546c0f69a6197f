"""A tool of the application that failed there: every framework's model reads what went wrong."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_mastra.frontend import messages_of_calls
from agui_bridge_nexau.requests import Request
from tests.adapters.cashiers import CASHIERS, PAINT, Cashier, by_place, by_tool
from tests.adapters.test_repeated_call_ids import heard_of
from tests.agents.function.harness import make_run

pytestmark = pytest.mark.timeout(120)

FAILED: Final = "The tool failed: no paint left"

RESULTS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "ann": ({"content": "", "error": "no paint left"}, FAILED),
    "bob": (
        {"content": "half of it is red", "error": "no paint left"},
        f"half of it is red\n\n{FAILED}",
    ),
    "cid": ({"content": "no paint left", "error": "no paint left"}, FAILED),
    "dan": ({"content": "painted"}, "painted"),
    "eve": ({"content": "painted", "error": ""}, "painted"),
}
"""What the application returns of a call, and what the model reads."""


@pytest.mark.parametrize(
    "kind", [pytest.param(k, id=name) for name, k in CASHIERS.items() if k.hands_over]
)
@pytest.mark.parametrize("gated", [True, False])
async def test_the_model_reads_the_error_at_once_and_later(
    kind: type[Cashier], gated: bool
) -> None:
    cashier = kind(by_place if gated else by_tool, gated)
    bridge = Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    async with talk(bridge, "cashier") as one:
        for to, (result, told) in RESULTS.items():
            await one.say(f"paint {to}", tools=[PAINT])
            call = (await one.messages())[-1]["toolCalls"][-1]["id"]
            message = {"id": f"result-{to}", "role": "tool", "toolCallId": call, **result}
            assert (await one.send([message])).ending == "success"
            assert dict(heard_of(cashier.requests[-1]))[to] == told
        assert (await one.say("hello", tools=[PAINT])).ending == "success"
        stored = {m["id"]: m for m in await one.messages() if m["role"] == "tool"}
    assert dict(heard_of(cashier.requests[-1])) == {to: told for to, (_, told) in RESULTS.items()}
    for to, (result, _) in RESULTS.items():
        assert stored[f"result-{to}"]["content"] == result["content"], "clients see what was said"


@pytest.mark.parametrize("to", RESULTS)
def test_frameworks_on_a_server_are_sent_the_error(to: str) -> None:
    result, told = RESULTS[to]
    call = {"id": "c", "type": "function", "function": {"name": "paint", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"id": "u", "role": "user", "content": "paint"},
        {"id": "a", "role": "assistant", "content": "", "toolCalls": [call]},
        {"id": "r", "role": "tool", "toolCallId": "c", **result},
    ]
    run = make_run(raw_messages=messages, raw_new_messages=messages[2:])
    nexau = Request.of(run, None, "t").body["messages"]
    assert nexau[-1]["content"] == [{"type": "tool_result", "tool_use_id": "c", "content": told}]
    waiting = {"c": {"toolCallId": "c", "toolName": "paint", "input": {}}}
    mastra: Any = messages_of_calls(waiting, run.results())[-1]["content"]
    assert mastra[0]["result"] == told
