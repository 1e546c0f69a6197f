"""A run that ends by asking: its questions are stored first and told second.

Source: docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from agui_bridge.approvals import ApprovalsFailed, Question, find_rule
from agui_bridge.engine.input.auto_resume import question_in_words
from agui_bridge.engine.remembered.applying import apply_grants, continuing
from agui_bridge.engine.run.commit_end import (
    commit_end,
    continuation_of,
    emit_all,
    kept_result,
    memo_of,
    still_pending,
    usage_of,
    waiting_handoff,
)
from agui_bridge.engine.run.interrupts import raise_interrupts
from agui_bridge.errors import ProtocolViolation
from agui_bridge.frozen import replace
from agui_bridge.protocol.approvals.narrowing import lacks_approvers, narrowed, strictest
from agui_bridge.protocol.contract.end_transitions import FinalWrite
from agui_bridge.protocol.json_values import clean, same_json
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Batch, Interrupt, Json, ToolCall
from agui_bridge.protocol.threads.run_ends import Finished
from agui_bridge.protocol.wire.run_events import interrupt_outcome

if TYPE_CHECKING:
    from agui_bridge.adapters import Ask, Pause
    from agui_bridge.engine.run.execution import Execution

__all__ = ["pause_run"]

_NAMED: Final = 5
"""Tools that a question about several calls names in lists."""


async def pause_run(execution: Execution, pause: Pause) -> None:
    """End with an interrupt: the questions are stored before the client sees them."""
    interrupts = raise_interrupts(
        pause.asks,
        batch := execution.owner.mint(),
        capabilities=execution.agent.adapter.capabilities,
        settings=execution.agent.settings,
        now=execution.owner.time.now(),
        mint=execution.owner.mint,
    )
    interrupts = await apply_grants(
        execution.owner.grants,
        execution.owner.key,
        await _with_rules(execution, pause, interrupts),
        execution.owner.time.now(),
    )
    waiting = [interrupt for interrupt in interrupts if interrupt.is_open]
    # All that may be refused is made before the commit: after it, only what is stored is told.
    usage, result = usage_of(execution), clean(execution.run.result)
    outcome = interrupt_outcome(waiting)
    continuation = continuation_of(execution, pause.continuation)
    await _say_question(execution, waiting)
    await _show_calls(execution, interrupts)
    asking: dict[str, list[str]] = {}
    for interrupt in interrupts:
        if interrupt.subagent_run_id is not None:
            asking.setdefault(interrupt.subagent_run_id, []).append(interrupt.id)
    await emit_all(execution, execution.lifecycle.suspend(asking))
    end = FinalWrite(
        "finished",
        batch=Batch(
            batch,
            continuation,
            execution.run.trace_headers.get("traceparent"),
            execution.run.run_id,
        ),
        interrupts=interrupts,
        pending_calls=still_pending(execution, pause.frontend_calls),
        handoff=waiting_handoff(execution),
        memo=memo_of(execution),
        result=kept_result(execution, result),
    )
    execution.context.settle(execution.history, Finished())
    await commit_end(execution, end)
    if not waiting:
        body = execution.run.input.model_dump(by_alias=True, exclude_none=True)
        execution.goes_on = continuing(execution.agent, execution.run.principal, body)
        return
    execution.stream.snapshots(execution.history.state, execution.history.messages)
    execution.stream.finish(outcome, result=result, usage=usage, asks=interrupts)


async def _with_rules(
    execution: Execution, pause: Pause, interrupts: Sequence[Interrupt]
) -> tuple[Interrupt, ...]:
    """The questions with who may answer each, and who asked for the run."""
    key, askers = execution.owner.key, execution.owner.record.askers
    asked_by, joined_by = (askers[0], askers[1:]) if askers else (None, ())
    found = []
    for ask, interrupt in zip(pause.asks, interrupts, strict=True):
        calls = _calls_of(execution, ask, pause.asks)
        rules = list[ApprovalRule | None]()
        for tool, args in calls or ((None, None),):
            question = Question(
                scope=key.scope,
                agent=key.agent,
                thread_id=key.thread,
                asked_by=asked_by or execution.run.principal.actor,
                reason=interrupt.reason,
                message=interrupt.message,
                tool=tool,
                # A copy: what the hook does to it is not what people are asked.
                args=deepcopy(dict(args)) if args is not None else None,
                metadata=deepcopy(interrupt.metadata),
            )
            rules.append(await find_rule(execution.agent.approvals, question))
        rule = narrowed(strictest(rules), ask.approvers, ask.quorum)
        tools = _in_short([tool for tool, _ in calls])
        lacking = lacks_approvers(rule, askers) if rule is not None else None
        if rule is not None and lacking and not rule.escalate:
            raise ApprovalsFailed(
                f"Nobody could answer the question about {tools or interrupt.reason!r}, "
                f"which was not asked: {lacking}."
            )
        about = tools if interrupt.tool_call is None else None
        found.append(
            replace(interrupt, rule=rule, asked_by=asked_by, joined_by=joined_by, about_tool=about)
        )
    return tuple(found)


def _in_short(tools: Sequence[str]) -> str | None:
    """Names of tools as one text; None without any."""
    names = list(dict.fromkeys(tools))
    return ", ".join([*names[:_NAMED], *(["…"] if names[_NAMED:] else [])]) or None


def _calls_of(
    execution: Execution, ask: Ask, asks: Sequence[Ask]
) -> list[tuple[str, Mapping[str, Json] | None]]:
    """Tool and arguments of each call that a question is about.

    Raises:
        ProtocolViolation: nobody has begun one of the calls. Clients show the question there.
    """
    # What a neighbour asks to run is shown with the questions.
    beside = {one.tool_call.id: one.tool_call for one in asks if one.tool_call is not None}
    found: list[tuple[str, Mapping[str, Json] | None]] = []
    for named in ask.calls:
        call = beside.get(named, named) if isinstance(named, str) else named
        if isinstance(call, ToolCall):
            found.append((clean(call.name), clean(dict(call.args))))
            continue
        shown = _shown(execution, call)
        if shown is None:
            raise ProtocolViolation(
                f"a question is about tool call {call!r}, which nobody has begun"
            )
        args = _arguments(shown)
        found.append((shown["name"], args if isinstance(args, dict) else None))
    return found


async def _say_question(execution: Execution, interrupts: Sequence[Interrupt]) -> None:
    """Say the question in the conversation where a message may answer it."""
    for item in question_in_words(
        execution.agent, execution.run, interrupts, execution.history.messages
    ):
        for event in execution.lifecycle.feed(item):
            if event.get("messageId") == item.message_id:
                execution.history.apply(event)
                execution.stream.send_question(event)
            else:
                await execution.emit(event)


async def _show_calls(execution: Execution, interrupts: Sequence[Interrupt]) -> None:
    """Emit the calls that are asked about, unless the framework did it itself."""
    for interrupt in interrupts:
        call = interrupt.tool_call
        if call is None:
            continue
        owner = interrupt.subagent_run_id
        arguments = json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
        shown = _shown(execution, call.id)
        if shown is not None:
            _check_shown(shown, call)
        else:
            shown_now = execution.lifecycle.show_call(call.id, call.name, arguments, owner)
            await emit_all(execution, shown_now)


def _shown(execution: Execution, call_id: str) -> Mapping[str, Json] | None:
    """The function of a call that the conversation has, as the person sees it."""
    for message in reversed(execution.history.messages):
        for call in message.get("toolCalls") or ():
            if call["id"] == call_id:
                function: Mapping[str, Json] = call["function"]
                return function
    return None


def _check_shown(shown: Mapping[str, Json], call: ToolCall) -> None:
    """What was shown is what runs: a question may not pin another tool or other arguments."""
    if shown["name"] != call.name or not same_json(_arguments(shown), call.args):
        raise ProtocolViolation(
            f"the question about tool call {call.id} differs from the call that was shown"
        )


def _arguments(shown: Mapping[str, Json]) -> Json:
    """The arguments of a function; None where they are no JSON."""
    try:
        return json.loads(shown["arguments"] or "{}")
    except ValueError:
        return None
