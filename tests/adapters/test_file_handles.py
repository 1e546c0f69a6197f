"""A file's handle goes to models of its issuer's, as what it is, and is an address to nobody.

In all agents that run in this process. What a model is asked is seen where its requests arrive: at
a server on 127.0.0.1, which a test may have taken for OpenAI's own; LangGraph's model has none.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from agent_framework import Agent as FrameworkAgent
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from agents import Agent as SdkAgent, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agno.agent import Agent as AgnoAgent
from agno.models.openai import OpenAIChat, OpenAIResponses
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, Gemini
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel as PydanticResponses
from pydantic_ai.providers.openai import OpenAIProvider
from strands import Agent as StrandsAgent
from strands.models.openai import OpenAIModel as StrandsModel

from agui_bridge import Bridge, media
from agui_bridge.agents.chat import ChatAgent
from agui_bridge.testing import talk
from tests.servers.model.chat_completions import ChatReply
from tests.servers.model.gemini import MODEL
from tests.servers.model.server import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

HANDLE: Final = "file-abcd1234"
REPLY: Final = ChatReply(
    "Hello.", usages=[{"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}]
)
WORDS: Final = "can't be passed on to you: "

Heard = list[Any]
"""What a model was asked, one request after the other, as JSON."""


class Noting(GenericFakeChatModel):
    """A model of LangChain's that notes what it is asked."""

    heard: Any

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.heard.append([message.content for message in messages])
        return super()._generate(messages, *args, **kwargs)


@dataclass
class Lab:
    """Where the model of one test is.

    Attributes:
        base: the server's address.
        heard: what is asked of a model without a server.
        used: what closes the connections.
    """

    base: str
    heard: Heard = field(default_factory=list)
    used: AsyncExitStack = field(default_factory=AsyncExitStack)

    def client(self) -> AsyncOpenAI:
        """OpenAI's client."""
        made = AsyncOpenAI(base_url=self.base, api_key="k")
        self.used.push_async_callback(made.close)
        return made


def chat(lab: Lab) -> Any:
    return ChatAgent("m", base_url=lab.base, api_key="k")


def sdk(kind: Callable[..., Any]) -> Callable[[Lab], Any]:
    return lambda lab: SdkAgent(name="a", model=kind("m", openai_client=lab.client()))


def pydantic(kind: Callable[..., Any]) -> Callable[[Lab], Any]:
    def made(lab: Lab) -> Any:
        return PydanticAgent(kind("m", provider=OpenAIProvider(openai_client=lab.client())))

    return made


def agno(kind: Callable[..., Any]) -> Callable[[Lab], Any]:
    def made(lab: Lab) -> Any:
        return AgnoAgent(model=kind(id="m", async_client=lab.client()), telemetry=False)

    return made


def framework(kind: Callable[..., Any]) -> Callable[[Lab], Any]:
    def made(lab: Lab) -> Any:
        client = kind(model="m", async_client=lab.client())
        # Else the second request has what is new alone.
        return FrameworkAgent(client=client, name="a", default_options={"store": False})

    return made


def strands(lab: Lab) -> Any:
    model = StrandsModel(client=lab.client(), model_id="m")
    return StrandsAgent(model=model, callback_handler=None)


def langgraph(lab: Lab) -> Any:
    model = Noting(messages=iter([AIMessage("Hello.")] * 9), heard=lab.heard)
    return create_agent(model, [], checkpointer=InMemorySaver())


def adk(lab: Lab) -> Any:
    model = Gemini(model=MODEL, base_url=lab.base.removesuffix("/v1"))
    lab.used.push_async_callback(model.api_client.aio.aclose)
    return LlmAgent(name="a", model=model)


@dataclass(frozen=True)
class Kind:
    """One framework's agent, on one API.

    Attributes:
        agent: makes it.
        takes: the kinds of files that the model is told by OpenAI's handles, at OpenAI.
        details: whether words say the name and the type of a file that is told elsewhere.
    """

    agent: Callable[[Lab], Any]
    takes: frozenset[str] = field(default=frozenset())
    details: bool = True


BOTH: Final = frozenset({"image", "document"})
DOCUMENTS: Final = frozenset({"document"})
KINDS: Final[Mapping[str, Kind]] = {
    "chat": Kind(chat, DOCUMENTS),
    "openai_agents": Kind(sdk(OpenAIResponsesModel), BOTH),
    "openai_agents-chat": Kind(sdk(OpenAIChatCompletionsModel), DOCUMENTS, details=False),
    "pydantic_ai": Kind(pydantic(PydanticResponses), BOTH),
    "pydantic_ai-chat": Kind(pydantic(OpenAIChatModel), DOCUMENTS),
    "agno": Kind(agno(OpenAIResponses), DOCUMENTS),
    "agno-chat": Kind(agno(OpenAIChat)),
    "agent_framework": Kind(framework(OpenAIChatClient), BOTH),
    "agent_framework-chat": Kind(framework(OpenAIChatCompletionClient)),
    "strands": Kind(strands),
    "langgraph": Kind(langgraph),
    "adk": Kind(adk),
}


@dataclass(frozen=True)
class Case:
    """A part that somebody sends.

    Attributes:
        part: the part.
        kind: of the file.
        words: what the model reads in its place, where it isn't told.
        own: whether a model at OpenAI may be told the handle.
    """

    part: Mapping[str, Any]
    kind: str
    words: str
    own: bool = True


def by_handle(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "file", "value": HANDLE, **more}}


PNG: Final = {"mimeType": "image/png"}
CASES: Final[Mapping[str, Case]] = {
    "image": Case(by_handle("image"), "image", "image."),
    "image-typed": Case(by_handle("image", **PNG, provider="openai"), "image", "image, image/png."),
    "document": Case(
        {**by_handle("document", provider="openai"), "metadata": {"filename": "terms.pdf"}},
        "document",
        'document "terms.pdf".',
    ),
    "picture-as-document": Case(by_handle("document", **PNG), "image", "document, image/png."),
    "audio": Case(by_handle("audio", mimeType="audio/wav"), "audio", "audio, audio/wav."),
    "video": Case(by_handle("video"), "video", "video."),
    "of-another": Case(by_handle("document", provider="anthropic"), "document", "document.", False),
    "binary": Case({"type": "binary", **PNG, "id": HANDLE}, "image", "binary, image/png.", False),
    "unknown": Case({**by_handle("hologram"), "of": [1]}, "document", "hologram.", False),
    "unknown-odd": Case({"type": "hologram", "source": HANDLE}, "document", "hologram.", False),
}

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")


def places_of(value: Any, found: Any, under: str = "") -> Iterator[str]:
    """The members of a request that have a value, by their names."""
    if value == found:
        yield under
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from places_of(one, found, name)
    elif isinstance(value, list):
        for one in value:
            yield from places_of(one, found, under)


async def asked(kind: Kind, part: Mapping[str, Any]) -> Heard:
    """What the model is asked when somebody sends a part, and when they go on."""
    content = [{"type": "text", "text": "What is it?"}, dict(part)]
    async with ScriptedModel(REPLY, REPLY) as model, AsyncExitStack() as used:
        lab = Lab(model.base_url, used=used)
        bridge = Bridge("memory:")
        bridge.add("agent", kind.agent(lab))
        async with talk(bridge, "agent") as one:
            first = await one.send([{"id": "u1", "role": "user", "content": content}])
            assert (first.ending, first.text) == ("success", "Hello.")
            assert (await one.say("Never mind.")).ending == "success"
        heard = lab.heard or [request.body for request in model.requests]
    assert len(heard) == 2
    assert all("What is it?" in json.dumps(request) for request in heard)
    return heard


@every_kind
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_handle_is_told_where_a_model_takes_it_and_else_named_in_words(
    kind: Kind, case: Case, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(media, "_OPENAI", "127.0.0.1")
    heard = await asked(kind, case.part)
    is_told = case.own and case.kind in kind.takes
    for request in heard:
        assert list(places_of(request, HANDLE)) == (["file_id"] if is_told else [])
        text = json.dumps(request, ensure_ascii=False).replace('\\"', '"')
        assert HANDLE in text if is_told else HANDLE not in text
        words = case.words if kind.details or not case.own else ""
        assert (WORDS + words in text) is not is_told
    lines = [one for one in caplog.records if one.name == media.__name__]
    # Once in each run.
    assert len(lines) <= len(heard)
    assert bool(lines) is not is_told
    assert all(one.levelno == logging.WARNING and HANDLE not in one.getMessage() for one in lines)


@every_kind
@pytest.mark.parametrize("case", ["image-typed", "document"])
async def test_a_server_that_is_not_openais_is_told_no_handle_of_openais(
    kind: Kind, case: str
) -> None:
    for request in await asked(kind, CASES[case].part):
        assert HANDLE not in json.dumps(request)
        assert WORDS in json.dumps(request)


@pytest.mark.parametrize(
    ("provider", "kind", "told"),
    [("google", "image", True), ("google", "video", True), (None, "image", False)],
)
async def test_a_gemini_model_is_told_the_handles_that_are_said_to_be_googles(
    provider: str | None, kind: str, told: bool
) -> None:
    part = by_handle(kind, **({"provider": provider} if provider else {}))
    for request in await asked(KINDS["adk"], part):
        assert list(places_of(request, HANDLE)) == (["file_uri"] if told else [])
        assert (WORDS in json.dumps(request)) is not told


async def test_a_tree_of_agents_with_another_model_is_told_no_handle_of_googles() -> None:
    def tree(lab: Lab) -> Any:
        root = adk(lab)
        root.sub_agents.append(LlmAgent(name="b", model=Other(model="other")))
        return root

    for request in await asked(Kind(tree), by_handle("image", provider="google")):
        assert WORDS in json.dumps(request)


class Other(BaseLlm):
    """Another provider's."""

    async def generate_content_async(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        raise AssertionError("it is asked")
        yield
