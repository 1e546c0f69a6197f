"""What a file of `kind: Agent` may say.

Source: SuperAgent's page "Interrupt/Resume", "Agent YAML"; keys that it does not have are marked as
extensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from agui_bridge.yaml_files.document import FieldSection, KeyPath, read_filled

Backend = Literal["memory", "redis", "sqlite", "postgres"]


Number: Final = BeforeValidator(read_filled)

SEVERAL_AGENTS: Final = (
    *("deep_agent", "workflow", "supervisor", "sequential", "parallel", "plan_execute"),
    *("agentloop", "eino_graph", "adk_graph"),
)
"""SuperAgent's other types of agents: loops, graphs and teams of its server."""

INSTEAD: Final[Mapping[KeyPath, str]] = {
    ("spec", "model", "router"): "an endpoint at `base_url` may route",
    (
        "spec",
        "model",
        "fallback",
    ): "an endpoint at `base_url` may fall back",
    ("spec", "middleware"): "policies and hooks of the bridge judge and note what an agent does",
    ("spec", "observability"): "the bridge's telemetry is for all agents (docs/observability.md)",
    ("spec", "sub_agents"): "a tool of yours may ask another agent",
    ("spec", "orchestration"): "a tool of yours may ask another agent",
    ("spec", "workflow"): "write a function agent (docs/function-agents.md)",
}
"""What there is in place of keys that only SuperAgent's server has."""


class _Part(BaseModel):
    # Unknown keys are told apart from these: files of other versions may have more.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="ignore", strict=True, frozen=True, allow_inf_nan=False
    )


class Metadata(_Part):
    """What the agent is called."""

    name: str = Field(min_length=1, description="Its name in addresses, and as `agent_id`.")
    version: str = Field("", description="Its version, for people.")
    description: str = Field("", description="What it is for, for people (extension).")


class Model(_Part):
    """The model."""

    primary: str = Field(min_length=1, description="Its name at the endpoint.")
    base_url: str | None = Field(
        None, description="The endpoint, by default OPENAI_BASE_URL (extension)."
    )
    api_key: str | None = Field(
        None, description="By default OPENAI_API_KEY; write `${NAME}` (extension)."
    )
    temperature: Annotated[float | None, Number] = Field(
        None, ge=0, description="How it chooses (extension)."
    )
    max_tokens: Annotated[int | None, Number] = Field(
        None, gt=0, description="The longest reply (extension)."
    )
    timeout_seconds: Annotated[float, Number] = Field(
        120.0, gt=0, description="How long it may be silent (extension)."
    )
    max_retries: Annotated[int, Number] = Field(
        2, ge=0, le=10, description="Tries again before the first token (extension)."
    )


class InterruptPart(_Part):
    """Whether the agent pauses when it asks for a confirmation in words."""

    enabled: bool = Field(False, description="Whether it does.")
    checkpoint_backend: Backend = Field("memory", description="Where what is pending is kept.")
    timeout_seconds: int = Field(300, gt=0, description="Seconds until it can't be answered.")
    keywords: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="What counts as a request instead of the built-in phrases (extension)."
    )
    fields: Annotated[list[FieldSection], Field(min_length=1)] | None = Field(
        None, description="The form, by default one confirm field (extension)."
    )


def _only_history(value: Any) -> Any:
    if value in ("mem0", "zep", "letta"):
        raise ValueError(
            f"{value!r} is a memory of SuperAgent's server: write `builtin`, the thread's stored "
            "history, and give the agent a tool for what it is to remember beyond a thread"
        )
    return value


class Memory(_Part):
    """The conversation's memory."""

    backend: Annotated[Literal["builtin"], BeforeValidator(_only_history)] = Field(
        "builtin", description="The thread's stored history."
    )


class ToolPart(_Part):
    """A function that the model may call (extension)."""

    @model_validator(mode="before")
    @classmethod
    def _own(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "ref" in value and "function" not in value:
            raise ValueError(
                f"{value['ref']!r} is a tool of SuperAgent's server, which the bridge doesn't "
                "have: write a function of yours, as `function: module:function`"
            )
        return value

    function: str = Field(
        min_length=3, description="`module:function`, found from the file's folder."
    )
    name: str | None = Field(
        None, min_length=1, description="For the model; by default the function's."
    )
    requireApproval: bool | None = Field(
        None,
        description="Whether a person approves each call; by default what the function's own "
        "`@tool` says, or no.",
    )


class McpPart(_Part):
    """An MCP server whose tools the model may call (extension)."""

    @model_validator(mode="after")
    def _one_way(self) -> McpPart:
        if (self.url is None) is (self.command is None):
            raise ValueError("a server has either `url` or `command`")
        return self

    name: str = Field(
        min_length=1, description="Stands before the names of its tools: letters, digits, dashes."
    )
    url: str | None = Field(None, description="Its address (streamable HTTP).")
    headers: dict[str, str] = Field(
        {}, description="Sent with each request; write secrets as `${NAME}`."
    )
    command: str | None = Field(None, description="Or the command that starts it (stdio).")
    args: list[str] = Field([], description="Of the command.")
    env: dict[str, str] = Field({}, description="Variables that the command gets besides.")
    trusted: bool = Field(
        False, description="Whether its word counts that a tool only reads: such calls just run."
    )
    only: list[str] | None = Field(None, description="The tools that are used, by default all.")


def _only_chat_models(value: Any) -> Any:
    if value in SEVERAL_AGENTS:
        raise ValueError(
            f"{value!r} is for SuperAgent's server to run: leave the file there and reach the "
            "agent with SuperAgentAdapter, or write a function agent (docs/function-agents.md)"
        )
    return value


class Spec(_Part):
    """What the agent is."""

    type: Annotated[Literal["chat_model_agent"], BeforeValidator(_only_chat_models)] = Field(
        description="A chat model, perhaps with tools."
    )
    model: Model
    system_prompt: str = Field("", description="What the conversation begins with.")
    tools: list[ToolPart] = Field([], description="What the model may call (extension).")
    mcp: list[McpPart] = Field([], description="MCP servers whose tools it may call (extension).")
    interrupt: InterruptPart = Field(default_factory=InterruptPart)
    memory: Memory = Field(default_factory=Memory)
    checkpoint: Literal["pause", "step"] = Field(
        "pause",
        description="What of a run outlives its process: what it had done by its last pause, or "
        "each step (extension; not with `interrupt`).",
    )


class AgentDocument(_Part):
    """A file of `kind: Agent`."""

    apiVersion: Literal["superagent/v1"]
    kind: Literal["Agent"]
    metadata: Metadata
    spec: Spec


def find_unknown(values: Any, kind: Any = AgentDocument, where: KeyPath = ()) -> Iterator[KeyPath]:
    """Where there are keys that mean nothing here."""
    if isinstance(kind, type) and issubclass(kind, _Part) and isinstance(values, Mapping):
        for key, value in values.items():
            if key in kind.model_fields:
                yield from find_unknown(value, kind.model_fields[key].annotation, (*where, key))
            else:
                yield (*where, key)
    else:
        for choice in get_args(kind):
            if isinstance(choice, type) and issubclass(choice, _Part):
                yield from find_unknown(values, choice, where)
