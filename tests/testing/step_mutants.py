"""Adapters that are broken between the steps of a run, or in what they tell their model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from ag_ui.core import ToolCallResultEvent, ToolCallStartEvent

from agui_bridge import Pause, Resume, Run, RunItem
from tests.testing.workshop import Call, WorkshopAdapter, is_below

__all__ = [
    "AnswersBeforeItAsks",
    "BeginsItsStepAnew",
    "BeginsTheNextTool",
    "EndsWithTheApprovedCall",
    "ForgetsWhatWasCutOff",
    "HearsAnswersOnly",
    "LosesNestedResults",
    "PausesInFreshRunsOnly",
    "Remembers",
    "SeesTheNewestPictureOnly",
    "TellsWhatOthersCalled",
]


class BeginsItsStepAnew(WorkshopAdapter):
    """Its framework enters the paused step from the top."""

    async def go_on(self, run: Run, kept: Any) -> AsyncGenerator[RunItem, None]:
        if any(m.get("content") == "deploy beside" for m in run.raw_messages):
            for item in self.look_at_it(run, "beside"):
                yield item
        async for item in super().go_on(run, kept):
            yield item


class AnswersBeforeItAsks(WorkshopAdapter):
    """Tells what its tool returned at once, though that was a question."""

    def asking(self, run: Run, call: str) -> Sequence[RunItem]:
        return [self.seen(run, call), *super().asking(run, call)]

    async def resume(self, run: Run, resume: Resume) -> AsyncGenerator[RunItem, None]:
        async for item in super().resume(run, resume):
            if not isinstance(item, ToolCallResultEvent) or not resume.continuation.get("amid"):
                yield item


class PausesInFreshRunsOnly(WorkshopAdapter):
    async def go_on(self, run: Run, kept: Any) -> AsyncGenerator[RunItem, None]:
        async for item in super().go_on(run, kept):
            if not isinstance(item, Pause):
                yield item


class EndsWithTheApprovedCall(WorkshopAdapter):
    """Later stages that ask are begun, others are not."""

    async def go_on(self, run: Run, kept: Any) -> AsyncGenerator[RunItem, None]:
        if kept.get("then") != "look":
            async for item in super().go_on(run, kept):
                yield item


class LosesNestedResults(WorkshopAdapter):
    def told(self, run: Run, call: Call) -> Sequence[RunItem]:
        return [] if is_below(run) else super().told(run, call)


class BeginsTheNextTool(WorkshopAdapter):
    async def look_around(self, run: Run) -> AsyncGenerator[RunItem, None]:
        for at in ("left", "right"):
            call = run.mint()
            yield ToolCallStartEvent(tool_call_id=call, tool_call_name="look")
            await asyncio.sleep(self.workshop.moment)
            self.execute({"at": at})
            yield self.seen(run, call)


class Remembers(WorkshopAdapter):
    """Its framework keeps the conversation itself, and nobody takes anything out of it."""

    def tell(self, run: Run, messages: list[dict[str, Any]]) -> Any:
        kept = self.workshop.sessions.setdefault(run.thread_id, [])
        ids = {message["id"] for message in kept}
        kept += [m for m in super().tell(run, messages) if m["id"] not in ids]
        return list(kept)


class ForgetsWhatWasCutOff(WorkshopAdapter):
    def tell(self, run: Run, messages: list[dict[str, Any]]) -> Any:
        whole = [m for m in messages if not (m.get("metadata") or {}).get("agui_bridge")]
        return super().tell(run, whole)


class HearsAnswersOnly(WorkshopAdapter):
    def tell(self, run: Run, messages: list[dict[str, Any]]) -> Any:
        unheard = self.workshop.sessions.setdefault(run.thread_id, [])
        unheard += [m.id for m in run.resume.new_messages] if run.resume is not None else []
        return super().tell(run, [m for m in messages if m["id"] not in unheard])


class TellsWhatOthersCalled(WorkshopAdapter):
    def tell(self, run: Run, messages: list[dict[str, Any]]) -> Any:
        return messages


class SeesTheNewestPictureOnly(WorkshopAdapter):
    def tell(self, run: Run, messages: list[dict[str, Any]]) -> Any:
        earlier = [
            {**m, "content": "" if isinstance(m.get("content"), list) else m.get("content")}
            for m in messages[:-1]
        ]
        return super().tell(run, [*earlier, *messages[-1:]])
