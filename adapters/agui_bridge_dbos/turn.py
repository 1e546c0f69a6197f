"""One run: a workflow is started, answered or only heard, until it asks, ends or takes long.

What was heard is an offset of the workflow's stream, in the note that the run leaves. A run that
dies has heard nothing, and the next one hears it again. The memo has the same note: a stop between
runs drops what a run has left, and the next message cancels the workflow of the memo.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeVar

from ag_ui.core import Event, StepFinishedEvent, StepStartedEvent, ToolCallResultEvent
from dbos import WorkflowStatus, WorkflowStatusString, error as faults
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python
from sqlalchemy.exc import SQLAlchemyError

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.errors import NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_dbos.workflows import LIVE, WAITING, Arguments, Workflows

_T = TypeVar("_T")

logger = logging.getLogger(__name__)

_STEP: Final = "start"
# A timeout is an OSError, too.
_AWAY: Final = (SQLAlchemyError, faults.DBOSException, OSError)
_LOOK: Final = 0.1
"""Seconds between two looks whether a process has taken a workflow."""

_EVENTS: Final[TypeAdapter[Event]] = TypeAdapter(Event)
_TEXT: Final[Mapping[str, Json]] = {"type": "string", "minLength": 1, "title": "Your answer"}

_APPROVED: Final = "The workflow has the approval, and goes on."
_SENT: Final = (
    "The approval is kept for the workflow, and counts once a process goes on with it. Whether it "
    "was executed is told here then."
)
_ENDS: Final[Mapping[str, str]] = {
    WorkflowStatusString.ERROR.value: "The workflow failed.",
    WorkflowStatusString.CANCELLED.value: "The workflow was cancelled.",
    WorkflowStatusString.MAX_RECOVERY_ATTEMPTS_EXCEEDED.value: (
        "The workflow was begun too often by processes that died of it, or were ended: DBOS begins "
        "it no more."
    ),
}
_GONE: Final = "There is no such workflow: it never began, or was deleted."
_UNREACHED: Final = "The database of the workflows does not answer."
_UNCANCELLED: Final = (
    "The workflow that was stopped could not be cancelled yet, and no other was given this message."
)
_UNKNOWN: Final = (
    "The workflow may have the answer: whether it acts on it is unknown, and the answer is not "
    "sent again. What it tells is told here."
)
_NOT_GIVEN: Final = "It was not given the answer."
_WENT_ON: Final = f"The workflow waits for this answer no more. {_NOT_GIVEN}"
_ASKS_FIRST: Final = (
    "The workflow asks something first, and was not given this message: send it again after that."
)
_AT_WORK: Final = (
    "The workflow is still at work on what was said before, and was not given this message. Wait "
    "until it has told its end, or stop this conversation and send the message again."
)


class Gone(UpstreamError):
    """The workflow waits for the answer no more, and was not given it."""

    code = "INTERRUPT_EXPIRED"


@dataclass(frozen=True, slots=True)
class Settings:
    """How long things may take, in seconds, and what a workflow begins with: see `DBOSWorkflow`."""

    start: Callable[[Run], Arguments]
    patience: float
    timeout: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread stands in a workflow.

    Attributes:
        workflow: its id.
        offset: how much of its stream was told.
        question: what it asks, or asked last.
        call: of that question, where it was not declined and its result was not told yet.
        heard: whether it has said that it heard the answer.
    """

    workflow: str
    offset: int = 0
    question: str | None = None
    call: str | None = None
    heard: bool = False

    def to_json(self) -> dict[str, Json]:
        """As a pause and a note keep it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Json) -> Place:
        """From what `to_json` gave."""
        return cls(**kept)


async def has_news(workflows: Workflows, place: Place) -> bool:
    """Whether a workflow has told something since, or has ended."""
    status = await workflows.status(place.workflow)
    if status is None or status.status not in LIVE:
        return True
    with contextlib.suppress(faults.DBOSStreamTimeoutError):
        async with contextlib.aclosing(workflows.told(place.workflow, place.offset, 0)) as told:
            async for _ in told:
                return True
    return False


class Turn:
    """One run.

    Args:
        run: the run.
        workflows: of which it starts one, or goes on with it.
        settings: of the adapter.
    """

    def __init__(self, run: Run, workflows: Workflows, settings: Settings) -> None:
        self._run = run
        self._workflows = workflows
        self._settings = settings
        self._place = None if run.left is None else Place.from_json(run.left)
        # What a run leaves is dropped by a stop alone.
        noted = run.memo or run.outdated_memo
        self._stopped = Place.from_json(noted) if run.left is None and noted else None
        self._failure: str | None = None

    @property
    def place(self) -> Place:
        """Where the run stands in its workflow."""
        assert self._place is not None, "it has begun"
        return self._place

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Carry the run out; a workflow that a stop cuts off is cancelled."""
        ended = False
        try:
            async with contextlib.aclosing(self._carry_out()) as items:
                async for item in items:
                    yield item
            ended = True
        finally:
            run, kept = self._run, self._place
            run.left = None if kept is None else kept.to_json()
            run.memo = run.left if self._stopped is None else self._stopped.to_json()
            cut_off = run.stop.requested and not ended
            if cut_off and kept is not None and await self._cancel(kept):
                run.memo = None
        if self._failure is not None:
            raise UpstreamError(self._failure)

    def _carry_out(self) -> AsyncGenerator[RunItem, None]:
        if self._run.resume is not None:
            return self._answer(Place.from_json(self._run.resume.continuation))
        if self._run.looks:
            return self._hear(0.0)
        return self._begin_anew()

    # --- a message ---

    async def _begin_anew(self) -> AsyncGenerator[RunItem, None]:
        patience = await self._withdraw()
        if self._place is not None:
            said = ""
            async with contextlib.aclosing(self._hear(patience)) as items:
                async for item in items:
                    if isinstance(item, Pause):
                        gap = " " if said and not said[-1].isspace() else ""
                        yield gap + _ASKS_FIRST
                        yield item
                        return
                    said = item if isinstance(item, str) else said
                    yield item
            if self._place is not None:
                raise UpstreamError(_AT_WORK)
            if self._failure is not None:
                # The message is for the next one.
                yield f"{self._failure} "
                self._failure = None
        async with contextlib.aclosing(self._begin()) as items:
            async for item in items:
                yield item

    async def _withdraw(self) -> float:
        """End a workflow that was stopped; one whose question expired goes on.

        Returns:
            For how many seconds it is heard then.

        Raises:
            NotDelivered: it could not be cancelled.
        """
        patience = 0.0
        for batch in self._run.closed:
            kept = Place.from_json(batch.continuation)
            current = self._place is not None and self._place.workflow == kept.workflow
            if batch.cause == "stopped":
                self._stopped = kept
                self._place = None if current else self._place
            elif batch.cause == "expired" and current and kept.question is not None:
                with contextlib.suppress(Exception):
                    await self._within(self._send(kept, Cancel("expired")))
                patience = self._settings.patience
        if self._stopped is not None:
            if not await self._cancel(self._stopped):
                raise NotDelivered(_UNCANCELLED)
            self._stopped = None
        return patience

    async def _begin(self) -> AsyncGenerator[RunItem, None]:
        run = self._run
        try:
            await self._within(self._workflows.reach())
        except _AWAY as error:
            raise NotDelivered(_UNREACHED) from error
        # Stored before what is yielded is told: of a run that dies after this, it is looked for.
        self._place = Place(f"{run.agent}-{run.mint()}")
        run.left = self._place.to_json()
        yield StepStartedEvent(step_name=_STEP)
        await run.check_stop()
        if run.stop.requested:
            self._place = None
            return
        run.check_lease()
        arguments = self._settings.start(run)
        try:
            await self._within(self._workflows.start(self.place.workflow, arguments))
        except Exception as error:
            logger.warning("A workflow may not have begun.", exc_info=error)
            raise UpstreamError("Whether the workflow began is unknown.") from error
        yield StepFinishedEvent(step_name=_STEP)
        async with contextlib.aclosing(self._hear(self._settings.patience)) as items:
            async for item in items:
                yield item

    # --- an answer ---

    async def _answer(self, asked: Place) -> AsyncGenerator[RunItem, None]:
        run = self._run
        assert run.resume is not None
        (decision,) = run.resume.decisions.values()
        self._place = asked
        status = await self._find(asked)
        if status is None and not isinstance(decision, Cancel):
            run.not_begun = [asked.call] if asked.call else []
            raise Gone(_WENT_ON)
        if status is not None and status.status in _ENDS:
            self._place = None
            run.not_begun = [asked.call] if asked.call else []
            raise Gone(f"{_ENDS[status.status]} {_NOT_GIVEN}")
        if status is not None:
            await run.check_stop()
            if run.stop.requested:
                # Nothing begins after a stop. The next run hears that the question is closed.
                return
            run.check_lease()
            try:
                await self._within(self._send(asked, decision))
            except Exception as error:
                # It may be sent all the same: what the workflow tells then is told.
                raise OutcomeUnknown(_UNKNOWN) from error
        self._place = asked if isinstance(decision, Approve) else replace(asked, call=None)
        async with contextlib.aclosing(self._hear(self._settings.patience)) as items:
            async for item in items:
                yield item

    async def _find(self, asked: Place) -> WorkflowStatus | None:
        """See to it that a living process has the workflow.

        Returns:
            How it stands: it waits for the answer, or has failed. None where it went on.

        Raises:
            NotDelivered: none takes it, or the database does not answer.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + self._settings.patience
        given_back = False
        try:
            while True:
                status = await self._within(self._workflows.status(asked.workflow))
                if status is None or status.status in _ENDS:
                    return status
                if status.status not in LIVE:
                    return None
                if status.status not in WAITING:
                    if given_back or self._workflows.is_here(status):
                        return None if await self._within(self._went_on(asked)) else status
                    await self._within(self._workflows.give_back(status))
                    given_back = True
                else:
                    # Whoever takes it from now on is there.
                    given_back = True
                if clock() > until:
                    raise NotDelivered(_nobody(status))
                await asyncio.sleep(_LOOK)
                await self._run.check_stop()
                self._run.check_lease()
        except _AWAY as error:
            raise NotDelivered(_UNREACHED) from error

    async def _went_on(self, asked: Place) -> bool:
        """Whether it waits for the answer no more; it may have told others things meanwhile."""
        told = self._workflows.told(asked.workflow, asked.offset, 0)
        with contextlib.suppress(faults.DBOSStreamTimeoutError):
            async with contextlib.aclosing(told) as items:
                async for item in items:
                    match item:
                        case {"kind": "heard", "id": asked.question}:
                            return True
            return True
        return False

    async def _send(self, asked: Place, decision: Decision) -> None:
        assert asked.question is not None, "only questions are kept"
        await self._workflows.send(asked.workflow, _message(decision), asked.question)

    # --- what the workflow tells ---

    async def _hear(self, seconds: float) -> AsyncGenerator[RunItem, None]:
        """Hear what comes, until the workflow asks or ends, or tells nothing for some seconds."""
        place = self.place
        told = self._workflows.told(place.workflow, place.offset, seconds)
        try:
            async with contextlib.aclosing(told) as items:
                async for item in items:
                    self._place = replace(self.place, offset=self.place.offset + 1)
                    for one in self._told(item):
                        yield one
                        if isinstance(one, Pause):
                            return
        except faults.DBOSStreamTimeoutError:
            if self.place.call is not None:
                yield self._result(_APPROVED if self.place.heard else _SENT)
            if seconds:
                yield _goes_on(await self._workflows.status(place.workflow))
            return
        except faults.DBOSNonExistentWorkflowError:
            self._place = None
            self._failure = _GONE
            return
        for one in self._ended(await self._workflows.status(place.workflow)):
            yield one

    def _told(self, item: Any) -> list[RunItem]:
        """What one item of the stream is told as."""
        try:
            match item:
                case {"kind": "text", "text": str(text)}:
                    return [text] if text else []
                case {"kind": "event", "event": event}:
                    return [_EVENTS.validate_python(event)]
                case {"kind": "result", "of": of, "text": str(text)}:
                    its_call = self.place.call is not None and of == self.place.question
                    return [self._result(text)] if its_call else [text]
                case {"kind": "heard", "id": of}:
                    if of == self.place.question:
                        self._place = replace(self.place, heard=True)
                    return []
                case {"kind": "question", "id": str(), "message": _}:
                    return [*self._untold(_APPROVED), self._pause(item)]
        except ValidationError as error:
            raise UpstreamError("The workflow tells an event that is none of AG-UI's.") from error
        raise UpstreamError("The workflow's stream has an item that can't be read.")

    def _pause(self, asked: Mapping[str, Any]) -> Pause:
        name, message = asked["id"], asked["message"]
        left = asked.get("expires_at")
        # The store's clock may be ahead of the workflow's: a moment is left in any case.
        expires_at = None if left is None else max(left, self._run.now() + 1.0)
        tool = asked.get("tool")
        call = None if tool is None else self._run.call_ids().new(name)
        self._place = replace(self.place, question=name, call=call, heard=False)
        if call is None:
            schema = asked.get("schema")
            ask = Ask(
                name,
                message=message,
                response_schema=_TEXT if schema is None else schema,
                expires_at=expires_at,
            )
        else:
            proposed = ToolCall(call, str(tool), dict(asked.get("args") or {}))
            ask = Ask(
                name,
                "tool_call",
                message,
                proposed,
                parameters=asked.get("parameters"),
                expires_at=expires_at,
            )
        return Pause([ask], self.place.to_json())

    def _ended(self, status: WorkflowStatus | None) -> list[RunItem]:
        place, self._place = self.place, None
        if status is None:
            self._failure = _GONE
            return []
        if status.status in _ENDS:
            logger.warning("Workflow %s: %s", place.workflow, status.status, exc_info=status.error)
            self._failure = _ENDS[status.status]
            return [] if place.call is None else [self._result(UNTOLD, place.call)]
        untold: list[RunItem] = [] if place.call is None else [self._result(_APPROVED, place.call)]
        if isinstance(status.output, str):
            return [*untold, status.output] if status.output else untold
        try:
            self._run.result = to_jsonable_python(status.output)
        except PydanticSerializationError:
            logger.warning("What workflow %s returned is no JSON.", place.workflow)
        return untold

    def _untold(self, text: str) -> list[RunItem]:
        """The result of an approved call of which the workflow tells none."""
        return [] if self.place.call is None else [self._result(text)]

    def _result(self, content: str, call: str | None = None) -> ToolCallResultEvent:
        if call is None:
            call = self.place.call
            self._place = replace(self.place, call=None)
        assert call is not None
        return ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call, content=content, role="tool"
        )

    async def _cancel(self, place: Place) -> bool:
        try:
            await self._within(self._workflows.cancel(place.workflow))
        except Exception as error:
            logger.warning("A workflow could not be cancelled.", exc_info=error)
            return False
        return True

    async def _within(self, work: Awaitable[_T]) -> _T:
        async with asyncio.timeout(self._settings.timeout):
            return await work


def _message(decision: Decision) -> dict[str, Json]:
    """An answer as the workflow gets it: the members of its `Reply`."""
    actor = getattr(decision, "actor", "")
    match decision:
        case Approve(args=args, edited=edited):
            return {"status": "approved", "args": dict(args), "edited": edited, "actor": actor}
        case Decline(reason=reason):
            return {"status": "declined", "args": {}, "reason": reason, "actor": actor}
        case Answer(payload=payload):
            return {"status": "answered", "args": {}, "payload": payload, "actor": actor}
        case Cancel(cause=cause):
            return {"status": cause, "args": {}, "actor": actor}
    raise AssertionError(f"{type(decision).__name__} is not declared")


def _goes_on(status: WorkflowStatus | None) -> str:
    """What people read of a workflow that tells nothing for a while."""
    if status is not None and status.status in WAITING:
        return f"{_nobody(status)} What it tells is told here."
    where = ""
    if status is not None and status.executor_id:
        where = (
            f" It is at process {status.executor_id!r} of version {status.app_version!r}; were "
            "that gone, it would go on once DBOS has recovered it."
        )
    return f"The workflow goes on.{where} What it asks, and how it ends, will be told here."


def _nobody(status: WorkflowStatus) -> str:
    of = f" of version {status.app_version!r}" if status.app_version else ""
    return f"The workflow waits in a queue for a process{of}, and none has taken it yet."
