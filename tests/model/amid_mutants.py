"""Variants that break one rule of calls that ask in their middle each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agui_bridge.agents.replay.continuation import Asking
from agui_bridge.frameworks.needs_input import Answered
from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.contract.end_transitions import reopen
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Json
from tests.model.amid import AskingEngine, Call, Policy


class _BeginsAgain(AskingEngine):
    def given(self, asking: Asking) -> Answered | None:
        return None


class _CountsNoRounds(AskingEngine):
    def given(self, asking: Asking) -> Answered | None:
        return replace(asking.answered, round=1)


class _ForgetsState(AskingEngine):
    def stored_state(self, state: Json) -> Json:
        return None


class _AnswersEdit(AskingEngine):
    def arguments(self, kept: Mapping[str, Any], given: Answered | None) -> Json:
        answers = given.answers.values() if given is not None else ()
        said = [made.payload for made in answers if isinstance(made, Answer)]
        return {**kept["args"], "n": said[0]} if said else kept["args"]


class _MixesNames(AskingEngine):
    def names(self, asks: Mapping[str, str]) -> dict[str, str]:
        return dict(zip(asks, reversed([*asks.values()]), strict=True))


class _HearsPolicyOnce(AskingEngine):
    def hears_policy(self, call: Call) -> bool:
        return call.rounds == 0


class _TakesAskForLeave(AskingEngine):
    def lets_go_on(self, call: Call, verdict: Policy) -> bool:
        return verdict == "allow" or (verdict == "ask" and call.rounds > 0)


class _GoesOnOverStops(AskingEngine):
    def heeds_stop(self) -> bool:
        return False


class _GoesOnWithoutLease(AskingEngine):
    def may_execute(self, lease_ends_at: float) -> bool:
        return True


class _AsksForEver(AskingEngine):
    def may_ask(self, call: Call) -> bool:
        return True


class _TellsEachRound(AskingEngine):
    def tells_each_round(self) -> bool:
        return True


class _AsksLostRoundsAgain(AskingEngine):
    def recover(self, loaded: Loaded) -> Change:
        record = loaded.record
        if record is None or record.batch is None:
            return super().recover(loaded)
        claimed = [ask for ask in loaded.batch_interrupts() if ask.status == "claimed"]
        return reopen(record, claimed, now=loaded.now)


class _ClaimsBlindly(AskingEngine):
    def claims_blindly(self) -> bool:
        return True


BROKEN_CALLS: tuple[tuple[str, int, type[AskingEngine]], ...] = (
    ("a call that has asked begins again", 1, _BeginsAgain),
    ("rounds are not counted", 1, _CountsNoRounds),
    ("what a round noted is not stored", 1, _ForgetsState),
    ("an answer changes an argument", 1, _AnswersEdit),
    ("answers come under each other's names", 1, _MixesNames),
    ("the policy is heard before the first round alone", 1, _HearsPolicyOnce),
    ("what has begun goes on where people are to approve it", 1, _TakesAskForLeave),
    ("a stop is not looked at between rounds", 11, _GoesOnOverStops),
    ("a round begins without a look at the lease", 8, _GoesOnWithoutLease),
    ("rounds have no bound", 17, _AsksForEver),
    ("each round has a result", 1, _TellsEachRound),
    ("a round that was lost is asked for again", 1, _AsksLostRoundsAgain),
    ("answers are claimed without compare-and-swap", 1, _ClaimsBlindly),
)
"""What is broken, where a search soon meets a schedule that shows it, and how."""
