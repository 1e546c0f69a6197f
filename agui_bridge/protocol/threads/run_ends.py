"""How a run ends: what it came to, why a hook is told it did, and what a stop achieved.

Source: docs/contract.md, "What goes on the wire" and "Stop"; NexAU's RFC-0001,
`AgentStopReason` (`INTERRUPTED` is added here, for a run that ended by asking).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

RefusedPart: TypeAlias = Literal["request", "content", "message", "reply"]
"""What is refused: by a model's endpoint the request, or the content, where it says that it is what
is said there; by a guard of the agent the user's message, or the reply to it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The adapter ended by itself: success, a pause, or a handoff."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run was stopped on purpose."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The adapter raised. `message` None stands for the code's own cause.

    Attributes:
        refused: what a model's endpoint or a guard of the agent refuses, where that is why.
    """

    code: str
    message: str | None = None
    refused: RefusedPart | None = None


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Nothing reached the framework: the batch reopens."""

    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is over or the store is gone: nothing more may be written."""

    code: str = "RUN_INDETERMINATE"


Ending = Finished | Stopped | Failed | Undelivered | Lost


class EndReason(StrEnum):
    """Why a run ended.

    The engine knows SUCCESS, INTERRUPTED, USER_INTERRUPTED and ERROR_OCCURRED. The others only an
    adapter can know: it sets `Run.end_reason`, which stands in for SUCCESS or ERROR_OCCURRED.

    Attributes:
        SUCCESS: it came to its end.
        NO_MORE_TOOL_CALLS: the model called no further tool.
        STOP_TOOL_TRIGGERED: a tool that ends runs was called.
        MAX_ITERATIONS_REACHED: it was given no further model step.
        CONTEXT_TOKEN_LIMIT: the conversation outgrew the model, or a reply its limit of tokens.
        ERROR_OCCURRED: it failed, or was lost.
        USER_INTERRUPTED: it was stopped.
        INTERRUPTED: it paused: people are asked.
    """

    SUCCESS = "SUCCESS"
    NO_MORE_TOOL_CALLS = "NO_MORE_TOOL_CALLS"
    STOP_TOOL_TRIGGERED = "STOP_TOOL_TRIGGERED"
    MAX_ITERATIONS_REACHED = "MAX_ITERATIONS_REACHED"
    CONTEXT_TOKEN_LIMIT = "CONTEXT_TOKEN_LIMIT"
    ERROR_OCCURRED = "ERROR_OCCURRED"
    USER_INTERRUPTED = "USER_INTERRUPTED"
    INTERRUPTED = "INTERRUPTED"


@dataclass(frozen=True, slots=True)
class StopResult:
    """What a stop achieved.

    Attributes:
        status: `success` once the run is over because of a stop, else `error`.
        stop_reason: USER_INTERRUPTED on success.
        message_count: messages of the conversation now.
        messages: the conversation, as JSON.
        interrupted_at_iteration: model steps that the run had begun, None if unknown.
        partial_response: the assistant text that was cut off, None if there was none.
        error: why it is no success.
    """

    status: Literal["success", "error"]
    stop_reason: Literal["USER_INTERRUPTED"] | None = None
    message_count: int = 0
    messages: tuple[Mapping[str, Any], ...] = ()
    interrupted_at_iteration: int | None = None
    partial_response: str | None = None
    error: str | None = None
