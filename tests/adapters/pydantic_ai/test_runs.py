"""What a run is given of the page and of earlier runs: state, edits, lost tools; its limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from ag_ui.core import CustomEvent, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, UsageLimitExceeded, UsageLimits
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.ui import StateDeps
from pydantic_ai.usage import RequestUsage

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName
from agui_bridge.testing import talk
from agui_bridge_pydantic_ai import PydanticAIAdapter
from agui_bridge_pydantic_ai.guard import NEEDED
from tests.adapters.mails import YES
from tests.adapters.pydantic_ai.mailer import Mailer
from tests.adapters.pydantic_ai.talking import talking

NO = {"approved": False, "reason": "too dear"}


# --- the state ---


class Recipe(BaseModel):
    title: str = "soup"
    steps: list[str] = []


@dataclass
class Kitchen:
    """Dependencies of an author's own, which have the state, too."""

    state: Recipe = field(default_factory=Recipe)
    oven: str = "hot"


def bridge_of(agent: Any, **options: Any) -> Bridge:
    bridge = Bridge("memory:")
    bridge.add("cook", PydanticAIAdapter(agent, **options))
    return bridge


def cook(**options: Any) -> tuple[Any, list[Any]]:
    """An agent whose tool changes the state, and what the tool saw."""
    mailer, seen = Mailer(**options), list[Any]()

    async def look_up(ctx: RunContext[Any], name: str) -> str:
        seen.append((ctx.deps.state.title, len(ctx.deps.state.steps)))
        ctx.deps.state.steps.append(name)
        return name

    agent: Any = Agent(FunctionModel(stream_function=mailer._reply), **options)
    agent.tool(look_up)
    return agent, seen


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({"deps_type": StateDeps[Recipe]}, None),
        ({}, StateDeps(Recipe())),
        ({"deps_type": Kitchen}, Kitchen()),
    ],
    ids=["of its type", "of StateDeps", "of the author's"],
)
async def test_a_tool_has_the_state_of_the_page_in_its_dependencies(
    options: Any, given: Any
) -> None:
    agent, seen = cook(**options)
    async with talk(bridge_of(agent, deps=given), "cook") as one:
        for title in ("cake", "bread"):
            assert (await one.say("look a", state={"title": title})).ending == "success"
    async with talk(bridge_of(agent, deps=given), "cook") as one:
        assert (await one.say("look a")).ending == "success"
    # Nothing of one run is in another's.
    assert seen == [("cake", 0), ("bread", 0), ("soup", 0)]


def test_dependencies_are_made_of_the_run_or_have_a_state() -> None:
    with pytest.raises(ConfigurationError, match=r"function from the Run .* or a StateDeps"):
        PydanticAIAdapter(Mailer().agent, deps={"state": 1})


SNAPSHOT, CUSTOM = StateSnapshotEvent(snapshot={"n": 1}), CustomEvent(name="shown", value=2)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (SNAPSHOT, [("STATE_SNAPSHOT", {"n": 1})]),
        ([SNAPSHOT, CUSTOM], [("STATE_SNAPSHOT", {"n": 1}), ("CUSTOM", 2)]),
        (ToolReturn("known", metadata=SNAPSHOT), [("STATE_SNAPSHOT", {"n": 1})]),
        (
            ToolReturn("known", metadata=[CUSTOM, SNAPSHOT]),
            [("CUSTOM", 2), ("STATE_SNAPSHOT", {"n": 1})],
        ),
    ],
    ids=["an event", "events", "metadata", "several in metadata"],
)
async def test_events_that_a_tool_returns_are_told_after_its_result(given: Any, told: Any) -> None:
    mailer = Mailer()

    async def look_up(name: str) -> Any:
        return given

    agent: Any = Agent(FunctionModel(stream_function=mailer._reply))
    agent.tool_plain(look_up)
    async with talk(bridge_of(agent), "cook") as one:
        ended = await one.say("look bob", state={"n": 0})
        assert ended.ending == "success"
        kinds = [event["type"] for event in ended.events]
        after = ended.events[kinds.index("TOOL_CALL_RESULT") + 1 :]
        found = [(e["type"], e.get("snapshot", e.get("value"))) for e in after]
        assert [one for one in found if one[0] in ("STATE_SNAPSHOT", "CUSTOM")] == told
        assert await one.state() == {"n": 1}


# --- what was decided ---


async def test_the_model_reads_the_arguments_that_a_person_gave() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("both ann")
        edited = {**YES, "editedArgs": {"to": "eve", "body": "Hello"}}
        await one.answer(asked, edited, YES)
        await one.say("hello")
    assert [sent["to"] for sent in mailer.done] == ["eve", "second-ann"]
    for request in mailer.requests[-2:]:
        parts = [part for message in request for part in message.parts]
        calls = [part.args_as_dict() for part in parts if isinstance(part, ToolCallPart)]
        assert [call["to"] for call in calls] == ["eve", "second-ann"]


async def test_a_tool_that_is_gone_keeps_the_question_open_and_works_once_it_is_back() -> None:
    mailers = {"now": Mailer()}
    bridge = Bridge("memory:")
    bridge.add("mailer", PydanticAIAdapter(lambda run: mailers["now"].agent))
    async with talk(bridge, "mailer") as one:
        asked = await one.say("send bob")
        gone = Mailer()
        tools: Any = gone.agent.toolsets[0]
        del tools.tools["send_email"]
        mailers["now"] = gone
        refused = await one.answer(asked, YES)
        assert refused.ending == "UPSTREAM_ERROR"
        assert refused.fault == "The agent has no tool 'send_email' any more."
        assert gone.done == gone.requests == []
        mailers["now"] = back = Mailer()
        assert (await one.answer(asked, YES)).ending == "success"
        assert back.done == [{"to": "bob", "body": "original"}]


# --- limits, usage, versions ---


async def test_what_a_tools_own_agent_may_not_do_is_no_limit_of_the_run() -> None:
    async def look_up(name: str) -> str:
        raise UsageLimitExceeded("The agent in this tool came to its limit.")

    mailer, ends = Mailer(), list[str]()
    agent: Any = Agent(FunctionModel(stream_function=mailer._reply), tools=[look_up])
    bridge = bridge_of(agent, usage_limits=UsageLimits(request_limit=5))
    bridge.on_run_end(lambda run, reason: ends.append(reason))
    async with talk(bridge, "cook") as one:
        assert (await one.say("look bob")).ending == "AGENT_ERROR"
    assert ends == ["ERROR_OCCURRED"]


def test_limits_are_pydantic_ais() -> None:
    limits: Any = 5
    with pytest.raises(ConfigurationError, match="usage_limits should be"):
        PydanticAIAdapter(Mailer().agent, usage_limits=limits)


class Counting(FunctionModel):
    """A model of a provider that tells tokens apart."""

    @asynccontextmanager
    async def request_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with super().request_stream(*args, **kwargs) as response:
            response._usage = RequestUsage(cache_read_tokens=4, details={"reasoning_tokens": 2})
            yield response


async def test_usage_has_its_parts() -> None:
    agent: Any = Agent(Counting(stream_function=Mailer()._reply))
    async with talk(bridge_of(agent), "cook") as one:
        (usage,) = (await one.say("hello")).events[-1]["usage"]
    assert (usage["cachedInputTokens"], usage["reasoningTokens"]) == (4, 2)
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]


@pytest.mark.parametrize("needed", NEEDED, ids=lambda one: one.name)
def test_a_version_without_a_hook_that_holds_tools_back_is_refused(
    needed: PrivateName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(needed.owner, needed.name)
    with pytest.raises(ConfigurationError, match=f"{needed.name}.*Install pydantic-ai-slim>=2"):
        PydanticAIAdapter(Mailer().agent)
