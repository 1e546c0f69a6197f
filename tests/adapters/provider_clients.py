"""Every framework with its clients of real providers, and what each of these clients can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from agent_framework_gemini import GeminiChatClient
from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel
from agno.models.anthropic import Claude
from agno.models.google import Gemini as AgnoGemini
from agno.models.openai import OpenAIChat, OpenAIResponses
from anthropic import AsyncAnthropic
from google.adk.models import Gemini as AdkGemini
from google.adk.models.anthropic_llm import AnthropicLlm as AdkClaude
from google.genai import Client as Google
from google.genai.types import HttpOptions
from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel as PydanticResponses
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from strands.models.anthropic import AnthropicModel as StrandsAnthropic
from strands.models.gemini import GeminiModel as StrandsGemini
from strands.models.openai import OpenAIModel as StrandsChat
from strands.models.openai_responses import OpenAIResponsesModel as StrandsResponses

from tests.servers.model.gemini import MODEL

__all__ = ["KINDS", "Kind", "Lab"]

THINKING: Final = {"type": "enabled", "budget_tokens": 1024}
TOKENS: Final = 4096
GPT, O_MODEL, CLAUDE = "gpt-4.1", "o3", "claude-scripted"


@dataclass
class Lab:
    """Where the model of one test is.

    Attributes:
        base: the server's address.
        thinks: whether the client is to ask for thoughts.
        used: what closes the connections.
    """

    base: str
    thinks: bool
    used: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def root(self) -> str:
        """The address without the version."""
        return self.base.removesuffix("/v1")

    def if_thinking(self, **options: Any) -> dict[str, Any]:
        """Options that ask for thoughts, where they are to be asked for."""
        return options if self.thinks else {}

    def openai(self) -> AsyncOpenAI:
        """OpenAI's client."""
        made = AsyncOpenAI(base_url=self.base, api_key="k", max_retries=0)
        self.used.push_async_callback(made.close)
        return made

    def anthropic(self) -> AsyncAnthropic:
        """Anthropic's client."""
        made = AsyncAnthropic(base_url=self.root, api_key="k", max_retries=0)
        self.used.push_async_callback(made.close)
        return made

    def google(self) -> Google:
        """Google's client."""
        made = Google(api_key="k", http_options=HttpOptions(base_url=self.root))
        self.used.push_async_callback(made.aio.aclose)
        self.used.callback(made.close)
        return made


def adk_gemini(lab: Lab) -> Any:
    model = AdkGemini(model=MODEL, base_url=lab.root)
    lab.used.push_async_callback(model.api_client.aio.aclose)
    return model


def adk_claude(lab: Lab) -> Any:
    # Thoughts are asked for by the agent's `generate_content_config`.
    return AdkClaude(model=CLAUDE, max_tokens=TOKENS, client=lab.anthropic())


def framework_chat(lab: Lab) -> Any:
    return OpenAIChatCompletionClient(model=GPT, async_client=lab.openai())


def framework_responses(lab: Lab) -> Any:
    return OpenAIChatClient(model=O_MODEL, async_client=lab.openai())


def framework_gemini(lab: Lab) -> Any:
    return GeminiChatClient(model=MODEL, client=lab.google())


def agno_chat(lab: Lab) -> Any:
    return OpenAIChat(id=GPT, async_client=lab.openai())


def agno_responses(lab: Lab) -> Any:
    asked = lab.if_thinking(reasoning_summary="auto")
    return OpenAIResponses(id=O_MODEL, async_client=lab.openai(), **asked)


def agno_sealed(lab: Lab) -> Any:
    asked = lab.if_thinking(reasoning_summary="auto")
    return OpenAIResponses(id=O_MODEL, async_client=lab.openai(), store=False, **asked)


def agno_gemini(lab: Lab) -> Any:
    return AgnoGemini(id=MODEL, client=lab.google(), **lab.if_thinking(include_thoughts=True))


def agno_claude(lab: Lab) -> Any:
    asked = lab.if_thinking(thinking=THINKING)
    return Claude(id=CLAUDE, async_client=lab.anthropic(), max_tokens=TOKENS, **asked)


def langchain_chat(lab: Lab) -> Any:
    return ChatOpenAI(model=GPT, base_url=lab.base, api_key="k", stream_usage=True)


def langchain_responses(lab: Lab) -> Any:
    asked = lab.if_thinking(reasoning={"summary": "auto"})
    base: Any = {"base_url": lab.base, "api_key": "k"}
    return ChatOpenAI(model=O_MODEL, use_responses_api=True, **base, **asked)


def langchain_anthropic(lab: Lab) -> Any:
    asked = lab.if_thinking(thinking=THINKING)
    base: Any = {"base_url": lab.root, "api_key": "k"}
    return ChatAnthropic(model=CLAUDE, max_tokens=TOKENS, **base, **asked)


def langchain_gemini(lab: Lab) -> Any:
    asked = lab.if_thinking(include_thoughts=True)
    return ChatGoogleGenerativeAI(model=MODEL, base_url=lab.root, **asked)


def llama_index_chat(lab: Lab) -> Any:
    return _llama_index().OpenAI(model=GPT, api_key="k", async_openai_client=lab.openai())


def llama_index_responses(lab: Lab) -> Any:
    asked = lab.if_thinking(reasoning_options={"summary": "auto"})
    client = _llama_index().OpenAIResponses
    return client(model=O_MODEL, api_key="k", async_openai_client=lab.openai(), **asked)


def _llama_index() -> Any:
    return pytest.importorskip("llama_index.llms.openai", reason="only on openai before 3")


def sdk_chat(lab: Lab) -> Any:
    return OpenAIChatCompletionsModel(GPT, lab.openai())


def sdk_responses(lab: Lab) -> Any:
    return OpenAIResponsesModel(O_MODEL, lab.openai())


def pydantic_chat(lab: Lab) -> Any:
    return OpenAIChatModel(GPT, provider=OpenAIProvider(openai_client=lab.openai()))


def pydantic_responses(lab: Lab) -> Any:
    asked: Any = lab.if_thinking(openai_reasoning_summary="auto")
    provider = OpenAIProvider(openai_client=lab.openai())
    return PydanticResponses(O_MODEL, provider=provider, settings=asked)


def pydantic_google(lab: Lab) -> Any:
    asked: Any = lab.if_thinking(google_thinking_config={"include_thoughts": True})
    return GoogleModel(MODEL, provider=GoogleProvider(client=lab.google()), settings=asked)


def pydantic_anthropic(lab: Lab) -> Any:
    asked: Any = {"max_tokens": TOKENS, **lab.if_thinking(anthropic_thinking=THINKING)}
    provider = AnthropicProvider(anthropic_client=lab.anthropic())
    return AnthropicModel(CLAUDE, provider=provider, settings=asked)


def strands_chat(lab: Lab) -> Any:
    return StrandsChat(client=lab.openai(), model_id=GPT)


def strands_responses(lab: Lab) -> Any:
    base = {"base_url": lab.base, "api_key": "k"}
    asked = lab.if_thinking(params={"reasoning": {"summary": "auto"}})
    return StrandsResponses(client_args=base, model_id=O_MODEL, **asked)


def strands_gemini(lab: Lab) -> Any:
    asked = lab.if_thinking(params={"thinking_config": {"include_thoughts": True}})
    return StrandsGemini(client=lab.google(), model_id=MODEL, **asked)


def strands_anthropic(lab: Lab) -> Any:
    base = {"base_url": lab.root, "api_key": "k"}
    asked = lab.if_thinking(params={"thinking": THINKING})
    model = StrandsAnthropic(client_args=base, model_id=CLAUDE, max_tokens=TOKENS, **asked)
    lab.used.push_async_callback(model.client.close)
    return model


@dataclass(frozen=True)
class Kind:
    """One framework's agent with one of its clients.

    Attributes:
        cashier: the agent, by its framework.
        model: makes the client.
        thinks: whether the provider has a place for thoughts.
        signs: whether each turn with thoughts has a signature that the provider wants back.
        parts: the tokens that were cached and thought, as far as provider and client count them.
        joins: whether the client puts calls together whose fragments alternate.
    """

    cashier: str
    model: Callable[[Lab], Any]
    thinks: bool = True
    signs: bool = False
    parts: tuple[int, int] = (2, 1)
    joins: bool = True


UNCOUNTED: Final = (0, 0)
CACHED: Final = (2, 0)

KINDS: Final[Mapping[str, Kind]] = {
    "adk-gemini": Kind("adk", adk_gemini, signs=True),
    "adk-claude": Kind("adk", adk_claude, thinks=False, parts=UNCOUNTED),
    "agent_framework-chat": Kind("agent_framework", framework_chat, thinks=False),
    "agent_framework-responses": Kind("agent_framework", framework_responses),
    "agent_framework-gemini": Kind("agent_framework", framework_gemini, signs=True),
    "agno-chat": Kind("agno", agno_chat, thinks=False),
    "agno-responses": Kind("agno", agno_responses),
    "agno-responses-sealed": Kind("agno", agno_sealed),
    "agno-gemini": Kind("agno", agno_gemini, signs=True),
    "agno-claude": Kind("agno", agno_claude, signs=True, parts=UNCOUNTED),
    "langgraph-chat": Kind("langgraph", langchain_chat, thinks=False),
    "langgraph-responses": Kind("langgraph", langchain_responses),
    "langgraph-anthropic": Kind("langgraph", langchain_anthropic, signs=True, parts=UNCOUNTED),
    "langgraph-gemini": Kind("langgraph", langchain_gemini, signs=True),
    "llama_index-chat": Kind("llama_index", llama_index_chat, thinks=False, joins=False),
    "llama_index-responses": Kind("llama_index", llama_index_responses),
    "openai_agents-chat": Kind("openai_agents", sdk_chat, thinks=False),
    "openai_agents-responses": Kind("openai_agents", sdk_responses),
    "pydantic_ai-chat": Kind("pydantic_ai", pydantic_chat, thinks=False),
    "pydantic_ai-responses": Kind("pydantic_ai", pydantic_responses),
    "pydantic_ai-google": Kind("pydantic_ai", pydantic_google, signs=True),
    "pydantic_ai-anthropic": Kind("pydantic_ai", pydantic_anthropic, signs=True, parts=UNCOUNTED),
    "strands-chat": Kind("strands", strands_chat, thinks=False, parts=CACHED),
    "strands-responses": Kind("strands", strands_responses, parts=CACHED),
    "strands-gemini": Kind("strands", strands_gemini, signs=True, parts=CACHED),
    "strands-anthropic": Kind("strands", strands_anthropic, signs=True, parts=UNCOUNTED),
}
