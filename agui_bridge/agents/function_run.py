"""What an author's function gets: `run`, through which it acts, asks and remembers.

The function runs again from its top whenever an answer has come. What it does through `run.*`
is done once in all runs; whatever else it does is done each time, and must be free of side
effects and of chance.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from pydantic import BaseModel, TypeAdapter

from agui_bridge.adapters import Ask
from agui_bridge.agents.answers import Approval
from agui_bridge.agents.continuation import Awaited, Decided, EntryKey, Value
from agui_bridge.agents.execution import Question
from agui_bridge.agents.journal import copied, fingerprint, jsonable
from agui_bridge.agents.run_view import RunView
from agui_bridge.agents.wire import parameter_schema, tool_call, tool_result
from agui_bridge.errors import AgentMistake, ApprovalSpent, ReplayMismatch
from agui_bridge.protocol.decisions import APPROVE, DECLINE, EDIT, Answer, Cancel
from agui_bridge.protocol.records import Json, ToolCall
from agui_bridge.protocol.schemas import check_schema

__all__ = ["FunctionRun"]

T = TypeVar("T")
StreamSource = AsyncIterable[str] | Callable[[], AsyncIterable[str] | Awaitable[AsyncIterable[str]]]


class FunctionRun(RunView):
    """One run of a function agent.

    Every call is remembered under its name, arguments and `key`. Equal calls that one task
    makes in sequence are told apart by their order; equal calls of several tasks (inside
    `asyncio.gather` or a TaskGroup) need a different `key` each, else AmbiguousKey.

    A question never returns in the run that asks it: the run ends there, once every step,
    stream, call and tool that is under way has finished, and `finally` blocks run (calls to
    `run.*` in them are cancelled at once). Other awaits are not waited for.
    """

    # --- acting, once in all runs ---

    async def step(
        self,
        name: str,
        fn: Callable[..., Any],
        /,
        *args: Any,
        key: str | None = None,
        **kwargs: Any,
    ) -> Json:
        """Call `fn(*args, **kwargs)` and remember its result.

        Args:
            name: names the step, together with the arguments.
            fn: async, or sync (then it runs in a thread).
            args: values with a JSON form; pass anything else through a closure.
            key: tells equal steps of several tasks apart.
            kwargs: as `args`.

        Returns:
            The result as JSON, at the first run too (models and dataclasses become dicts).

        Raises:
            StepFailed: `fn` raised; a replay raises it again without calling `fn`.
        """
        values = [*args, kwargs] if kwargs else args
        entry, known = self._visit("step", name, values, key)
        return await self._execution.works.perform(
            entry, known, lambda: _invoke(fn, *args, **kwargs)
        )

    async def stream(self, name: str, source: StreamSource, /, *, key: str | None = None) -> str:
        """Stream text to the client, and remember the whole of it.

        Args:
            name: names the stream.
            source: an async iterable of str, or a function that returns one (called only
                when the text is not remembered yet).
            key: tells equal streams of several tasks apart.

        Returns:
            The whole text.

        Raises:
            StepFailed: the source raised, or yielded something that is no str.
        """
        entry, known = self._visit("stream", name, (), key)
        text: str = await self._execution.works.perform(entry, known, lambda: self._stream(source))
        return text

    async def call(
        self,
        name: str,
        args: Mapping[str, Any],
        fn: Callable[..., Any],
        /,
        *,
        key: str | None = None,
    ) -> Json:
        """Call `fn(**args)` as a tool call that the client sees; nobody has to approve it.

        Returns:
            The result as JSON; on the wire a str as it is, else compact JSON.

        Raises:
            StepFailed: `fn` raised; the client sees "The tool failed: <type>".
        """
        execution = self._execution
        pinned = jsonable(f"an argument of run.call({name!r})", dict(args))
        entry, known = self._visit("call", name, [pinned], key)
        call_id = "" if known is not None else self._run.mint()
        return await execution.works.perform(
            entry,
            known,
            lambda: _invoke(fn, **copied(pinned)),
            begin=lambda: execution.emit(*tool_call(call_id, name, pinned)),
            report=lambda done: execution.emit(tool_result(call_id, self._run.mint(), done)),
        )

    async def tool(self, approval: Approval, fn: Callable[..., Any], /, **extra: Any) -> Json:
        """Carry out an approved call: `fn(**approval.args, **extra)`; spends the approval.

        What is executed is what the journal holds, not what the object says.

        Args:
            approval: what `run.approve` returned.
            fn: async, or sync (then it runs in a thread).
            extra: what `fn` needs besides, such as a connection; never what was approved.

        Returns:
            The result as JSON; on the wire a str as it is, else compact JSON.

        Raises:
            ApprovalSpent: it was used before, is of another run, or is no approval.
            StepFailed: `fn` raised; the client sees "The tool failed: <type>".
        """
        execution = self._execution
        if not isinstance(approval, Approval):
            raise ApprovalSpent(
                f"run.tool wants what run.approve returned, not {type(approval).__name__}."
            )
        label = f"run.tool of {approval.entry.name!r}"
        decided = execution.journal.entries.get(approval.entry)
        if not isinstance(decided, Decided) or decided.tool_call_id != approval.tool_call_id:
            raise ApprovalSpent(
                f"{label}: the approval is of another run or thread, where it was asked for and "
                "given; ask for one in this run."
            )
        if decided.verdict != "approve" or decided.args is None:
            why = decided.cause or "declined"
            raise ApprovalSpent(f"{label}: the call was not approved ({why}); look at .approved.")
        arguments = copied(decided.args)
        clash = sorted(set(extra) & set(arguments))
        if clash:
            raise AgentMistake(f"{label}: {clash} would replace arguments that were approved.")
        call = approval.entry._replace(kind="tool")
        if execution.journal.visited(call):
            raise ApprovalSpent(f"{label}: the approval was used already; ask for another one.")
        entry, known = execution.visit(call, numbered=False)
        return await execution.works.perform(
            entry,
            known,
            lambda: _invoke(fn, **arguments, **extra),
            report=lambda done: execution.emit(
                tool_result(approval.tool_call_id, self._run.mint(), done)
            ),
        )

    # --- asking ---

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
    ) -> Approval:
        """Ask people to approve a tool call; `run.tool` then carries it out.

        Args:
            name: the tool.
            args: the proposed arguments.
            message: what people read.
            parameters: model or JSON Schema that edited arguments must satisfy.
            fn: the tool, whose signature gives the parameters when they are not passed.
            editable: whether people may edit the arguments.
            expires_in: seconds until it can't be answered; None takes the agent's setting.
            metadata: public, for the frontend.
            key: tells equal approvals of several tasks apart.

        Returns:
            The decision: true only when approved, with the arguments that may be executed.

        Raises:
            UnsafeSchema: the parameters' schema is invalid or could do harm.
        """
        pinned = jsonable(f"an argument of run.approve({name!r})", dict(args))
        entry, known = self._visit("approve", name, [pinned], key)
        if known is None:
            call_id = self._run.mint()
            ask = Ask(
                native_id=call_id,
                reason="tool_call",
                message=message,
                tool_call=ToolCall(call_id, name, pinned),
                parameters=parameter_schema(parameters, fn),
                allowed=(APPROVE, DECLINE, EDIT) if editable else (APPROVE, DECLINE),
                expires_in=expires_in,
                metadata=metadata,
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
            UnsafeSchema: the schema is invalid or could do harm.
        """
        model = None if schema is None or isinstance(schema, Mapping) else TypeAdapter(schema)
        decision = await self.decide(
            message,
            # Without a model it is a mapping or None, which the type checker can't see.
            schema=schema if model is None else model.json_schema(),  # type: ignore[arg-type]
            reason=reason,
            expires_in=expires_in,
            metadata=metadata,
            key=key,
        )
        if isinstance(decision, Cancel):
            return None
        return decision.payload if model is None else model.validate_python(decision.payload)

    async def confirm(
        self,
        message: str,
        *,
        expires_in: float | None = None,
        metadata: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> bool:
        """Ask a yes-or-no question; cancelled and expired mean no."""
        decision = await self.decide(
            message, reason="confirmation", expires_in=expires_in, metadata=metadata, key=key
        )
        payload = decision.payload if isinstance(decision, Answer) else None
        return isinstance(payload, dict) and payload.get("confirm") is True

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
        """Ask as `ask` does, and return the decision itself: an Answer, or a Cancel's cause."""
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

    async def frontend_tool(
        self, name: str, args: Mapping[str, Any], *, key: str | None = None
    ) -> Json:
        """Have the application carry out one of its own tools; the next run has the result.

        Returns:
            The content of the application's tool message: a str, or content parts.
        """
        pinned = jsonable(f"an argument of run.frontend_tool({name!r})", dict(args))
        entry, known = self._visit("frontend_tool", name, [pinned], key)
        if isinstance(known, Value):
            return copied(known.value)
        if not isinstance(known, Awaited):
            known = Awaited(tool_call_id=self._run.mint())
            self._execution.journal.record(entry, known)
            self._execution.emit(*tool_call(known.tool_call_id, name, pinned))
        await self._execution.ask(entry, Question(None, known.tool_call_id))

    def _visit(self, kind: str, name: str, values: Sequence[Any], key: str | None) -> Any:
        call = EntryKey(kind, name, fingerprint(f"run.{kind}({name!r})", values), key)
        return self._execution.visit(call)

    async def _stream(self, source: StreamSource) -> str:
        outbox = self._execution.outbox
        chunks: list[str] = []
        items: Any = source() if callable(source) else source
        if inspect.isawaitable(items):
            items = await items
        try:
            async for chunk in items:
                if not isinstance(chunk, str):
                    raise TypeError(f"a stream yields str, not {type(chunk).__name__}")
                chunks.append(chunk)
                outbox.put(chunk)
                if outbox.full:
                    await outbox.room()
        finally:
            aclose = getattr(items, "aclose", None)
            if aclose is not None:
                await aclose()
        return "".join(chunks)


async def _invoke(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, a sync one in a thread."""
    target = fn if inspect.isroutine(fn) else getattr(fn, "func", type(fn).__call__)
    if inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(target):
        return await fn(*args, **kwargs)
    result = await asyncio.to_thread(fn, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result
