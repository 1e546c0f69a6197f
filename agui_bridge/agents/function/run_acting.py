"""What `run.step`, `run.stream`, `run.call` and `run.tool` do, each once in all runs."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import close_items
from agui_bridge.agents.function.activities import in_thread
from agui_bridge.agents.function.approval_outcome import Approval
from agui_bridge.agents.function.call_events import tool_call
from agui_bridge.agents.function.policy_gate import pass_by, permit_approved, permit_call
from agui_bridge.agents.function.run_view import RunView
from agui_bridge.agents.replay.continuation import Decided, EntryKey
from agui_bridge.agents.replay.journal import copied, fingerprint, jsonable
from agui_bridge.errors import AgentMistake, ApprovalSpent
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.threads.records import Json

__all__ = ["ActingRun", "StreamItem", "StreamSource"]

StreamItem = str | BaseEvent
_CALL_EVENTS = ToolCallStartEvent | ToolCallArgsEvent | ToolCallEndEvent | ToolCallResultEvent

StreamItems = AsyncIterable[str] | AsyncIterable[StreamItem]
StreamSource = StreamItems | Callable[[], StreamItems | Awaitable[StreamItems]]


class ActingRun(RunView):
    """The part of a run that acts."""

    @checked_arguments("run.step", error=AgentMistake)
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
        return await self._execution.activities.perform(
            entry, known, lambda: _invoke(fn, *args, **kwargs)
        )

    @checked_arguments("run.stream", error=AgentMistake)
    async def stream(self, name: str, source: StreamSource, /, *, key: str | None = None) -> str:
        """Stream text to the client, and remember the whole of it.

        Args:
            name: names the stream.
            source: an async iterable of str, or a function that returns one (called only
                when the text is not remembered yet). Events of tool calls may be among the text,
                as a model writes them: pass their ids on as `call_id`. A model may use an id again
                in its next reply: give each call one of your own.
            key: tells equal streams of several tasks apart.

        Returns:
            The whole text.

        Raises:
            StepFailed: the source raised, or yielded something else.
            AgentMistake: a call has the id of an earlier one.
        """
        entry, known = self._visit("stream", name, (), key)
        text: str = await self._execution.activities.perform(
            entry, known, lambda: self._stream(source)
        )
        return text

    @checked_arguments("run.call", error=AgentMistake)
    async def call(
        self,
        name: str,
        args: Mapping[str, Any],
        fn: Callable[..., Any],
        /,
        *,
        editable: bool = True,
        key: str | None = None,
        call_id: str | None = None,
    ) -> Json:
        """Call `fn(**args)` as a tool call that the client sees.

        Nobody has to approve it unless the bridge's policy says so; then the run pauses here.

        Args:
            name: the tool's on the wire; with `args` and `key` the call's identity.
            args: what can be written as JSON.
            fn: async, or sync (then it runs in a thread).
            editable: whether whoever the policy has asked may edit the arguments, if the policy
                allows it too.
            key: tells equal calls of several tasks apart.
            call_id: the call's id, if its events have been sent already, such as by `stream`.

        Returns:
            The result as JSON; on the wire a str as it is, else compact JSON.

        Raises:
            StepFailed: `fn` raised; the client sees "The tool failed: <type>", or that the tool ran
                and its result has no JSON form.
            CallDenied: the policy denied it, or had a person asked who did not approve it.
        """
        execution = self._execution
        pinned = jsonable(f"an argument of run.call({name!r})", dict(args))
        entry, known = self._visit("call", name, [pinned], key)
        if known is not None:
            pass_by(execution, entry)
            return await execution.activities.perform(entry, known, lambda: _invoke(fn))
        if call_id is not None:
            execution.reports.shown[call_id] = entry
        permit = await permit_call(execution, entry, pinned, fn, shown=call_id, editable=editable)
        announce = tool_call(permit.call_id, name, permit.args)
        return await execution.activities.perform(
            entry,
            None,
            lambda: _invoke(fn, **copied(permit.args)),
            begin=None
            if permit.announced
            else lambda: execution.reports.announce(entry, permit.call_id, announce),
            report=lambda done: execution.reports.tell(permit.call_id, done),
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
            StepFailed: as for `call`.
            CallDenied: the bridge's policy denies it all the same.
            AgentMistake: `extra` names an argument that was approved.
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
        if known is None:
            await permit_approved(execution, entry, decided, arguments)
        return await execution.activities.perform(
            entry,
            known,
            lambda: _invoke(fn, **arguments, **extra),
            report=lambda done: execution.reports.tell(approval.tool_call_id, done),
        )

    def _visit(self, kind: str, name: str, values: Sequence[Any], key: str | None) -> Any:
        call = EntryKey(kind, name, fingerprint(f"run.{kind}({name!r})", values), key)
        return self._execution.visit(call)

    async def _stream(self, source: StreamSource) -> str:
        outbox, shown = self._execution.outbox, self._execution.reports.shown
        texts: list[str] = []
        items: Any = source() if callable(source) else source
        if inspect.isawaitable(items):
            items = await items
        try:
            async for item in items:
                if not isinstance(item, str | _CALL_EVENTS):
                    raise TypeError(
                        f"a stream yields str and events of tool calls, not {type(item).__name__}"
                    )
                if isinstance(item, str):
                    texts.append(item)
                elif isinstance(item, ToolCallStartEvent):
                    own = item.tool_call_id
                    if shown.get(own) is not None or own in self._run.known_calls:
                        raise AgentMistake(
                            f"A call of {item.tool_call_name!r:.80} in a stream has the id "
                            f"{own!r:.80} of an earlier call: give each call an id of its own."
                        )
                    shown[own] = None
                outbox.put(item)
                if outbox.full:
                    await outbox.room()
        finally:
            await close_items(items)
        return "".join(texts)


async def _invoke(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function, a sync one in a thread."""
    target = fn if inspect.isroutine(fn) else getattr(fn, "func", type(fn).__call__)
    if inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(target):
        return await fn(*args, **kwargs)
    result = await in_thread(partial(fn, *args, **kwargs))
    return await result if inspect.isawaitable(result) else result
