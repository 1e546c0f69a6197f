"""The calls that people decided on, until each has its result.

Whether one may run is judged where it would: `tool_gate`, `agents.function.policy_gate`. What
people made of their arguments is told in the conversation, as it is executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.threads.edited_calls import with_executed, with_proposed
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.records import Interrupt

__all__ = ["DecidedCalls", "take_edits_back", "tell_edits"]


class DecidedCalls:
    """What is left to be carried out of what people approved.

    Args:
        interrupts: the interrupts that are about calls, by the id of the call.
        carried: calls that were approved earlier and have not run yet, because that run paused
            again first; without those that this one asks about.
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


def tell_edits(
    history: History, asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]
) -> None:
    """Put the edited arguments into the calls that they are for.

    With the claim already: whatever becomes of the run, what may have been executed stands there.

    Args:
        history: the conversation.
        asks: the questions, by interrupt id.
        decisions: what was decided on them.
    """
    for call_id, approved in _edited(asks, decisions).items():
        arguments = json.dumps(approved.args, ensure_ascii=False)
        history.rewrite_call(call_id, partial(with_executed, call_id=call_id, arguments=arguments))


def take_edits_back(
    history: History, asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]
) -> None:
    """Put the proposed arguments back: nothing was executed, and the questions are open again."""
    for call_id in _edited(asks, decisions):
        history.rewrite_call(call_id, partial(with_proposed, call_id=call_id))


def _edited(asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]) -> dict[str, Approve]:
    return {
        call.id: decision
        for ask, decision in decisions.items()
        if isinstance(decision, Approve)
        and (call := asks[ask].tool_call) is not None
        and decision.args != call.args
    }
