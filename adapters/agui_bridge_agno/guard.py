"""What stands before every tool of a run, those of a team's members included.

Agno's tool hooks reach neither a call's id nor the pause, and members have their own. What all
tools pass is the model's method that begins them. There, while a run of the bridge is under way,
the gate is asked first. Outside such a run Agno is as it was.
"""

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from agno.models.base import Model
from agno.tools.function import FunctionExecutionResult, ToolResult
from agno.utils.timer import Timer

from agui_bridge.adapters import CallIds, Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.unexecuted import STOPPED, denied_by_policy
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate

__all__ = ["DELEGATIONS", "Guard", "hold_tools"]

DELEGATIONS: Final = frozenset({"delegate_task_to_member", "delegate_task_to_members"})
"""Tools of a team by which its leader has members work: they are no acts."""

_ASKING: Final = frozenset({"get_user_input", "ask_user"})
_NAME: Final = "agui_bridge"

_current: ContextVar[Guard | None] = ContextVar("agui_bridge_agno_guard", default=None)


def hold_tools() -> None:
    """Have models ask the guard of the run that they are in before they begin tools. Once."""
    one, several = Model.arun_function_call, Model.arun_function_calls
    calls_of, responses = Model.get_function_calls_to_run, Model.aresponse_stream
    if getattr(one, _NAME, False):
        return

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

    setattr(arun_function_call, _NAME, True)
    # No hook of Agno may make a call wait, and none is told which call it stands before. Every
    # model carries its calls out here, so the class is changed; outside of a run nothing changes.
    Model.arun_function_call = arun_function_call  # type: ignore[method-assign]
    Model.arun_function_calls = arun_function_calls  # type: ignore[method-assign]
    Model.get_function_calls_to_run = get_function_calls_to_run  # type: ignore[method-assign]
    Model.aresponse_stream = aresponse_stream  # type: ignore[method-assign]


class Guard:
    """Lets the tools of one run through the gate.

    Args:
        run: the run.
        gate: makes its gate, given which calls their tools want approved.
        calls: the ids of the thread's calls.

    Attributes:
        asks: the policy's questions, by tool call id.
        outputs: what tools returned, by tool call id.
        parameters: JSON Schemas of tools' arguments, by tool call id.
        model_failure: what a model raised last.
    """

    def __init__(
        self,
        run: Run,
        gate: Callable[[Callable[[Any], bool]], ToolGate],
        calls: CallIds,
    ) -> None:
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
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=seconds)

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
            self.parameters[call.call_id] = function.parameters
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
                if isinstance(call.result, AsyncIterator):
                    call.result = self._watched(own, call.result)
                    return outcome
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
                parameters=call.function.parameters,
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
        self._tasks.discard(task)

    async def _watched(self, call: str, results: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """What a tool gives bit by bit; it runs until the last."""
        parts = []
        async with self.gate.running(call):
            async for one in self._followed(results):
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
