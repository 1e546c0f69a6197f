"""The ways in which a run ends.

Source: docs/contract.md, "What goes on the wire" and "Stop".
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from agui_bridge.errors import AdapterError, AgentMistake, NotDelivered, StoreUnavailable

__all__ = ["Ending", "Failed", "Finished", "Lost", "Stopped", "Undelivered", "ending_after"]

logger = logging.getLogger("agui_bridge")


@dataclass(frozen=True, slots=True)
class Finished:
    """The adapter ended by itself: success, a pause, or a handoff."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run was stopped on purpose."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The adapter raised. `message` None stands for the code's own cause."""

    code: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Nothing reached the framework: the batch reopens."""

    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is over or the store is gone: nothing more may be written."""

    code: str = "RUN_INDETERMINATE"


Ending = Finished | Stopped | Failed | Undelivered | Lost


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
    if isinstance(error, AdapterError) and not isinstance(error, AgentMistake):
        logger.warning("%s", error)
        return Failed(error.code, str(error))
    logger.error("the agent raised an error", exc_info=error)
    return Failed("AGENT_ERROR")
