"""What stands before every tool of a run, those of a team's members included.

Agno's tool hooks reach neither a call's id nor the pause, and members have their own. What all
tools pass is the model's method that begins them. There, while a run of the bridge is under way,
the gate is asked first. Outside such a run Agno is as it was.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from ag_ui.core import BaseEvent
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse, ModelResponseEvent
from agno.tools.function import FunctionExecutionResult, ToolResult
from agno.utils.timer import Timer

from agui_bridge.adapters import CallIds, Run
from agui_bridge.emitting import events_in
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.needs_input import NeedsInput
from agui_bridge.frameworks.private_names import PrivateName, expect_names
from agui_bridge.frameworks.rounds import refused
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.unexecuted import STOPPED, denied_by_policy
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate

AGNO: Final = "agno"
"""What pip calls it."""

DELEGATIONS: Final = frozenset(
    {
        *("delegate_task_to_member", "delegate_task_to_members"),
        *("execute_task", "execute_tasks_parallel"),
    }
)
"""Tools of a team by which its leader has members work: they are no acts."""

_ASKING: Final = frozenset({"get_user_input", "ask_user"})
_NAME: Final = "agui_bridge"

_current: ContextVar[Guard | None] = ContextVar("agui_bridge_agno_guard", default=None)


_CHANGED: Final = (
    PrivateName(Model, "arun_function_call", ("function_call",)),
    PrivateName(Model, "arun_function_calls", ("function_calls", "skip_pause_check")),
    PrivateName(Model, "get_function_calls_to_run", ("assistant_message",)),
    PrivateName(Model, "aresponse_stream", ("messages",)),
    PrivateName(Model, "aprocess_response_stream", ("messages",)),
    PrivateName(Model, "_aprocess_model_response", ("messages",)),
)
"""Methods that `hold_tools` puts its own in place of."""


def hold_tools() -> None:
    """Have models ask the guard of the run that they are in before they begin tools. Once.

    Raises:
        ConfigurationError: the installed Agno has other methods.
    """
    if getattr(getattr(Model, "arun_function_call", None), _NAME, False):
        return
    expect_names(AGNO, _CHANGED)
    one, several = Model.arun_function_call, Model.arun_function_calls
    calls_of, responses = Model.get_function_calls_to_run, Model.aresponse_stream

    @functools.wraps(one)
    async def arun_function_call(self: Any, function_call: Any) -> Any:
        guard = _guard()
        if guard is None:
            return await one(self, function_call)
        return await guard.carry_out(function_call, functools.partial(one, self, function_call))

    @functools.wraps(several)
    async def arun_function_calls(
        self: Any, function_calls: Any, *rest: Any, **options: Any
    ) -> AsyncIterator[Any]:
        guard = _guard()
        if guard is not None and not options.get("skip_pause_check"):
            await guard.judge(function_calls)
        async for response in several(self, function_calls, *rest, **options):
            yield response

    @functools.wraps(calls_of)
    def get_function_calls_to_run(
        self: Any, assistant_message: Any, *rest: Any, **more: Any
    ) -> Any:
        guard = _guard()
        if guard is not None:
            guard.keep_apart(assistant_message)
        return calls_of(self, assistant_message, *rest, **more)

    @functools.wraps(responses)
    async def aresponse_stream(self: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        messages = options.get("messages", args[0] if args else ())
        if (guard := _guard()) is not None and guard.waits_on(messages):
            return
        if (guard := _guard()) is not None and (last := guard.last_words(messages)) is not None:
            event = ModelResponseEvent.assistant_response.value
            yield ModelResponse(role="assistant", content=last, event=event)
            return
        try:
            # An async generator, whatever its type says: who stops reading closes it at once.
            stream: Any = responses(self, *args, **options)
            async with aclosing(stream):
                async for response in stream:
                    yield response
        except Exception as error:
            # Agno tells of it in an event, as text.
            if (guard := _guard()) is not None:
                guard.model_failure = error
            raise

    for name in ("aprocess_response_stream", "_aprocess_model_response"):
        setattr(Model, name, _telling(getattr(Model, name)))
    setattr(arun_function_call, _NAME, True)
    # No hook of Agno may make a call wait, and none is told which call it stands before. Every
    # model carries its calls out here, so the class is changed; outside of a run nothing changes.
    Model.arun_function_call = arun_function_call  # type: ignore[method-assign]
    Model.arun_function_calls = arun_function_calls  # type: ignore[method-assign]
    Model.get_function_calls_to_run = get_function_calls_to_run  # type: ignore[method-assign]
    Model.aresponse_stream = aresponse_stream  # type: ignore[method-assign]


def _telling(request: Callable[..., Any]) -> Callable[..., Any]:
    """A method that asks a model, with the messages as the guard has them."""

    @functools.wraps(request)
    def asked(self: Any, messages: Any, *rest: Any, **more: Any) -> Any:
        guard = _guard()
        return request(
            self, messages if guard is None else guard.read_by_model(messages), *rest, **more
        )

    return asked


class Guard:
    """Lets the tools of one run through the gate.

    Args:
        run: the run.
        gate: makes its gate, given which calls their tools want approved.
        calls: the ids of the thread's calls.
        tell: takes events for the client.
        acted: called when a tool has run.
        words: what the application says: models read it, the history doesn't have it.

    Attributes:
        asks: the policy's questions, by tool call id.
        outputs: what tools returned, by tool call id.
        parameters: JSON Schemas of tools' arguments, by tool call id.
        model_failure: what a model raised last.
        delegated: what members said at their end, by the calls of leaders that asked them.
        held: ids of calls of the application's whose results are not here yet, while other calls
            of their reply are carried out.
        put_back: has Agno's run wait for these again.
    """

    def __init__(
        self,
        run: Run,
        gate: Callable[[Callable[[Any], bool]], ToolGate],
        calls: CallIds,
        tell: Callable[[BaseEvent], None],
        acted: Callable[[], None],
        words: str,
    ) -> None:
        self.delegated: dict[str, str] = {}
        self.held: set[str] = set()
        self.put_back: Callable[[], None] = lambda: None
        self.asks: dict[str, Ask] = {}
        self.outputs: dict[str, str] = {}
        self.parameters: dict[str, Any] = {}
        self.model_failure: Exception | None = None
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._verdicts: dict[str, GateVerdict] = {}
        self._must_be_approved: set[str] = set()
        self._calls = calls
        self._tell = tell
        self._acted = acted
        self._words = words
        self.gate: ToolGate = gate(lambda call: call.id in self._must_be_approved)

    def begin(self) -> None:
        """Guard what runs in this task, and in those that it begins."""
        _current.set(self)

    @property
    def is_here(self) -> bool:
        """Whether this is the loop of the run.

        A sync tool may run an agent in its thread: the tool around it has passed the gate.
        """
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    async def abandon(self, seconds: float) -> None:
        """End what members still do once the run is over, and wait for that so long."""
        # What a tool has begun in this context may go on, and ask models for somebody else.
        self._words = ""
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=seconds)

    def read_by_model(self, messages: list[Any]) -> list[Any]:
        """The messages of one request: with what members said, and what the application says."""
        for message in messages:
            # Agno leaves the sentence of the pause there where the leader's own tool waited, too.
            if message.role == "tool" and message.tool_call_id in self.delegated:
                message.content = self.delegated[message.tool_call_id]
        if not self._words:
            return messages
        said = [place for place, one in enumerate(messages) if one.role == "user"]
        place = said[-1] if said else len(messages)
        return [*messages[:place], Message(role="user", content=self._words), *messages[place:]]

    def waits_on(self, messages: Sequence[Any]) -> bool:
        """Whether the model is not asked now, since one of its calls has no result yet."""
        calls = (str(call.get("id")) for one in messages for call in one.tool_calls or ())
        waits = not self.held.isdisjoint(calls)
        if waits:
            self.put_back()
        return waits

    def last_words(self, messages: Sequence[Any]) -> str | None:
        """What a tool returned that ends its run (`stop_after_tool_call`); None where none did.

        Agno forgets of it where a run goes on after an approval.
        """
        results = itertools.takewhile(lambda one: one.role == "tool", reversed(messages))
        last = [
            str(one.content)
            for one in results
            if one.stop_after_tool_call and one.tool_call_id in self.outputs
        ]
        return "\n".join(reversed(last)) if last else None

    def keep_apart(self, message: Any) -> None:
        """Give the calls of a reply ids of their own; some models give none, or those of others.

        Two of one id would be the same call: to people, to what they decided, and to the gate.
        """
        for call in message.tool_calls or ():
            call["id"] = self._calls.new(call.get("id"))

    async def judge(self, calls: Sequence[Any]) -> None:
        """Have those wait that the policy wants approved; Agno begins the others at once."""
        for call in calls:
            # Agno notes what it wants of one call at the tool, which calls share.
            function = call.function = call.function.model_copy(deep=False)
            if function.user_input_schema is not None:
                function.user_input_schema = list(map(copy.copy, function.user_input_schema))
            self.parameters[call.call_id] = _parameters_of(function)
            waits = _waits(function)
            if waits and function.requires_confirmation and (waits > 1):
                raise self._fault(
                    ConfigurationError(
                        f"The tool {function.name!r} waits for a confirmation and for something "
                        "else, of which Agno would make two executions. Leave one out."
                    )
                )
            if waits or _is_delegation(function) or self._run.policy is None:
                continue
            verdict = await self._ask_gate(call)
            if isinstance(verdict, AskFirst):
                self.asks[call.call_id] = verdict.ask
                function.requires_confirmation = True
            else:
                self._verdicts[call.call_id] = verdict

    async def carry_out(self, call: Any, begin: Callable[[], Awaitable[Any]]) -> Any:
        """Begin a call, or say why not."""
        own = call.call_id
        if _is_delegation(call.function):
            # A stop waits for the tools of members, not for their models.
            if await self._is_stopping():
                return await _never()
            # The member may act: of a call that is cut off nobody may say that it never began.
            self.gate.begun.add(own)
            outcome = await begin()
            if isinstance(call.result, AsyncIterator):
                call.result = self._followed(call.result)
            return outcome
        if call.function.requires_confirmation:
            self._must_be_approved.add(own)
        match await self._verdict(call):
            case Execute(args=args):
                call.arguments = dict(args)
                async with self.gate.running(own):
                    outcome = await begin()
                if isinstance(call.result, NeedsInput):
                    raise self._fault(refused(call.function.name, self.gate))
                if isinstance(call.result, AsyncIterator):
                    call.result = self._watched(own, call.result)
                    return outcome
                for event in events_in(call.result):
                    self._tell(event)
                self._acted()
                self.outputs[own] = _output(call, outcome)
                # After a stop the model is not asked again.
                return await _never() if self._run.stop.requested else outcome
            case Refuse(by="stop"):
                # The run is cancelled as soon as no other tool runs.
                return await _never()
            case Refuse(text=text):
                return _refused(call, text)
            case _:
                # Nobody can be asked any more: what was approved has run, or the policy has
                # changed its mind.
                return _refused(call, denied_by_policy("It has to be approved first."))

    async def _verdict(self, call: Any) -> GateVerdict:
        known = self._verdicts.pop(call.call_id, None)
        if known is None:
            return await self._ask_gate(call)
        try:
            # What was said before Agno went on may be old by now.
            if await self._is_stopping():
                return Refuse(STOPPED, "stop")
            self._run.check_lease()
        except Exception as error:
            raise self._fault(error) from None
        return known

    async def _ask_gate(self, call: Any) -> GateVerdict:
        try:
            return await self.gate.before(
                call.call_id,
                call.function.name,
                call.arguments or {},
                parameters=_parameters_of(call.function),
            )
        except Exception as error:
            raise self._fault(error) from None

    async def _is_stopping(self) -> bool:
        await self._run.check_stop()
        return self._run.stop.requested

    async def _followed(self, results: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """What comes bit by bit, in a task that Agno begins and does not cancel with the run."""
        task = asyncio.current_task()
        assert task is not None, "It is iterated in a loop."
        self._tasks.add(task)
        async for one in results:
            yield one
        self._acted()
        self._tasks.discard(task)

    async def _watched(self, call: str, results: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """What a tool gives bit by bit; it runs until the last."""
        parts = []
        async with self.gate.running(call):
            async for one in self._followed(results):
                if told := events_in(one):
                    for event in told:
                        self._tell(event)
                    continue
                parts.append(one)
                yield one
        if self._run.stop.requested:
            self.outputs[call] = "".join(map(str, parts))
            await _never()

    def _fault(self, error: Exception) -> Exception:
        self.gate.fail(error)
        return error


def _guard() -> Guard | None:
    guard = _current.get()
    return guard if guard is not None and guard.is_here else None


def _parameters_of(function: Any) -> Any:
    """The JSON Schema of a tool's arguments, closed where the tool takes no others."""
    entry, schema = function.entrypoint, function.parameters
    if entry is None or function.skip_entrypoint_processing:
        return schema
    try:
        taken = inspect.signature(entry).parameters.values()
    except (TypeError, ValueError):
        return schema
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
        return schema
    return {"additionalProperties": False, **schema}


def _is_delegation(function: Any) -> bool:
    """Whether a tool is a team's own, and not one of somebody else's that has its name."""
    module = getattr(function.entrypoint, "__module__", "")
    return function.name in DELEGATIONS and str(module).startswith("agno.team.")


def _waits(function: Any) -> int:
    """For how many things a tool waits."""
    asks = function.name in _ASKING or function.requires_user_input
    flags = (function.requires_confirmation, asks, function.external_execution)
    return sum(map(bool, flags))


def _output(call: Any, outcome: Any) -> str:
    if outcome[0] is not True:
        return str(call.error)
    result = call.result
    return str(result.content if isinstance(result, ToolResult) else result)


def _refused(call: Any, text: str) -> tuple[bool, Timer, Any, FunctionExecutionResult]:
    """What Agno makes of a call that failed: its text is what the model reads."""
    timer = Timer()  # type: ignore[no-untyped-call]  # Agno's own has no types
    timer.start()
    timer.stop()
    call.error = text
    return False, timer, call, FunctionExecutionResult(status="failure", error=text)


async def _never() -> Any:
    never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    return await never
