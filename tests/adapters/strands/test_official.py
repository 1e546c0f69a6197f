"""Who moves here from ag_ui_strands keeps state, context, behaviours of tools, and approvals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import CustomEvent, RunAgentInput
from ag_ui_strands import (
    PredictStateMapping,
    StrandsAgent,
    StrandsAgentConfig,
    ToolBehavior,
    ToolStreamEventContext,
)
from ag_ui_strands.config import ToolCallContext, ToolResultContext
from strands import Agent, ToolContext, tool
from strands.hooks import AfterToolCallEvent

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import Talk, talk
from agui_bridge_strands import StrandsAdapter
from examples.strands.model import Call, OfflineModel, results_in
from tests.adapters.strands.mailer import Mailer

pytestmark = pytest.mark.anyio

YES = {"approved": True}


class Cook:
    """An agent whose tools change the shared state.

    Attributes:
        done: what was carried out.
        requests: what its model was told.
        contexts: what a tool found of the application's.
    """

    def __init__(self, **options: Any) -> None:
        self.done: list[str] = []
        self.requests: list[str] = []
        self.contexts: list[Any] = []

        @tool
        async def bake(dish: str) -> AsyncIterator[Any]:
            """Bake."""
            yield {"state": {"dish": dish, "step": 1}}
            yield CustomEvent(name="smell", value=dish)
            self.done.append(dish)
            yield '{"warm": true}'

        @tool(context=True)
        def taste(dish: str, tool_context: ToolContext) -> str:
            """Taste."""
            self.contexts.append(tool_context.agent.state.get("agui_context"))
            return f"{dish} is good"

        self.agent = Agent(
            model=OfflineModel(self._reply),
            tools=[bake, taste],
            callback_handler=None,
            **options,
        )

    async def _reply(self, messages: Any, names: Any) -> AsyncIterator[Any]:
        self.requests.append(str(messages))
        if results_in(messages[-1]):
            yield "Served."
        else:
            said = messages[-1]["content"][-1]["text"]
            name, dish = said.splitlines()[-1].split()
            yield Call(name, {"dish": dish})


def talking(agent: Any, **options: Any) -> Any:
    bridge = Bridge("memory:")
    bridge.add("cook", StrandsAdapter(agent, **options) if options else agent)
    return talk(bridge, "cook")


def official(cook: Cook, name: str = "bake", *, hooks: Any = None, **behavior: Any) -> StrandsAgent:
    return StrandsAgent(
        cook.agent,
        "cook",
        hooks=hooks,
        config=StrandsAgentConfig(tool_behaviors={name: ToolBehavior(**behavior)}),
    )


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


async def test_what_a_tool_yields_is_state_and_events_before_its_result() -> None:
    cook = Cook()
    async with talking(cook.agent) as one:
        ended = await one.say("bake pie", state={"dish": "none"})
        told = kinds(ended.events)
        assert told.index("CUSTOM") < told.index("TOOL_CALL_RESULT")
        assert "STATE_SNAPSHOT" in told[told.index("TOOL_CALL_END") : told.index("CUSTOM")]
        assert await one.state() == {"dish": "pie", "step": 1}
    assert cook.done == ["pie"]


async def test_tools_find_the_context_where_ag_ui_strands_puts_it_and_nothing_keeps_it() -> None:
    cook = Cook()
    async with talking(cook.agent) as one:
        one.context = [{"description": "who", "value": "Eve"}]
        assert (await one.say("taste pie")).ending == "success"
        one.context = []
        assert (await one.say("taste pie")).ending == "success"
    assert cook.contexts == [[{"description": "who", "value": "Eve"}], []]
    assert "Eve" not in cook.requests[-1]


async def test_the_state_reaches_the_model_by_a_builder_and_stays_out_of_the_thread() -> None:
    def build(given: RunAgentInput, text: str) -> str:
        state: Any = given.state
        return f"The dish is {state['dish']}.\n{text}"

    cook = Cook()
    async with talking(cook.agent, state_context_builder=build) as one:
        await one.say("taste pie", state={"dish": "first"})
        await one.say("taste pie", state={"dish": "second"})
        assert "The dish is" not in str(await one.messages())
    assert ["The dish is first" in told for told in cook.requests] == [True, True, False, False]
    assert all(told.count("The dish is") == 1 for told in cook.requests)


async def test_behaviours_of_tools_tell_state_from_arguments_and_results() -> None:
    seen: list[Any] = []

    def from_args(context: ToolCallContext) -> dict[str, Any]:
        seen.append((context.tool_name, context.tool_input, context.args_str))
        return {"wanted": context.tool_input["dish"]}

    async def from_result(context: ToolResultContext) -> dict[str, Any]:
        return {"warm": context.result_data["warm"]}

    async def after(context: ToolResultContext) -> AsyncIterator[Any]:
        yield CustomEvent(name="served", value=context.tool_use_id)

    async def streamed(context: ToolStreamEventContext) -> AsyncIterator[Any]:
        yield CustomEvent(name="streamed", value=context.tool_name)

    cook = Cook()
    agent = official(
        cook,
        state_from_args=from_args,
        state_from_result=from_result,
        custom_result_handler=after,
        tool_stream_event_handler=streamed,
        predict_state=[PredictStateMapping("dish", "bake", "dish")],
    )
    async with talking(agent) as one:
        ended = await one.say("bake pie", state={"guests": 2})
        assert ended.ending == "success"
        names = [e["name"] for e in ended.events if e["type"] == "CUSTOM"]
        assert names == ["PredictState", "streamed", "streamed", "streamed", "served"]
        assert await one.state() == {"guests": 2, "wanted": "pie", "warm": True}
    assert seen == [("bake", {"dish": "pie"}, '{"dish": "pie"}')]
    assert cook.done == ["pie"]


async def test_a_tool_that_interrupts_is_approved_and_state_is_told_of_what_ran() -> None:
    cook = Cook()

    def from_args(context: ToolCallContext) -> dict[str, Any]:
        return {"wanted": context.tool_input["dish"]}

    agent = official(cook, interrupt_on_call=True, state_from_args=from_args)
    async with talking(agent) as one:
        asked = await one.say("bake pie", state={"guests": 2})
        assert (len(asked.asks), cook.done, await one.state()) == (1, [], {"guests": 2})
        await one.answer(asked, {**YES, "editedArgs": {"dish": "cake"}})
        assert cook.done == ["cake"]
        assert (await one.state())["dish"] == "cake"


async def test_a_tool_may_have_the_last_word() -> None:
    cook = Cook()
    async with talking(official(cook, stop_streaming_after_result=True)) as one:
        ended = await one.say("bake pie")
        assert (ended.ending, ended.text, cook.done) == ("success", "", ["pie"])
        assert len(cook.requests) == 1
        assert (await one.say("taste pie")).text == "Served."


@pytest.mark.parametrize(
    "function",
    ["state_from_args", "state_from_result", "custom_result_handler", "tool_stream_event_handler"],
)
async def test_a_behaviour_that_fails_takes_nothing_from_the_tool(
    function: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(context: Any) -> Any:
        raise RuntimeError("no state")

    cook, behavior = Cook(), dict[str, Any]({function: broken})
    async with talking(official(cook, **behavior)) as one:
        assert (await one.say("bake pie")).ending == "success"
    assert cook.done == ["pie"]
    assert "tool behaviour of 'bake' failed" in caplog.text


async def test_hooks_of_the_class_run() -> None:
    called: list[str] = []

    class Hooks:
        def register_hooks(self, registry: Any, **_: Any) -> None:
            registry.add_callback(AfterToolCallEvent, lambda event: called.append("after"))

    async with talking(official(Cook(), hooks=[Hooks()])) as one:
        assert (await one.say("taste pie")).ending == "success"
    assert called == ["after"]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"session_manager_provider": lambda _: None}, "session_manager_provider"),
        ({"thread_agent_kwargs": lambda _: {}}, "thread_agent_kwargs"),
        ({"template_tools_provider": lambda _: None}, "template_tools_provider"),
        ({"a2ui": {"recovery": {"maxAttempts": 0}}}, "attempts should be"),
        ({"tool_behaviors": {"bake": ToolBehavior(args_streamer=lambda _: None)}}, "args_streamer"),
    ],
)
def test_settings_that_have_no_place_here_are_refused(config: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        StrandsAdapter(StrandsAgent(Cook().agent, "cook", config=StrandsAgentConfig(**config)))


def test_a_class_that_lost_parts_of_its_agent_or_names_them_otherwise_is_refused() -> None:
    agent = official(Cook())
    agent._unforwardable_params.append("plugins")
    with pytest.raises(ConfigurationError, match="does not keep all of its agent: plugins"):
        StrandsAdapter(agent)
    del agent._unforwardable_params
    with pytest.raises(ConfigurationError, match=r"ag_ui_strands 1.*_unforwardable_params"):
        StrandsAdapter(agent)


async def test_reasoning_that_the_provider_hides_goes_to_the_page_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mailer = Mailer()
    stream = mailer.model.stream

    async def hiding(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for event in stream(*args, **kwargs):
            yield event
            if "messageStart" in event:
                hidden = {"reasoningContent": {"redactedContent": b"hidden"}}
                yield {"contentBlockDelta": {"delta": hidden}}
                yield {"contentBlockStop": {}}

    monkeypatch.setattr(mailer.model, "stream", hiding)
    one: Talk
    async with talking(mailer.agent) as one:
        ended = await one.say("hello")
    told = [e for e in ended.events if e["type"] == "REASONING_ENCRYPTED_VALUE"]
    assert [(e["encryptedValue"], e["subtype"]) for e in told] == [("aGlkZGVu", "message")]
    assert ended.text == "Hello."
