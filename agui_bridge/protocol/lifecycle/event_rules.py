"""The order of AG-UI events as data: which event does what to which kind of thing.

Source: AG-UI 1.0, lifecycle, tool-calls and subagents pages; what breaks a chunk stream is
what ``@ag-ui/client`` 1.0.0 lets break it (its chunk transformation).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from agui_bridge.frozen import dataclass

__all__ = ["EVENT_RULES", "KINDS", "EventRule", "Kind", "Verb"]

Verb: TypeAlias = Literal["open", "append", "close", "chunk", "settle", "pass", "refuse"]
"""What an event does to its thing.

``settle`` gives a tool call its result, ``pass`` opens nothing, ``refuse`` is for events
that are the engine's alone.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that is opened and must be closed before the run ends."""

    key: str
    """The wire key that holds its id."""
    start: str
    content: str
    """The event that appends to it; empty for what has no content."""
    end: str
    role: str = ""
    """The role that a START has which the adapter forgot."""


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    # In the order in which what a run left open is closed.
    {
        "text": Kind(
            "messageId",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            role="assistant",
        ),
        "reasoning": Kind(
            "messageId",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            role="reasoning",
        ),
        "span": Kind("messageId", "REASONING_START", "", "REASONING_END"),
        "call": Kind("toolCallId", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"),
        "step": Kind("stepName", "STEP_STARTED", "", "STEP_FINISHED"),
        "subagent": Kind("subagentRunId", "SUBAGENT_STARTED", "", "SUBAGENT_FINISHED"),
    }
)


@dataclass(frozen=True, slots=True)
class EventRule:
    """What one type of event does."""

    verb: Verb
    kind: str = ""
    breaks: bool = True
    """Whether it ends an implicit (chunk or plain str) message of its owner."""


EVENT_RULES: Final[Mapping[str, EventRule]] = MappingProxyType(
    {
        "TEXT_MESSAGE_START": EventRule("open", "text"),
        "TEXT_MESSAGE_CONTENT": EventRule("append", "text"),
        "TEXT_MESSAGE_END": EventRule("close", "text"),
        "TEXT_MESSAGE_CHUNK": EventRule("chunk", "text"),
        "REASONING_START": EventRule("open", "span"),
        "REASONING_MESSAGE_START": EventRule("open", "reasoning"),
        "REASONING_MESSAGE_CONTENT": EventRule("append", "reasoning"),
        "REASONING_MESSAGE_END": EventRule("close", "reasoning"),
        "REASONING_MESSAGE_CHUNK": EventRule("chunk", "reasoning"),
        "REASONING_END": EventRule("close", "span"),
        "TOOL_CALL_START": EventRule("open", "call"),
        "TOOL_CALL_ARGS": EventRule("append", "call"),
        "TOOL_CALL_END": EventRule("close", "call"),
        "TOOL_CALL_CHUNK": EventRule("chunk", "call"),
        "TOOL_CALL_RESULT": EventRule("settle", "call"),
        "STEP_STARTED": EventRule("open", "step"),
        "STEP_FINISHED": EventRule("close", "step"),
        "SUBAGENT_STARTED": EventRule("open", "subagent", breaks=False),
        "SUBAGENT_FINISHED": EventRule("close", "subagent"),
        "SUBAGENT_ERROR": EventRule("close", "subagent"),
        "STATE_SNAPSHOT": EventRule("pass"),
        "STATE_DELTA": EventRule("pass"),
        "MESSAGES_SNAPSHOT": EventRule("pass"),
        "CUSTOM": EventRule("pass"),
        "RAW": EventRule("pass", breaks=False),
        "ACTIVITY_SNAPSHOT": EventRule("pass", breaks=False),
        "ACTIVITY_DELTA": EventRule("pass", breaks=False),
        "REASONING_ENCRYPTED_VALUE": EventRule("pass", breaks=False),
        "RUN_STARTED": EventRule("refuse"),
        "RUN_FINISHED": EventRule("refuse"),
        "RUN_ERROR": EventRule("refuse"),
    }
)
