"""The approval that `run.approve` hands back, and the arguments that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from agui_bridge.agents.replay.continuation import Decided, EntryKey
from agui_bridge.agents.replay.journal import copied
from agui_bridge.protocol.threads.records import Json


class ReadOnlyArgs(dict[str, Json]):
    """Arguments that were decided on: a dict to read, compare and serialise, not to change.

    It is a dict, not a mappingproxy, so that json, pydantic and `run.step` take it.
    """

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "An approval's args are read-only: run.tool executes what was approved. "
            "Change a copy, dict(approval.args), and have that approved."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as a plain dict."""
        return dict, (dict(self),)


@dataclass(frozen=True, slots=True)
class Approval:
    """The decision on one proposed tool call; true only when it was approved.

    Attributes:
        name: the tool.
        tool_call_id: the call on the wire.
        approved: whether a person approved it.
        args: the arguments that may be executed: as proposed, or as edited. Read-only; what
            `run.tool` executes comes from the journal, whatever becomes of this copy.
        edited: whether the person changed them.
        reason: why it was declined, if the person said so.
        payload: the whole answer, as it was sent.
        cause: why nobody decided: cancelled or expired; None when somebody did.
        entry: where the decision stands in the run's journal.
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
        """Make the approval from the journal's entry and the arguments as proposed.

        Args:
            entry: where the decision stands in the journal.
            proposed: the arguments as the agent gave them.
            decided: what stands there.
        """
        approved = decided.verdict == "approve"
        return cls(
            name=entry.name,
            tool_call_id=decided.tool_call_id or "",
            approved=approved,
            args=ReadOnlyArgs(copied((decided.args or {}) if approved else dict(proposed))),
            edited=decided.edited,
            reason=decided.reason,
            payload=copied(decided.payload),
            cause=decided.cause,
            entry=entry,
        )
