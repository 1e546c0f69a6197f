"""What a file of `kind: Agent` may say.

Source: SuperAgent's page "Interrupt/Resume", "Agent YAML"; keys that it does not have are marked as
extensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from agui_bridge.yaml_files.document import KeyPath
from agui_bridge.yaml_files.sections import FieldSection
from agui_bridge.yaml_files.variables import read_filled

__all__ = ["AgentDocument", "Backend", "find_unknown"]

Backend = Literal["memory", "redis", "sqlite", "postgres"]


Number: Final = BeforeValidator(read_filled)


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


class Memory(_Part):
    """The conversation's memory."""

    backend: Literal["builtin"] = Field("builtin", description="The thread's stored history.")


class ToolPart(_Part):
    """A function that the model may call (extension)."""

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


class Spec(_Part):
    """What the agent is."""

    type: Literal["chat_model_agent"] = Field(description="A chat model, perhaps with tools.")
    model: Model
    system_prompt: str = Field("", description="What the conversation begins with.")
    tools: list[ToolPart] = Field([], description="What the model may call (extension).")
    interrupt: InterruptPart = Field(default_factory=InterruptPart)
    memory: Memory = Field(default_factory=Memory)


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
