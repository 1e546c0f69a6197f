"""The calls that a run's answers are about, until each has its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agui_bridge.protocol.answers.decisions import Approve, Decision

__all__ = ["GatedCalls"]


class GatedCalls:
    """What is left to be carried out of what people approved.

    Args:
        interrupts: the interrupts that are about calls, by the id of the call.
        carried: calls that earlier runs left to be carried out, without those that this one asks
            about: approved then, and the adapter asked or handed off something else before.
        decisions: what was decided now, by interrupt id.

    Attributes:
        asked_about: the interrupts, by the id of the call, whatever has become of them.
        carried: those of the carried calls without a result.
    """

    __slots__ = ("_decisions", "_interrupts", "asked_about", "carried")

    def __init__(
        self,
        interrupts: Mapping[str, str],
        carried: Sequence[str],
        decisions: Mapping[str, Decision],
    ) -> None:
        self.asked_about: Mapping[str, str] = interrupts
        self._interrupts = dict(interrupts)
        self._decisions = decisions
        self.carried: list[str] = list(carried)

    @property
    def approved(self) -> dict[str, str]:
        """The interrupts whose calls were approved now and have no result, by call id."""
        decisions = self._decisions
        return {c: i for c, i in self._interrupts.items() if isinstance(decisions[i], Approve)}

    def __contains__(self, call_id: str) -> bool:
        """Whether the result of a call is one that somebody waits for."""
        return call_id in self._interrupts or call_id in self.carried

    def settle(self, call_id: str) -> str | None:
        """Take a call out, which has its result now; gives the interrupt about it, if any."""
        self.carried = [call for call in self.carried if call != call_id]
        return self._interrupts.pop(call_id, None)
