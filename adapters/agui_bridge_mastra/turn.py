"""One run of the bridge: the requests that it makes of Mastra, and what becomes of their answers.

Mastra checks little when a run is continued: not the agent, not the thread, in a network not even
whether it was continued before. So the ids stay in the continuation, which no client sees, what
continues a run always names the call, and the bridge's claim stands before every request.

A stop leaves the stream. What that means to Mastra, observed of `@mastra/core` 1.71: an agent's run
is aborted, with its sub-agents; a tool that runs finishes. A workflow's goes on, unless it is
cancelled by its own route. A network's can't be stopped, and a client that goes away ends the whole
process: its stream is read to the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from ag_ui.core import StateSnapshotEvent, ToolCallResultEvent

from agui_bridge.adapters import Handoff, Pause, Resume, Run, RunItem, StopSignal
from agui_bridge.errors import AdapterError, NotDelivered, UpstreamError
from agui_bridge.protocol.answers.decisions import Cancel
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge_mastra.background.work import BackgroundWork, is_of_tasks
from agui_bridge_mastra.chunks.native import without_ids
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.continuation import Paused
from agui_bridge_mastra.exchange import Exchange
from agui_bridge_mastra.frontend import messages_of_calls
from agui_bridge_mastra.http_client import LOST, BrokeOff, HttpClient, NotFound, as_mapping
from agui_bridge_mastra.messages import memory_of, messages_of, new_messages
from agui_bridge_mastra.network import NetworkReader
from agui_bridge_mastra.pauses import Waiting
from agui_bridge_mastra.quiet_streams import QuietStream
from agui_bridge_mastra.reader import AgentReader
from agui_bridge_mastra.requests import Reply, Request, Requests, failure_of, settles, unknown
from agui_bridge_mastra.workflow import WorkflowReader, WorkflowRun
from agui_bridge_mastra.working_memory import Sharing, WorkingMemory

logger: Final = logging.getLogger("agui_bridge")

_POLL: Final = 0.2
_DEFAULT_STEPS: Final = 5
"""Steps that Mastra gives an agent whose author names no `maxSteps`."""

_BROKEN_OFF: Final = "Mastra's stream ended before the run did: see the log of the Mastra server."
_ABORTED: Final = "The run was aborted in Mastra: see the log of the Mastra server."
_UNANSWERED: Final = "Nobody answered the tool's question; it was not continued."


@dataclass
class Turn:
    """Carries one run out.

    Attributes:
        run: the run.
        server: where Mastra is.
        requests: how it is asked.
        step_schemas: for a workflow, JSON Schema of the answer by step.
        sharing: whether the working memory is the shared state.
        go_on: has a coroutine carried out after the run's end.
        held: what is left to do once the run is over, however it ends.
        background: the thread's background tasks.
        unsettled: whether Mastra has an answer of which it has not told what came of it.
    """

    run: Run
    server: HttpClient
    requests: Requests
    step_schemas: Mapping[str, Mapping[str, Json]]
    sharing: Sharing
    go_on: Callable[[Coroutine[Any, Any, None]], None]
    held: AsyncExitStack
    background: BackgroundWork
    unsettled: bool = False

    async def items(self) -> AsyncIterator[RunItem]:
        """Start a run at Mastra, or continue one."""
        run = self.run
        if run.resume is not None and is_of_tasks(run.resume.continuation):
            steps = self._answer_tasks(run.resume)
        elif run.resume is not None:
            steps = self._continue(Paused.from_json(run.resume.continuation))
        elif run.handoff is not None:
            steps = self._hand_back(Paused.from_json(run.handoff.continuation))
        else:
            for batch in run.closed:
                if batch.cause != "lost" and is_of_tasks(batch.continuation):
                    await self.background.release(batch.continuation, Cancel("expired"))
                elif batch.cause != "lost":
                    await self._release(Paused.from_json(batch.continuation), Cancel("expired"))
            if run.looks:
                return
            steps = self._begin(None)
        async for item in steps:
            yield item

    async def _answer_tasks(self, resume: Resume) -> AsyncIterator[RunItem]:
        """Continue background tasks; a message that came along begins a run of its own."""
        async for item in self.background.answer(resume.continuation, resume.decisions):
            yield item
        if resume.new_messages and not self.run.stop.requested:
            async for item in self._begin(None):
                yield item

    async def _begin(self, messages: list[dict[str, Json]] | None) -> AsyncIterator[RunItem]:
        """Start a run at Mastra: with these messages, or with those of the input."""
        run = self.run
        if run.stop.requested:
            return
        memory = memory_of(run) if self.requests.memory else {}
        paused = Paused(self.requests.agent, run.mint(), memory)
        reader = self._reader(paused)
        request = self.requests.start(run, paused, messages)
        if self.sharing == "share":
            await self._memory(paused).take(run.state)
        async for item in self._read(paused, reader, request, self._quiet(paused)):
            yield item
        async for item in self._end(paused, reader):
            yield item

    async def _hand_back(self, paused: Paused) -> AsyncIterator[RunItem]:
        """Take what the application's tools gave."""
        paused.later += new_messages(self.run)
        async for item in self._go_on(paused):
            yield item

    async def _go_on(self, paused: Paused) -> AsyncIterator[RunItem]:
        """Tell Mastra what it has not been told: results of the application's tools, messages."""
        self.unsettled = False
        results = self.run.results()
        if missing := [own for own in paused.frontend if own not in results]:
            yield Handoff(missing, paused.to_json())
            return
        told = messages_of_calls(paused.frontend, results) if paused.frontend else []
        if not (told or paused.later):
            return
        if self.requests.memory:
            told += paused.later
        else:
            told = messages_of(self.run, whole=True) + told
        async for item in self._begin(told):
            yield item

    async def _continue(self, paused: Paused) -> AsyncIterator[RunItem]:
        """Carry the decisions out, one after the other, all of them on the one run."""
        run = self.run
        assert run.resume is not None
        replies = self.requests.replies(run, paused, run.resume.decisions)
        refused = frozenset(reply.waiting.call for reply in replies if reply.refuses)
        reader = self._reader(paused, refused)
        reader.calls.owed.update(paused.owed)
        unsent = deque(reply for reply in replies if reply.request is not None)
        sent = False
        while unsent:
            await run.check_stop()
            if run.stop.requested:
                break
            reply = unsent.popleft()
            run.not_begun = _approved_calls(unsent)
            others = {left.waiting.key for left in replies if left in unsent or not left.request}
            quiet = self._quiet(paused, {*others, *reader.waiting}, reply.waiting.key)
            async for item in self._send(paused, reader, reply, quiet, first=not sent):
                yield item
            sent = True
        if run.stop.requested:
            run.not_begun = _approved_calls(unsent)
            reader.waiting |= {reply.waiting.key: reply.waiting for reply in unsent}
        left = [reply.waiting for reply in replies if reply.request is None]
        for call in (waiting.call for waiting in left if waiting.call):
            yield ToolCallResultEvent(
                message_id=run.mint(), tool_call_id=call, content=_UNANSWERED, role="tool"
            )
        if run.resume.new_messages:
            paused.later += new_messages(run)
        paused.abandoned += [waiting.key for waiting in left]
        if not (sent or unsent):
            async for item in self._abandon(paused):
                yield item
        ending = self._end(paused, reader) if sent or unsent else self._go_on(paused)
        async for item in ending:
            yield item

    async def _send(
        self,
        paused: Paused,
        reader: AgentReader,
        reply: Reply,
        quiet: QuietStream | None,
        *,
        first: bool,
    ) -> AsyncIterator[RunItem]:
        """Tell Mastra of one decision, and read what comes of it."""
        assert reply.request is not None
        self.run.check_lease()
        # Mastra may have told of others meanwhile; of this one nothing holds any more.
        reader.waiting.pop(reply.waiting.key, None)
        reader.resumed(reply.waiting)
        kind, settled = self.requests.kind, False
        try:
            async for item in self._read(paused, reader, reply.request, quiet):
                settled = settled or settles(item, reply)
                yield item
        except (NotFound, NotDelivered, BrokeOff) as error:
            raise failure_of(error, reply, kind, first=first, settled=settled) from error
        self.unsettled = self.unsettled or not settled

    # --- one stream ---

    def _reader(self, paused: Paused, refused: frozenset[str] = frozenset()) -> AgentReader:
        frontend = frozenset(tool.name for tool in self.run.tools)
        reader = AgentReader(self.run, paused.ids, refused, frontend)
        if self.requests.kind == "network":
            reader = NetworkReader(self.run, paused.ids, refused)
        elif self.requests.kind == "workflow":
            reader = WorkflowReader(self.run, paused.ids, refused)
        reader.tasks.known = self.background.tasks
        return reader

    async def _read(
        self,
        paused: Paused,
        reader: AgentReader,
        request: Request,
        quiet: QuietStream | None,
    ) -> AsyncIterator[RunItem]:
        """Read the answer to a request, to its end or to where the run waits."""
        exchange = self._exchange(paused, request, self.run.stop, reader)
        may_leave: Callable[[], bool] = partial(self._may_leave, paused, reader, exchange)
        while True:
            try:
                chunk = await exchange.take(may_leave, quiet.patience if quiet else None)
            except TimeoutError:
                if quiet and await quiet.waits(busy=bool(reader.calls.carried)):
                    await exchange.close()
                    return
                continue
            if quiet and chunk is not None:
                quiet.heard(chunk)
            if chunk is not None:
                for event in reader.read(chunk):
                    yield event
            elif exchange.over or self.requests.kind == "network":
                return
            elif self.requests.kind == "workflow":
                # The step that runs may finish; then its stream ends.
                may_leave = _never
                await self._workflow(paused).cancel()
            else:
                await exchange.close()
                async for late in self._late_results(paused, reader):
                    yield late
                return

    def _quiet(
        self, paused: Paused, waiting: Collection[str] = (), answering: str = ""
    ) -> QuietStream | None:
        """What judges a stream that is quiet; None where Mastra lists nothing that waits."""

        async def listed() -> list[str]:
            trace = self.run.trace_headers
            calls = await self.server.suspended_calls(
                paused.agent, paused.run, paused.memory, trace=trace
            )
            return [str(call.get("toolCallId")) for call in calls]

        waits = {*waiting, *paused.abandoned} - {answering}
        return QuietStream(listed, waits, answering) if self.requests.kind == "agent" else None

    def _may_leave(self, paused: Paused, reader: AgentReader, exchange: Exchange) -> bool:
        """Whether a stop leaves the stream now, or waits for a tool.

        An agent's stream is left at once, so that no other call begins: the tool finishes, and
        its result is in Mastra's memory. That of a sub-agent's tool is not to be found there.
        """
        if self.requests.kind == "agent" and paused.memory and exchange.heard:
            return all(reader.calls.running[key]["toolCallId"] == key for key in reader.working)
        return not reader.working

    async def _late_results(self, paused: Paused, reader: AgentReader) -> AsyncIterator[RunItem]:
        """The results of the tools that ran when the stream was left, as they come."""
        agent, trace = self.requests.agent, self.run.trace_headers
        while reader.working:
            found = await self.server.results_of_calls(agent, paused.memory, trace=trace)
            for key in reader.working:
                if key in found:
                    for event in reader.calls.result(Place(), key, found[key]):
                        yield event
            if reader.working:
                await asyncio.sleep(_POLL)

    def _exchange(
        self, paused: Paused, request: Request, stop: StopSignal, reader: AgentReader | None = None
    ) -> Exchange:
        path, body = request
        trace = self.run.trace_headers
        exchange = Exchange(
            lambda heard: self.server.stream(path, body, trace=trace, on_heard=heard), stop
        )
        self.held.push_async_callback(self._leave, exchange, paused, reader)
        return exchange

    async def _leave(self, exchange: Exchange, paused: Paused, reader: AgentReader | None) -> None:
        """Leave a stream, over or not."""
        if self.requests.kind == "network" and not exchange.over:
            self.go_on(exchange.read_on())
            return
        told_its_end = exchange.over or (reader is not None and reader.finished)
        stranded = isinstance(reader, WorkflowReader) and reader.stranded
        if self.requests.kind == "workflow" and (stranded or not told_its_end):
            self.go_on(self._workflow(paused).cancel())
        await exchange.close()

    def _workflow(self, paused: Paused) -> WorkflowRun:
        trace = self.run.trace_headers
        return WorkflowRun(self.server, paused.agent, paused.run, self.step_schemas, trace)

    async def _abandon(self, paused: Paused) -> AsyncIterator[RunItem]:
        """End a workflow that waits for what was cancelled, and say so: nothing continues it."""
        if self.requests.kind == "workflow":
            await self._workflow(paused).cancel()
            self.run.end_reason = EndReason.USER_INTERRUPTED
            names = ", ".join(sorted({key.partition("#")[0] for key in paused.abandoned}))
            yield f"The workflow was cancelled: nobody answered what it asked ({names:.200})."

    # --- ends ---

    async def _end(self, paused: Paused, reader: AgentReader) -> AsyncIterator[RunItem]:
        """End as the stream did, or with what the run waits for."""
        left = paused.abandoned
        waiting = {key: item for key, item in reader.waiting.items() if key not in left}
        if self.run.stop.requested:
            paused.waiting = waiting
            if waiting or self.requests.kind != "workflow":
                await self._release(paused, Cancel())
            elif not reader.finished:
                await self._workflow(paused).cancel()
            return
        reader.check_refusal()
        # Mastra says that a workflow is through once a branch is, whatever the others wait for.
        if not waiting and (not reader.finished or (left and self.requests.kind == "workflow")):
            # Some pauses are not told again: answer one of several, and the stream is empty.
            waiting = await self._still_waiting(paused, reader)
            if not waiting and not left:
                if reader.seen and not reader.aborted and self.unsettled:
                    raise unknown(_BROKEN_OFF)
                raise UpstreamError(
                    LOST if not reader.seen else _ABORTED if reader.aborted else _BROKEN_OFF
                )
            if not waiting:
                for kept in reader.continued():
                    yield kept
                async for item in self._abandon(paused):
                    yield item
        if not waiting:
            reader.expect_results()
        paused.owed = sorted(reader.calls.owed)
        paused.steps += reader.steps
        async for told in self._tell_memory(paused):
            yield told
        paused.frontend |= reader.frontend_calls()
        paused.waiting = waiting
        if waiting:
            active = reader.subagents.active
            asks = [
                # A sub-agent that has not gone on in this run asks in its own name no more.
                (item if item.subagent in active else replace(item, subagent=None)).ask()
                for item in waiting.values()
            ]
            yield Pause(asks, paused.to_json(), frontend_calls=list(reader.frontend_calls()))
            return
        if reader.cut and not (paused.frontend or paused.later):
            await self._note_limit(paused, reader)
        async for item in self._go_on(paused):
            yield item

    async def _note_limit(self, paused: Paused, reader: AgentReader) -> None:
        """Say that the agent was out of steps, if that is why it was given no other.

        A condition of its author's may have ended it, too. Mastra counts a durable agent's steps
        from the run's beginning, another's from the answer.
        """
        limit = self.requests.options.get("maxSteps")
        if limit is None:
            try:
                told = await self.server.agent(paused.agent, trace=self.run.trace_headers)
            except AdapterError as error:
                logger.warning("the steps of Mastra agent %r are unknown: %s", paused.agent, error)
                return
            limit = as_mapping(told.get("defaultOptions")).get("maxSteps", _DEFAULT_STEPS)
        if limit in (reader.steps, paused.steps):
            self.run.end_reason = EndReason.MAX_ITERATIONS_REACHED

    async def _tell_memory(self, paused: Paused) -> AsyncIterator[RunItem]:
        """The working memory as the agent left it, where it is not what the client has."""
        if self.sharing == "off":
            return
        try:
            state = await self._memory(paused).state()
        except AdapterError as error:
            # What the run did stands; the next one tells it.
            logger.warning("the working memory of agent %r is unknown: %s", paused.agent, error)
            return
        if state is not None and state != self.run.state:
            self.run.state = state
            yield StateSnapshotEvent(snapshot=state)

    def _memory(self, paused: Paused) -> WorkingMemory:
        trace = self.run.trace_headers
        return WorkingMemory(self.server, paused.agent, paused.memory, trace)

    async def _still_waiting(self, paused: Paused, reader: AgentReader) -> dict[str, Waiting]:
        left = paused.abandoned
        if isinstance(reader, WorkflowReader):
            if not (reader.suspended or reader.finished):
                return {}
            suspended = await self._workflow(paused).waiting()
            return {key: item for key, item in suspended.items() if key not in left}
        if self.requests.kind != "agent":
            return {}
        try:
            listed = await self.server.suspended_calls(
                self.requests.agent, paused.run, paused.memory, trace=self.run.trace_headers
            )
        except NotDelivered as error:
            raise UpstreamError(str(error)) from error
        found: dict[str, Waiting] = {}
        for call in listed:
            key = str(call["toolCallId"])
            if key in left:
                continue
            payload = call.get("suspendPayload")
            # Of a durable agent's call the list does not say that it needs one.
            told = paused.waiting.get(key)
            approval = bool(call.get("requiresApproval")) or (told is not None and told.approval)
            if approval:
                reader.ids.setdefault(key, self.run.mint())
            # Of a question that no stream has told there is no call on the wire.
            known = told or Waiting(
                key=key,
                approval=approval,
                call=reader.ids.get(key, ""),
                name=str(call["toolName"]),
                args=as_mapping(call.get("args")),
            )
            found[key] = replace(known, approval=approval, payload=without_ids(payload))
        return found

    async def _release(self, paused: Paused, decision: Cancel) -> None:
        """Decline at Mastra what nobody will answer any more, so that nothing approves it later."""
        if paused.agent != self.requests.agent:
            return
        untold, left = False, {*paused.waiting}
        for waiting in paused.waiting.values():
            try:
                request = self.requests.decide(self.run, paused, waiting, decision)
                if request is None:
                    untold = True
                    continue
                left.discard(waiting.key)
                quiet = self._quiet(paused, left, waiting.key)
                await self._hear_out(self._exchange(paused, request, StopSignal()), quiet)
            except AdapterError as error:
                # The new message is what the person wants now.
                logger.warning(
                    "a pause of Mastra agent %r stays open there: %s", paused.agent, error
                )
        if untold and self.requests.kind == "workflow":
            await self._workflow(paused).cancel()

    async def _hear_out(self, exchange: Exchange, quiet: QuietStream | None) -> None:
        """Read what nobody is told, until the run is over or waits for something else."""
        while True:
            try:
                chunk = await exchange.take(_never, quiet.patience if quiet else None)
            except TimeoutError:
                if quiet and await quiet.waits(busy=True):
                    return
                continue
            if chunk is None or self.run.stop.requested:
                # It is heard; what the agent says to it is for nobody.
                return
            if quiet:
                quiet.heard(chunk)


def _approved_calls(unsent: Iterable[Reply]) -> list[str]:
    return [reply.waiting.call for reply in unsent if reply.approves]


def _never() -> bool:
    return False
