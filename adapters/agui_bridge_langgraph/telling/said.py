"""A message of a model, as far as it was told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent, ReasoningEncryptedValueEvent, ReasoningMessageEndEvent
from langchain_core.messages import AIMessage

from agui_bridge_langgraph.content import signature_in
from agui_bridge_langgraph.telling.shown import ALL, Shown


@dataclass(slots=True)
class Said:
    """A message of a model that is being told.

    Attributes:
        id: the first of its ids.
        ids: all of them: some models change it within a message, and the graph keeps one.
        number: among the messages of the run.
        about: what LangGraph says of it.
        owner: the sub-agent that says it.
        shown: what of it is told while it streams.
        name: of the agent that says it.
        texts: whether it has text.
        reasoning: id of its reasoning, while that is open.
        thought: id of its last reasoning, open or not.
        calls: ids of its calls.
        natives: the model's ids of the same.
        places: by the place of a call, the model's id of it, and its own.
    """

    id: str
    ids: list[str]
    number: int
    about: Any
    owner: str | None = None
    shown: Shown = ALL
    name: str | None = None
    texts: bool = False
    reasoning: str | None = None
    thought: str | None = None
    calls: list[str] = field(default_factory=list)
    natives: list[str] = field(default_factory=list)
    places: dict[Any, tuple[str, str]] = field(default_factory=dict)


class Ahead:
    """Ids of empty pieces before a message's first words: the graph may keep one of these."""

    def __init__(self) -> None:
        # By the task that a model works in, of the last message that it is about to say.
        self._of: dict[Any, tuple[Any, list[str]]] = {}

    def note(self, own: str | None, about: Any) -> None:
        """Note the id of a piece, and what LangGraph says of it."""
        task = about.get("langgraph_checkpoint_ns")
        known, ids = self._of.get(task, (None, []))
        self._of[task] = about, [*(ids if known is about else ()), *([own] if own else ())]

    def take(self, about: Any) -> list[str]:
        """The ids that a message had before it began."""
        known, ids = self._of.pop(about.get("langgraph_checkpoint_ns"), (None, []))
        return ids if known is about else []


def end_reasoning(message: Said) -> Iterator[BaseEvent | str]:
    """Close the reasoning of a message, if it is open."""
    if message.reasoning is not None:
        yield ReasoningMessageEndEvent(message_id=message.reasoning, subagent_run_id=message.owner)
        message.reasoning = None


def signed(message: Said, said: AIMessage) -> Iterator[BaseEvent | str]:
    """Tell what a provider knows a message's reasoning again by, where a piece of it says so."""
    signature = signature_in(said) if message.thought is not None else None
    if signature is not None and message.thought is not None:
        yield ReasoningEncryptedValueEvent(
            subtype="message",
            entity_id=message.thought,
            encrypted_value=signature,
            subagent_run_id=message.owner,
        )


def usage_entry(usage: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of one request, as AG-UI has it; what the provider did not say is left out."""
    read, made = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    more = {
        "provider": about.get("model_provider"),
        "cachedInputTokens": read.get("cache_read"),
        "cacheWriteInputTokens": read.get("cache_creation"),
        "reasoningTokens": made.get("reasoning"),
    }
    return {
        "model": about.get("model_name") or about.get("model") or "unknown",
        "inputTokens": usage["input_tokens"],
        "outputTokens": usage["output_tokens"],
        "totalTokens": usage["total_tokens"],
        **{name: value for name, value in more.items() if value is not None},
    }
