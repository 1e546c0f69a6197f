"""What stands between a function agent's tool call and its execution: the bridge's policy.

A denial and a person's answer are kept in the journal, so that a replay comes to them again. What a
policy is stands in `policy`; adapters that execute tools have `tool_gate`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import PydanticUserError

from agui_bridge.adapters import Ask
from agui_bridge.agents.function.approval import ReadOnlyArgs
from agui_bridge.agents.function.execution import FunctionExecution, Question
from agui_bridge.agents.function.outbox import tool_call, tool_result
from agui_bridge.agents.parameter_schema import parameter_schema
from agui_bridge.agents.replay.continuation import (
    Asking,
    Decided,
    Denied,
    EntryKey,
    Halted,
    Outcome,
)
from agui_bridge.agents.replay.journal import PreviewFailed, copied
from agui_bridge.errors import AgentMistake
from agui_bridge.policy import NO_HINTS, CallDenied, ProposedCall, ToolHints, Verdict, judge
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.answers.unexecuted import not_shown
from agui_bridge.protocol.previews import Preview
from agui_bridge.protocol.schemas.checking import UnsafeSchema
from agui_bridge.protocol.threads.records import Json, ToolCall

_ALLOWED = Verdict("allow")


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to execute one call.

    Attributes:
        call_id: the call on the wire.
        args: the arguments to execute: as proposed, or as a person edited them.
        announced: whether the client has seen the call.
    """

    call_id: str
    args: Mapping[str, Json]
    announced: bool


async def permit_call(
    execution: FunctionExecution,
    entry: EntryKey,
    args: Mapping[str, Json],
    fn: Callable[..., Any],
    *,
    shown: str | None = None,
    editable: bool = True,
    asking: Asking | None = None,
    preview: Callable[[], Awaitable[Preview | None]],
) -> Permit:
    """Let a call through, have a person asked about it (then this never returns), or refuse it.

    A person's answer stands: what was declined is not executed even if the policy allows it by
    now. What was approved is judged once more, with the arguments that would be executed.

    Args:
        execution: the run.
        entry: the call.
        args: its proposed arguments.
        fn: what would carry it out; its signature says how a person may edit the arguments.
        shown: the call's id, if the client has seen it already.
        editable: whether the agent lets its arguments be edited; the policy can only forbid it.
        asking: what the call has asked, where it has begun. The policy is heard again then, and
            can only let it go on or stop it: nobody can approve what has begun.
        preview: makes what a person reads of it besides.

    Raises:
        CallDenied: the policy or a person refused, or it wanted a person asked, and what the call
            would do could not be shown.
        AgentMistake: the policy failed.
    """
    run = execution.run
    decided = _visited(execution, entry)
    if isinstance(decided, Decided):
        if decided.verdict != "approve" or decided.tool_call_id is None:
            raise CallDenied(entry.name, "person", decided.reason, decided.cause)
        approved = copied(decided.args or {})
        await permit_approved(execution, entry, decided, approved, fn, asking)
        return Permit(decided.tool_call_id, approved, announced=True)
    verdict = await _judge(execution, entry, args, fn)
    if asking is not None:
        if verdict.action != "allow":
            await _refuse(execution, entry, asking.tool_call_id, verdict, begun=True)
        return Permit(asking.tool_call_id, args, announced=True)
    call_id = shown or run.mint()
    made: Preview | None = None
    if verdict.action == "ask":
        try:
            made = await preview()
        except PreviewFailed as failed:
            verdict = Verdict("deny", reason=not_shown(failed.error))
    if verdict.action == "ask":
        may_edit = editable and verdict.editable
        ask = Ask(
            native_id=call_id,
            reason="tool_call",
            message=verdict.reason or f"The policy asks for an approval of {entry.name!r}.",
            tool_call=ToolCall(call_id, entry.name, args),
            parameters=_parameters_of(fn) if may_edit else None,
            allowed=None if may_edit else (APPROVE, DECLINE),
            expires_in=verdict.expires_in,
            preview=made,
        )
        await execution.ask(_question(entry), Question.of(ask, call_id))
    if verdict.action == "deny":
        if shown is None:
            execution.emit(*tool_call(call_id, entry.name, args))
        await _refuse(execution, entry, call_id, verdict)
    return Permit(call_id, args, announced=shown is not None)


async def permit_approved(
    execution: FunctionExecution,
    entry: EntryKey,
    approval: Decided,
    args: Mapping[str, Json],
    fn: Callable[..., Any],
    asking: Asking | None = None,
) -> None:
    """Let a call through that a person approved, unless the policy denies it.

    Args:
        execution: the run.
        entry: the call.
        approval: the person's decision.
        args: the arguments that would be executed.
        fn: what would carry it out.
        asking: what the call has asked, where it has begun.

    Raises:
        CallDenied: the policy denies it.
        AgentMistake: the policy failed.
    """
    verdict = await _judge(execution, entry, args, fn, approval)
    if verdict.action == "deny":
        call_id = approval.tool_call_id or ""
        await _refuse(execution, entry, call_id, verdict, begun=asking is not None)


def pass_by(execution: FunctionExecution, entry: EntryKey) -> None:
    """Note that a call is repeated from the journal, and with it what was asked about it."""
    _visited(execution, entry)


def preview_entry(entry: EntryKey) -> EntryKey:
    """Where the journal keeps that the preview of a call failed."""
    return entry._replace(kind="preview")


def _visited(execution: FunctionExecution, entry: EntryKey) -> Outcome | None:
    """Come to what was asked about a call, and to its preview, whether or not it has one now."""
    execution.journal.visit(preview_entry(entry))
    return execution.journal.visit(_question(entry))


def _question(entry: EntryKey) -> EntryKey:
    return entry._replace(kind="policy")


async def _judge(
    execution: FunctionExecution,
    entry: EntryKey,
    args: Mapping[str, Json],
    fn: Callable[..., Any],
    approval: Decided | None = None,
) -> Verdict:
    run = execution.run
    if run.policy is None:
        return _ALLOWED
    call = ProposedCall(
        agent=run.agent,
        thread_id=run.thread_id,
        principal=replace(run.principal, actor=execution.actor),
        name=entry.name,
        args=ReadOnlyArgs(copied(dict(args))),
        approved=approval is not None,
        approved_by=approval.actor if approval is not None else None,
        approvers=approval.approvers if approval is not None else (),
        hints=_hints_of(fn),
    )
    activities = execution.activities
    with activities.preparing(entry):
        # Nobody is asked about a call that may not begin anyway.
        await activities.wait_for_leave()
        try:
            verdict = await judge(run.policy, call)
        except AgentMistake as error:
            # An agent that catches it must not go on as if it knew what the policy says.
            activities.fail(error)
            raise
        # It may have taken its time: nothing new happens in a run that is ending.
        await activities.wait_for_turn()
    return verdict


async def _refuse(
    execution: FunctionExecution,
    entry: EntryKey,
    call_id: str,
    verdict: Verdict,
    *,
    begun: bool = False,
) -> None:
    denied = (Halted if begun else Denied)(reason=verdict.reason)
    execution.journal.record(entry, denied)
    execution.emit(tool_result(call_id, execution.run.mint(), denied))
    raise CallDenied(entry.name, "policy", verdict.reason, begun=begun)


def _hints_of(fn: Callable[..., Any]) -> ToolHints:
    hints = getattr(fn, "hints", NO_HINTS)
    return hints if isinstance(hints, ToolHints) else NO_HINTS


def _parameters_of(fn: Callable[..., Any]) -> dict[str, Json] | None:
    """The schema of edited arguments; None, so no edits, where none can be had.

    It is that of its signature, unless it says itself what it takes.
    """
    said = getattr(fn, "parameters", None)
    try:
        return parameter_schema(said, None) if said is not None else parameter_schema(None, fn)
    except (PydanticUserError, UnsafeSchema, ValueError, TypeError):
        return None
