"""The dojo's example agents, as they are: each as its author gives it to the official server."""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

__all__ = ["FRAMEWORKS", "PROXIED", "STATES", "Example", "environment", "examples", "features"]

_PACKAGES: Final = ("server", "agents")
"""What the examples of every framework are called; one at a time can be imported."""
_STARTERS: Final = "example_server"

_CHAT: Final = ("agentic_chat", "agentic_chat_multimodal", "backend_tool_rendering")
_STATE: Final = ("agentic_generative_ui", "predictive_state_updates", "shared_state")
_PEOPLE: Final = ("human_in_the_loop", "tool_based_generative_ui")
_BASIC: Final = (*_CHAT, *_STATE, *_PEOPLE)
STATES: Final[Mapping[str, str]] = {
    "shared_state": "RecipeSnapshot",
    "predictive_state_updates": "DocumentState",
}
"""What Pydantic AI's examples keep of the page, by feature."""
_A2UI: Final = ("a2ui_fixed_schema", "a2ui_dynamic_schema")
_RECOVERY: Final = "a2ui_recovery"


@dataclass(frozen=True)
class Example:
    """One example agent.

    Attributes:
        framework: whose it is, one of `FRAMEWORKS`.
        feature: the dojo's name of its page.
        agent: what the official server is given.
        module: what else its module has.
    """

    framework: str
    feature: str
    agent: Any
    module: Any

    @property
    def name(self) -> str:
        """Where both servers have it: /agents/NAME."""
        return f"{self.framework}-{self.feature}"


def environment(mock: str) -> None:
    """Have the examples' models talk to a mock.

    Args:
        mock: its address, without a path.
    """
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
    models = ("OPENAI_MODEL", "OPENAI_CHAT_MODEL", "OPENAI_CHAT_MODEL_ID")
    os.environ.update(
        dict.fromkeys(keys, "test-key")
        | dict.fromkeys(models, "gpt-4o")
        | dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{mock}/v1")
        | dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), mock)
        | {"LANGGRAPH_FAST_API": "true", "AG_UI_MOCK_WEATHER": "1"}
        | {"OTEL_SDK_DISABLED": "true", "AGNO_TELEMETRY": "false"}
    )


def examples(checkout: Path, frameworks: tuple[str, ...] = ()) -> list[Example]:
    """All example agents of some frameworks, of all where none is named.

    Args:
        checkout: of AG-UI's repository.

    Raises:
        SystemExit: one of them can't be imported; says which, and why.
    """
    found: list[Example] = []
    for framework in frameworks or tuple(FRAMEWORKS):
        make, named = FRAMEWORKS[framework]

        def modules(folder: str, name: str, named: Sequence[str] = named) -> Iterator[Module]:
            names = {feature: name.format(feature) for feature in named}
            yield from _modules(checkout / "integrations" / folder, names)

        found += [Example(framework, *one) for one in make(modules)]
    return found


def features(framework: str) -> Sequence[str]:
    """The features that a framework has examples of."""
    return FRAMEWORKS[framework][1]


Module = tuple[str, Any]
"""A feature, and the module of its example."""
Found = Callable[[str, str], Iterator[Module]]
"""Finds modules by a folder and a name with a place for the feature."""
_Maker = Callable[[Found], Iterator[tuple[str, Any, Any]]]
"""Gives features, what the official server is given, and modules."""


# --- each framework's ------------------------------------------------------------------------


def _langgraph(found: Found) -> Iterator[tuple[str, Any, Any]]:
    _renew_models_of_a2ui()
    wrap = importlib.import_module("ag_ui_langgraph").LangGraphAgent
    for feature, module in found("langgraph/python/examples", "agents.{}.agent"):
        yield feature, wrap(name=feature, graph=module.graph), module


def _renew_models_of_a2ui() -> None:
    """Give the A2UI tool of ag_ui_langgraph a model of its own for each call.

    It calls its model in a new event loop each time, and a client of openai 3 stays with its first
    one: the tool fails, whichever server runs the graph.
    """
    package: Any = importlib.import_module("ag_ui_langgraph")
    made: Callable[[dict[str, Any]], Any] = package.get_a2ui_tools

    class Renewed:
        def bind_tools(self, *args: Any, **more: Any) -> Any:
            model = importlib.import_module("langchain_openai").ChatOpenAI
            return model(model="gpt-4o", http_async_client=httpx.AsyncClient()).bind_tools(
                *args, **more
            )

    package.get_a2ui_tools = lambda options: made({**options, "model": Renewed()})


def _pydantic_ai(found: Found) -> Iterator[tuple[str, Any, Any]]:
    for feature, module in found("pydantic-ai/python/examples", "server.api.{}"):
        yield feature, module.agent, module


def _adk(found: Found) -> Iterator[tuple[str, Any, Any]]:
    for feature, module in found("adk-middleware/python/examples", "server.api.{}"):
        yield feature, _of_kind(module, "ADKAgent"), module


def _agno(found: Found) -> Iterator[tuple[str, Any, Any]]:
    for feature, module in found("agno/python/examples", "server.api.{}"):
        yield feature, module.agent, module


def _strands(found: Found) -> Iterator[tuple[str, Any, Any]]:
    for feature, module in found("aws-strands/python/examples", "server.api.{}"):
        yield feature, _of_kind(module, "StrandsAgent"), module


def _starter(found: Found) -> Iterator[tuple[str, Any, Any]]:
    for feature, module in found("server-starter/python/examples", _STARTERS):
        yield feature, module.app, module


def _starter_all(found: Found) -> Iterator[tuple[str, Any, Any]]:
    for feature, module in found("server-starter-all-features/python/examples", _STARTERS):
        yield feature, module.app, module


def _agent_framework(found: Found) -> Iterator[tuple[str, Any, Any]]:
    makers = importlib.import_module("agent_framework_ag_ui_examples.agents")
    client = importlib.import_module("agent_framework.openai").OpenAIChatClient
    model = client(model="gpt-4o", api_key="test-key")
    for feature, maker in _OF_MICROSOFT.items():
        yield feature, getattr(makers, maker)(model), makers


_OF_MICROSOFT: Final = {
    "agentic_chat": "simple_agent",
    "agentic_chat_multimodal": "simple_agent",
    "backend_tool_rendering": "weather_agent",
    "human_in_the_loop": "human_in_the_loop_agent",
    "agentic_generative_ui": "task_steps_agent_wrapped",
    "tool_based_generative_ui": "ui_generator_agent",
    "shared_state": "recipe_agent",
    "predictive_state_updates": "document_writer_agent",
}
_REASONING: Final = "agentic_chat_reasoning"

_OF_STRANDS: Final = ("agentic_generative_ui", "shared_state", "human_in_the_loop")
_OF_ADK: Final = tuple(feature for feature in _BASIC if feature != "agentic_chat_multimodal")

FRAMEWORKS: Final[Mapping[str, tuple[_Maker, Sequence[str]]]] = {
    "langgraph": (_langgraph, (*_BASIC, _REASONING, "subgraphs", *_A2UI)),
    "pydantic-ai": (_pydantic_ai, _BASIC),
    "adk": (_adk, (*_OF_ADK, _REASONING, *_A2UI, _RECOVERY)),
    # Its example of reasoning was written for an older Agno, and no spec asks for it.
    "agno": (_agno, _BASIC),
    "strands": (_strands, (*_CHAT, _REASONING, *_OF_STRANDS, *_A2UI, _RECOVERY)),
    "agent-framework": (_agent_framework, tuple(_OF_MICROSOFT)),
    # Servers without a framework: the bridge is their proxy.
    "starter": (_starter, _CHAT[:1]),
    "starter-all": (_starter_all, tuple(one for one in _BASIC if one != _CHAT[1])),
}
"""How the examples of each are found, and the features that there are examples of."""
PROXIED: Final = ("starter", "starter-all")
"""Those whose official servers the bridge stands before, as a proxy."""


# --- their modules ---------------------------------------------------------------------------


def _of_kind(module: Any, kind: str) -> Any:
    return next(one for one in vars(module).values() if type(one).__name__ == kind)


def _modules(folder: Path, names: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    with _packages(folder):
        for feature, name in names.items():
            try:
                module = importlib.import_module(name)
            except Exception as error:
                raise SystemExit(f"dojo: {folder}: {name} can't be imported: {error!r}") from error
            yield feature, module


@contextmanager
def _packages(folder: Path) -> Iterator[None]:
    """Have a folder's packages importable, without the servers that their `__init__` builds."""
    made = (*_PACKAGES, _STARTERS)
    for name in [name for name in sys.modules if name.partition(".")[0] in made]:
        del sys.modules[name]
    for name in (*_PACKAGES, "server.api"):
        path = folder.joinpath(*name.split("."))
        if path.is_dir():
            package = types.ModuleType(name)
            package.__path__ = [str(path)]
            sys.modules[name] = package
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
