"""Background tasks beside the streams: what they ask, how they go on, what became of them.

Mastra's own routes show a task, and continue none: that is `mastra.backgroundTaskManager.resume`,
behind a route of the application's. It is asked once for each answer, after the bridge's claim, and
only while the task waits with the very question that people have answered.

Source: observed of `@mastra/core` 1.71.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Handoff, Pause, Run, RunItem
from agui_bridge.errors import AdapterError, NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.native import without_ids
from agui_bridge_mastra.chunks.results import KEPT, result_text
from agui_bridge_mastra.chunks.tasks import OVER, SUSPENDED, Task
from agui_bridge_mastra.http_client import BrokeOff, HttpClient, NotFound, as_mapping
from agui_bridge_mastra.pauses import Waiting, parse_schema

logger: Final = logging.getLogger("agui_bridge")

_POLL: Final = 0.2
_FOLLOWED: Final = 10.0
"""Seconds for which a task is followed that has its answer; then it goes on by itself."""

_GONE: Final = "Mastra does not know this task any more."
_NOBODY: Final = (
    "It waits for a person, and nobody can be asked: Mastra has no route that continues a task. "
    "Add one to the server and name it with `resume_task_path`."
)
_NO_ROUTE: Final = (
    "The server has no route that continues a task, as `resume_task_path` names it; nothing was "
    "sent."
)
_MOVED: Final = "The background task does not wait with this question any more; nothing was sent."
_UNKNOWN: Final = "Whether the tool was executed is unknown, and the answer is not sent again."
_GOES_ON: Final = "The tool was continued with the answer, and goes on in the background."


def is_of_tasks(continuation: Json) -> bool:
    """Whether a pause is of background tasks, and of no run at Mastra."""
    return "answers" in as_mapping(continuation)


@dataclass
class BackgroundWork:
    """The background tasks of one thread, as one run knows them.

    Attributes:
        run: the run.
        server: where Mastra is.
        resume_path: the route that continues a task; None where there is none.
        cancel_with: by tool, the data to continue with when its question is cancelled.
        tasks: those that have not come to their end, by their id at Mastra.
    """

    run: Run
    server: HttpClient
    resume_path: str | None
    cancel_with: Mapping[str, Json]
    tasks: dict[str, Task] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tasks |= _tasks_of(self.run.left)

    def leave(self) -> None:
        """Note what goes on after the run, for whoever looks after it."""
        going = {id: task.to_json() for id, task in self.tasks.items() if task.status not in OVER}
        self.run.left = {"v": 1, "tasks": going} if going else None

    @staticmethod
    async def has_news(server: HttpClient, left: Json) -> bool:
        """Whether a task has come to its end, or to a question that nobody has been asked.

        Raises:
            NotDelivered, UpstreamError: the server does not say.
        """
        for id, task in _tasks_of(left).items():
            shown = await _shown(server, id, {})
            if shown is None or _is_news(task, shown):
                return True
        return False

    async def around(self, items: AsyncIterator[RunItem]) -> AsyncIterator[RunItem]:
        """A run's items, and what the tasks ask, unless the run ends by asking something else."""
        ends, noted = False, len(self.tasks)
        try:
            async for item in items:
                ends = isinstance(item, Pause | Handoff)
                if len(self.tasks) != noted:
                    # A run that is lost leaves what it has noted by then.
                    noted = len(self.tasks)
                    self.leave()
                yield item
        finally:
            self.leave()
        if not ends and not self.run.stop.requested:
            async for item in self.close():
                yield item

    async def close(self) -> AsyncIterator[RunItem]:
        """Tell what has become of the tasks meanwhile, and ask what they ask."""
        waits: dict[str, Waiting] = {}
        for id, task in list(self.tasks.items()):
            if task.status in OVER:
                continue
            try:
                shown = await _shown(self.server, id, self.run.trace_headers)
            except AdapterError as error:
                # What the run did stands; whoever looks next finds it.
                logger.warning("a background task can't be looked at: %s", error)
                continue
            if shown is None:
                yield task.told("cancelled", {}, why=_GONE)
            elif _is_news(task, shown):
                waiting = str(shown["status"]) == SUSPENDED
                mute = waiting and self.resume_path is None
                if mute or task.status != shown["status"]:
                    yield task.told(str(shown["status"]), shown, why=_NOBODY if mute else "")
                if waiting:
                    task.asked = _since(shown)
                if waiting and not mute:
                    waits[id] = self._question(id, shown)
        self.leave()
        if waits:
            answers = {id: waiting.to_json() for id, waiting in waits.items()}
            tasks = {id: self.tasks[id].to_json() for id in waits}
            yield Pause(
                [waiting.ask() for waiting in waits.values()],
                {"v": 1, "answers": answers, "tasks": tasks},
            )

    def _question(self, id: str, shown: Mapping[str, Any]) -> Waiting:
        payload = shown.get("suspendPayload")
        asked = as_mapping(as_mapping(payload).get("requireToolApproval"))
        if asked:
            return Waiting(
                key=id,
                approval=True,
                call=self.run.mint(),
                name=str(asked.get("toolName")),
                args=as_mapping(asked.get("args")),
                schema=parse_schema(asked.get("resumeSchema")),
                step=[str(asked.get("toolCallId"))],
            )
        args = without_ids(dict(as_mapping(shown.get("args"))))
        name, call = str(shown.get("toolName")), ""
        return Waiting(id, False, call, name, args, payload=without_ids(payload))

    # --- answers ---

    async def answer(
        self, continuation: Mapping[str, Any], decisions: Mapping[str, Decision]
    ) -> AsyncIterator[RunItem]:
        """Continue the tasks with what was decided, one after the other.

        Raises:
            NotDelivered: nothing has reached Mastra.
            UpstreamError: a task waits with another question, or Mastra refuses.
            OutcomeUnknown: Mastra has an answer, or may have, and what came of it is not known.
        """
        known = _tasks_of(continuation)
        self.tasks = known | self.tasks
        asked = {id: Waiting.from_json(kept) for id, kept in continuation["answers"].items()}
        decided = [(asked[id], decision) for id, decision in decisions.items()]
        unsent = [pair for pair in decided if self._can_tell(*pair)]
        first = True
        while unsent:
            self.run.not_begun = _approved(unsent)
            await self.run.check_stop()
            if self.run.stop.requested:
                return
            waiting, decision = unsent[0]
            self.run.check_lease()
            try:
                await self._send(waiting, decision, known)
            except NotDelivered as error:
                raise error if first else UpstreamError(str(error)) from error
            except BrokeOff as error:
                self.run.not_begun = _approved(unsent[1:])
                raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
            first = False
            del unsent[0]
            self.run.not_begun = _approved(unsent)
            async for item in self._follow(waiting, approved=isinstance(decision, Approve)):
                yield item

    def _can_tell(self, waiting: Waiting, decision: Decision) -> bool:
        """Whether Mastra has words for a decision: none for a question that nobody answers."""
        told = waiting.approval or isinstance(decision, Answer)
        return told or waiting.name in self.cancel_with

    def _data(self, waiting: Waiting, decision: Decision) -> Json:
        """What the task is continued with."""
        if isinstance(decision, Approve):
            return {"approved": True}
        if waiting.approval:
            return {"approved": False, "reason": decision.text}
        return decision.payload if isinstance(decision, Answer) else self.cancel_with[waiting.name]

    async def _send(self, waiting: Waiting, decision: Decision, known: Mapping[str, Task]) -> None:
        """Continue a task, if it waits with the very question that was answered.

        Args:
            waiting: the question.
            decision: about it.
            known: the tasks as they were when people were asked.
        """
        if self.resume_path is None:
            raise NotDelivered(_NO_ROUTE)
        shown = await _shown(self.server, waiting.key, self.run.trace_headers)
        if shown is None or not _waits_with(waiting, shown, known[waiting.key].asked):
            raise UpstreamError(_GONE if shown is None else _MOVED)
        path = self.resume_path.replace("{task}", quote(waiting.key, safe=""))
        data = self._data(waiting, decision)
        try:
            await self.server.resume_task(path, data, trace=self.run.trace_headers)
        except NotFound as error:
            raise NotDelivered(_NO_ROUTE) from error

    async def _follow(self, waiting: Waiting, *, approved: bool) -> AsyncIterator[RunItem]:
        """Tell what becomes of a task that has its answer, as far as that is soon."""
        task = self.tasks[waiting.key]
        shown: Mapping[str, Any] | None = None
        loop = asyncio.get_running_loop()
        until = loop.time() + _FOLLOWED
        while loop.time() < until and not self.run.stop.requested:
            try:
                shown = await _shown(self.server, waiting.key, self.run.trace_headers)
            except AdapterError as error:
                if approved:
                    raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
                raise
            if shown is None or _is_news(task, shown):
                break
            await asyncio.sleep(_POLL)
        status = str(shown["status"]) if shown is not None else "cancelled"
        if status in OVER:
            told = shown if shown is not None else {}
            yield task.told(status, told, why="" if shown is not None else _GONE)
        if not approved or self.run.stop.requested:
            return
        if status in OVER and status != "completed":
            raise OutcomeUnknown(f"The background task has ended: {status}. {_UNKNOWN}")
        moved = status == SUSPENDED and shown is not None and _is_news(task, shown)
        result = _GOES_ON if status != "completed" else _result(waiting, shown)
        if moved:
            result = KEPT
        if result is not None:
            yield ToolCallResultEvent(
                message_id=self.run.mint(), tool_call_id=waiting.call, content=result, role="tool"
            )

    async def release(self, continuation: Mapping[str, Any], decision: Decision) -> None:
        """Decline what nobody will answer any more, so that nothing approves it later."""
        known = _tasks_of(continuation)
        for kept in continuation["answers"].values():
            waiting = Waiting.from_json(kept)
            if not self._can_tell(waiting, decision):
                continue
            try:
                await self._send(waiting, decision, known)
            except AdapterError as error:
                # The new message is what the person wants now.
                logger.warning("a background task stays suspended at Mastra: %s", error)


async def _shown(server: HttpClient, id: str, trace: Mapping[str, str]) -> Mapping[str, Any] | None:
    """A task as the server has it; None where it has none."""
    try:
        shown = await server.task(id, trace=trace)
    except NotFound:
        return None
    if not isinstance(shown.get("status"), str):
        raise UpstreamError("Mastra's answer about a background task can't be read.")
    return shown


def _is_news(task: Task, shown: Mapping[str, Any]) -> bool:
    """Whether a task has ended, or asks what nobody has been asked."""
    status = shown["status"]
    return status in OVER or (status == SUSPENDED and task.asked != _since(shown))


def _waits_with(waiting: Waiting, shown: Mapping[str, Any], since: str | None) -> bool:
    """Whether a task waits with the very question that people were asked."""
    if shown.get("status") != SUSPENDED or since != _since(shown):
        return False
    asked = as_mapping(as_mapping(shown.get("suspendPayload")).get("requireToolApproval"))
    if not waiting.approval:
        return not asked
    same = asked.get("toolCallId") == waiting.step[0] and asked.get("toolName") == waiting.name
    return same and same_json(as_mapping(asked.get("args")), waiting.args)


def _since(shown: Mapping[str, Any]) -> str:
    """Since when it waits: it may ask one thing after the other."""
    return str(shown.get("suspendedAt"))


def _approved(unsent: Iterable[tuple[Waiting, Decision]]) -> list[str]:
    return [waiting.call for waiting, decision in unsent if isinstance(decision, Approve)]


def _tasks_of(kept: Json) -> dict[str, Task]:
    tasks = as_mapping(as_mapping(kept).get("tasks"))
    return {id: Task(**task) for id, task in tasks.items()}


def _result(waiting: Waiting, shown: Mapping[str, Any] | None) -> str | None:
    """What the call that was approved has returned, as far as the task tells."""
    for call in _calls_in((shown or {}).get("result")):
        if call.get("toolCallId") == waiting.step[0]:
            # Of a call further in Mastra names the sub-agent's that led to it.
            inner = [c for c in _calls_in(call.get("result")) if _is_call(waiting, c)]
            known = _is_call(waiting, call) or len(inner) != 1
            return result_text((call if known else inner[0]).get("result"))
    return None


def _calls_in(result: Json) -> list[Mapping[str, Any]]:
    """The tool calls of a sub-agent, and of those that it called."""
    calls = [as_mapping(call) for call in as_mapping(result).get("subAgentToolResults") or ()]
    return [*calls, *(inner for call in calls for inner in _calls_in(call.get("result")))]


def _is_call(waiting: Waiting, call: Mapping[str, Any]) -> bool:
    return call.get("toolName") == waiting.name and same_json(call.get("args"), waiting.args)
