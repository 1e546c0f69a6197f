"""One run of an agent: what it is given, how its updates come out, and what ends it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import BaseEvent
from agent_framework import AgentResponse, FunctionTool, Message, MiddlewareFailure

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import AgentRefused, NotDelivered, UpstreamError
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.protocol.answers.asks import Handoff, Pause
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import turns_of
from agui_bridge_agent_framework.approval_rules import with_rules
from agui_bridge_agent_framework.arguments import names_of, with_stand_ins
from agui_bridge_agent_framework.content import handles_of
from agui_bridge_agent_framework.guard import Guard, RequestGuard, no_such_tool
from agui_bridge_agent_framework.history import dumped, memo_of, messages_of, read_conversation
from agui_bridge_agent_framework.pauses import (
    PACKAGE,
    Continuation,
    asks_of,
    waiting_of,
    without_results,
)
from agui_bridge_agent_framework.reader import Reader
from agui_bridge_agent_framework.shared_state import SharedState
from agui_bridge_agent_framework.unique_calls import UniqueCalls


class Turn(FrameworkTurn):
    """One run of an agent.

    Args:
        run: the run.
        agent: the agent.
        kwargs: what tools find in their context.
        words: what the application says.
        keys: of the state that it shares with the page.
        predictions: of the state.
    """

    def __init__(
        self,
        run: Run,
        agent: Any,
        kwargs: Mapping[str, Any],
        words: str,
        keys: Mapping[str, Any],
        predictions: Sequence[PredictState],
    ) -> None:
        super().__init__(run, Continuation.from_json, predictions=predictions)
        self._state = SharedState(run.state, keys, predictions, super()._emit, self._is_over)
        self._kwargs = kwargs
        kept: Continuation | None = self._kept
        calls = UniqueCalls(run, kept.named if kept else None)
        calls.proposed.update(kept.arguments(self._decisions) if kept else {})
        self._guard = Guard(
            self._make_gate, self._decisions, calls, words, self._state, self._rounds
        )
        approved = kept.approved(self._decisions) if kept else ()
        self._agent = with_rules(with_stand_ins(agent, approved), self._guard)
        self._gate = self._guard.gate
        options = getattr(agent, "default_options", None) or {}
        self._structured = options.get("response_format") is not None
        self._reader = Reader(run, self._structured)
        for one in kept.waiting if kept else ():
            if one.kind == "frontend":
                self._reader.answered.add(one.call)
            if one.kind == "unknown":
                self._guard.unknown[one.call] = no_such_tool(one.name)
            self._reader.called.append(one.call)
        own = names_of(agent)
        self._frontend = {tool.name: tool for tool in run.tools if tool.name not in own}
        self._held = kept.held(run.results()) if kept else []
        self._session: Any = None
        self._late: list[Any] = []
        # Once something was told, the answers can't be given again.
        self._has_told = False
        self._response: Any = None

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        for item in super()._told(events):
            yield from self._given_results()
            yield item

    def _last_items(self) -> Iterator[RunItem]:
        yield from self._given_results()
        yield from self._reader.end()
        for call in self._reader.called:
            # What ran to its end while everything else was stopped, or failed.
            if call in self._guard.outputs:
                yield from self._reader.result(call, self._guard.outputs[call])

    async def _left(self) -> None:
        self._run.iteration = self._guard.requests
        self._guard.note_usage(self._run)

    # --- the agent's own task ---

    def _emit(self, event: BaseEvent) -> None:
        self._state.tell(event)

    async def _work(self) -> Any:
        given = self._given()
        self._state.share(self._session)
        await self._hear(given)
        await self._queue.taken()
        if self._late and not (self._response.user_input_requests or self._held):
            late, self._late = self._late, []
            await self._hear(list(messages_of(turns_of(late), handles_of(self._agent))))
        self._state.settle(self._session)
        return self._response

    async def _hear(self, messages: list[Message]) -> None:
        stream = self._agent.run(
            messages,
            stream=True,
            session=self._session,
            middleware=[
                self._guard,
                RequestGuard(
                    self._guard, self._run.stop, self._check_approved, waits=bool(self._held)
                ),
            ],
            tools=[_declared(tool) for tool in self._frontend.values()] or None,
            function_invocation_kwargs=self._kwargs or None,
        )
        queue = self._queue
        try:
            async for update in stream:
                for content in update.contents:
                    if content.type == "function_result":
                        self._guard.tell(content)
                        if content.call_id in self._guard.failed:
                            self._reader.silent.add(content.call_id)
                queue.write(update)
                if queue.full:
                    await queue.drained()
            # What providers keep they keep now.
            self._response = await stream.get_final_response()
        finally:
            with contextlib.suppress(Exception):
                await stream.close()

    def _given(self) -> list[Message]:
        """What the agent is told now.

        Raises:
            NotDelivered: see `Continuation.restored`.
        """
        run, kept = self._run, self._kept
        if kept is None:
            self._session, messages = read_conversation(run, handles_of(self._agent))
            return messages
        self._late = [*kept.late, *self._new_user_messages()]
        self._session, approvals = kept.restored(self._decisions)
        return [*kept.results(self._decisions, run.results()), *approvals]

    def _check_approved(self, answered: Collection[str]) -> None:
        """Have the model asked only once all that was approved has come to its tool.

        Args:
            answered: ids of the calls that have a result, such as one that middleware gave.

        Raises:
            NotDelivered: none has; the answers can be given again.
            UpstreamError: a tool is not there any more.
        """
        for one in self._kept.waiting if self._kept else ():
            is_approved = isinstance(self._decisions.get(one.call), Approve)
            if not is_approved or one.call in self._guard.judged or one.call in answered:
                continue
            why = f"The agent has no tool {one.name!r} any more."
            kept = self._kept
            done = self._has_told or self._gate.begun
            fault = UpstreamError(why) if done or not kept else kept.refused(why)
            self._gate.fault = fault
            raise fault

    def _given_results(self) -> Iterator[RunItem]:
        """The results that people gave, once: nothing else tells them."""
        if self._has_told:
            return
        self._has_told = True
        for one in self._kept.waiting if self._kept else ():
            if one.kind == "call":
                yield from self._reader.result(one.call, self._decisions[one.call].text)
            elif one.kind == "unknown":
                yield from self._reader.result(one.call, self._guard.unknown[one.call])

    # --- what comes of it ---

    async def _expect_delivered(self, failure: BaseException | None) -> None:
        await super()._expect_delivered(failure)
        if isinstance(self._gate.fault, NotDelivered) and self._is_untouched:
            raise self._gate.fault

    def _result(self, failure: BaseException | None) -> Any:
        is_refused = not self._guard.requests and self._kept is None
        if is_refused and isinstance(failure, MiddlewareFailure):
            raise AgentRefused(str(failure), of="message") from failure
        response = super()._result(failure)
        if not isinstance(response, AgentResponse):
            why = "Middleware of the agent ended the run, and gave no response."
            raise AgentRefused(why, of="message") if is_refused else UpstreamError(why)
        return response

    @property
    def _is_untouched(self) -> bool:
        return self._kept is not None and not self._has_told and not self._gate.begun

    def _end(self, response: Any) -> Pause | Handoff | None:
        """What ends a run that nothing went wrong in: nothing, or what is waited for.

        Raises:
            UpstreamError: see `waiting_of` and `dumped`.
        """
        run = self._run
        tools = self._guard.tools if self._guard.requests else None
        waiting = list(waiting_of(response.user_input_requests, self._frontend, tools))
        self._state.take_back(self._session)
        waiting += self._held
        if not waiting:
            if self._structured:
                run.result = _json_or_text(response.text)
            run.memo = memo_of(run, self._reader.said, self._session)
            return None
        session = dumped(self._session)
        done: dict[str, str] = {}
        if self._held:
            session = without_results(session, {one.call for one in self._held})
            done = self._done()
        kept = Continuation(
            session,
            waiting,
            installed_version(PACKAGE),
            self._actor,
            self._late,
            done,
            self._guard.calls.named,
            self._rounds.to_json(),
        ).to_json()
        handed = [one.call for one in waiting if one.kind == "frontend"]
        asks = asks_of(waiting, self._guard, self._rounds)
        return Pause(asks, kept, frontend_calls=handed) if asks else Handoff(handed, kept)

    def _done(self) -> dict[str, str]:
        """What is known of calls while another one of their reply waits on."""
        guard, kept = self._guard, self._kept
        given = {
            one.call: str(self._decisions[one.call].text)
            for one in kept.waiting
            if one.call in self._decisions
        }
        held = {one.call for one in self._held}
        told = {**kept.done, **given, **guard.outputs, **guard.unknown}
        return {call: text for call, text in told.items() if call not in held}

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        if (ending := self._end(result)) is not None:
            yield ending


def _declared(tool: Any) -> FunctionTool:
    """A tool that the application carries out."""
    schema = tool.parameters or {"type": "object", "properties": {}}
    return FunctionTool(name=tool.name, description=tool.description, input_model=schema)


def _json_or_text(text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found
