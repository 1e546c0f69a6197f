"""What follows a stream of NexAU's: a question, a result, or the error that it comes down to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge_nexau.pauses import ASK_USER, ask_of, labels_of
from agui_bridge_nexau.reader import Reader

__all__ = ["broken_off", "end_of", "is_busy", "waits_for_permission"]

_BUSY: Final = ("is already locked", "could not acquire lock")
_PERMISSION: Final = "pending permission request"
_PENDING: Final = "This tool call waits for a permission in NexAU; it was not executed."

_UNKNOWN: Final = (
    "It had the answer by then, or may have had it: whether it acted is unknown, and the answer is "
    "not sent again."
)
_NEEDS_PERMISSION: Final = (
    "NexAU waits for a permission that none of its transports can give{what}. Decide it in the "
    "process that runs NexAU, or allow the tool there; until then it takes no message of this "
    "conversation."
)


def is_busy(reader: Reader) -> bool:
    """Whether the session is locked, so that the request reached nobody."""
    return not reader.started and any(words in (reader.error or "") for words in _BUSY)


def waits_for_permission(reader: Reader) -> bool:
    """Whether NexAU took nothing because it waits for a permission."""
    return not reader.started and _PERMISSION in (reader.error or "")


def broken_off(why: object, run: Run) -> UpstreamError | OutcomeUnknown:
    """The error for a run that NexAU did not tell to its end: what came of an answer is unknown."""
    if run.resume is None:
        return UpstreamError(str(why))
    return OutcomeUnknown(f"{why} {_UNKNOWN}")


def end_of(reader: Reader, run: Run) -> Iterator[RunItem]:
    """What follows the stream of a run that nobody stopped.

    Raises:
        NotDelivered: NexAU took nothing, for it waits for a permission.
        UpstreamError: it failed, said no end, or waits for a permission now.
        OutcomeUnknown: it said no end to an answer.
    """
    if waits_for_permission(reader):
        raise NotDelivered(_NEEDS_PERMISSION.format(what=""))
    if reader.error is not None:
        raise UpstreamError("The NexAU server reported that its run failed; its log says why.")
    if not reader.finished:
        raise broken_off("The NexAU server ended the stream before the run's end.", run)
    calls = reader.calls.values()
    if asked := [call for call in calls if call.name == ASK_USER and call.stops]:
        asks = [ask_of(call) for call in asked]
        yield Pause(asks, {"labels": {ask.native_id: labels_of(ask) for ask in asks}})
        return
    if pending := reader.pending:
        for call in pending:
            yield ToolCallResultEvent(
                message_id=run.mint(), tool_call_id=call.id, content=_PENDING, role="tool"
            )
        names = ", ".join(sorted({call.name for call in pending}))
        raise UpstreamError(_NEEDS_PERMISSION.format(what=f" (tool {names})"))
    if any(call.stops for call in calls):
        run.end_reason = EndReason.STOP_TOOL_TRIGGERED
    run.result = reader.result
