"""The adapter: flows' events become AG-UI's, and a flow that waits becomes a pause."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge import (
    AdapterCapabilities,
    Approve,
    Ask,
    NotDelivered,
    Pause,
    Resume,
    Run,
    RunItem,
    ToolCall,
)
from agui_bridge_flows.flows import Deployed, FlowEvent, Flows, FlowsAreDown, NeedsApproval, Said

__all__ = ["FlowsAdapter"]

_PARAMETERS: Final = {
    "type": "object",
    "required": ["version"],
    "properties": {"version": {"type": "string"}},
    "additionalProperties": False,
}


class FlowsAdapter:
    """The deploying agent of a folder of flows.

    Args:
        folder: where flows wait; it must exist by the time of the first message.
    """

    capabilities = AdapterCapabilities(edit=True, answer=False, stop=True)

    def __init__(self, folder: str) -> None:
        self._flows = Flows(Path(folder))

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Begin a flow, or resume the one of a pause."""
        # Nobody answered these: nothing may resume them any more.
        for batch in run.closed:
            self._flows.release(batch.continuation["flow"])
        resume = run.resume
        events = self._flows.start(run.text) if resume is None else self._resume(run, resume)
        try:
            async for event in events:
                yield _item(run, event)
                if run.stop.requested:
                    return
        except FlowsAreDown as error:
            # Nothing was begun, so that the same answer can be sent again.
            raise NotDelivered("The flows can't be reached.") from error

    async def aclose(self) -> None:
        """Nothing is held open."""

    async def _resume(self, run: Run, resume: Resume) -> AsyncIterator[FlowEvent]:
        ((_, decision),) = resume.decisions.items()
        # A pause has one question, and whatever is not an approval is none.
        approved = isinstance(decision, Approve) and not run.stop.requested
        version = decision.args["version"] if isinstance(decision, Approve) and approved else None
        run.check_lease()
        async for event in self._flows.resume(resume.continuation["flow"], version):
            yield event


def _item(run: Run, event: FlowEvent) -> RunItem:
    match event:
        case Said(text):
            return text
        case Deployed(call, version):
            return ToolCallResultEvent(
                message_id=run.mint(), tool_call_id=call, content=f"{version} is deployed"
            )
        case NeedsApproval(flow, call, version):
            ask = Ask(
                native_id=call,
                reason="tool_call",
                message=f"Deploy {version}?",
                tool_call=ToolCall(call, "deploy", {"version": version}),
                parameters=_PARAMETERS,
                allowed=("approve", "decline", "edit"),
            )
            return Pause([ask], continuation={"flow": flow})
