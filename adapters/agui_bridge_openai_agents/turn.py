"""One run of an agent: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from importlib.metadata import version
from typing import Any, Final

from ag_ui.core import ToolCallResultEvent
from agents import Agent, MaxTurnsExceeded, Runner, RunResultStreaming, UserError
from agents.exceptions import (
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
)
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import AgentRefused
from agui_bridge.frameworks.subagents import Subagents
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.protocol.answers.asks import Handoff, Pause
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.tool_gate import AskFirst, CutOff, Execute, Refuse
from agui_bridge_openai_agents.content import UNREADABLE, arguments_of
from agui_bridge_openai_agents.guard import Guard
from agui_bridge_openai_agents.history import items_of, memo_of, read_conversation
from agui_bridge_openai_agents.pauses import (
    SDK,
    Kept,
    Waiting,
    ask_of,
    decide,
    frontend_tools,
    restore,
    state_json,
    waiting_of,
)
from agui_bridge_openai_agents.reader import Reader

__all__ = ["Turn"]

_REPLIED: Final = ("response.completed", "response.incomplete")


class Turn(FrameworkTurn):
    """One run of an agent.

    Args:
        run: the run.
        agent: the agent that it begins with.
        context: what its tools are given.
        options: further arguments of `Runner.run_streamed`.
    """

    def __init__(
        self, run: Run, agent: Agent[Any], context: Any, options: Mapping[str, Any]
    ) -> None:
        super().__init__(run, Kept.from_json)
        self._agent = agent
        self._context = context
        self._options = options
        kept: Kept | None = self._kept
        self._replied = asyncio.Event()
        self._gate = self._make_gate()
        self._gate.failed = self._stop_working
        self._subagents = Subagents(run.mint, kept.subagents if kept else ())
        self._reader = Reader(run, agent.name)
        self._tools = _described(run, kept)
        owners = kept.owners if kept else {}
        for call, subagent in owners.items():
            self._subagents.own(call, subagent)
        self._guard = Guard(
            run,
            self._gate,
            self._queue.write,
            self._subagents,
            frontend=frontend_tools(self._tools, run.results()),
            own={*self._decisions, *(kept.frontend if kept else ())} - set(owners),
            speaking=[agent.name, *([kept.speaking] if kept else [])],
        )
        self._guard.caught_up = self._caught_up
        self._seen = 0
        self._late: list[Any] = []
        self._reader.silent.update(kept.frontend if kept else ())
        self._before: tuple[int, int, int, int] | None = None

    def _last_items(self) -> Iterator[RunItem]:
        yield from self._reader.end()
        for call in self._reader.called:
            # What ran to its end while everything else was stopped, or failed.
            if call in self._guard.outputs and call not in self._reader.answered:
                yield self._outcome_of(call, self._guard.outputs[call])

    async def _ending(self, result: RunResultStreaming) -> AsyncGenerator[RunItem, None]:
        run = self._run
        self._note(result)
        if result.interruptions:
            for ending in self._pause(result):
                yield ending
            return
        if not isinstance(result.final_output, str):
            run.result = to_jsonable_python(result.final_output, fallback=str)
        run.memo = memo_of(run, self._reader.said, result.to_input_list())

    # --- the agent's own task ---

    async def _work(self) -> RunResultStreaming:
        self._guard.begin()
        result = await self._stream(await self._given())
        while result.interruptions and (state := await self._settled(result)) is not None:
            result = await self._stream(state)
        if self._late and not result.interruptions:
            late, self._late = self._late, []
            result = await self._stream([*result.to_input_list(), *late])
        return result

    async def _stream(self, given: Any) -> RunResultStreaming:
        fresh = {"context": self._context} if isinstance(given, list) else {}
        result = Runner.run_streamed(
            self._agent, given, hooks=self._guard, **self._options, **fresh
        )
        if self._before is None:
            self._before = _counted(result)
        try:
            write = self._queue.write
            async for event in result.stream_events():
                write(event)
                if event.type == "raw_response_event" and event.data.type in _REPLIED:
                    self._seen += 1
                    self._replied.set()
        finally:
            if not result.is_complete:
                result.cancel()
                with contextlib.suppress(Exception):
                    async for _ in result.stream_events():
                        pass
        if result.run_loop_task is not None and result.run_loop_task.cancelled():
            # The SDK ends the stream as if nothing had been.
            raise CutOff
        return result

    async def _given(self) -> Any:
        """What the run begins or goes on with.

        Raises:
            NotDelivered: see `restore`.
        """
        run, kept = self._run, self._kept
        if kept is None:
            return read_conversation(run)
        state, waiting = await restore(self._agent, kept, self._context)
        for event in self._subagents.reopen():
            self._queue.write(event)
        for call in kept.frontend:
            state.approve(waiting[call].item)
        for call, decision in self._decisions.items():
            said: Any = decision
            if isinstance(decision, Approve):
                said = await self._approved(waiting[call], decision)
            else:
                self._guard.tell_result(call, decision.text)
            decide(state, waiting[call], said)
        self._late = [*kept.late, *items_of(self._new_user_messages())]
        if self._late:
            with contextlib.suppress(UserError, AttributeError):
                state.add_input(self._late)
                self._late = []
        return state

    async def _approved(self, waiting: Waiting, decision: Approve) -> Approve | str:
        """The approval, or why what somebody else carries out at once may not begin."""
        if waiting.is_function:
            return decision
        verdict = await self._guard.judge(
            None, waiting.id, waiting.name, arguments_of(waiting.arguments) or {}
        )
        return verdict.text if isinstance(verdict, Refuse) else decision

    async def _settled(self, result: RunResultStreaming) -> Any:
        """The state to go on with at once, if nobody has to be asked about some of the calls."""
        state: Any = None
        for waiting in map(waiting_of, result.interruptions):
            answer = await self._answer(waiting)
            if answer is not None:
                state = state or result.to_state()
                decide(state, waiting, answer)
        return state

    async def _answer(self, waiting: Waiting) -> Approve | str | None:
        args = arguments_of(waiting.arguments)
        if args is None:
            self._guard.tell_result(waiting.id, UNREADABLE)
            return UNREADABLE
        tool = self._guard.tool(waiting.agent, waiting.name)
        if tool is None or tool.needs_approval is not False or waiting.id in self._guard.asks:
            return None
        # The policy alone may want it asked, and the SDK, unsure of defaults, has not let it judge.
        verdict = await self._guard.judge(tool, waiting.id, waiting.name, args)
        match verdict:
            case Execute():
                return Approve(args)
            case Refuse(text=text):
                return text
            case AskFirst():
                return None

    async def _caught_up(self) -> None:
        """Return once the client was told of all replies of the model so far."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                while self._seen < self._guard.replies:
                    self._replied.clear()
                    await self._replied.wait()

    # --- its end ---

    def _result(self, failure: BaseException | None) -> Any:
        match failure:
            case MaxTurnsExceeded():
                self._run.end_reason = EndReason.MAX_ITERATIONS_REACHED
                return None
            case InputGuardrailTripwireTriggered() | OutputGuardrailTripwireTriggered():
                name = failure.guardrail_result.guardrail.get_name()
                raise AgentRefused(f"The agent's guardrail {name!r} ended the run.") from failure
        return super()._result(failure)

    def _outcome_of(self, call: str, text: str) -> ToolCallResultEvent:
        self._reader.answered.add(call)
        return ToolCallResultEvent(
            message_id=self._run.mint(), tool_call_id=call, content=text, role="tool"
        )

    def _pause(self, result: RunResultStreaming) -> list[RunItem]:
        """What ends a run that waits: announcements of sub-agents that ask, then the pause."""
        items: list[RunItem] = []
        asks, handed, owners = [], [], dict[str, str]()
        frontend = {tool["name"] for tool in self._tools}
        for waiting in map(waiting_of, result.interruptions):
            subagent = None
            if waiting.id not in self._guard.own:
                outer = self._guard.outer.get(waiting.id)
                subagent, events = self._subagents.find(waiting.agent, outer)
                owners[waiting.id] = subagent
                items += events
            elif waiting.name in frontend and not self._guard.tool(waiting.agent, waiting.name):
                handed.append(waiting.id)
                continue
            asks.append(ask_of(waiting, self._guard, subagent))
        kept = Kept(
            state=state_json(result.to_state()),
            sdk=version(SDK),
            actor=self._actor,
            frontend=handed,
            tools=self._tools,
            subagents=self._subagents.to_json(),
            owners=owners,
            late=self._late,
        ).to_json()
        ending = Pause(asks, kept, frontend_calls=handed) if asks else Handoff(handed, kept)
        return [*items, ending]

    def _note(self, result: RunResultStreaming) -> None:
        before = self._before or (0, 0, 0, 0)
        asked, given, told, total = (
            now - then for now, then in zip(_counted(result), before, strict=True)
        )
        self._run.usage.append(
            {
                "model": self._reader.model,
                "inputTokens": given,
                "outputTokens": told,
                "totalTokens": total,
            }
        )
        self._run.iteration = asked


def _counted(result: RunResultStreaming) -> tuple[int, int, int, int]:
    usage = result.context_wrapper.usage
    return usage.requests, usage.input_tokens, usage.output_tokens, usage.total_tokens


def _described(run: Run, kept: Kept | None) -> list[dict[str, Any]]:
    """The application's tools: those that it offers now, and those that it did at the pause."""
    known = {tool["name"]: tool for tool in (kept.tools if kept else ())}
    for tool in run.input.tools or ():
        known[tool.name] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
    return list(known.values())
