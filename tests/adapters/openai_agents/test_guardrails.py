"""What a guardrail refuses is kept for people, and no model reads it any more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import (
    GuardrailFunctionOutput,
    ToolGuardrailFunctionOutput,
    function_tool,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)

from agui_bridge.protocol.threads.messages.archived import archived_for
from tests.adapters.openai_agents.mailer import Mailer
from tests.adapters.openai_agents.talking import talking

ENDED = "The agent's guardrail 'homework' ended the run."


@input_guardrail(name="homework", run_in_parallel=False)
async def no_homework(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    # Judges all that it is given, as the SDK's own example does.
    said = [str(item.get("content")) for item in given if item.get("role") == "user"]
    return GuardrailFunctionOutput("No homework, please.", any("homework" in one for one in said))


@output_guardrail(name="homework")
async def no_trees(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput({"found": "trees"}, "trees" in str(output))


async def test_the_thread_goes_on_after_a_message_that_was_refused() -> None:
    mailer = Mailer(input_guardrails=[no_homework])
    async with talking(mailer) as one:
        await one.say("think flowers")
        refused = await one.say("do my homework")
        assert (refused.ending, refused.fault) == ("AGENT_REFUSED", f"{ENDED} No homework, please.")
        assert (await one.say("hello")).text == "Hello."
        assert "homework" not in mailer.told()
        # The note of the first run is there: with what the provider wants back.
        assert "signature-of-the-provider" in mailer.told()
        said = {m["content"]: archived_for(m) for m in await one.messages() if m["role"] == "user"}
    assert said == {"think flowers": None, "do my homework": "refused", "hello": None}


async def test_a_reply_that_was_refused_is_in_no_later_request() -> None:
    mailer = Mailer(output_guardrails=[no_trees])
    async with talking(mailer) as one:
        refused = await one.say("think trees")
        assert (refused.ending, refused.fault) == ("AGENT_REFUSED", ENDED)
        assert (await one.say("hello")).ending == "success"
    assert "trees" not in mailer.told()


@pytest.mark.parametrize("before", [(), ("hello",)], ids=["at first", "after a turn"])
async def test_a_user_speaks_first_though_a_message_was_refused_after_a_tool_ran(
    before: tuple[str, ...],
) -> None:
    @input_guardrail(name="homework", run_in_parallel=True)
    async def look_first(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        is_refused = any("look bob" in str(item) for item in given if item.get("role") == "user")
        while is_refused and not mailer.done:
            await asyncio.sleep(0)
        return GuardrailFunctionOutput("Not him.", is_refused)

    mailer = Mailer(input_guardrails=[look_first])
    async with talking(mailer) as one:
        for text in before:
            await one.say(text)
        assert (await one.say("look bob")).ending == "AGENT_REFUSED"
        assert mailer.done == ["looked up bob"]
        assert (await one.say("hello")).ending == "success"
    request = mailer.requests[-1]
    assert "look bob" not in mailer.told()
    calls = [place for place, item in enumerate(request) if item.get("name") == "look_up"]
    assert len(calls) == 1, "the model knows what ran"
    said, spoken = request[calls[0] - 2], request[calls[0] - 1]
    assert (request[0]["role"], said["role"], spoken["role"]) == ("user", "user", "assistant")
    assert "was refused, and is left out" in said["content"]


@tool_input_guardrail(name="homework")
async def refuse_arguments(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.raise_exception("Not these.")


@tool_output_guardrail(name="homework")
async def refuse_result(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.raise_exception({"secret": 1})


@pytest.mark.parametrize(
    ("guards", "done", "said"),
    [
        ({"tool_input_guardrails": [refuse_arguments]}, [], f"{ENDED} Not these."),
        ({"tool_output_guardrails": [refuse_result]}, ["looked up bob"], ENDED),
    ],
    ids=["arguments", "a result"],
)
async def test_a_guardrail_of_a_tool_refuses_as_well(
    guards: Any, done: list[str], said: str
) -> None:
    mailer = Mailer()
    mailer.agent.tools[1] = function_tool(mailer.look_up, **guards)
    async with talking(mailer) as one:
        refused = await one.say("look bob")
    assert (refused.ending, refused.fault) == ("AGENT_REFUSED", said)
    assert mailer.done == done
