"""The order of AG-UI events as data: which event does what to which kind of thing.

Source: AG-UI 1.0, lifecycle, tool-calls and subagents pages; what breaks a chunk stream is
what ``@ag-ui/client`` 1.0.0 lets break it (its chunk transformation).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

__all__ = ["KINDS", "RULES", "Kind", "Rule", "Verb"]

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
class Rule:
    """What one type of event does."""

    verb: Verb
    kind: str = ""
    breaks: bool = True
    """Whether it ends an implicit (chunk or plain str) message of its owner."""


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "TEXT_MESSAGE_START": Rule("open", "text"),
        "TEXT_MESSAGE_CONTENT": Rule("append", "text"),
        "TEXT_MESSAGE_END": Rule("close", "text"),
        "TEXT_MESSAGE_CHUNK": Rule("chunk", "text"),
        "REASONING_START": Rule("open", "span"),
        "REASONING_MESSAGE_START": Rule("open", "reasoning"),
        "REASONING_MESSAGE_CONTENT": Rule("append", "reasoning"),
        "REASONING_MESSAGE_END": Rule("close", "reasoning"),
        "REASONING_MESSAGE_CHUNK": Rule("chunk", "reasoning"),
        "REASONING_END": Rule("close", "span"),
        "TOOL_CALL_START": Rule("open", "call"),
        "TOOL_CALL_ARGS": Rule("append", "call"),
        "TOOL_CALL_END": Rule("close", "call"),
        "TOOL_CALL_CHUNK": Rule("chunk", "call"),
        "TOOL_CALL_RESULT": Rule("settle", "call"),
        "STEP_STARTED": Rule("open", "step"),
        "STEP_FINISHED": Rule("close", "step"),
        "SUBAGENT_STARTED": Rule("open", "subagent", breaks=False),
        "SUBAGENT_FINISHED": Rule("close", "subagent"),
        "SUBAGENT_ERROR": Rule("close", "subagent"),
        "STATE_SNAPSHOT": Rule("pass"),
        "STATE_DELTA": Rule("pass"),
        "MESSAGES_SNAPSHOT": Rule("pass"),
        "CUSTOM": Rule("pass"),
        "RAW": Rule("pass", breaks=False),
        "ACTIVITY_SNAPSHOT": Rule("pass", breaks=False),
        "ACTIVITY_DELTA": Rule("pass", breaks=False),
        "REASONING_ENCRYPTED_VALUE": Rule("pass", breaks=False),
        "RUN_STARTED": Rule("refuse"),
        "RUN_FINISHED": Rule("refuse"),
        "RUN_ERROR": Rule("refuse"),
    }
)
