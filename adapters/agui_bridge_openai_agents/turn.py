"""One run of an agent: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import (
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)
from agents import Agent, MaxTurnsExceeded, Runner, RunResultStreaming, UserError
from agents.exceptions import (
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import AgentRefused
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.subagents import Subagents
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.protocol.answers.asks import Handoff, Pause
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.tool_gate import AskFirst, CutOff, Execute, Refuse
from agui_bridge_openai_agents.content import UNREADABLE, arguments_of
from agui_bridge_openai_agents.guard import Guard
from agui_bridge_openai_agents.history import items_of, memo_of, read_conversation, speaker_of
from agui_bridge_openai_agents.pauses import (
    SDK,
    Continuation,
    Waiting,
    ask_of,
    decide,
    frontend_tools,
    restore,
    state_json,
    waiting_of,
)
from agui_bridge_openai_agents.reader import Reader

_REPLIED: Final = ("response.completed", "response.incomplete")
_TOTALS: Final = ("inputTokens", "outputTokens", "totalTokens")
_RETURNED: Final = "tool_call_output_item"


class Turn(FrameworkTurn):
    """One run of an agent.

    Args:
        run: the run.
        agent: the agent that it begins with.
        context: what its tools are given.
        options: further arguments of `Runner.run_streamed`.
        words: what the application says.
        predictions: of the state.
    """

    def __init__(
        self,
        run: Run,
        agent: Agent[Any],
        context: Any,
        options: Mapping[str, Any],
        words: str,
        predictions: Sequence[PredictState],
    ) -> None:
        super().__init__(run, Continuation.from_json, predictions=predictions)
        self._agent = agent
        self._context = context
        self._options = options
        kept: Continuation | None = self._kept
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
            words=words,
        )
        self._guard.caught_up = self._caught_up
        self._seen = 0
        self._late: list[Any] = []
        self._conversation: list[Any] = []
        self._reader.silent.update(kept.frontend if kept else ())
        self._before: Counter[str] | None = None

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
        agent = result.last_agent.name
        run.memo = memo_of(run, self._reader.said, self._conversation, agent)

    # --- the agent's own task ---

    async def _work(self) -> RunResultStreaming:
        self._guard.begin()
        agent = self._agent if self._kept else speaker_of(self._run, self._agent)
        result = await self._stream(agent, await self._given())
        while result.interruptions and (state := await self._settled(result)) is not None:
            result = await self._stream(agent, state)
        if result.interruptions:
            return result
        self._conversation = self._concluded(result)
        if self._late:
            late, self._late = self._late, []
            result = await self._stream(result.last_agent, [*self._conversation, *late])
            self._conversation = self._concluded(result)
        return result

    def _concluded(self, result: RunResultStreaming) -> list[Any]:
        """All that was said; what a tool says in the place of the model is told."""
        items: list[Any] = result.to_input_list()
        text, last = result.final_output, result.new_items[-1:]
        if isinstance(text, str) and text and [one.type for one in last] == [_RETURNED]:
            own = self._run.mint()
            self._queue.write(TextMessageStartEvent(message_id=own, role="assistant"))
            self._queue.write(TextMessageContentEvent(message_id=own, delta=text))
            self._queue.write(TextMessageEndEvent(message_id=own))
            items.append({"role": "assistant", "content": text})
        return items

    async def _stream(self, agent: Agent[Any], given: Any) -> RunResultStreaming:
        """Run an agent; a state goes on with the one that it names."""
        fresh = {"context": self._context} if isinstance(given, list) else {}
        result = Runner.run_streamed(agent, given, hooks=self._guard, **self._options, **fresh)
        if self._before is None:
            self._before = _used(result)
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
            # One whose result is not here yet waits on.
            if call in run.results():
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
            case InputGuardrailTripwireTriggered(guardrail_result=found):
                why = _why(found.guardrail, found.output)
                raise AgentRefused(why, of="message") from failure
            case OutputGuardrailTripwireTriggered(guardrail_result=found):
                why = _why(found.guardrail, found.output)
                raise AgentRefused(why, of="reply") from failure
            case ToolInputGuardrailTripwireTriggered() | ToolOutputGuardrailTripwireTriggered():
                raise AgentRefused(_why(failure.guardrail, failure.output)) from failure
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
        kept = Continuation(
            state=state_json(result.to_state()),
            sdk=installed_version(SDK),
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
        used = _used(result)
        used.subtract(self._before or {})
        self._run.iteration = used.pop("requests")
        # The SDK has 0 for what a provider doesn't tell apart.
        told = {name: n for name, n in used.items() if n or name in _TOTALS}
        self._run.usage.append({"model": self._reader.model, **told})


def _used(result: RunResultStreaming) -> Counter[str]:
    """Requests and tokens by now, by AG-UI's names."""
    usage = result.context_wrapper.usage
    given, told = usage.input_tokens_details, usage.output_tokens_details
    return Counter(
        requests=usage.requests,
        inputTokens=usage.input_tokens,
        outputTokens=usage.output_tokens,
        totalTokens=usage.total_tokens,
        cachedInputTokens=given.cached_tokens,
        cacheWriteInputTokens=getattr(given, "cache_write_tokens", None) or 0,
        reasoningTokens=told.reasoning_tokens,
    )


def _why(guardrail: Any, output: Any) -> str:
    """What a client is told of a guardrail: what it says itself, where that is a text."""
    said = output.output_info
    why = f"The agent's guardrail {guardrail.get_name()!r} ended the run."
    return f"{why} {said}" if isinstance(said, str) and said else why


def _described(run: Run, kept: Continuation | None) -> list[dict[str, Any]]:
    """The application's tools: those that it offers now, and those that it did at the pause."""
    known = {tool["name"]: tool for tool in (kept.tools if kept else ())}
    for tool in run.input.tools or ():
        known[tool.name] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
    return list(known.values())
