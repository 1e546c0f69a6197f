"""One run: a workflow is started, answered or only heard, until it asks, ends or takes long.

What it tells comes in three ways: as the answer to a request, as a callback that the bridge keeps,
and, where the tool can be asked, in its status. Each thing counts once, by its id.

What was heard is in the note that the run leaves. A note is stored before the next item is told: a
question that is noted as heard, and not yet asked, would be lost with its run. So it is noted once
nothing more is told. A run that dies has heard nothing, and the next one hears it again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Final

from ag_ui.core import StepFinishedEvent, StepStartedEvent, ToolCallResultEvent

from agui_bridge.adapters import Callback, Callbacks, Pause, Run, RunItem
from agui_bridge.errors import (
    AdapterError,
    AgentMistake,
    NotDelivered,
    OutcomeUnknown,
    UpstreamError,
)
from agui_bridge.protocol.answers.decisions import Approve, Cancel
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import text_of
from agui_bridge_webhook.execution import Execution
from agui_bridge_webhook.http_client import BrokeOff, Failed, Gone, HttpClient, NotYet, filled
from agui_bridge_webhook.pauses import Asked, answer_of, asked_by, withdrawn
from agui_bridge_webhook.told import Misread, Told, is_remote, tells, told_in

_STEP: Final = "start"
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_LAST_CALLBACK: Final = 1.0
"""Seconds for which a callback is waited for that a status says must have been sent."""

_GOES_ON: Final = "The workflow goes on. What it asks, and how it ends, will be told here."
_APPROVED: Final = "The workflow has the approval, and goes on."
_GIVEN_UP: Final = (
    "The workflow was not heard of for too long. Nothing waits for it any more, and what became of "
    "it is unknown."
)
_TOO_MUCH: Final = "The workflow tells too much; nothing more of it is heard."
_AT_WORK: Final = (
    "The workflow is still at work on what was said before, and was not given this message. Wait "
    "until it has told its end, or stop this conversation and send the message again."
)
_MAY_HAVE_BEGUN: Final = (
    "Whether the workflow began is unknown: what it tells all the same is told here."
)
_UNKNOWN: Final = (
    "The workflow had the answer by then, or may have had it: whether it acted is unknown, and the "
    "answer is not sent again."
)
_WENT_ON: Final = (
    "The workflow waits for this answer no more: it has ended. It was not given the answer."
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the tool is reached, and how long it may take; see `WebhookAdapter`."""

    url: str
    status_url: str | None
    cancel_url: str | None
    patience: float
    longest: float


class Turn:
    """One run.

    Args:
        run: the run.
        server: the tool.
        settings: of the adapter.
        callback_url: gives the address that an execution calls back, by the bridge's name for it.
    """

    def __init__(
        self,
        run: Run,
        server: HttpClient,
        settings: Settings,
        callback_url: Callable[[str], str],
    ) -> None:
        if run.callbacks is None:
            raise AgentMistake("The webhook adapter needs an engine that keeps callbacks.")
        self._run = run
        self._server = server
        self._settings = settings
        self._callback_url = callback_url
        self._callbacks: Callbacks = run.callbacks
        self._execution = None if run.left is None else Execution.from_json(run.left)
        # A call that was approved, and of which nothing was told yet.
        self._call: str | None = None
        self._untold = _APPROVED
        self._failure: str | None = None

    @property
    def execution(self) -> Execution:
        """The execution that the run is about."""
        assert self._execution is not None, "it has begun"
        return self._execution

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Carry the run out; an execution that a stop cuts off is cancelled at the tool, too."""
        ended = False
        try:
            async with contextlib.aclosing(self._carry_out()) as items:
                async for item in items:
                    yield item
            ended = True
        finally:
            kept = self._execution
            self._run.left = None if kept is None else kept.to_json()
            if self._run.stop.requested and not ended and kept is not None:
                await self._cancel(kept)
        if self._failure is not None:
            raise UpstreamError(self._failure)

    def _carry_out(self) -> AsyncGenerator[RunItem, None]:
        if self._run.resume is not None:
            return self._answer(Asked.from_json(self._run.resume.continuation))
        if self._run.looks:
            return self._hear(None, 0.0)
        return self._begin_anew()

    # --- a message ---

    async def _begin_anew(self) -> AsyncGenerator[RunItem, None]:
        await self._withdraw()
        if self._execution is not None:
            async with contextlib.aclosing(self._hear(None, 0.0)) as items:
                async for item in items:
                    yield item
                    if isinstance(item, Pause):
                        return
            if self._execution is not None:
                raise UpstreamError(_AT_WORK)
            # What failed is told; the message is for the next one.
            self._failure = None
        async with contextlib.aclosing(self._begin()) as items:
            async for item in items:
                yield item

    async def _withdraw(self) -> None:
        """Tell executions whose questions nobody answered; they are waited for no more."""
        for batch in self._run.closed:
            if batch.cause == "lost":
                continue
            asked = Asked.from_json(batch.continuation)
            cause = "expired" if batch.cause == "expired" else "cancelled"
            with contextlib.suppress(AdapterError):
                await self._post_answer(asked, withdrawn(asked, cause), aside=True)
            await self._cancel(asked.execution)
            if self._execution is not None and self._execution.id == asked.execution.id:
                self._execution = None

    async def _begin(self) -> AsyncGenerator[RunItem, None]:
        run, settings = self._run, self._settings
        self._execution = Execution(run.mint(), run.now() + settings.longest)
        # Stored before what is yielded is told: of a run that dies after this, callbacks are heard.
        run.left = self._execution.to_json()
        yield StepStartedEvent(step_name=_STEP)
        await run.check_stop()
        if run.stop.requested:
            self._end()
            return
        run.check_lease()
        id = self._execution.id
        body = _start_body(run, id, self._callback_url(id))
        told: Json = None
        try:
            told = await self._server.post(settings.url, body, id, run.trace_headers)
        except Gone as error:
            self._end()
            raise NotDelivered("The workflow tool has nothing at the address of `url`.") from error
        except (NotDelivered, Failed):
            self._end()
            raise
        except BrokeOff as error:
            # A tool may answer only when its workflow is over, and that may take people.
            self._failure = f"{error} {_MAY_HAVE_BEGUN}"
        yield StepFinishedEvent(step_name=_STEP)
        async with contextlib.aclosing(self._hear(told, settings.patience)) as items:
            async for item in items:
                self._failure = None
                yield item

    # --- an answer ---

    async def _answer(self, asked: Asked) -> AsyncGenerator[RunItem, None]:
        run = self._run
        assert run.resume is not None
        (decision,) = run.resume.decisions.values()
        # From now on it may take as long again.
        longest = self._settings.longest
        self._execution = replace(asked.execution, until=run.now() + longest)
        if await self._callbacks.first(self._says_end) is not None:
            run.not_begun = [asked.call] if asked.call else []
            raise Gone(_WENT_ON)
        await run.check_stop()
        if run.stop.requested:
            # Nothing begins after a stop. The next run hears that the question is closed.
            return
        run.check_lease()
        told: Json = None
        try:
            told = await self._post_answer(asked, answer_of(asked, decision))
            if isinstance(decision, Approve):
                self._call = asked.call
        except (Gone, NotYet) as error:
            if isinstance(error, NotYet) and not isinstance(decision, Cancel):
                raise
            self._end()
            run.not_begun = [asked.call] if asked.call else []
            if isinstance(decision, Cancel):
                # It is over there as well.
                return
            raise
        except (Failed, BrokeOff) as error:
            if not await self._goes_on(asked):
                raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
            # It may have gone on without the answer: only it can tell what became of the call.
            if isinstance(decision, Approve):
                self._call, self._untold = asked.call, UNTOLD
        async with contextlib.aclosing(self._hear(told, self._settings.patience)) as items:
            async for item in items:
                yield item

    async def _post_answer(self, asked: Asked, body: Json, *, aside: bool = False) -> Json:
        """Send an answer, again only where the workflow did not wait yet."""
        clock = asyncio.get_running_loop().time
        until, pause = clock() + (0.0 if aside else self._settings.patience), _FIRST_PAUSE
        id = f"{asked.execution.id}.{asked.told.id}"
        url, trace = asked.question.resume_url, self._run.trace_headers
        if (fault := self._server.fault_of(url)) is not None:
            raise NotDelivered(f"The answer was not sent to the workflow's address: {fault}")
        while True:
            try:
                return await self._server.post(url, body, id, trace, aside=aside)
            except NotYet:
                if clock() > until:
                    raise
            # It asks first, and begins to wait a moment later.
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            await self._run.check_stop()
            self._run.check_lease()

    async def _goes_on(self, asked: Asked) -> bool:
        """Whether the workflow does not wait for an answer any more whose fate is unknown."""
        clock = asyncio.get_running_loop().time
        until = clock() + self._settings.patience
        while (left := until - clock()) > 0:
            if await self._callbacks.first(self._is_new, min(left, 1.0)) is not None:
                return True
            status, told = await self._status()
            if status in ("running", "finished", "failed", "cancelled"):
                return True
            asks = told_in(told).id if tells(told) else asked.told.id
            if status == "waiting" and asks != asked.told.id:
                return True
        return False

    # --- what the workflow tells ---

    async def _hear(self, answer: Json, seconds: float) -> AsyncGenerator[RunItem, None]:
        """Hear what comes, until the workflow asks or ends, or tells nothing for some seconds.

        Args:
            answer: what the tool answered to the request, which may tell something itself.
            seconds: how long it may be silent.
        """
        run = self._run
        told = self._told_in_answer(answer)
        while told is not None or (told := await self._next(seconds)) is not None:
            execution = self.execution.having_heard(told.id, told.remote)
            self._execution = execution
            for item in self._result(told):
                yield item
            if told.kind == "question":
                yield asked_by(execution, told, run).pause()
                return
            if told.ends or execution.tells_too_much:
                self._end()
            if told.message:
                yield told.message
            if told.kind == "finished":
                run.result = told.result
                return
            if told.kind == "failed":
                self._failure = "The workflow failed."
                return
            if execution.tells_too_much:
                yield _TOO_MUCH
                self._failure = _TOO_MUCH
                return
            told = None
        if self._call is not None:
            yield self._result_of(self._call, self._untold)
        if run.now() >= self.execution.until:
            self._end()
            yield _GIVEN_UP
            self._failure = _GIVEN_UP
        elif seconds and self._failure is None:
            yield _GOES_ON

    def _told_in_answer(self, answer: Json) -> Told | None:
        if isinstance(answer, dict) and is_remote(answer.get("executionId")):
            self._execution = replace(self.execution, remote=str(answer["executionId"]))
        if not tells(answer):
            return None
        try:
            told = told_in(answer)
        except Misread as error:
            raise UpstreamError(f"The workflow tool's answer can't be read: {error}") from error
        asks = told.question
        if asks is not None and (fault := self._server.fault_of(asks.resume_url)) is not None:
            raise UpstreamError(f"The workflow asks with a wrong resumeUrl: {fault}")
        return None if told.id in self.execution.heard else told

    async def _next(self, seconds: float) -> Told | None:
        """The next thing that it tells; None where that takes longer."""
        clock = asyncio.get_running_loop().time
        until, pause = clock() + seconds, _FIRST_PAUSE
        while True:
            left = max(until - clock(), 0.0)
            wait = left if self._settings.status_url is None else min(left, pause)
            if (found := await self._callbacks.first(self._is_new, wait)) is not None:
                return _told_of(found)
            if (told := await self._look()) is not None:
                return told
            if clock() >= until:
                return None
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _look(self) -> Told | None:
        """What the tool's status tells that no callback has told."""
        status, told = await self._status()
        if tells(told):
            with contextlib.suppress(Misread):
                found = told_in(told)
                asks = found.question
                fits = asks is None or self._server.fault_of(asks.resume_url) is None
                if fits and found.id not in self.execution.heard:
                    return found
        if status not in ("finished", "failed", "cancelled"):
            return None
        late = await self._callbacks.first(self._is_new, _LAST_CALLBACK)
        if late is not None:
            return _told_of(late)
        if status == "finished":
            return told_in({"type": "finished", "id": "status"})
        text = "failed" if status == "failed" else "was cancelled"
        return told_in({"type": "failed", "id": "status", "message": f"The workflow {text}."})

    async def _status(self) -> tuple[str | None, Json]:
        template, remote = self._settings.status_url, self.execution.remote
        if template is None or ("{execution}" in template and not remote):
            return None, None
        return await self._server.status(template, remote)

    def _result(self, told: Told) -> list[RunItem]:
        """What came of the call that was approved last."""
        if told.tool_result is None:
            # Whoever goes on to ask or to end has nothing more to say of it.
            if self._call is None or told.kind == "message":
                return []
            call, self._call = self._call, None
            return [self._result_of(call, self._untold)]
        if self._call is None:
            return [told.tool_result]
        call, self._call = self._call, None
        return [self._result_of(call, told.tool_result)]

    def _result_of(self, call: str, content: str) -> ToolCallResultEvent:
        return ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call, content=content, role="tool"
        )

    def _is_new(self, callback: Callback) -> bool:
        body = callback.body
        return body["execution"] == self.execution.id and callback.id not in self.execution.heard

    def _says_end(self, callback: Callback) -> bool:
        return self._is_new(callback) and _told_of(callback).ends

    # --- the end ---

    def _end(self) -> None:
        """Nothing waits for the execution any more: what it still tells is refused."""
        self._execution = None

    async def _cancel(self, execution: Execution) -> None:
        template = self._settings.cancel_url
        if template is None or ("{execution}" in template and not execution.remote):
            return
        body: dict[str, Json] = {"type": "cancel", "execution": execution.id}
        url = filled(template, execution.remote)
        with contextlib.suppress(AdapterError):
            await self._server.post(
                url, body, f"{execution.id}.cancel", self._run.trace_headers, aside=True
            )


def _told_of(callback: Callback) -> Told:
    return told_in(callback.body["told"])


def _start_body(run: Run, execution: str, callback_url: str) -> dict[str, Json]:
    """What a workflow is started with."""
    said = [
        {"role": message["role"], "content": text}
        for message in run.raw_messages
        if message.get("role") in ("user", "assistant", "system", "developer")
        and (text := text_of(message.get("content") or ""))
    ]
    return {
        "type": "start",
        "execution": execution,
        "callbackUrl": callback_url,
        "message": run.text,
        "messages": said,
        "threadId": run.thread_id,
        "actor": run.principal.actor,
        "forwardedProps": run.input.forwarded_props,
    }
