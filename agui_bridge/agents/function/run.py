"""What an author's function gets: `run`, through which it acts, asks and remembers.

The function runs again from its top whenever an answer has come. What it does through `run.*`
is done once in all runs; whatever else it does is done each time, and must be free of side
effects and of chance.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, overload

from pydantic import BaseModel, PydanticUserError, TypeAdapter

from agui_bridge.adapters import Ask
from agui_bridge.agents.function.approval import Approval
from agui_bridge.agents.function.execution import Question
from agui_bridge.agents.function.must_await import must_await
from agui_bridge.agents.function.outbox import tool_call
from agui_bridge.agents.function.policy_gate import preview_entry
from agui_bridge.agents.function.run_acting import ActingRun
from agui_bridge.agents.parameter_schema import parameter_schema
from agui_bridge.agents.replay.continuation import Asked, Awaited, Decided, Sleeping, Value
from agui_bridge.agents.replay.journal import FrontendToolError, copied
from agui_bridge.errors import AgentMistake, ReplayMismatch
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, Answer, Cancel
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.json_values import jsonable
from agui_bridge.protocol.previews import MakePreview, Preview
from agui_bridge.protocol.schemas.checking import check_schema
from agui_bridge.protocol.threads.record_parts import TIMER, WAKE_SCHEMA
from agui_bridge.protocol.threads.records import Json, ToolCall

T = TypeVar("T")

Waking = Literal["time", "early", "cancelled"]
"""What ends a sleep: its time, somebody who wakes the run, or somebody who cancels the timer."""


@must_await
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
        preview: Preview | MakePreview | None = None,
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
            preview: what the call would do, for people to read beside the arguments: a DiffPreview,
                a CommandPreview, or a function of the arguments (JSON), async or sync, that makes
                one and is called when people are to be asked.

        Returns:
            The decision: true only when approved, with the arguments that may be executed.

        Raises:
            AgentMistake: an argument is of another type, or `fn` takes no such arguments.
            UnsafeSchema: the parameters' schema is invalid or could do harm.
            PreviewFailed: the function failed that makes the preview. Nobody was asked. It is a
                StepFailed, and a replay raises it again.
            ReplayMismatch: what was stored is no decision on this call.
        """
        pinned = jsonable(f"an argument of run.approve({name!r})", dict(args))
        entry, known = self._visit("approve", name, [pinned], key)
        self._execution.journal.visit(preview_entry(entry))
        if known is None:
            if fn is not None:
                _check_takes(name, fn, pinned)
            if callable(preview):
                preview = await self._previewed(entry, pinned, preview)
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
                preview=preview,
            )
            await self._execution.ask(entry, Question.of(ask, call_id))
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
            await self._execution.ask(entry, Question.of(ask))
        decision = known.decision if isinstance(known, Decided) else None
        if isinstance(decision, Answer):
            decision = Answer(copied(decision.payload))
        if not isinstance(decision, Answer | Cancel):
            raise ReplayMismatch(f"The continuation holds no answer to {entry}.")
        return decision

    @checked_arguments("run.sleep", error=AgentMistake)
    async def sleep(
        self, seconds: float, *, message: str | None = None, key: str | None = None
    ) -> Waking:
        """Sleep, for minutes to months; no process waits meanwhile.

        The run ends here with an interrupt of reason `agui_bridge:timer`. At its time, or once
        somebody wakes it early, the function goes on here, in whichever process.

        Args:
            seconds: how long, from when the function first comes here; 100 years at most.
            message: what people read of it; by default until when the run sleeps.
            key: tells equal sleeps of several tasks apart.

        Returns:
            What ended it: "time"; "early", where somebody woke the run; "cancelled", where
            somebody cancelled the interrupt.

        Raises:
            AgentMistake: an argument is of another type, or the time can't be.
        """
        return await self._sleep("sleep", str(seconds), lambda now: now + seconds, message, key)

    @checked_arguments("run.sleep_until", error=AgentMistake)
    async def sleep_until(
        self, time: datetime, *, message: str | None = None, key: str | None = None
    ) -> Waking:
        """Sleep until a point in time, as `sleep` does; what is past does not end the run.

        Args:
            time: with its offset from UTC. One that is made of the present time comes out of a
                `run.step`, else the function takes another path when it runs again.
            message: what people read of it; by default until when the run sleeps.
            key: tells equal sleeps of several tasks apart.

        Returns:
            What ended it; see `sleep`.

        Raises:
            AgentMistake: an argument is of another type, or says no offset from UTC.
        """
        if time.tzinfo is None:
            raise AgentMistake(
                "run.sleep_until(time=…) says no offset from UTC: give it one, such as "
                "datetime(2027, 1, 31, 9, tzinfo=UTC)."
            )
        name, until = time.isoformat(), time.timestamp()
        return await self._sleep("sleep_until", name, lambda now: until, message, key)

    async def _sleep(
        self,
        kind: str,
        name: str,
        until_of: Callable[[float], float],
        message: str | None,
        key: str | None,
    ) -> Waking:
        entry, known = self._visit(kind, name, (), key)
        if isinstance(known, Decided):
            return _waking(known)
        now = self._run.now()
        until = known.until if isinstance(known, Sleeping) else until_of(now)
        if not -math.inf < until <= now + LONGEST_WAIT:
            raise AgentMistake(f"run.{kind}: a run sleeps {LONGEST_WAIT:.0f} seconds at most.")
        if until <= now:
            slept = Decided(verdict="cancel", cause="expired")
            self._execution.journal.record(entry, slept)
            return _waking(slept)
        ask = Ask(
            native_id=self._run.mint(),
            reason=TIMER,
            message=message or f"The run sleeps until {_shown(until)}.",
            response_schema=WAKE_SCHEMA,
            expires_at=until,
        )
        kept = Asked(native_id=ask.native_id)
        await self._execution.ask(entry, Question((ask,), kept, until=until))

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
        await self._execution.ask(entry, Question(frontend_call=known.tool_call_id))


def _check_takes(name: str, fn: Callable[..., Any], args: Mapping[str, Json]) -> None:
    """Check that a tool takes what people are to approve.

    Raises:
        AgentMistake: it has no argument of such a name.
    """
    try:
        signature = inspect.signature(fn)
    except ValueError:
        return  # some of C's functions do not tell
    try:
        # What is not for people to decide may be given to `run.tool`.
        signature.bind_partial(**args)
    except TypeError as error:
        raise AgentMistake(
            f"run.approve({name!r}, …): `fn` takes no such arguments: {error}."
        ) from None


def _shown(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _waking(decided: Decided) -> Waking:
    if decided.verdict != "cancel":
        return "early"
    return "time" if decided.cause == "expired" else "cancelled"
