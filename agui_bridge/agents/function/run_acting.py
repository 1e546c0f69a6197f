"""What `run.step`, `run.stream`, `run.call` and `run.tool` do, each once in all runs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
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
from agui_bridge.agents.function.approval import Approval
from agui_bridge.agents.function.execution import Question
from agui_bridge.agents.function.outbox import tool_call
from agui_bridge.agents.function.policy_gate import (
    pass_by,
    permit_approved,
    permit_call,
    preview_entry,
)
from agui_bridge.agents.function.run_view import RunView
from agui_bridge.agents.replay.continuation import (
    Asking,
    Begun,
    Decided,
    EntryKey,
    Failure,
    Outcome,
    Value,
)
from agui_bridge.agents.replay.journal import (
    PreviewFailed,
    StepFailed,
    TooManyRounds,
    copied,
    fingerprint,
)
from agui_bridge.emitting import Later, emitting, telling_after
from agui_bridge.errors import AgentMistake, ApprovalSpent
from agui_bridge.frameworks.a2ui.drawing import Pieces, surfaces_of
from agui_bridge.frameworks.a2ui.offer import GENERATE, Offer
from agui_bridge.frameworks.needs_input import MAX_ROUNDS, NeedsInput, answering
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.json_values import jsonable
from agui_bridge.protocol.previews import (
    CommandPreview,
    DiffPreview,
    MakePreview,
    Preview,
)
from agui_bridge.protocol.threads.records import Json

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
        idempotent: bool = False,
        **kwargs: Any,
    ) -> Json:
        """Call `fn(*args, **kwargs)` and remember its result.

        Args:
            name: names the step, together with the arguments.
            fn: async, or sync (then it runs in a thread).
            args: values with a JSON form; pass anything else through a closure.
            key: tells equal steps of several tasks apart.
            idempotent: whether `fn` may be called again where its process dies in its middle, and
                another one takes the run up (`checkpoint="step"`). `idempotency_key()` tells `fn`
                its key, which is the same then.
            kwargs: as `args`.

        Returns:
            The result as JSON, at the first run too (models and dataclasses become dicts).

        Raises:
            StepFailed: `fn` raised; a replay raises it again without calling `fn`.
        """
        values = [*args, kwargs] if kwargs else args
        entry, known = self._visit("step", name, values, key)
        return await self._execution.activities.perform(
            entry, known, lambda: self._invoke(fn, *args, **kwargs), idempotent=idempotent
        )

    @checked_arguments("run.stream", error=AgentMistake)
    async def stream(
        self,
        name: str,
        source: StreamSource,
        /,
        *,
        key: str | None = None,
        idempotent: bool = False,
    ) -> str:
        """Stream text to the client, and remember the whole of it.

        Args:
            name: names the stream.
            source: an async iterable of str, or a function that returns one (called only
                when the text is not remembered yet). Events of tool calls may be among the text,
                as a model writes them: pass their ids on as `call_id`. A model may use an id again
                in its next reply: give each call one of your own.
            key: tells equal streams of several tasks apart.
            idempotent: as for `step`, of a function as `source`: a model may be asked again.

        Returns:
            The whole text.

        Raises:
            StepFailed: the source raised, or yielded something else.
            AgentMistake: a call has the id of an earlier one.
        """
        entry, known = self._visit("stream", name, (), key)
        text: str = await self._execution.activities.perform(
            entry, known, lambda: self._stream(source), idempotent=idempotent
        )
        return text

    async def stream_with(
        self,
        name: str,
        source: StreamSource,
        step: str,
        fn: Callable[[], Json],
        /,
        *,
        idempotent: bool = False,
    ) -> tuple[str, Json]:
        """`stream`, and a step of what came of it besides its text: both are stored together.

        Args:
            name: names the stream.
            source: as for `stream`.
            step: names the step.
            fn: says what else came of it, as JSON, once the stream has ended.
            idempotent: as for `stream`.

        Returns:
            The whole text, and what `fn` returned.
        """
        entry, known = self._visit("stream", name, (), None)
        ended, told = self._visit("step", step, (), None)
        journal = self._execution.journal

        async def carry_out() -> str:
            text = await self._stream(source)
            journal.record(ended, Value(value=jsonable(f"The result of {ended}", fn())))
            return text

        perform = self._execution.activities.perform
        text: str = await perform(entry, known, carry_out, idempotent=idempotent)
        told = told or journal.entries.get(ended)
        return text, await perform(ended, told, lambda: _called(fn), idempotent=True)

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
        preview: MakePreview | None = None,
        idempotent: bool = False,
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
            preview: says what it would do, where the policy has a person asked: see `approve`. If
                it fails, nobody is asked, and the call is denied.
            idempotent: as for `step`.

        `fn` may return `NeedsInput`: the run ends with its questions, at this call, and `fn` is
        called again once they are answered.

        Returns:
            The result as JSON; on the wire a str as it is, else compact JSON.

        Raises:
            StepFailed: `fn` raised, or asked in too many rounds; the client sees "The tool failed:
                <type>", or that the tool ran and its result has no JSON form.
            CallDenied: the policy denied it, or had a person asked who did not approve it.
        """
        execution = self._execution
        pinned = jsonable(f"an argument of run.call({name!r})", dict(args))
        entry, known = self._visit("call", name, [pinned], key)
        again = known if isinstance(known, Begun) else None
        asking = again.asking if again is not None else None
        asking = known if isinstance(known, Asking) else asking
        if known is not None and again is None and asking is None:
            pass_by(execution, entry)
            return await execution.activities.perform(entry, known, lambda: self._invoke(fn))
        if again is not None:
            call_id = again.tool_call_id
        if call_id is not None and asking is None:
            execution.reports.shown[call_id] = entry
        permit = await permit_call(
            execution,
            entry,
            pinned,
            fn,
            shown=call_id,
            editable=editable,
            asking=asking,
            preview=lambda: self._previewed(entry, pinned, preview),
        )
        announce = tool_call(permit.call_id, name, permit.args)
        return await self._round(
            entry,
            permit.call_id,
            asking,
            fn,
            copied(permit.args),
            again=again,
            idempotent=idempotent,
            begin=None
            if permit.announced
            else lambda: execution.reports.announce(entry, permit.call_id, announce),
        )

    async def tool(
        self,
        approval: Approval,
        fn: Callable[..., Any],
        /,
        *,
        idempotent: bool = False,
        **extra: Any,
    ) -> Json:
        """Carry out an approved call: `fn(**approval.args, **extra)`; spends the approval.

        What is executed is what the journal holds, not what the object says. `fn` may return
        `NeedsInput`, as for `call`.

        Args:
            approval: what `run.approve` returned.
            fn: async, or sync (then it runs in a thread).
            idempotent: as for `step`.
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
        again = known if isinstance(known, Begun) else None
        asking = again.asking if again is not None else None
        asking = known if isinstance(known, Asking) else asking
        if known is not None and again is None and asking is None:
            return await execution.activities.perform(entry, known, lambda: self._invoke(fn))
        await permit_approved(execution, entry, decided, arguments, fn, asking)
        given = {**arguments, **extra}
        return await self._round(
            entry, approval.tool_call_id, asking, fn, given, again=again, idempotent=idempotent
        )

    async def surface(
        self,
        offer: Offer,
        ask: Pieces,
        /,
        *,
        args: Mapping[str, Any] | None = None,
        key: str | None = None,
        call_id: str | None = None,
    ) -> Json:
        """Show the page an A2UI surface that a model draws, as a call of `generate_a2ui`.

        What the model drew is checked; where it is not valid, the model is asked again.

        Args:
            offer: of `run.page()`.
            ask: asks the model once: given what it is to read first, it gives the arguments of the
                model's call of the tool `offer.draw`, piece by piece. It is not called in a replay.
            args: of a model's call of the tool `offer.tool`.
            key: tells equal calls of several tasks apart.
            call_id: the call's id, if its events have been sent already, such as by `stream`.

        Returns:
            The call's result, JSON as text: `{"a2ui_operations": […]}`, or `{"error": …}`.

        Raises:
            CallDenied: see `call`.
        """
        surfaces, given = surfaces_of(self._run, offer), dict(args or {})

        async def make(**made: Any) -> str:
            return await surfaces.make(made, ask)

        return await self.call(GENERATE, given, make, editable=False, key=key, call_id=call_id)

    async def _round(
        self,
        entry: EntryKey,
        call_id: str,
        asking: Asking | None,
        fn: Callable[..., Any],
        args: Mapping[str, Any],
        *,
        again: Begun | None,
        idempotent: bool,
        begin: Callable[[], None] | None = None,
    ) -> Json:
        """Carry a tool out; where it asks, the run ends with that, and this never returns."""
        execution, rounds = self._execution, asking.round if asking is not None else 0
        later: list[Later] = []

        async def carry_out() -> Any:
            given = asking.answered if asking is not None else None
            with answering(given), telling_after(later):
                returned = await self._invoke(fn, **args)
            if isinstance(returned, NeedsInput) and rounds >= MAX_ROUNDS:
                raise TooManyRounds(
                    f"The tool {entry.name!r} asked in {MAX_ROUNDS} rounds and wanted to ask once "
                    "more: its call has failed. Ask for all that you need in fewer rounds."
                )
            return returned

        def report(done: Outcome) -> None:
            execution.reports.tell(call_id, done)
            for event in later:
                execution.emit(event(call_id))

        result = await execution.activities.perform(
            entry,
            again,
            carry_out,
            begin=begin,
            report=report,
            idempotent=idempotent,
            call_id=call_id,
            asking=asking,
        )
        if not isinstance(result, NeedsInput):
            return result
        asks = [replace(a, native_id=self._run.mint(), about=call_id) for a in result.asks]
        kept = Asking(
            tool_call_id=call_id,
            round=rounds + 1,
            state=result.state,
            asks={own.native_id: a.native_id for own, a in zip(asks, result.asks, strict=True)},
        )
        try:
            await execution.ask(entry, Question(asks, kept))
        except asyncio.CancelledError:
            # The author's own code gave up: of the call nothing more will be heard.
            execution.report_given_up(entry, report)
            raise

    async def _previewed(
        self, entry: EntryKey, args: Mapping[str, Json], make: MakePreview | None
    ) -> Preview | None:
        """What a call would do, which somebody is to be asked about now.

        The journal keeps a failure alone: what was made stands in the question.

        Raises:
            PreviewFailed: it could not be made; a replay raises it again.
        """
        if make is None:
            return None
        execution, own = self._execution, preview_entry(entry)
        made: list[Preview | None] = []

        async def keep() -> None:
            found = await _called(make, copied(dict(args)))
            if not isinstance(found, DiffPreview | CommandPreview | None):
                raise AgentMistake(
                    f"The preview of {entry.name!r} must be a DiffPreview, a CommandPreview or "
                    f"None, not {type(found).__name__}."
                )
            made.append(found)

        known = execution.journal.entries.get(own)
        try:
            failed = known if isinstance(known, Failure) else None
            await execution.activities.perform(own, failed, keep, idempotent=True)
        except StepFailed as failure:
            told = PreviewFailed(failure.call, failure.error, failure.text)
            raise told from failure.__cause__
        return made[0]

    async def _invoke(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function that may tell events."""
        execution = self._execution
        with emitting(execution.emit, is_over=lambda: execution.over):
            return await _called(fn, *args, **kwargs)

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
        self._execution.reports.held.update(own for own, key in shown.items() if key is None)
        return "".join(texts)


async def _called(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function, a sync one in a thread."""
    target = fn if inspect.isroutine(fn) else getattr(fn, "func", type(fn).__call__)
    if inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(target):
        return await fn(*args, **kwargs)
    result = await in_thread(partial(fn, *args, **kwargs))
    return await result if inspect.isawaitable(result) else result
