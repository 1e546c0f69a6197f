"""The kit on the adapters that run within the process: functions, keyword agents, chat agents."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from agui_bridge import (
    Answer,
    Ask,
    FunctionAdapter,
    FunctionRun,
    KeywordAdapter,
    NeedsInput,
    answered,
)
from agui_bridge.agents.chat import AskUser, ChatAgent, tool
from agui_bridge.testing import AdapterScenario, AdapterSuite
from tests.servers.model.script import Reply, Requested, ToolUse
from tests.servers.model.server import ScriptedModel

pytestmark = pytest.mark.timeout(120)

PATIENCE = 10.0
TOKEN = "token-of-the-journal"


class Deployment(BaseModel):
    version: str


class When(BaseModel):
    when: str


class TestFunctionAgents(AdapterSuite):
    # It has no model and no sub-agents, and offers no text in place of a tool's result.
    leaves_out = ("undelivered", "respond", "nested", "heard")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        executed: list[Any] = []

        async def deploy(version: str) -> str:
            executed.append({"version": version})
            return f"deployed {version}"

        async def look(at: str) -> str:
            await asyncio.sleep(PATIENCE / 40)
            executed.append({"at": at})
            return "seen"

        async def measure() -> Any:
            given = answered()
            if given is None:
                ask = Ask("when", message="When?", response_schema=When.model_json_schema())
                return NeedsInput([ask])
            answer = given.answers["when"]
            if isinstance(answer, Answer):
                executed.append(answer.payload)
            return "measured"

        async def gated(run: FunctionRun, version: str) -> str:
            args = {"version": version}
            answer = await run.approve("deploy", args, parameters=Deployment, key=version)
            return str(await run.tool(answer, deploy)) if answer.approved else "left"

        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            if run.text == "deploy":
                await run.step("token", lambda: TOKEN)
                yield await gated(run, "v1")
            elif run.text == "deploy both":
                yield ", ".join(await asyncio.gather(gated(run, "v1"), gated(run, "v2")))
            elif run.text == "when":
                form = await run.ask("When?", schema=When)
                if form is not None:
                    await run.step("note", lambda: executed.append(form.model_dump()))
                yield "Noted."
            elif run.text == "deploy beside":
                await run.call("look", {"at": "beside"}, look)
                yield await gated(run, "v1")
            elif run.text == "deploy twice":
                yield await gated(run, "v1") + await gated(run, "v2")
            elif run.text == "deploy, then look":
                yield await gated(run, "v1")
                await run.call("look", {"at": "later"}, look)
            elif run.text == "look around":
                for at in ("left", "right"):
                    await run.call("look", {"at": at}, look)
            elif run.text == "whatever":
                decision = await run.decide("Anything?")
                if isinstance(decision, Answer):
                    await run.step("note", lambda: executed.append(decision.payload))
            elif run.text == "measure":
                yield str(await run.call("measure", {}, measure))
            elif run.text == "slow":
                yield "Working. "
                await asyncio.sleep(3 * PATIENCE)
            else:
                yield "Hello."

        yield AdapterScenario(
            adapter=lambda: FunctionAdapter(agent),
            # One draws the surfaces of a page: tests/adapters/test_a2ui.py.
            elsewhere=("subagents",),
            beside="deploy beside",
            twice="deploy twice",
            stages="deploy, then look",
            acting="look around",
            free="whatever",
            amid="measure",
            approval="deploy",
            parallel="deploy both",
            question="when",
            answer={"when": "now"},
            slow="slow",
            edited={"version": "v0"},
            executed=lambda: executed,
            private=lambda _: (TOKEN,),
            patience=PATIENCE,
        )


class TestKeywordAgents(AdapterSuite):
    leaves_out = (
        *("ids", "approve", "result", "decline", "edit", "cancel", "parallel", "threads"),
        *("undelivered", "policy", "respond"),
        *("beside", "twice", "stages", "nested", "acting", "free", "amid", "heard"),
    )

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        executed: list[Any] = []

        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            if run.text == "deploy":
                yield "Please confirm: I will deploy."
            elif run.text.startswith("Yes, I confirm."):
                await run.step("deploy", lambda: executed.append({"confirm": True}))
                yield "Deployed."
            elif run.text == "slow":
                yield "Working. "
                await asyncio.sleep(3 * PATIENCE)
            else:
                yield "Hello."

        yield AdapterScenario(
            adapter=lambda: KeywordAdapter(agent),
            question="deploy",
            answer={"confirm": True},
            slow="slow",
            executed=lambda: executed,
            elsewhere={"approve", "decline", "edit", "subagents"},
            patience=PATIENCE,
        )


class TestKeywordAgentsThatAskForApprovals(TestFunctionAgents):
    """A pause of the agent inside passes through."""

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        async with super().scenario() as inside:
            yield replace(inside, adapter=lambda: KeywordAdapter(inside.adapter()))


class TestChatAgents(AdapterSuite):
    # It has no sub-agents; its questions have the schema of AskUser.
    leaves_out = ("undelivered", "respond", "nested", "free", "amid")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        executed: list[Any] = []
        hold = asyncio.Event()

        @tool(approval="always")
        async def deploy(version: str) -> str:
            executed.append({"version": version})
            return f"deployed {version}"

        @tool
        async def look(at: str) -> str:
            await asyncio.sleep(PATIENCE / 40)
            executed.append({"at": at})
            return "seen"

        @tool
        def note(when: str) -> str:
            executed.append({"when": when})
            return "noted"

        def call(name: str, number: int = 1, **args: str) -> ToolUse:
            return ToolUse(name, args, id=f"call_{number}")

        def reply(asked: Requested) -> Reply:
            last = asked.messages[-1]
            said = last["content"]
            if last["role"] == "tool" and said.startswith("{"):
                return Reply(calls=[ToolUse("note", said)])
            if last["role"] == "tool":
                # What comes next of several stages is known by what was asked for.
                asked_for = [m["content"] for m in asked.messages if m["role"] == "user"][-1]
                results = sum(m["role"] == "tool" for m in asked.messages)
                if results == 1 and asked_for == "deploy twice":
                    return Reply(calls=[call("deploy", 2, version="v2")])
                if results == 1 and asked_for == "look around":
                    return Reply(calls=[call("look", 2, at="right")])
                if results == 1 and asked_for == "deploy, then look":
                    return Reply(calls=[call("look", 2, at="later")])
                return Reply("Done.")
            match said if isinstance(said, str) else "look at this":
                case "deploy":
                    return Reply("I will. ", calls=[call("deploy", version="v1")], fragment=4)
                case "deploy both":
                    versions = ["v1", "v2"]
                    return Reply(
                        calls=[call("deploy", n, version=v) for n, v in enumerate(versions)],
                        fragment=3,
                    )
                case "deploy beside":
                    return Reply(
                        calls=[call("look", 1, at="beside"), call("deploy", 2, version="v1")]
                    )
                case "deploy twice" | "deploy, then look":
                    return Reply(calls=[call("deploy", version="v1")])
                case "look around":
                    return Reply(calls=[call("look", 1, at="left")])
                case "when":
                    return Reply(calls=[call("ask_user", question="When?")])
                case "slow":
                    return Reply(["Working. ", "Done."], hold=hold)
            return Reply("Hello.")

        def agent(base_url: str) -> ChatAgent:
            return ChatAgent(
                "scripted",
                tools=[deploy, look, note, AskUser(schema=When)],
                base_url=base_url,
                api_key="key",
                retries=0,
            )

        async with ScriptedModel(*[reply] * 40) as model:
            try:
                yield AdapterScenario(
                    adapter=lambda: agent(model.base_url),
                    elsewhere=("subagents",),
                    beside="deploy beside",
                    twice="deploy twice",
                    stages="deploy, then look",
                    acting="look around",
                    image="look at this",
                    heard=lambda: model.requests[-1].messages,
                    approval="deploy",
                    parallel="deploy both",
                    question="when",
                    answer={"when": "now"},
                    slow="slow",
                    edited={"version": "v0"},
                    executed=lambda: executed,
                    private=lambda _: ("reply ended",),
                    patience=PATIENCE,
                )
            finally:
                hold.set()
