"""Agents that were made for ag_ui_adk, and what a page has from its server, come along."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.apps import App
from google.adk.flows.llm_flows import functions
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.testing import talk
from agui_bridge_adk import AdkAdapter
from examples.adk.model import Call, OfflineModel
from tests.adapters.adk.mailer import SIGNATURE, Mailer
from tests.adapters.adk.talking import conversing, names_of, serving, talking
from tests.support.agents import call_events

pytestmark = pytest.mark.anyio

CONTEXT = [{"description": "page", "value": "INV-1"}]


class ADKAgent:
    """The attributes of ag_ui_adk's, version 0.11."""

    def __init__(self, adk_agent: Any = None, **given: Any) -> None:
        self._adk_agent = adk_agent
        self._app = given.get("app")
        self._artifact_service = None
        self._credential_service = None
        self._memory_service = None
        self._predict_state = given.get("predict_state")
        self._run_config_factory = given.get("run_config_factory", lambda given: RunConfig())
        self._static_app_name = given.get("app_name")
        self._static_user_id = given.get("user_id")
        self._user_id_extractor = given.get("user_id_extractor")

    async def run(self, given: Any) -> None:
        """Stand for its way to run."""


class AGUIToolset(BaseToolset):
    """A placeholder that raises, as ag_ui_adk's does."""

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        raise NotImplementedError("AGUIToolset is a placeholder")


class A2UISubAgentTool(BaseTool):
    """Draws twice, each time under one id, by the queue that only a copy for a run has."""

    def __init__(self) -> None:
        super().__init__(name="generate_a2ui", description="Draw.")
        self.event_queue: Any = None

    def for_run(self, event_queue: Any) -> A2UISubAgentTool:
        """As ag_ui_adk's server has a copy made."""
        copy = A2UISubAgentTool()
        copy.event_queue = event_queue
        return copy

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        loop = asyncio.get_running_loop()
        told = [
            event
            for attempt in ("bad", "good")
            for event in call_events("a2ui-render-1", "render_a2ui", json.dumps({"is": attempt}))
        ]

        def tries() -> None:
            for event in told:
                asyncio.run_coroutine_threadsafe(self.event_queue.put(event), loop).result()

        await asyncio.to_thread(tries)
        return {"a2ui_operations": []}


A2UISubAgentTool.__module__ = "ag_ui_adk.a2ui_tool"
ADKAgent.__module__ = "ag_ui_adk.adk_agent"
AGUIToolset.__module__ = "ag_ui_adk.agui_toolset"


def mapping(**more: Any) -> Any:
    return SimpleNamespace(
        state_key="document",
        tool="write",
        tool_argument="text",
        **{"emit_confirm_tool": True, **more},
    )


class Writer:
    """An agent that writes, and what its tool found and its model read."""

    def __init__(self, *tools: Any) -> None:
        self.found: dict[str, Any] = {}
        self.read: list[str] = []
        self.then: list[Call] = []
        self.agent = LlmAgent(
            name="writer", model=OfflineModel(reply=self.reply), tools=[self.write, *tools]
        )

    async def reply(self, request: Any) -> AsyncIterator[Any]:
        said = [p.text for c in request.contents for p in c.parts or () if p.text]
        self.read.append("\n".join(said))
        results = [p for c in request.contents for p in c.parts or () if p.function_response]
        if any(part.function_response for part in request.contents[-1].parts or ()):
            yield self.then[len(results) - 1] if len(results) <= len(self.then) else "Written."
        elif "write" in said[-1]:
            yield Call("write", {"text": "a story"})
        else:
            yield f"{', '.join(sorted(request.tools_dict))}"

    def write(self, text: str, tool_context: ToolContext) -> str:
        """Write."""
        inner = tool_context.get_invocation_context()
        config = inner.run_config
        self.found = {
            "state": tool_context.state.to_dict(),
            "metadata": config.custom_metadata if config is not None else None,
            "user": inner.user_id,
            "app": inner.app_name,
        }
        tool_context.state["document"] = text
        return "done"


async def test_tools_find_the_context_where_they_did_and_no_client_sees_it_in_the_state() -> None:
    writer = Writer()
    async with talking(writer.agent) as one:
        one.context = CONTEXT
        await one.say("write", state={"_ag_ui_context": "forged", "ui": "dark"})
        assert writer.found["state"]["_ag_ui_context"] == CONTEXT
        assert writer.found["state"]["ui"] == "dark"
        assert writer.found["metadata"] == {"ag_ui_context": CONTEXT}
        assert await one.state() == {
            "_ag_ui_context": "forged",
            "ui": "dark",
            "document": "a story",
        }
        one.context = []
        await one.say("write")
        assert "_ag_ui_context" not in writer.found["state"]
        assert not writer.found["metadata"]
    off = Writer()
    async with talking(off.agent, context="off") as one:
        one.context = CONTEXT
        await one.say("write")
        assert "_ag_ui_context" not in off.found["state"]


async def test_what_the_page_shows_is_not_kept_with_the_events() -> None:
    bridge = serving(Writer().agent)
    async with talk(bridge, "mailer", thread="t") as one:
        one.context = CONTEXT
        await one.say("write")
        record = await (await bridge.open()).store.load(ThreadKey("default", "mailer", "t"))
        assert "a story" in str(record)
        assert "INV-1" not in str(record)


async def test_an_official_agent_is_added_with_its_settings() -> None:
    writer = Writer()
    official: Any = ADKAgent(
        writer.agent,
        app_name="letters",
        user_id="demo",
        predict_state=[mapping(emit_confirm_tool=False)],
        run_config_factory=lambda given: RunConfig(custom_metadata={"thread": given.thread_id}),
    )
    bridge = Bridge("memory:")
    bridge.add("writer", official)
    async with talk(bridge, "writer") as one:
        ended = await one.say("write")
        assert ended.ending == "success"
        (told,) = [event for event in ended.events if event["type"] == "CUSTOM"]
        assert told["value"] == [
            {"state_key": "document", "tool": "write", "tool_argument": "text"}
        ]
    assert (writer.found["user"], writer.found["app"]) == ("demo", "letters")
    assert writer.found["metadata"] == {"thread": "test"}


async def test_an_official_agent_of_an_app_keeps_its_plugins_and_may_name_its_users() -> None:
    begun: list[str] = []

    class Counting(BasePlugin):
        async def before_run_callback(self, *, invocation_context: Any) -> None:
            begun.append(invocation_context.user_id)

    writer = Writer()
    app = App(name="letters", root_agent=writer.agent, plugins=[Counting("counting")])
    official = ADKAgent(writer.agent, app=app, user_id_extractor=lambda given: "from the input")
    async with talking(official) as one:
        assert (await one.say("write")).ending == "success"
    assert begun == ["from the input"]


def test_an_official_agent_that_keeps_its_settings_elsewhere_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_bridge.frameworks.private_names.version", lambda name: "0.99")
    official: Any = ADKAgent(Writer().agent)
    del official._run_config_factory
    with pytest.raises(ConfigurationError, match=r"0\.99.*has no _run_config_factory"):
        AdkAdapter(official)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(functions, "populate_client_function_call_id"), (BaseTool, "_get_declaration")],
)
def test_what_the_adapter_leans_on_and_is_gone_is_told_when_it_is_made(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(owner, name)
    with pytest.raises(ConfigurationError, match=rf"google-adk \S+ .* has no {name}.*google-adk>="):
        AdkAdapter(Mailer().agent)


PAINT = {"name": "paint", "description": "Paint.", "parameters": {"type": "object"}}
SING = {**PAINT, "name": "sing"}


async def test_a_placeholder_for_the_applications_tools_stays_silent_and_filters_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[str] = []
    for toolset in (AGUIToolset(), AGUIToolset(tool_filter=["sing"]), None):
        writer = Writer(*([toolset] if toolset is not None else []))
        with caplog.at_level(logging.WARNING):
            async with conversing(serving(writer.agent)) as one:
                told.append(await one.say("hello", tools=[PAINT, SING]))
    assert told == ["paint, sing, write", "sing, write", "paint, sing, write"]
    assert "NotImplementedError" not in caplog.text
    assert "placeholder" not in caplog.text


async def test_the_official_surface_tool_tells_the_page_what_its_model_draws() -> None:
    read: list[str] = []

    async def reply(request: Any) -> AsyncIterator[Any]:
        read.append(str(request.contents))
        if any(part.function_response for part in request.contents[-1].parts or ()):
            yield "Drawn."
        else:
            yield Call("generate_a2ui", {})

    agent = LlmAgent(name="painter", model=OfflineModel(reply=reply), tools=[A2UISubAgentTool()])
    async with talking(agent) as one:
        for _ in range(2):
            ended = await one.say("draw")
            assert (ended.fault, ended.ending, ended.text) == ("", "success", "Drawn.")
            outer, bad, good = names_of(ended.events, "TOOL_CALL_START", "toolCallId")
            assert names_of(ended.events, "TOOL_CALL_ARGS", "delta")[-2:] == [
                '{"is": "bad"}',
                '{"is": "good"}',
            ]
            results = names_of(ended.events, "TOOL_CALL_RESULT", "toolCallId")
            assert (results, len({bad, good})) == ([bad, good, outer], 2)
            (begun,) = [e for e in ended.events if e["type"] == "SUBAGENT_STARTED"]
            assert begun["parentToolCallId"] == outer
            kinds = [event["type"] for event in ended.events]
            assert kinds.index("SUBAGENT_FINISHED") < len(kinds) - kinds[::-1].index(
                "TOOL_CALL_RESULT"
            )
    assert not any("render_a2ui" in told for told in read)


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ('{"accepted": true}', "The user accepted the proposed changes."),
        ("rejected", "The user rejected the proposed changes, so they were not applied."),
        ("make it longer", "The user responded to the proposed changes: make it longer"),
    ],
)
@pytest.mark.parametrize("official", [True, False])
async def test_the_pages_user_confirms_changes_and_the_model_reads_the_answer(
    official: bool, answer: str, read: str
) -> None:
    writer = Writer()
    options: dict[str, Any] = (
        {"predict_state": [mapping()]}
        if official
        else {
            "predict_state": [PredictState("document", "write", "text")],
            "confirm_changes": ["write"],
        }
    )
    async with conversing(serving(writer.agent, **options)) as one:
        await one.say("write")
        names = names_of(one.events, "TOOL_CALL_START", "toolCallName")
        assert names == ["write", "confirm_changes"]
        kinds = [event["type"] for event in one.events]
        assert kinds.index("CUSTOM") < kinds.index("TOOL_CALL_START")
        assert kinds[-2:] == ["TOOL_CALL_END", "RUN_FINISHED"]
        await one.hand_back(answer)
        assert writer.read[-1].endswith(read)
        await one.say("hello")
    assert all("confirm_changes" not in told for told in writer.read)


@pytest.mark.parametrize("approved", [True, False])
async def test_the_pages_user_confirms_no_changes_of_a_call_that_was_declined(
    approved: bool,
) -> None:
    writer = Writer()
    options: dict[str, Any] = {"predict_state": [mapping()], "confirm_changes": ["write"]}
    writer.agent.tools = [FunctionTool(writer.write, require_confirmation=True)]
    async with talk(serving(writer.agent, **options), "mailer") as one:
        ended = await one.answer(await one.say("write"), {"approved": approved})
        told = names_of(ended.events, "TOOL_CALL_START", "toolCallName")
        assert told == (["confirm_changes"] if approved else [])


@pytest.mark.parametrize("again", [False, True])
async def test_changes_are_confirmed_though_the_run_pauses_for_another_call_first(
    again: bool,
) -> None:
    writer = Writer()
    options: dict[str, Any] = {"predict_state": [mapping()], "confirm_changes": ["write"]}

    def send(to: str) -> str:
        """Send it."""
        return "sent"

    writer.agent.tools = [writer.write, FunctionTool(send, require_confirmation=True)]
    writer.then = [Call("send", {"to": "ann"})] * (1 + again)
    async with talk(serving(writer.agent, **options), "mailer") as one:
        ended = await one.say("write")
        for _ in writer.then:
            assert [ask["reason"] for ask in ended.asks] == ["tool_call"]
            assert "confirm_changes" not in names_of(
                ended.events, "TOOL_CALL_START", "toolCallName"
            )
            ended = await one.answer(ended, {"approved": True})
        assert names_of(ended.events, "TOOL_CALL_START", "toolCallName") == ["confirm_changes"]


async def test_signatures_of_thoughts_are_told_as_the_official_server_does() -> None:
    async with talking(Mailer().agent) as one:
        ended = await one.say("think trees")
        (signed,) = [e for e in ended.events if e["type"] == "REASONING_ENCRYPTED_VALUE"]
        (start,) = names_of(ended.events, "REASONING_MESSAGE_START", "messageId")
        assert (signed["subtype"], signed["entityId"]) == ("message", start)
        assert base64.b64decode(signed["encryptedValue"]) == SIGNATURE.encode()


class _Counting(Gemini):
    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        signed = types.FunctionCall(name="write", args={"text": "x"})
        part = types.Part(function_call=signed, thought_signature=b"why")
        if any(p.function_response for p in llm_request.contents[-1].parts or ()):
            part = types.Part(text="Done.")
        yield LlmResponse(
            content=types.Content(role="model", parts=[part]),
            model_version="gemini-9",
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=7,
                cached_content_token_count=4,
                candidates_token_count=3,
                thoughts_token_count=2,
                total_token_count=12,
            ),
        )


async def test_usage_has_its_parts_and_a_call_its_signature() -> None:
    writer = Writer()
    agent = LlmAgent(name="writer", model=_Counting(model="gemini-9"), tools=[writer.write])
    async with talking(agent) as one:
        ended = await one.say("write")
        used = ended.events[-1]["usage"][0]
        assert used == {
            "provider": "google",
            "model": "gemini-9",
            "inputTokens": 7,
            "outputTokens": 5,
            "totalTokens": 12,
            "reasoningTokens": 2,
            "cachedInputTokens": 4,
        }
        (signed,) = [e for e in ended.events if e["type"] == "REASONING_ENCRYPTED_VALUE"]
        assert (signed["subtype"], signed["encryptedValue"]) == ("tool-call", "d2h5")
