"""How a run ends whose adapter is done.

Source: docs/contract.md, "What goes on the wire" and "Stop".
"""

from __future__ import annotations

import logging
from typing import Final, Literal

from agui_bridge.engine.run.refused_request import refused_request
from agui_bridge.errors import AdapterError, AgentMistake, NotDelivered, StoreUnavailable
from agui_bridge.protocol.threads.run_ends import (
    Ending,
    Failed,
    Finished,
    Lost,
    Stopped,
    Undelivered,
)

__all__ = ["ending_after"]

logger: Final = logging.getLogger("agui_bridge")


def ending_after(error: BaseException | None, *, stopped: bool, reopens: bool) -> Ending:
    """How a run ends whose adapter is done.

    Args:
        error: what it raised, if anything.
        stopped: whether a stop was asked for.
        reopens: whether the framework, not having been reached, can be answered again.
    """
    if error is None:
        return Stopped() if stopped else Finished()
    if isinstance(error, StoreUnavailable):
        logger.error("the store did not answer in time")
        return Lost("STORE_UNAVAILABLE")
    if stopped:
        # What breaks while an agent is made to stop does not make the stop a failure.
        if not isinstance(error, NotDelivered):
            logger.warning("the agent raised an error while it stopped", exc_info=error)
        return Stopped()
    if reopens:
        return Undelivered(str(error))
    refusal = refused_request(error)
    refused: Literal["request", "content"] | None = None
    if refusal is not None:
        refused = "content" if refusal.filtered else "request"
    if isinstance(error, AdapterError) and not isinstance(error, AgentMistake):
        logger.warning("%s", error)
        return Failed(error.code, str(error), refused)
    logger.error("the agent raised an error", exc_info=error)
    told = f"The model's server refuses the request ({refusal.status})." if refusal else None
    return Failed("AGENT_ERROR", told, refused)
