"""What `run.*` hands back besides plain values: approvals, and failures that replay alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agui_bridge.agents.continuation import Decided, EntryKey, Failure
from agui_bridge.errors import AdapterError
from agui_bridge.protocol.records import Json

__all__ = ["Approval", "StepFailed"]


@dataclass(frozen=True, slots=True)
class Approval:
    """The decision on one proposed tool call; true only when it was approved.

    Attributes:
        name: the tool.
        tool_call_id: the call on the wire.
        approved: whether a person approved it.
        args: the arguments that may be executed: as proposed, or as edited.
        edited: whether the person changed them.
        reason: why it was declined, if the person said so.
        payload: the whole answer, as it was sent.
        cause: why nobody decided: cancelled or expired; None when somebody did.
    """

    name: str
    tool_call_id: str
    approved: bool
    args: Mapping[str, Json]
    edited: bool
    reason: str | None
    payload: Json
    cause: Literal["cancelled", "expired"] | None
    entry: EntryKey = field(repr=False)

    def __bool__(self) -> bool:
        """Whether it was approved, so that `if await run.approve(…)` can't mislead."""
        return self.approved

    @property
    def cancelled(self) -> bool:
        """Whether nobody decided; `cause` says why."""
        return self.cause is not None

    @classmethod
    def of(cls, entry: EntryKey, proposed: Mapping[str, Json], decided: Decided) -> Approval:
        """Make the approval from the journal's entry and the arguments as proposed."""
        approved = decided.verdict == "approve"
        return cls(
            name=entry.name,
            tool_call_id=decided.tool_call_id or "",
            approved=approved,
            args=dict(decided.args or {}) if approved else dict(proposed),
            edited=decided.edited,
            reason=decided.reason,
            payload=decided.payload,
            cause=decided.cause,
            entry=entry,
        )


class StepFailed(AdapterError):
    """A function that `run.step`, `stream`, `call` or `tool` carried out raised an exception.

    It is this type at the first run and at every replay, so that an `except` takes the same
    path each time. `__cause__` is the original at the first run and None at a replay: decide
    by `error`. When nobody catches it, the run fails with the original.

    Attributes:
        call: the call, such as `run.step('count')`.
        error: name of the original exception's type.
        text: the original exception's text.
    """

    def __init__(self, call: str, error: str, text: str) -> None:
        """Make the exception; `of` makes it from a journal's entry."""
        super().__init__(f"{call} failed: {error}: {text}")
        self.call = call
        self.error = error
        self.text = text

    @classmethod
    def of(cls, entry: EntryKey, failure: Failure) -> StepFailed:
        """Make the exception from the journal's entry."""
        return cls(str(entry), failure.error, failure.text)
