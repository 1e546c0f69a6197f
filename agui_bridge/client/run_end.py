"""How a run ended, as a client is told.

Source: AG-UI 1.0, RUN_FINISHED and RUN_ERROR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agui_bridge.client.errors import RunFailed

__all__ = ["RunEnd"]

Outcome = Literal["success", "interrupt", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended.

    Attributes:
        outcome: `error` for RUN_ERROR; `cancelled` also when this client aborted it.
        result: RUN_FINISHED's, if any.
        usage: the token usage entries of the terminal event.
        error: what RUN_ERROR says.
        pending_tool_call_ids: the calls that wait for the client to carry them out, as RUN_FINISHED
            says; None where it says nothing of them.
    """

    outcome: Outcome
    result: Any = None
    usage: Sequence[Mapping[str, Any]] = ()
    error: RunFailed | None = None
    pending_tool_call_ids: Sequence[str] | None = None
