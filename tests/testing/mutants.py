"""Adapters that are each broken in one way, as real ones are, by the check that finds it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ag_ui.core import RunStartedEvent

from agui_bridge import (
    Answer,
    Approve,
    Ask,
    Cancel,
    Decision,
    Decline,
    Pause,
    Respond,
    Resume,
    Run,
    RunItem,
)
from agui_bridge.adapters import HoldEnd
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.threads.records import ClosedBatch
from tests.testing.step_mutants import (
    AnswersBeforeItAsks,
    BeginsItsStepAnew,
    BeginsTheNextTool,
    EndsWithTheApprovedCall,
    ForgetsWhatWasCutOff,
    HearsAnswersOnly,
    LosesNestedResults,
    PausesInFreshRunsOnly,
    Remembers,
    SeesTheNewestPictureOnly,
    TellsWhatOthersCalled,
)
from tests.testing.workshop import Call, Workshop, WorkshopAdapter, is_below

__all__ = ["MUTANTS"]


class SaysNothing(WorkshopAdapter):
    def greet(self, run: Run) -> Sequence[RunItem]:
        return []


class BeginsRunsItself(WorkshopAdapter):
    """From the third message on, since its framework tells of sessions that go on."""

    def greet(self, run: Run) -> Sequence[RunItem]:
        if sum(m.get("content") == run.text for m in run.raw_messages) > 2:
            return [RunStartedEvent(thread_id=run.thread_id, run_id=run.run_id)]
        return super().greet(run)


class TalksOn(WorkshopAdapter):
    async def start(self, run: Run) -> AsyncGenerator[RunItem, None]:
        async for item in super().start(run):
            yield item
            if isinstance(item, Pause):
                yield "Please answer."


class CountsCallsFromOne(WorkshopAdapter):
    """Where an approval is all that is to be done."""

    def ask(self, run: Run, calls: Sequence[Call], then: str = "") -> Pause:
        if then or len(calls) > 1 or run.resume is not None or run.text != "deploy":
            return super().ask(run, calls, then)
        return super().ask(run, [{**c, "id": f"call-{n}"} for n, c in enumerate(calls)])


class KeepsTuples(WorkshopAdapter):
    def keep(self, flow: str, calls: Sequence[Call]) -> Any:
        return {"flow": flow, "calls": tuple(calls)}


class ShowsItsFlow(WorkshopAdapter):
    def question(self, call: Call, flow: str) -> Ask:
        return replace(super().question(call, flow), metadata={"flow": flow})


class ActsBeforeItAsks(WorkshopAdapter):
    def ask(self, run: Run, calls: Sequence[Call], then: str = "") -> Pause:
        if run.policy is None and run.text == "deploy":
            self.execute(calls[0]["args"])
        return super().ask(run, calls, then)


class ChangesArguments(WorkshopAdapter):
    """As long as nothing else waits."""

    def permitted(self, call: Call, decision: Decision, kept: Any) -> dict[str, Any] | None:
        args = super().permitted(call, decision, kept)
        alone = self.workshop.waiting == len(kept["calls"]) == 1
        alone = alone and not kept["then"] and not self.workshop.executed
        return {**call["args"], "dry_run": False} if args == call["args"] and alone else args


class TellsNoResult(WorkshopAdapter):
    def told(self, run: Run, call: Call) -> Sequence[RunItem]:
        return super().told(run, call) if is_below(run) else []


class ActsOnAny(WorkshopAdapter):
    """Acts on one kind of decision that is no approval, where one call was asked about."""

    kind: type[Decision]

    def permitted(self, call: Call, decision: Decision, kept: Any) -> dict[str, Any] | None:
        if isinstance(decision, self.kind) and len(kept["calls"]) == 1:
            return dict(call["args"])
        return super().permitted(call, decision, kept)


class ActsOnDecline(ActsOnAny):
    kind = Decline


class ActsOnCancel(ActsOnAny):
    kind = Cancel


class ForgetsEdits(WorkshopAdapter):
    def permitted(self, call: Call, decision: Decision, kept: Any) -> dict[str, Any] | None:
        return dict(call["args"]) if isinstance(decision, Approve) else None


class LooksAtTheFirstDecision(WorkshopAdapter):
    def decision(self, call: Call, kept: Any, decisions: Mapping[str, Decision]) -> Decision:
        return decisions[kept["calls"][0]["id"]]


class LosesPayloads(WorkshopAdapter):
    def deliver(self, run: Run, decision: Decision) -> None:
        lost = isinstance(decision, Answer) and decision.payload
        super().deliver(run, Answer({}) if lost else decision)


class ExpectsAnswers(WorkshopAdapter):
    def deliver(self, run: Run, decision: Decision) -> None:
        assert isinstance(decision, Answer)
        super().deliver(run, decision)


class RemembersPauses(WorkshopAdapter):
    def __init__(self, workshop: Workshop, *, reachable: bool = True) -> None:
        super().__init__(workshop, reachable=reachable)
        self._paused: dict[str, Any] = {}

    def ask(self, run: Run, calls: Sequence[Call], then: str = "") -> Pause:
        pause = super().ask(run, calls, then)
        self._paused[run.thread_id] = pause.continuation
        return pause

    def recall(self, run: Run, resume: Resume) -> Any:
        return self._paused[run.thread_id] if resume.continuation["calls"] else resume.continuation


class ResumesByItself(WorkshopAdapter):
    """Its framework takes the next message for another yes."""

    def __init__(self, workshop: Workshop, *, reachable: bool = True) -> None:
        super().__init__(workshop, reachable=reachable)
        self._approved: dict[str, Any] = {}

    def recall(self, run: Run, resume: Resume) -> Any:
        self._approved[run.thread_id] = resume.continuation
        return resume.continuation

    def greet(self, run: Run) -> Sequence[RunItem]:
        for call in self._approved.get(run.thread_id, {"calls": ()})["calls"]:
            self.execute(call["args"])
        return super().greet(run)


class ListensInEveryProcess(WorkshopAdapter):
    def __init__(self, workshop: Workshop, *, reachable: bool = True) -> None:
        super().__init__(workshop, reachable=reachable)
        workshop.listeners.append(self)

    def execute(self, args: Any) -> None:
        self.workshop.executed += [args] * len(self.workshop.listeners)

    async def aclose(self) -> None:
        if self in self.workshop.listeners:
            self.workshop.listeners.remove(self)


class CantReadResults(WorkshopAdapter):
    def greet(self, run: Run) -> Sequence[RunItem]:
        assert is_below(run) or not any(m.get("content") == "deployed" for m in run.raw_messages)
        return super().greet(run)


class KnowsOnePause(WorkshopAdapter):
    last: Any = None

    def keep(self, flow: str, calls: Sequence[Call]) -> Any:
        self.last = super().keep(flow, calls)
        return self.last

    def recall(self, run: Run, resume: Resume) -> Any:
        asked = self.last is not None and resume.continuation["calls"]
        return {**resume.continuation, **self.last} if asked else resume.continuation


class CallsItAnError(WorkshopAdapter):
    def failure(self) -> Exception:
        return UpstreamError("The workshop failed.")


class IgnoresTheLease(WorkshopAdapter):
    def check_lease(self, run: Run) -> None:
        pass


class LosesWhatWaits(WorkshopAdapter):
    def wake(self, flow: str) -> None:
        raise UpstreamError("Nothing waits.")


class CantEndWhatWaits(WorkshopAdapter):
    async def closed(self, continuation: Any, end: HoldEnd) -> None:
        raise KeyError(end)


class TrustsItsHold(WorkshopAdapter):
    held = False

    def wake(self, flow: str) -> None:
        self.held = True

    def check_lease(self, run: Run) -> None:
        if not self.held:
            run.check_lease()


class GathersText(WorkshopAdapter):
    async def work(self, run: Run) -> AsyncGenerator[RunItem, None]:
        gathered = [item async for item in super().work(run)]
        for item in gathered:
            yield item


class SwallowsCancellation(WorkshopAdapter):
    async def work(self, run: Run) -> AsyncGenerator[RunItem, None]:
        yield "Working. "
        try:
            await asyncio.wait_for(run.stop.wait(), self.workshop.long)
            if run.stop.force:
                await asyncio.sleep(self.workshop.long)
        except asyncio.CancelledError:
            await asyncio.sleep(self.workshop.long)


class IgnoresStops(WorkshopAdapter):
    async def work(self, run: Run) -> AsyncGenerator[RunItem, None]:
        yield "Working. "
        await asyncio.sleep(self.workshop.long)


class LeavesTheSessionLocked(WorkshopAdapter):
    async def work(self, run: Run) -> AsyncGenerator[RunItem, None]:
        self.workshop.locked.add(run.thread_id)
        try:
            async with contextlib.aclosing(super().work(run)) as items:
                async for item in items:
                    yield item
        finally:
            if run.stop.force:
                self.workshop.locked.discard(run.thread_id)

    def greet(self, run: Run) -> Sequence[RunItem]:
        if run.thread_id in self.workshop.locked:
            raise UpstreamError("The session is locked.")
        return super().greet(run)


class ActsWhileItIsStopped(WorkshopAdapter):
    def heeds_stop(self, run: Run) -> bool:
        return False


class ApprovesToRelease(WorkshopAdapter):
    def release(self, closed: Sequence[ClosedBatch]) -> None:
        for batch in closed:
            for call in batch.continuation["calls"]:
                self.execute(call["args"])


class ClosesOnce(WorkshopAdapter):
    was_closed = False

    async def aclose(self) -> None:
        assert not self.was_closed
        self.was_closed = True


class DeclaresNoSubagents(WorkshopAdapter):
    capabilities = replace(WorkshopAdapter.capabilities, subagents=False)


class ForgetsItsWork(WorkshopAdapter):
    def leave(self) -> Any:
        return None


class IgnoresThePolicy(WorkshopAdapter):
    async def allowed(self, run: Run, args: dict[str, Any]) -> bool:
        return True


class TakesFalsyForNoAnswer(WorkshopAdapter):
    def deliver(self, run: Run, decision: Decision) -> None:
        if not isinstance(decision, Answer) or decision.payload:
            super().deliver(run, decision)


class ActsOnRespond(ActsOnAny):
    kind = Respond


MUTANTS: Final[Mapping[str, type[WorkshopAdapter]]] = {
    "text": SaysNothing,
    "events": BeginsRunsItself,
    "pause-last": TalksOn,
    "ids": CountsCallsFromOne,
    "continuation": KeepsTuples,
    "secret": ShowsItsFlow,
    "pause": ActsBeforeItAsks,
    "approve": ChangesArguments,
    "result": TellsNoResult,
    "decline": ActsOnDecline,
    "edit": ForgetsEdits,
    "cancel": ActsOnCancel,
    "parallel": LooksAtTheFirstDecision,
    "answer": LosesPayloads,
    "falsy": TakesFalsyForNoAnswer,
    "respond": ActsOnRespond,
    "cancel-question": ExpectsAnswers,
    "restart": RemembersPauses,
    "once": ResumesByItself,
    "race": ListensInEveryProcess,
    "next-message": CantReadResults,
    "threads": KnowsOnePause,
    "undelivered": CallsItAnError,
    "lease": IgnoresTheLease,
    "beside": BeginsItsStepAnew,
    "second-pause": PausesInFreshRunsOnly,
    "later-stage": EndsWithTheApprovedCall,
    "asks-amid": AnswersBeforeItAsks,
    "nested-approval": LosesNestedResults,
    "stop-in-tool": BeginsTheNextTool,
    "text-kept": GathersText,
    "cancelled": SwallowsCancellation,
    "stop-by-itself": IgnoresStops,
    "after-stop": LeavesTheSessionLocked,
    "stop-acting": ActsWhileItIsStopped,
    "stopped-pause": ApprovesToRelease,
    "close": ClosesOnce,
    "regenerate": Remembers,
    "cut-text": ForgetsWhatWasCutOff,
    "along": HearsAnswersOnly,
    "nested-history": TellsWhatOthersCalled,
    "images": SeesTheNewestPictureOnly,
    "later-question": ForgetsItsWork,
    "held-answer": LosesWhatWaits,
    "held-end": CantEndWhatWaits,
    "held-lease": TrustsItsHold,
    "capabilities": DeclaresNoSubagents,
    "policy": IgnoresThePolicy,
}
