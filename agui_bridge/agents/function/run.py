"""What an author's function gets: `run`, through which it acts, asks and remembers.

The function runs again from its top whenever an answer has come. What it does through `run.*`
is done once in all runs; whatever else it does is done each time, and must be free of side
effects and of chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from pydantic import BaseModel, PydanticUserError, TypeAdapter

from agui_bridge.adapters import Ask
from agui_bridge.agents.function.approval_outcome import Approval
from agui_bridge.agents.function.call_events import tool_call
from agui_bridge.agents.function.execution import Question
from agui_bridge.agents.function.run_acting import ActingRun
from agui_bridge.agents.parameter_schema import parameter_schema
from agui_bridge.agents.replay.continuation import Awaited, Decided, Value
from agui_bridge.agents.replay.failures import FrontendToolError
from agui_bridge.agents.replay.journal import copied, jsonable
from agui_bridge.errors import AgentMistake, ReplayMismatch
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, Answer, Cancel
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.schemas.checking import check_schema
from agui_bridge.protocol.threads.records import Json, ToolCall

__all__ = ["FunctionRun"]

T = TypeVar("T")


class FunctionRun(ActingRun):
    """One run of a function agent.

    Every call is remembered under its name, arguments and `key`. Equal calls that one task
    makes in sequence are told apart by their order; equal calls of several tasks (inside
    `asyncio.gather` or a TaskGroup) need a different `key` each, else AmbiguousKey.

    A question never returns in the run that asks it: the run ends there, once every step,
    stream, call and tool that is under way has finished, and `finally` blocks run (calls to
    `run.*` in them are cancelled at once). Other awaits are not waited for.
    """

    @checked_arguments("run.approve", error=AgentMistake)
    async def approve(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        message: str | None = None,
        parameters: type[BaseModel] | Mapping[str, Json] | None = None,
        fn: Callable[..., Any] | None = None,
        editable: bool = True,
        expires_in: float | None = None,
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
        call_id: str | None = None,
        approvers: Sequence[str] | None = None,
        quorum: int | None = None,
    ) -> Approval:
        """Ask people to approve a tool call; `run.tool` then carries it out.

        Args:
            name: the tool.
            args: the proposed arguments.
            message: what people read.
            parameters: model or JSON Schema that edited arguments must satisfy; a model takes no
                names but its own, unless it has `extra="allow"`.
            fn: the tool, whose signature gives the parameters when they are not passed.
            editable: whether people may edit the arguments; never without `parameters` or `fn`,
                which say what may be executed.
            expires_in: seconds until it can't be answered; None takes the agent's setting.
            metadata: public, for the frontend.
            key: tells equal approvals of several tasks apart.
            call_id: the call's id, if its events have been sent already, such as by `stream`.
            approvers: who may answer: actors, or roles as `role:NAME`. It narrows the bridge's
                approval rule (`bridge.approvals`) and never widens it.
            quorum: how many must approve at least, with the same arguments.

        Returns:
            The decision: true only when approved, with the arguments that may be executed.

        Raises:
            AgentMistake: an argument is of another type; it names the argument.
            UnsafeSchema: the parameters' schema is invalid or could do harm.
            ReplayMismatch: what was stored is no decision on this call.
        """
        pinned = jsonable(f"an argument of run.approve({name!r})", dict(args))
        entry, known = self._visit("approve", name, [pinned], key)
        if known is None:
            call_id = call_id or self._run.mint()
            ask = Ask(
                native_id=call_id,
                reason="tool_call",
                message=message,
                tool_call=ToolCall(call_id, name, pinned),
                parameters=parameter_schema(parameters, fn),
                allowed=None if editable else (APPROVE, DECLINE),
                expires_in=expires_in,
                metadata=metadata,
                approvers=approvers,
                quorum=quorum,
            )
            await self._execution.ask(entry, Question(ask, call_id))
        if not isinstance(known, Decided):
            raise ReplayMismatch(f"The continuation holds no decision for {entry}.")
        return Approval.of(entry, pinned, known)

    @overload
    async def ask(
        self,
        message: str,
        *,
        schema: type[T],
        reason: str = ...,
        expires_in: float | None = ...,
        metadata: Mapping[str, Json] | None = ...,
        key: str | None = ...,
    ) -> T | None: ...

    @overload
    async def ask(
        self,
        message: str,
        *,
        schema: Mapping[str, Json] | None = ...,
        reason: str = ...,
        expires_in: float | None = ...,
        metadata: Mapping[str, Json] | None = ...,
        key: str | None = ...,
    ) -> Json: ...

    @checked_arguments("run.ask", error=AgentMistake)
    async def ask(
        self,
        message: str,
        *,
        schema: type[Any] | Mapping[str, Json] | None = None,
        reason: str = "input_required",
        expires_in: float | None = None,
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> Any:
        """Ask people a question.

        Args:
            message: what people read; with `key` it is the question's identity.
            schema: a model (or any type that pydantic knows), a JSON Schema, or None.
            reason: `input_required`, `confirmation` or `<framework>:<name>`.
            expires_in: seconds until it can't be answered; None takes the agent's setting.
            metadata: public, for the frontend.
            key: tells equal questions of several tasks apart.

        Returns:
            An instance of the model, else the payload. None when the question was cancelled
            or expired: `decide` tells that from the answer null.

        Raises:
            pydantic.ValidationError: the payload satisfies the model's schema, but not what
                its validators want besides.
            AgentMistake: an argument is of another type; it names the argument.
            UnsafeSchema: the schema is invalid or could do harm.
        """
        model: TypeAdapter[Any] | None = None
        if schema is None or isinstance(schema, Mapping):
            wanted = schema
        else:
            try:
                model = TypeAdapter(schema)
                wanted = model.json_schema()
            except PydanticUserError as fault:
                raise AgentMistake(
                    f"run.ask(schema=…) must be a type that has a JSON form: {fault.message}"
                ) from fault
        decision = await self.decide(
            message,
            schema=wanted,
            reason=reason,
            expires_in=expires_in,
            metadata=metadata,
            key=key,
        )
        if isinstance(decision, Cancel):
            return None
        return decision.payload if model is None else model.validate_python(decision.payload)

    @checked_arguments("run.confirm", error=AgentMistake)
    async def confirm(
        self,
        message: str,
        *,
        expires_in: float | None = None,
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> bool:
        """Ask a yes-or-no question; cancelled and expired mean no.

        Args:
            message: what people read; with `key` it is the question's identity.
            expires_in: seconds until it can't be answered; None takes the agent's setting.
            metadata: public, for the frontend.
            key: tells equal questions of several tasks apart.

        Returns:
            True only for `{"confirm": true}`.
        """
        decision = await self.decide(
            message, reason="confirmation", expires_in=expires_in, metadata=metadata, key=key
        )
        payload = decision.payload if isinstance(decision, Answer) else None
        return isinstance(payload, dict) and payload.get("confirm") is True

    @checked_arguments("run.decide", error=AgentMistake)
    async def decide(
        self,
        message: str,
        *,
        schema: Mapping[str, Json] | None = None,
        reason: str = "input_required",
        expires_in: float | None = None,
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> Answer | Cancel:
        """Ask as `ask` does, and return the decision itself: an Answer, or a Cancel's cause.

        Args:
            message: what people read; with `key` it is the question's identity.
            schema: a JSON Schema of the answer, or None.
            reason: `input_required`, `confirmation` or `<framework>:<name>`.
            expires_in: seconds until it can't be answered; None takes the agent's setting.
            metadata: public, for the frontend.
            key: tells equal questions of several tasks apart.

        Raises:
            UnsafeSchema: the schema is invalid or could do harm.
            ReplayMismatch: what was stored is no answer to this question.
        """
        entry, known = self._visit("ask", message, [reason], key)
        if known is None:
            if schema is not None:
                check_schema(schema)
            ask = Ask(
                native_id=self._run.mint(),
                reason=reason,
                message=message,
                response_schema=schema,
                expires_in=expires_in,
                metadata=metadata,
            )
            await self._execution.ask(entry, Question(ask))
        decision = known.decision if isinstance(known, Decided) else None
        if isinstance(decision, Answer):
            decision = Answer(copied(decision.payload))
        if not isinstance(decision, Answer | Cancel):
            raise ReplayMismatch(f"The continuation holds no answer to {entry}.")
        return decision

    @checked_arguments("run.frontend_tool", error=AgentMistake)
    async def frontend_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        key: str | None = None,
        call_id: str | None = None,
    ) -> Json:
        """Have the application carry out one of its own tools; the next run has the result.

        Args:
            name: the tool's, as the application calls it.
            args: what can be written as JSON.
            key: tells equal calls of several tasks apart.
            call_id: the call's id, if its events have been sent already, such as by `stream`.

        Returns:
            The content of the application's tool message: a str, or content parts.

        Raises:
            FrontendToolError: that message has an `error`; a replay raises it again.
        """
        pinned = jsonable(f"an argument of run.frontend_tool({name!r})", dict(args))
        entry, known = self._visit("frontend_tool", name, [pinned], key)
        if isinstance(known, Value) and isinstance(known.value, dict):
            told = copied(known.value)
            raise FrontendToolError(str(entry), told["error"], told["content"])
        if isinstance(known, Value):
            return copied(known.value)
        if not isinstance(known, Awaited):
            known = Awaited(tool_call_id=call_id or self._run.mint())
            self._execution.journal.record(entry, known)
            if call_id is None:
                self._execution.emit(*tool_call(known.tool_call_id, name, pinned))
        await self._execution.ask(entry, Question(None, known.tool_call_id))
