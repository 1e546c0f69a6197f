"""A file that a model does not take fails the run that brings it, and not the thread.

With each framework that runs in this process, and the client that it asks its model with: the
server on 127.0.0.1 refuses, with 400, whatever holds the file.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from agui_bridge import Bridge, FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.protocol.threads.messages.archived import archived_for, is_suspect
from agui_bridge.testing import Talk, talk
from tests.adapters.test_file_handles import KINDS, REPLY, Lab
from tests.servers.model.script import Reply, Requested
from tests.servers.model.server import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUg"
    "AAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE: Final = {
    "type": "image",
    "source": {"type": "data", "value": PNG, "mimeType": "image/png"},
}


class Asking(BaseChatModel):
    """A model of LangChain's that asks a server with OpenAI's client."""

    client: Any

    @property
    def _llm_type(self) -> str:
        return "asking"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        told = convert_to_openai_messages(messages)
        reply = await self.client.chat.completions.create(model="m", messages=told)
        said = AIMessage(reply.choices[0].message.content)
        return ChatResult(generations=[ChatGeneration(message=said)])


def langgraph(lab: Lab) -> Any:
    return create_agent(Asking(client=lab.client()), [], checkpointer=InMemorySaver())


def function(lab: Lab) -> Any:
    client = lab.client()

    async def ask(run: FunctionRun) -> AsyncIterator[str]:
        told: list[Any] = [
            {"role": turn.role, "content": json.dumps(turn.content)} for turn in run.turns()
        ]
        reply = await client.chat.completions.create(model="m", messages=told)
        yield str(reply.choices[0].message.content)

    return FunctionAdapter(ask)


FRAMEWORKS: Final[Mapping[str, Callable[[Lab], Any]]] = {
    **{name: kind.agent for name, kind in KINDS.items()},
    "langgraph": langgraph,
    "function": function,
}

every_framework = pytest.mark.parametrize("framework", FRAMEWORKS)


@dataclass
class Server:
    """A model's server.

    Attributes:
        takes: whether it takes pictures.
        refuses: what it answers to everything, a status and words; None: it answers.
        asked: which requests held the picture, in order.
    """

    takes: bool = False
    refuses: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        self.asked: list[bool] = []

    def answer(self, request: Requested) -> Reply:
        held = PNG[:40] in json.dumps(request.body)
        self.asked.append(held)
        refusal = self.refuses or ((400, "no images, please") if held and not self.takes else None)
        if refusal is None:
            return REPLY
        status, words = refusal
        error = {"code": status, "message": words, "status": "INVALID_ARGUMENT"}
        return Reply(status=status, body=json.dumps({"error": error}))


@asynccontextmanager
async def talking(framework: str, server: Server) -> AsyncIterator[Talk]:
    async with ScriptedModel(*[server.answer] * 40) as model, AsyncExitStack() as used:
        bridge = Bridge("memory:")
        bridge.add("agent", FRAMEWORKS[framework](Lab(model.base_url, used=used)))
        async with talk(bridge, "agent") as one:
            yield one


async def show(one: Talk, id: str = "picture") -> str:
    """Send a picture."""
    content = [{"type": "text", "text": "What is it?"}, PICTURE]
    return (await one.send([{"id": id, "role": "user", "content": content}])).ending


def marked(messages: Any) -> dict[str, bool]:
    """Which messages are archived, and whether they are only suspect."""
    return {m["id"]: is_suspect(m) for m in messages if archived_for(m) == "refused"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")


@every_framework
async def test_a_picture_that_a_model_does_not_take_leaves_the_context(framework: str) -> None:
    server = Server()
    async with talking(framework, server) as one:
        assert (await one.say("Hello.")).ending == "success"
        assert await show(one) in ("AGENT_ERROR", "UPSTREAM_ERROR")
        assert server.asked[-1] is True
        assert marked(await one.messages()) == {"picture": True}

        assert (await one.say("Never mind.")).ending == "success"
        assert server.asked[-1] is False
        assert marked(await one.messages()) == {"picture": False}
        assert (await one.say("And now?")).ending == "success"
        assert server.asked[-1] is False
        assert "picture" in [m["id"] for m in await one.messages()]


@every_framework
async def test_a_second_picture_does_not_keep_the_first_in_the_context(framework: str) -> None:
    server = Server()
    async with talking(framework, server) as one:
        assert [await show(one), await show(one, "another")] != ["success", "success"]
        assert (await one.say("Never mind.")).ending == "success"
        assert marked(await one.messages()) == {"picture": False, "another": False}


@every_framework
async def test_a_picture_that_was_not_the_reason_comes_back(framework: str) -> None:
    server = Server(takes=True, refuses=(400, "the request is odd"))
    async with talking(framework, server) as one:
        await show(one)
        await one.say("Never mind.")
        assert server.asked[-1] is False
        assert marked(await one.messages()) == {}
        server.refuses = None
        assert (await one.say("What is it?")).ending == "success"
        assert server.asked[-1] is True


@every_framework
async def test_a_server_that_refuses_the_key_changes_nothing(framework: str) -> None:
    server = Server(takes=True, refuses=(401, "no"))
    async with talking(framework, server) as one:
        assert await show(one) != "success"
        assert marked(await one.messages()) == {}
        server.refuses = None
        assert (await one.say("What is it?")).ending == "success"
        assert server.asked[-1] is True
