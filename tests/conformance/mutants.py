"""Every flaw of the reference agent, and exactly the checks that must notice it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.conformance import CHECKS

__all__ = ["MUTANTS", "Mutant"]

CONFLICTS: Final = "race.conflicting race.conflicting-two-processes"
"""Two answers at once: which one wins, and so what is seen, is up to chance."""

FORGETS: Final = "repeat.answered-message repeat.nothing-new"
"""What a client that was shown less than all sends brings something new, or is no input at all."""

ANY: Final = " ".join(check.id for check in CHECKS)


@dataclass(frozen=True)
class Mutant:
    """A faulty server.

    Attributes:
        fails: ids of the checks that must fail.
        also: ids of those that may fail or be blocked, since they build on what is broken.
    """

    fails: str
    also: str = ""


MUTANTS: Final[Mapping[str, Mutant]] = {
    "crlf": Mutant("stream.framing"),
    "null-members": Mutant("stream.types"),
    "unclosed-text": Mutant("stream.order"),
    "chunks-in-another-role": Mutant("stream.order", also="stop.partial-text"),
    "own-run-id": Mutant("stream.ids"),
    "empty-deltas": Mutant("stream.no-empty-deltas"),
    "echo-version": Mutant("stream.version"),
    "refuses-newer": Mutant("stream.newer-minor"),
    "expires-for-all": Mutant("stream.older-client"),
    "refuses-unknown": Mutant("stream.unknown-members"),
    "no-validation": Mutant("stream.malformed"),
    "no-outcome": Mutant("pause.outcome", also=ANY),
    "no-snapshots": Mutant("pause.snapshots", also="stop.partial-text"),
    "empty-snapshot": Mutant(
        "pause.snapshots",
        also=f"memory.forged-arguments parallel.one-declined stop.partial-text {FORGETS}",
    ),
    "no-user-in-snapshot": Mutant("pause.snapshots", also=FORGETS),
    "renamed-in-snapshot": Mutant("pause.snapshots"),
    "other-arguments-in-snapshot": Mutant("pause.snapshots"),
    "wrong-reason": Mutant("pause.tool-bound"),
    "unbound": Mutant(
        "pause.tool-bound", also="answer.result answer.no-restart parallel.one-declined"
    ),
    "no-schema": Mutant("pause.schema"),
    "eager": Mutant("pause.no-execution", also=ANY),
    "same-calls": Mutant("pause.unique-ids", also="parallel.one-declined"),
    "calls-by-number": Mutant("pause.unique-ids"),
    "odd-expires-at": Mutant("pause.expires-at"),
    "naive-expires-at": Mutant("pause.expires-at"),
    "approved-is-cancelled": Mutant(
        "answer.approve-once", also="memory.fresh-client memory.restart"
    ),
    "no-result": Mutant("answer.result answer.asked-amid parallel.both"),
    "streams-again": Mutant("answer.no-restart"),
    "result-amid": Mutant("answer.asked-amid"),
    "begins-anew": Mutant("answer.asked-amid"),
    "no-snapshot-after": Mutant("answer.snapshots"),
    "executes-declined": Mutant(
        "answer.deny parallel.one-declined replay.approve-after-deny", also=CONFLICTS
    ),
    "denial-is-error": Mutant("answer.deny"),
    "executes-cancelled": Mutant(
        "answer.cancel parallel.one-cancelled refuse.expired-cancel replay.approve-after-cancel"
    ),
    "truthy": Mutant("answer.near-miss refuse.garbage-approval"),
    "ignores-edits": Mutant("answer.edit"),
    "unchecked-edits": Mutant("answer.bad-edit"),
    "by-position": Mutant("parallel.one-declined"),
    "once-per-tool": Mutant("parallel.both"),
    "any-id": Mutant("refuse.unknown-id refuse.unknown-id-told draft.stale"),
    "unknown-is-silent": Mutant("refuse.unknown-id-told"),
    "global-ids": Mutant("refuse.other-thread memory.foreign-principal"),
    "partial-accepted": Mutant("refuse.partial"),
    "last-entry-wins": Mutant("refuse.duplicate-entries"),
    "empty-approves": Mutant("refuse.empty-resume"),
    "message-approves": Mutant("refuse.message"),
    "message-drops": Mutant("refuse.stays-open refuse.restated"),
    "bare-refusal": Mutant("refuse.restated"),
    "unchecked-form": Mutant("refuse.form-payload"),
    "garbage-burns-approvals": Mutant("refuse.garbage-approval answer.bad-edit"),
    "garbage-burns-confirmations": Mutant("refuse.garbage-confirmation"),
    "any-status": Mutant("refuse.garbage-approval refuse.garbage-confirmation"),
    "falsy-is-missing": Mutant("refuse.falsy-payload"),
    "no-expiry": Mutant("refuse.expired"),
    "expired-is-dead": Mutant("refuse.expired-cancel"),
    "replay-executes": Mutant(
        "replay.once replay.old-history race.identical race.identical-two-processes "
        "race.replica-replay memory.restart-replay stop.resumed draft.resume"
    ),
    "history-replay": Mutant(
        "replay.old-history race.identical race.identical-two-processes "
        "race.replica-replay memory.restart-replay stop.resumed"
    ),
    "replay-is-error": Mutant("replay.answered"),
    "conflict-accepted": Mutant("replay.conflict", also=CONFLICTS),
    "deny-reopens": Mutant("replay.approve-after-deny", also=CONFLICTS),
    "cancel-reopens": Mutant("replay.approve-after-cancel"),
    "compares-approval": Mutant("replay.other-edit"),
    "late-claim": Mutant(
        "race.identical race.identical-two-processes race.conflicting "
        "race.conflicting-two-processes"
    ),
    "claim-in-process": Mutant("race.identical-two-processes race.conflicting-two-processes"),
    "asks-in-process": Mutant("race.replica"),
    "receipts-in-process": Mutant(
        "race.identical-two-processes race.replica-replay", also="race.conflicting-two-processes"
    ),
    "needs-history": Mutant("memory.fresh-client"),
    "trusts-calls": Mutant("refuse.other-thread memory.forged-call"),
    "trusts-arguments": Mutant("memory.forged-arguments"),
    "dangling": Mutant("memory.no-dangling-calls"),
    "shared-scope": Mutant("memory.foreign-principal"),
    "volatile-asks": Mutant("memory.restart"),
    "error-after-restart": Mutant("memory.restart"),
    "error-for-fresh-client": Mutant("memory.fresh-client"),
    "volatile-receipts": Mutant("memory.restart-replay"),
    "stop-is-success": Mutant("stop.outcome"),
    "drops-partial": Mutant("stop.partial-text"),
    "stop-locks": Mutant("stop.then-message", also="stop.partial-text"),
    "stop-sticks": Mutant("stop.after-the-end"),
    "stop-keeps-asks": Mutant("stop.paused"),
    "stop-reopens": Mutant("stop.resumed"),
    "frontend-interrupt": Mutant("other.frontend-success other.frontend-result"),
    "ignores-frontend-result": Mutant("other.frontend-result"),
    "flat-subagents": Mutant("other.subagent-nesting"),
    "anonymous-interrupt": Mutant("other.subagent-interrupt"),
    "no-capabilities": Mutant("other.capabilities"),
    "repeats-run": Mutant("repeat.same-request"),
    "repeats-execute": Mutant("repeat.same-request"),
    "stale-takes-back": Mutant("repeat.stale-list", also="stop.partial-text"),
    "answers-again": Mutant("repeat.answered-message"),
    "acts-on-nothing": Mutant("repeat.nothing-new"),
    "draft-as-1.0": Mutant("draft.pause", also="draft.resume draft.stale"),
}
