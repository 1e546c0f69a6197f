"""What stands before every tool of one run: the innermost middleware around each execution.

All hooks, interventions and other middleware have had their say there, so that what is judged is
what would run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from copy import deepcopy
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic_core import to_json as json_of
from strands import Agent
from strands.hooks import AfterToolCallEvent
from strands.middleware import ExecuteToolStage, InvokeModelStage
from strands.tools.decorator import DecoratedFunctionTool
from strands.tools.structured_output.structured_output_tool import StructuredOutputTool
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from agui_bridge.adapters import CallIds, Run
from agui_bridge.frameworks.needs_input import (
    Answered,
    NeedsInput,
    answering,
    collecting,
    only_one,
)
from agui_bridge.frameworks.rounds import LOST, Rounds, refused
from agui_bridge.frameworks.subagents import Subagents
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.unexecuted import denied_by_policy
from agui_bridge.protocol.threads.records import Json
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate
from agui_bridge_strands.content import result_block, result_text, to_json
from agui_bridge_strands.own_copy import inner_agent, inner_agents
from agui_bridge_strands.tool_events import ToolEvents
from agui_bridge_strands.tries import Tries

GATE: Final = "agui_bridge:approval"
FRONTEND: Final = "agui_bridge:frontend"
"""How interrupts begin that the bridge makes itself."""

UNREADABLE: Final = "The arguments of this tool call are no JSON object; it was not executed."

TOO_LATE: Final = "Its agent became a tool after the run had begun; nothing would stand before it."

_LAST: Final = 1000
"""After all hooks of Strands and of the application."""


class FrontendTool(AgentTool):
    """A tool that the application carries out: the run waits for its result.

    Args:
        name: its name.
        description: what it is good for.
        parameters: its JSON Schema.
    """

    def __init__(self, name: str, description: str, parameters: Any) -> None:
        super().__init__()
        self._name = name
        self._spec: Any = {
            "name": name,
            "description": description or name,
            "inputSchema": {"json": parameters or {"type": "object", "properties": {}}},
        }

    @property
    def tool_name(self) -> str:
        """Its name."""
        return self._name

    @property
    def tool_spec(self) -> Any:
        """What models are told of it."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """What kind of tool it is."""
        return "frontend"

    def stream(self, tool_use: Any, invocation_state: Any, **kwargs: Any) -> Any:
        """Never called: the guard stands before it."""
        raise NotImplementedError


class Guard:
    """Lets the tools of one run through the gate.

    Args:
        run: the run.
        gate: makes its gate, given which calls have to be approved.
        approve: names of tools that people have to approve.
        tell: takes events for the client.
        subagents: those of the run.
        gated: ids of calls that people were asked about: they run once for each approval.
        rounds: the calls whose tools ask in their middle.
        calls: the ids of the thread's calls.
        tries: the calls that ran and are tried again.
        tool_events: what tools tell besides their results.
        reads: makes of messages what the agent's model reads; those of agents in tools stay.

    Attributes:
        gate: the run's gate.
        asks: the gate's questions, by name of the interrupt.
        entered: by the ids of calls that began and have not ended, what they were given.
    """

    def __init__(
        self,
        run: Run,
        gate: Callable[[Callable[[Any], bool]], ToolGate],
        approve: Collection[str],
        tell: Callable[[BaseEvent], None],
        subagents: Subagents,
        gated: Collection[str],
        rounds: Rounds,
        calls: CallIds,
        tries: Tries,
        tool_events: ToolEvents,
        reads: Callable[[Sequence[Any]], list[Any]],
    ) -> None:
        self.asks: dict[str, Ask] = {}
        self.entered: dict[str, Mapping[str, Json]] = {}
        self._loop = asyncio.get_running_loop()
        self._run = run
        self._tell = tell
        self._subagents = subagents
        self._gated = set(gated)
        self._rounds = rounds
        self._calls = calls
        self._tries = tries
        self._tool_events = tool_events
        self._reads = reads
        self._unreadable: set[str] = set()
        self._working: dict[int, str] = {}
        self._guarded: set[int] = set()
        self.gate: ToolGate = gate(lambda call: call.id in self._gated or call.name in approve)

    def install(self, agent: Agent) -> None:
        """Stand before the tools of an agent, and of those that are its tools."""
        agent.add_middleware(InvokeModelStage.Input, self._tell_words)
        self._install(agent)

    def _install(self, agent: Agent) -> None:
        self._guarded.add(id(agent))
        agent.add_middleware(InvokeModelStage.Input, self._watch)
        agent.add_middleware(ExecuteToolStage, self._around)
        agent.hooks.add_callback(AfterToolCallEvent, self._after, order=_LAST)
        for _, _, inner in inner_agents(agent):
            self._install(inner)

    def tell_result(self, call: str, text: str) -> None:
        """Tell what became of a call."""
        self._tell(self.result_event(call, text))

    def result_event(self, call: str, text: str) -> ToolCallResultEvent:
        """What tells the result of a call."""
        return ToolCallResultEvent(
            message_id=self._run.mint(),
            tool_call_id=self._tries.id(call),
            content=text,
            role="tool",
            subagent_run_id=self._subagents.owner(call),
        )

    # --- what Strands calls ---

    def _watch(self, context: Any) -> Any:
        model = _WatchedModel(context.model, self._calls, self._unreadable)
        return context.replace(model=model)

    def _tell_words(self, context: Any) -> Any:
        """Before each request: the agent's own messages don't have what is put in here."""
        return context.replace(messages=self._reads(context.messages))

    async def _around(self, context: Any, execute: Any) -> AsyncGenerator[Any, None]:
        """Let a call begin, or not."""
        tool, use = context.tool, context.tool_use
        call: str = use["toolUseId"]
        is_called_by_tool = asyncio.get_running_loop() is not self._loop
        if tool is None or isinstance(tool, StructuredOutputTool) or is_called_by_tool:
            # A tool that calls another one (`agent.tool.name()`) has passed the gate itself.
            async with aclosing(execute(context)) as events:
                async for event in events:
                    yield event
            return
        outer = self._working.get(id(context.agent))
        if outer is not None:
            self.tell_call(context.agent.name, outer, use)
        if isinstance(tool, FrontendTool):
            context.interrupt(f"{FRONTEND}:{self._run.mint()}")
        match await self._judge(context):
            case Execute(args=args):
                made = context.replace(tool_use={**use, "input": deepcopy(dict(args))})
                self.entered[call] = args
                async with aclosing(self._executed(made, execute)) as events:
                    async for event in events:
                        yield event
            case Refuse(by="stop"):
                # The run is cancelled as soon as no other tool runs.
                await asyncio.Event().wait()
            case Refuse(text=text):
                yield ToolResultEvent(_as_result(call, text))
            case AskFirst(ask=ask):
                name = f"{GATE}:{self._run.mint()}"
                self.asks[name] = ask
                self._gated.add(call)
                context.interrupt(name, reason=ask.message)

    async def _executed(self, context: Any, execute: Any) -> AsyncGenerator[Any, None]:
        call: str = context.tool_use["toolUseId"]
        inner = inner_agent(context.tool)
        if inner is not None and getattr(context.tool, "delegate", False):
            # It speaks in its caller's place, and what it does is its caller's doing.
            async with aclosing(execute(context)) as events:
                async for event in events:
                    yield event
            return
        if inner is None:
            name, args = context.tool.tool_name, context.tool_use["input"]
            made: list[NeedsInput] = []
            given = self._rounds.given(call)
            async with self.gate.running(call):
                async for told in self._tool_events.begun(name, self._tries.id(call), args):
                    self._tell(told)
                async with aclosing(execute(context)) as events:
                    while (event := await _next(events, given, made)) is not None:
                        needed = self._needed(name, event, made)
                        if needed is not None:
                            break
                        await self._tell_yielded(name, call, event)
                        yield event
                    else:
                        return
            too_often = self._rounds.ask(call, needed, self.gate)
            if too_often is not None:
                yield ToolResultEvent(_as_result(call, too_often))
                return
            # It begins again like a call that was approved.
            del self.entered[call]
            own = f"{GATE}:{self._run.mint()}"
            self.asks[own] = self._rounds.asks[call][0]
            context.interrupt(own)
            return
        # A stop waits for the tools of an agent in a tool, not for its model.
        self._announce(inner.name, call)
        self._working[id(inner)] = call
        async with aclosing(execute(context)) as events:
            async for event in events:
                yield event

    def _needed(self, name: str, event: Any, made: Sequence[NeedsInput]) -> NeedsInput | None:
        """Which of those that a tool has made it returned: Strands makes a text of it.

        Raises:
            AgentMistake: what it returned is none of them.
        """
        if not made or not isinstance(event, ToolResultEvent):
            return None
        text = result_text(event.tool_result)
        needed = only_one(one for one in made if str(one) == text)
        if needed is None and event.tool_result.get("status") != "error":
            raise refused(name, self.gate, LOST)
        return needed

    async def _tell_yielded(self, name: str, call: str, event: Any) -> None:
        streamed = event.get("tool_stream_event")
        if streamed is None:
            return
        shown = self._tries.id(call)
        async for told in self._tool_events.streamed(name, shown, streamed["data"]):
            self._tell(told)

    async def _after(self, event: AfterToolCallEvent) -> None:
        """Tell what a tool returned, whatever hooks made of it."""
        if isinstance(event.selected_tool, StructuredOutputTool):
            return
        if "event_loop_cycle_id" not in event.invocation_state:
            return  # a tool called by another one
        call, text = event.result["toolUseId"], result_text(event.result)
        args = self.entered.pop(call, None)
        began = args is not None
        if event.retry and began and not self._rounds.before(call):
            self._tries.note(call, text)
            return
        # What was refused is refused again: a hook that insists would never come to an end. What
        # people answered to a call that went on, they answered for one more round of it.
        event.retry = False
        if self.gate.fault is not None and call not in self.gate.begun:
            return  # nothing was done, and the answers can be given again
        if not began:
            heard, text = self._tries.refused(call, text)
            if call in self._tries.results:
                event.result = _as_result(call, heard)
        self._tries.results.pop(call, None)
        for told in self._subagents.finish(call):
            self._tell(told)
        outer = self._working.get(id(event.agent))
        if outer is not None:
            self.tell_call(event.agent.name, outer, event.tool_use)
        self.tell_result(call, text)
        if began and event.selected_tool is not None:
            name = event.selected_tool.tool_name
            shown = self._tries.id(call)
            async for told in self._tool_events.returned(name, shown, args, event.result):
                self._tell(told)
            if self._tool_events.ends_run(name):
                event.agent.cancel(after_current_tools=True)

    # --- a call ---

    async def _judge(self, context: Any) -> GateVerdict:
        use = context.tool_use
        call = use["toolUseId"]
        if call in self._unreadable or not isinstance(use["input"], dict):
            return Refuse(UNREADABLE, "policy")
        inner = inner_agent(context.tool)
        if inner is not None and id(inner) not in self._guarded:
            return Refuse(denied_by_policy(TOO_LATE), "policy")
        try:
            return await self.gate.before(
                call,
                # A hook may have chosen another tool than the model.
                context.tool.tool_name,
                to_json(use["input"]),
                parameters=parameters_of(context.tool),
            )
        except Exception as error:
            self.gate.fail(error)
            raise

    def _announce(self, name: str, call: str) -> str:
        subagent, events = self._subagents.find(name, call)
        for event in events:
            self._tell(event)
        return subagent

    def tell_call(self, name: str, outer: str, use: Mapping[str, Any]) -> None:
        """Tell of a call of an agent inside a tool, once."""
        call = use["toolUseId"]
        if self._subagents.owner(call) is not None:
            return
        subagent = self._announce(name, outer)
        self._subagents.own(call, subagent)
        for event in call_events(call, use["name"], use["input"], subagent):
            self._tell(event)


async def _next(
    events: AsyncGenerator[Any, None], given: Answered | None, made: list[NeedsInput]
) -> Any:
    """What a tool tells next, which finds there what it is given; None at its end."""
    with answering(given), collecting(made):
        return await anext(events, None)


def call_events(call: str, name: str, args: Any, subagent: str | None) -> Iterator[BaseEvent]:
    """What tells a call.

    Args:
        call: its id.
        name: the tool's.
        args: its arguments.
        subagent: the id of the sub-agent whose call it is.
    """
    tag = {"tool_call_id": call, "subagent_run_id": subagent}
    yield ToolCallStartEvent(tool_call_name=name, **tag)
    yield ToolCallArgsEvent(delta=json_of(to_json(args)).decode(), **tag)
    yield ToolCallEndEvent(**tag)


def _as_result(call: str, text: str) -> Any:
    return result_block(call, text, is_error=True)


def parameters_of(tool: Any) -> Mapping[str, Json] | None:
    """The JSON Schema of a tool's arguments."""
    schema = tool.tool_spec.get("inputSchema") or {}
    found = schema.get("json", schema)
    if not isinstance(found, Mapping):
        return None
    if isinstance(tool, DecoratedFunctionTool) or inner_agent(tool) is not None:
        # Strands drops what it does not name: people would read that it ran.
        return {"additionalProperties": False, **found}
    return found


class _WatchedModel:
    """Stands before a model: calls have unique ids, and what can't be read is noted.

    Args:
        model: the model.
        calls: the ids of the thread's calls.
        unreadable: gets the ids of calls whose arguments are no JSON object.
    """

    def __init__(self, model: Any, calls: CallIds, unreadable: set[str]) -> None:
        self._model = model
        self._calls = calls
        self._unreadable = unreadable

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """What the model streams."""
        call: str | None = None
        pieces: list[str] = []
        async for event in self._model.stream(*args, **kwargs):
            if "contentBlockDelta" in event:
                if call is not None:
                    pieces.append(_arguments_in(event))
            elif "contentBlockStart" in event:
                start = event["contentBlockStart"].get("start") or {}
                use = start.get("toolUse")
                call, pieces = None, []
                if use is not None:
                    call = self._calls.new(use["toolUseId"])
                    if call != use["toolUseId"]:
                        told = {**start, "toolUse": {**use, "toolUseId": call}}
                        block = {**event["contentBlockStart"], "start": told}
                        event = {**event, "contentBlockStart": block}
            elif "contentBlockStop" in event and call is not None:
                if not _is_object("".join(pieces)):
                    self._unreadable.add(call)
                call = None
            yield event


def _arguments_in(event: Any) -> str:
    use = event["contentBlockDelta"].get("delta", {}).get("toolUse") or {}
    return str(use.get("input") or "")


def _is_object(text: str) -> bool:
    try:
        return not text or isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
