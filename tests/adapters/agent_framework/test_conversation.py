"""What all frameworks' mailers do, and what the kit does not look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentContext,
    AgentMiddleware,
    ContextProvider,
    MiddlewareFailure,
    MiddlewareTermination,
)
from pydantic import BaseModel

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import agents
from tests.adapters.agent_framework.mailer import SIGNATURE, Mailer
from tests.adapters.agent_framework.talking import BRIDGES
from tests.adapters.mails import YES, EditableMails, StatelessMails

pytestmark = pytest.mark.anyio


class Sent(BaseModel):
    """What a model answers with."""

    sent: int


class TestMails(StatelessMails, EditableMails):
    bridges = BRIDGES
    signature = SIGNATURE
    tells_signature = True

    @pytest.fixture
    def mailer(self) -> Mailer:
        return Mailer()

    async def test_the_neighbour_of_a_paused_call_runs_once(self, mailer: Mailer) -> None:
        """The framework holds it back until the answer."""
        async with self.bridges.talking(mailer) as one:
            asked = await one.say("mixed bob")
            starts = [e for e in asked.events if e["type"] == "TOOL_CALL_START"]
            assert [e["toolCallName"] for e in starts] == ["look_up", "send_email"]
            assert mailer.done == []
            assert (await one.answer(asked, YES)).ending == "success"
        assert sorted(map(str, mailer.done)) == [
            "looked up bob",
            "{'to': 'bob', 'body': 'original'}",
        ]
        assert mailer.results("look_up") == ["bob is known"]

    async def test_the_neighbour_of_a_declined_call_runs_once(self, mailer: Mailer) -> None:
        async with self.bridges.talking(mailer) as one:
            asked = await one.say("mixed bob")
            answered = await one.answer(asked, {"approved": False, "reason": "not him"})
            results = [e for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
            assert [e["content"] for e in results if "known" in e["content"]] == ["bob is known"]
            await one.say("hello")
        assert mailer.done == ["looked up bob"]


async def test_what_tools_keep_in_the_session_is_there_in_the_next_run_and_after_a_pause() -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        await one.say("count")
        await one.answer(await one.say("send bob"), YES)
        await one.say("count")
    assert [done for done in mailer.done if isinstance(done, tuple)] == [(1, None), (2, None)]


async def test_a_state_that_is_no_json_ends_the_run_and_says_so() -> None:
    class Keeper(ContextProvider):
        async def before_run(self, *, state: Any, **_: Any) -> None:
            state["lock"] = object()

    mailer = Mailer(context_providers=[Keeper("keeper")])
    async with BRIDGES.talking(mailer) as one:
        ended = await one.say("hello")
    assert ended.ending == "UPSTREAM_ERROR"
    assert "The session's state can't be kept" in ended.events[-1]["message"]


async def test_a_conversation_that_a_service_keeps_goes_on_there_until_it_is_edited() -> None:
    mailer = Mailer(default_options={"store": True})
    mailer.client.conversation = "conv-1"
    async with BRIDGES.conversing(BRIDGES.serving(mailer)) as one:
        await one.say("think trees")
        await one.say("hello")
        assert mailer.options["conversation_id"] == "conv-1"
        assert "think trees" not in mailer.told()
        await one._send(messages=[{"id": "u1", "role": "user", "content": "think stones"}])
    assert "conversation_id" not in mailer.options


async def test_words_that_are_data_are_the_runs_result() -> None:
    mailer = Mailer(default_options={"response_format": Sent})
    async with BRIDGES.talking(mailer) as one:
        ended = await one.say("data")
    assert (ended.events[-1]["result"], ended.text) == ({"sent": 1}, "")


async def test_what_a_provider_protects_of_a_thought_is_told_with_it() -> None:
    async with BRIDGES.talking(Mailer()) as one:
        ended = await one.say("think stones")
        (told,) = [e for e in ended.events if e["type"] == "REASONING_ENCRYPTED_VALUE"]
        (thought,) = [m for m in await one.messages() if m["role"] == "reasoning"]
    assert (told["entityId"], told["encryptedValue"]) == (thought["id"], SIGNATURE)
    assert thought["encryptedValue"] == SIGNATURE


def used(*, requests: int) -> list[Any]:
    """What requests to the model use."""
    counts = {"input": 7, "output": 3, "total": 10, "reasoning": 2, "cachedInput": 5}
    tokens = {f"{name}Tokens": count * requests for name, count in counts.items()}
    return [{"provider": "scripted", "model": "scripted-1", **tokens}]


async def test_usage_and_requests_are_told() -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        ended = await one.say("look bob")
    assert ended.events[-1]["usage"] == used(requests=2)


async def test_a_pause_tells_what_was_used_so_far() -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        asked = await one.say("break bob")
        assert asked.events[-1]["usage"] == used(requests=1)
        assert (await one.answer(asked, YES)).ending == "AGENT_ERROR"


async def test_what_agents_in_tools_and_in_workflows_used_is_told(tmp_path: Path) -> None:
    helper = Mailer()
    outer = Mailer()
    tools = [*outer.tools, helper.agent.as_tool(name="helper")]
    outer.agent = Agent(outer.client, name="mailer", tools=tools)
    async with BRIDGES.talking(outer) as one:
        ended = await one.say("delegatelook bob")
        assert ended.events[-1]["usage"] == used(requests=4)
    bridge = Bridge("memory:")
    adapter = AgentFrameworkAdapter(lambda run: agents(Mailer().agent), checkpoints=tmp_path)
    bridge.add("flow", adapter)
    async with talk(bridge, "flow") as other:
        assert (await other.say("look bob")).events[-1]["usage"] == used(requests=2)


async def test_words_that_are_said_again_are_in_the_models_history_each_time() -> None:
    mailer = Mailer()
    async with BRIDGES.talking(mailer) as one:
        for words in ("yes", "yes", "yes", "another", "yes"):
            await one.say(words)
        stream = one.begin("slow")
        assert await stream.until("TEXT_MESSAGE_CONTENT")
        await one.stop()
        await one.say("yes")
        await one.say("yes")
    assert [len(request) for request in mailer.requests] == [1, 3, 5, 7, 9, 11, 13, 15]
    said = [message["contents"][0]["text"] for message in mailer.requests[-1]]
    assert said[::2] == ["yes", "yes", "yes", "another", "yes", "slow", "yes", "yes"]


class Guarding(AgentMiddleware):
    """Lets no message through that has a word in it.

    Args:
        refusal: raised instead.
    """

    def __init__(self, refusal: Exception) -> None:
        self._refusal = refusal

    async def process(self, context: AgentContext, call_next: Any) -> None:
        """Judge the message, and go on."""
        if "password" in context.messages[-1].text:
            raise self._refusal
        await call_next()


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (MiddlewareFailure("No passwords here."), "No passwords here."),
        (MiddlewareTermination("No."), "Middleware of the agent ended the run"),
    ],
)
async def test_a_message_that_middleware_does_not_let_through_is_refused(
    refusal: Exception, words: str
) -> None:
    mailer = Mailer(middleware=[Guarding(refusal)])
    async with BRIDGES.talking(mailer) as one:
        ended = await one.say("my password")
        assert ended.ending == "AGENT_REFUSED"
        assert words in str(ended.fault)
        assert mailer.requests == []
        # People keep it; no model is sent it.
        assert (await one.say("hello")).text == "Hello."
        assert "my password" in str(await one.messages())
    assert "password" not in mailer.told()
