"""What stands around the steps, the tools and the questions of one run.

A step that waits for people is run again from its top once they have answered: LlamaIndex has it
so. The gate stands before the tool, so that a call that waits for an approval has done nothing; of
a tool that asks in its middle it is remembered that its call had begun, and with which arguments.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import Tool
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import TextBlock, ToolCallBlock
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
from pydantic_core import to_jsonable_python
from workflows import Context
from workflows.events import Event, HumanResponseEvent
from workflows.runtime.types.results import StepWorkerStateContextVar

from agui_bridge.adapters import CallIds, Run
from agui_bridge.errors import UpstreamError
from agui_bridge.frameworks.needs_input import NeedsInput, answering
from agui_bridge.frameworks.rounds import TWO_WAYS, Rounds, refused
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision, Respond
from agui_bridge.protocol.answers.unexecuted import STOPPED
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate
from agui_bridge_llama_index.held import current
from agui_bridge_llama_index.history import with_words
from agui_bridge_llama_index.reader import Reply, Result

_HANDOFF: Final = "handoff"
"""By this tool an agent of several hands the conversation over; the name is LlamaIndex's."""

OURS: Final = "agui_bridge:"
"""How the ids begin under which steps wait for the bridge."""
AGAIN: Final = f"{OURS}again:"
"""Of a step that LlamaIndex begins a second time, though its first time is not over."""
_DEFAULT_TIMEOUT: Final = 2000
"""Seconds that LlamaIndex waits where nobody says how long."""

_calling: Final[ContextVar[str | None]] = ContextVar("agui_bridge_llama_call", default=None)
"""The id of the call that this task carries out."""
_step: Final[ContextVar[str]] = ContextVar("agui_bridge_llama_step", default="")
_questions: Final[ContextVar[list[str]]] = ContextVar("agui_bridge_llama_questions")
"""What the step has asked since it began, to tell its questions apart."""


class Mark(Event):
    """Stands in the stream behind all that was written before; nobody is told of it."""

    number: int


class Decided(HumanResponseEvent):
    """What the guard itself waits for; it never comes: the step is run again."""


class NotAnswered(TimeoutError):
    """Nobody answered what a tool or a step asked; LlamaIndex has a `TimeoutError` for it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What people are asked by a tool or a step that waits.

    Attributes:
        id: tells it apart in its thread; the same when its step runs again.
        asked: the event that asks.
        answer: the type of the event that answers.
        given: what that event must have.
        call: the id of the call whose tool asks.
        expires_in: seconds that its author waits for the answer; None: who knows.
    """

    id: str
    asked: Event
    answer: type[Event]
    given: Mapping[str, Any]
    call: str | None
    expires_in: float | None


class Guard:
    """Lets the tools of one run through the gate.

    Args:
        run: the run.
        gate: its gate.
        write: takes what is told.
        calls: gives new calls their ids.
        words: what the application says to the models.
        kept: calls of the run that this one continues, by id.
        entered: ids of those that had begun when it paused, of tools that ask.
        decisions: what people decided, by what they were asked under.
        answered: answers to questions of earlier pauses whose steps are not over.
        returned: what the application gave back, by id of the call.
        handed: tools of the application whose calls wait: an answer may come without them.
        rounds: the calls whose tools ask in their middle.

    Attributes:
        known: the calls by id, each with the id that its model gave it.
        asks: approvals that are asked for, by id of the call.
        questions: other questions, by their ids.
        frontend: ids of calls that wait for the application.
        entered: ids of calls whose tools have begun, with their arguments.
        answered: the answers that steps have been given, by id of the question.
        outputs: what tools returned.
        replies: how many replies the models have given.
    """

    def __init__(
        self,
        run: Run,
        gate: ToolGate,
        write: Callable[[Any], None],
        *,
        calls: CallIds,
        words: str,
        known: Mapping[str, tuple[str, ToolCall]],
        entered: Mapping[str, dict[str, Json]],
        decisions: Mapping[str, Decision],
        answered: Mapping[str, Json],
        returned: Mapping[str, str],
        handed: Collection[str],
        rounds: Rounds,
    ) -> None:
        self.known: dict[str, tuple[str, ToolCall]] = dict(known)
        self.asks: dict[str, Ask] = {}
        self.questions: dict[str, Question] = {}
        self.frontend: list[str] = []
        self.entered: dict[str, dict[str, Json]] = dict(entered)
        self.answered: dict[str, Json] = dict(answered)
        self.outputs: list[ToolOutput] = []
        self.replies: int = 0
        self._run = run
        self._gate = gate
        self._write = write
        self._calls = calls
        self._words = words
        self._decisions = decisions
        self._returned = returned
        self._rounds = rounds
        self._own: set[str] = set()
        self._under_way: set[str] = set()
        offered = {name: Tool(name=name, description="", parameters=None) for name in handed}
        self._frontend = {**offered, **{tool.name: tool for tool in run.tools}}
        self._marks: dict[int, asyncio.Future[None]] = {}
        self._numbers = 0

    def begin(self) -> None:
        """Guard what runs in this task, and in those that it begins."""
        current.set(self)

    def tools(self, own: list[Any]) -> list[Any]:
        """The tools of an agent, and those of the application that it has none of the name of."""
        names = {tool.metadata.name for tool in own}
        self._own |= names
        offered = (tool for name, tool in self._frontend.items() if name not in names)
        return [*own, *(frontend_tool(t.name, t.description, t.parameters) for t in offered)]

    def passed(self, mark: Mark) -> None:
        """Note that the stream has been read up to a mark."""
        waiting = self._marks.pop(mark.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    # --- around the steps ---

    async def step(self, name: str, plain: Callable[[], Awaitable[Any]]) -> Any:
        """Run a step; LlamaIndex forgets one that is cancelled from inside, and waits for it."""
        _step.set(name)
        _questions.set([])
        _calling.set(None)
        with self._gate.cut_off_noted():
            try:
                return await plain()
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not (task and task.cancelling()):
                    # The run ends at once then: what was said before is told first.
                    await self._caught_up(Context.get_step_context())
                raise

    async def reply(self, ctx: Any, ev: Any, plain: Callable[[Any], Awaitable[Any]]) -> Any:
        """Have a model reply, which reads what the application says; its calls get their ids.

        Raises:
            UpstreamError: see `_expect_whole`.
        """
        if self._words:
            ev = ev.model_copy(update={"input": with_words(ev.input, self._words)})
        output = await plain(ev)
        self.replies += 1
        _expect_whole(output)
        calls = []
        for selected in output.tool_calls:
            own = self._calls.new(selected.tool_id)
            args = to_jsonable_python(selected.tool_kwargs, fallback=str)
            call = ToolCall(own, selected.tool_name, args)
            self.known[own] = (selected.tool_id, call)
            selected.tool_id = own
            calls.append(call)
        await self._caught_up(ctx)
        if calls:
            self._write(Reply(tuple(calls)))
        return output

    async def call(self, ctx: Any, ev: Any, plain: Callable[[Any], Awaitable[Any]]) -> Any:
        """Carry out a call, whose result the model finds under the id that it gave the call."""
        own = ev.tool_id
        if own in self._under_way:
            await self._forever(ctx, own, AGAIN)
        _calling.set(own)
        self._under_way.add(own)
        try:
            result = await plain(ev)
        except BaseException:
            # It waits: what it waits for has it begin again.
            self._under_way.discard(own)
            raise
        native = self.known.get(own, (own, None))[0]
        if result.tool_output.is_error:
            # No tool of this name, or one that could not be looked up: the gate was not asked.
            self._write(Result(own, result.tool_output.content))
        return result.model_copy(update={"tool_id": native})

    async def execute(
        self, ctx: Any, tool: Any, args: Any, plain: Callable[..., Awaitable[ToolOutput]]
    ) -> ToolOutput:
        """Execute a tool, or what stands for its result."""
        own = _calling.get()
        name = tool.metadata.get_name()
        assert own is not None
        if name not in self._own:
            return await self._hand_over(ctx, own, name)
        given = to_jsonable_python(args, fallback=str)
        async with self._acting(own, name, given, tool) as verdict:
            match verdict:
                case Execute(args=these, edited=edited):
                    # What was proposed is what runs, as it is: JSON may lack what a model gave.
                    self.entered[own] = dict(these)
                    with answering(self._rounds.given(own)):
                        output = await plain(dict(these) if edited or these != given else args)
                    if isinstance(output.raw_output, NeedsInput):
                        if own not in self._gate.executed:
                            # It waited before, for an event.
                            raise refused(name, self._gate, TWO_WAYS)
                        del self.entered[own]
                        too_often = self._rounds.ask(own, output.raw_output, self._gate)
                        if too_often is None:
                            await self._forever(ctx, own)
                            raise AssertionError
                        return self._stands(own, name, str(too_often), is_error=True)
                    await self._caught_up(ctx)
                    self.outputs.append(output)
                    self._write(Result(own, output.content))
                    del self.entered[own]
                    if edited:
                        told = Approve(these, edited=True).text
                        output.blocks = [TextBlock(text=f"{told}\n"), *output.blocks]
                    return output
                case Refuse(by="stop"):
                    # The run is cancelled as soon as no other tool runs.
                    await asyncio.Event().wait()
                    raise AssertionError
                case Refuse(text=text):
                    given_by_hand = isinstance(self._decisions.get(own), Respond)
                    return self._stands(own, name, text, is_error=not given_by_hand)
                case AskFirst(ask=ask):
                    self.asks[own] = ask
                    await self._forever(ctx, own)
                    raise AssertionError

    # --- what waits ---

    async def ask(
        self, wait: Callable[..., Awaitable[Any]], asked: Any, options: dict[str, Any]
    ) -> Any:
        """The answer to a question of a tool or a step, which is asked if it has not been.

        Raises:
            NotAnswered: nobody answered it.
        """
        call, given = _calling.get(), options["requirements"]
        named = options["id"] or json.dumps(given, sort_keys=True, default=str)
        state: Any = StepWorkerStateContextVar.get().state
        place = call or f"{_step.get()}:{getattr(state, 'work_item_id', None) or ''}"
        asked_before = _questions.get()
        asked_before.append(f"{place}/{named}")
        own = f"{place}/{named}/{asked_before.count(f'{place}/{named}')}"
        kind: type[Event] = options["event_type"]
        decision = self._decisions.get(own)
        if decision is not None and not isinstance(decision, Answer):
            raise NotAnswered(decision.text)
        if own in self.answered or decision is not None:
            payload = decision.payload if decision is not None else self.answered[own]
            self.answered[own] = payload
            return answer_of(kind, payload, given)
        expires_in = None if options["timeout"] == _DEFAULT_TIMEOUT else options["timeout"]
        self.questions[own] = Question(own, asked, kind, given, call, expires_in)
        waiting = f"{OURS}{own}"
        return await wait(kind, asked, waiting, {**given, "agui_bridge_question": own}, None)

    async def _hand_over(self, ctx: Any, own: str, name: str) -> ToolOutput:
        if own in self._returned:
            return self._stands(own, name, self._returned[own], is_error=False, is_told=True)
        if own not in self.frontend:
            self.frontend.append(own)
        await self._forever(ctx, own)
        raise AssertionError

    async def _forever(self, ctx: Any, own: str, kind: str = OURS) -> None:
        """Leave the step, by what this raises: a later run begins it again."""
        needed = {"agui_bridge_question": own}
        await ctx.wait_for_event(Decided, None, f"{kind}{own}", needed, None)

    # --- before a tool ---

    @asynccontextmanager
    async def _acting(
        self, own: str, name: str, args: Any, tool: Any
    ) -> AsyncIterator[GateVerdict]:
        if own not in self.entered:
            parameters = parameters_of(tool)
            async with self._gate.acting(own, name, args, parameters=parameters) as verdict:
                yield verdict
            return
        # It had begun when the run paused, and goes on: whoever answered has let it.
        verdict = await self._again(own)
        if isinstance(verdict, Refuse):
            yield verdict
            return
        async with self._gate.running(own):
            yield verdict

    async def _again(self, own: str) -> GateVerdict:
        try:
            await self._run.check_stop()
            if self._run.stop.requested:
                return Refuse(STOPPED, "stop")
            self._run.check_lease()
        except Exception as error:
            self._gate.fail(error)
            raise
        return Execute(self.entered[own])

    def _stands(
        self, own: str, name: str, text: str, *, is_error: bool, is_told: bool = False
    ) -> ToolOutput:
        """A result that no tool gave."""
        if not is_told:
            self._write(Result(own, text))
        return ToolOutput(name, content=text, raw_input={}, raw_output=text, is_error=is_error)

    async def _caught_up(self, ctx: Any) -> None:
        """Return once the client was told of all that was streamed before."""
        self._numbers += 1
        read = self._marks[self._numbers] = asyncio.get_running_loop().create_future()
        ctx.write_event_to_stream(Mark(number=self._numbers))
        await read


def _expect_whole(output: AgentOutput) -> None:
    """Refuse a reply with a call that is not whole: LlamaIndex would run it with what it has.

    A stream that ends early leaves such a call, and so does LlamaIndex's client of OpenAI's Chat of
    calls whose pieces alternate: all but the first piece of each become calls without a name.

    Raises:
        UpstreamError: there is one. No call of the reply runs.
    """
    blocks = output.response.blocks
    pieces = [one.tool_kwargs for one in blocks if isinstance(one, ToolCallBlock)]
    if all(call.tool_name for call in output.tool_calls) and all(map(_is_whole, pieces)):
        return
    raise UpstreamError(
        "The model's reply has a tool call whose name or arguments are not whole. None of the "
        "reply's calls ran. Ask again; if it happens often, allow more tokens for a reply, or "
        "have the agent make one call at a time (allow_parallel_tool_calls=False)."
    )


def _is_whole(arguments: dict[str, Any] | str) -> bool:
    if not arguments or not isinstance(arguments, str):
        # Some clients leave no text where there are no arguments.
        return True
    try:
        # As LlamaIndex reads them: with line breaks in their texts.
        json.loads(arguments, strict=False)
    except ValueError:
        return False
    return True


def parameters_of(tool: Any) -> Mapping[str, Any]:
    """The JSON Schema of a tool's arguments: a function takes none that it does not name."""
    schema: dict[str, Any] = tool.metadata.get_parameters_dict()
    if not isinstance(tool, FunctionTool) or isinstance(tool.metadata, _FrontendMetadata):
        return schema
    taken = inspect.signature(tool.real_fn).parameters.values()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
        return schema
    return {"additionalProperties": False, **schema}


def frontend_tool(name: str, description: str, parameters: Any) -> FunctionTool:
    """A tool that the application carries out: the run waits for its result."""

    # LlamaIndex wants a function; `_hand_over` stands in its place.
    async def never(**_: Any) -> str:
        raise AssertionError(f"The application carries {name!r} out, not this process.")

    schema = parameters or {"type": "object", "properties": {}}
    metadata = _FrontendMetadata(description or name, name, schema)
    return FunctionTool(async_fn=never, metadata=metadata)


class _FrontendMetadata(ToolMetadata):
    def __init__(self, description: str, name: str, schema: Any) -> None:
        super().__init__(description, name)
        self._schema = schema

    def get_parameters_dict(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return dict(self._schema)


def answer_of(kind: type[Event], payload: Json, given: Mapping[str, Any]) -> Event:
    """The event that answers a question.

    Args:
        kind: its type.
        payload: what a person answered; members of an object are the event's, too.
        given: what the question wants it to have besides.
    """
    members = payload if isinstance(payload, dict) else {}
    return kind(**{"response": payload, **members, **given})
