"""Why a run ended: what a hook is told once its end is stored.

Source: seed 001_e2fced3b13d7ce4f.txt, `AgentStopReason`; `INTERRUPTED` is added here, for a run
that ended by asking.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["EndReason"]


class EndReason(StrEnum):
    """Why a run ended.

    The engine knows SUCCESS, INTERRUPTED, USER_INTERRUPTED and ERROR_OCCURRED. The others only an
    adapter can know: it sets `Run.end_reason`, which stands in for SUCCESS or ERROR_OCCURRED.

    Attributes:
        SUCCESS: it came to its end.
        NO_MORE_TOOL_CALLS: the model called no further tool.
        STOP_TOOL_TRIGGERED: a tool that ends runs was called.
        MAX_ITERATIONS_REACHED: it was given no further model step.
        CONTEXT_TOKEN_LIMIT: the conversation outgrew the model.
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
