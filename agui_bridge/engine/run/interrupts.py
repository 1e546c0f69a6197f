"""What a pause asks, made into interrupts, and who may answer each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Final

from ag_ui.core import Interrupt as WireInterrupt
from pydantic import ValidationError

from agui_bridge.adapters import AdapterCapabilities, Ask
from agui_bridge.approvals import Approvals, ApprovalsFailed, Question, find_rule
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ProtocolViolation
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    CONFIRM_SCHEMA,
    DECLINE,
    EDIT,
    RESPOND,
    approval_schema,
    declinable,
    is_cut,
    without_null,
)
from agui_bridge.protocol.field_rules import place_of_fault, told_field_fault
from agui_bridge.protocol.json_values import clean, copied, same_json
from agui_bridge.protocol.previews import read_preview
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema
from agui_bridge.protocol.threads.approval_rule import (
    ApprovalRule,
    lacks_approvers,
    narrowed,
    strictest,
)
from agui_bridge.protocol.threads.content_parts import own_of, with_own, without_own_member
from agui_bridge.protocol.threads.record_parts import TIMER
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
    ThreadKey,
    ToolCall,
)
from agui_bridge.protocol.wire.run_events import public_interrupt

_NAMED: Final = 5
"""Tools that a question about several calls names in lists."""


def raise_interrupts(
    asks: Sequence[Ask],
    batch: str,
    *,
    capabilities: AdapterCapabilities,
    settings: Settings,
    now: float,
    mint: Callable[[], str],
) -> tuple[Interrupt, ...]:
    """Make the interrupts of a pause.

    Args:
        asks: what the adapter asks.
        batch: id of the pause.
        capabilities: the adapter's; decisions that it does not support are not offered.
        settings: the agent's.
        now: the store's time, from which asks expire.
        mint: makes unguessable public ids.

    Raises:
        ProtocolViolation: no ask at all, too many, or a native id twice.
    """
    if len(asks) > settings.max_interrupts:
        raise ProtocolViolation(
            f"a Pause asks {len(asks)} questions; at most {settings.max_interrupts} are allowed "
            "(max_interrupts)"
        )
    if len(asks) > 1 and any(ask.reason == TIMER for ask in asks):
        raise ProtocolViolation(f"a question of reason {TIMER!r} is the only one of its Pause")
    if len({ask.native_id for ask in asks}) < len(asks):
        raise ProtocolViolation("two questions of one Pause have the same native_id")
    calls = [ask.tool_call.id for ask in asks if ask.tool_call is not None]
    if len(set(calls)) < len(calls):
        raise ProtocolViolation("two questions of one Pause are about the same tool call")
    return tuple(
        _interrupt(ask, batch, position, capabilities, settings, now, mint())
        for position, ask in enumerate(asks)
    )


def _interrupt(
    ask: Ask,
    batch: str,
    position: int,
    capabilities: AdapterCapabilities,
    settings: Settings,
    now: float,
    public_id: str,
) -> Interrupt:
    call = ask.tool_call
    allowed: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    schema: Mapping[str, Json] | None
    if call is not None:
        # Nobody else has them: what the agent does to its own is not what was asked about.
        call = ToolCall(call.id, call.name, copied(clean(dict(call.args))))
        schema, allowed, unchecked = _approval(ask, capabilities)
    else:
        schema, allowed, unchecked = _question(ask, capabilities)
    interrupt = Interrupt(
        id=public_id,
        batch=batch,
        position=position,
        native_id=ask.native_id,
        reason=ask.reason,
        message=clean(ask.message),
        tool_call=call,
        response_schema=schema,
        allowed=allowed,
        expires_at=_end_of(ask, settings, now),
        subagent_run_id=ask.subagent_run_id,
        metadata=_metadata(ask.metadata, unchecked),
        audit=(AuditEntry(InterruptStatus.OPEN, now, "agent"),),
        about=_card(ask),
        permits=ask.permits,
        preview=None if ask.preview is None else read_preview(clean(ask.preview.to_json())),
    )
    _check(interrupt)
    return interrupt


def _end_of(ask: Ask, settings: Settings, now: float) -> float | None:
    """Store time after which a question can't be answered; None is never."""
    end, expires_in = ask.expires_at, ask.expires_in
    if expires_in is None and ask.reason != TIMER:
        expires_in = settings.expires_in
    if end is None and expires_in is not None:
        end = now + expires_in
    if end is None and ask.reason == TIMER:
        raise ProtocolViolation(f"a question of reason {TIMER!r} needs its time: expires_at")
    if end is not None and end > now + LONGEST_WAIT:
        raise ProtocolViolation(f"a question may wait {LONGEST_WAIT:.0f} seconds at most")
    return end


def _card(ask: Ask) -> str | None:
    """Id of the one call that clients show a question at which is no approval."""
    match ask.calls:
        case (str() as call,):
            return call
    return None


def _question(
    ask: Ask, capabilities: AdapterCapabilities
) -> tuple[Mapping[str, Json] | None, tuple[str, ...], tuple[str, ...]]:
    """The same of a question that is no approval; None takes any answer."""
    schema: Mapping[str, Json] | None = CONFIRM_SCHEMA
    unchecked: tuple[str, ...] = ()
    if ask.response_schema is not None or ask.reason != "confirmation":
        schema, unchecked = _usable(ask.response_schema)
    if not capabilities.null:
        schema = without_null(schema)
    if ask.may_be_declined and capabilities.decline:
        whole, told = _usable(declinable(schema))
        if whole is not None:
            return whole, (ANSWER, DECLINE), unchecked + told
        unchecked += ("It can't be declined.",)
    return schema, (), unchecked


def _approval(
    ask: Ask, capabilities: AdapterCapabilities
) -> tuple[Mapping[str, Json], tuple[str, ...], tuple[str, ...]]:
    """An approval's schema, the decisions that are offered, and what is not checked."""
    allowed = _allowed(ask, capabilities)
    own, unchecked = _usable(ask.response_schema)
    respond = RESPOND in allowed
    offered, told = (
        _usable(approval_schema(ask.parameters, editable=True, respond=respond))
        if EDIT in allowed
        else _plain_approval(respond, not is_cut(ask))
    )
    unchecked += told
    is_lost = own is None and ask.response_schema is not None and ask.parameters is None
    if offered is None or (is_lost and EDIT in allowed):
        # What edited arguments must be is not known, but the call can be approved as it is.
        allowed = tuple(decision for decision in allowed if decision != EDIT)
        offered = approval_schema(None, editable=False, respond=respond)
        unchecked += ("The arguments can't be edited.",)
    if own is None:
        return offered, allowed, unchecked
    whole, told = _usable(_with_offered(own, offered, known=ask.parameters is not None))
    return whole or offered, allowed, unchecked + told


@cache
def _plain_approval(
    respond: bool, approve: bool
) -> tuple[Mapping[str, Json] | None, tuple[str, ...]]:
    """The schema of an approval without edits: the same for all tools, so it is made once."""
    return _usable(approval_schema(None, editable=False, respond=respond, approve=approve))


def _usable(schema: Mapping[str, Json] | None) -> tuple[Mapping[str, Json] | None, tuple[str, ...]]:
    """A schema that answers are checked against, and what of it is not checked.

    One that could do harm here could do so in a client too: it is neither checked nor shown. The
    question is asked all the same, since who answers it can do nothing about its schema.
    """
    if schema is None:
        return None, ()
    try:
        unchecked = check_schema(schema)
    except UnsafeSchema as error:
        return None, (f"{error} It is not checked.",)
    return clean(schema), unchecked


def _metadata(
    metadata: Mapping[str, Json] | None, unchecked: Sequence[str]
) -> Mapping[str, Json] | None:
    """The adapter's metadata, and what of the schema is not checked."""
    # What is shown as a preview has passed as one.
    if "preview" in own_of({"metadata": metadata}):
        metadata = without_own_member({"metadata": metadata}, "preview").get("metadata")
    if not unchecked:
        return clean(metadata) if metadata is not None else None
    said = list(dict.fromkeys(unchecked))
    cleaned: Mapping[str, Json] = clean(with_own(metadata, "unchecked", said))
    return cleaned


def _allowed(ask: Ask, capabilities: AdapterCapabilities) -> tuple[str, ...]:
    """The decisions that are offered; unasked, edits only where something checks them.

    Of what is cut nobody has seen all, and nobody approves it.
    """
    allowed: Sequence[str] = (APPROVE, DECLINE, EDIT, RESPOND)
    if ask.allowed is not None:
        allowed = ask.allowed
    elif ask.parameters is None:
        allowed = (APPROVE, DECLINE, RESPOND)
    if is_cut(ask):
        allowed = [decision for decision in allowed if decision not in (APPROVE, EDIT)]
    return tuple(decision for decision in capabilities.decisions if decision in allowed)


def _with_offered(
    schema: Mapping[str, Json], offered: Mapping[str, Json], *, known: bool
) -> dict[str, Json]:
    """An adapter's own schema with what is offered besides: edited arguments, a text as result.

    Whatever else it asks for, edited arguments satisfy the tool's parameter schema. Where that is
    not known, what its own schema says of them stands, and its references with it.
    """
    properties = schema.get("properties", {})
    added = {
        name: offered["properties"][name]
        for name in ("editedArgs", "respond")
        if name in offered["properties"] and not (name in properties and not known)
    }
    return {**schema, "properties": {**properties, **added}} if added else dict(schema)


def _check(interrupt: Interrupt) -> None:
    """Refuse what no client could read, before it is stored: it would brick the thread."""
    try:
        WireInterrupt.model_validate(public_interrupt(interrupt))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, place_of_fault(first)))
        raise ProtocolViolation(f"a question's {field} {told_field_fault(first)}") from None


async def with_rules(
    asks: Sequence[Ask],
    interrupts: Sequence[Interrupt],
    *,
    key: ThreadKey,
    askers: Sequence[str],
    asked_by: str,
    approvals: Approvals | None,
    messages: Sequence[Mapping[str, Json]],
) -> tuple[Interrupt, ...]:
    """The interrupts of a pause with who may answer each, and who asked for the run.

    Args:
        asks: what the adapter asks.
        interrupts: the same, in the same order.
        key: the thread.
        askers: who has asked for the run, the first one first, as far as it is recorded.
        asked_by: who has asked else.
        approvals: the agent's rules.
        messages: the conversation, in which the calls stand that are asked about.

    Raises:
        ApprovalsFailed: nobody could answer, or the rules failed.
        ProtocolViolation: nobody has begun one of the calls. Clients show the question there.
    """
    first, joined_by = (askers[0], tuple(askers[1:])) if askers else (None, ())
    found = []
    for ask, interrupt in zip(asks, interrupts, strict=True):
        calls = _calls_of(ask, asks, messages)
        rules = list[ApprovalRule | None]()
        for tool, args in calls or ((None, None),):
            question = Question(
                scope=key.scope,
                agent=key.agent,
                thread_id=key.thread,
                asked_by=first or asked_by,
                reason=interrupt.reason,
                message=interrupt.message,
                tool=tool,
                # A copy: what the hook does to it is not what people are asked.
                args=deepcopy(dict(args)) if args is not None else None,
                metadata=deepcopy(interrupt.metadata),
            )
            rules.append(await find_rule(approvals, question))
        rule = narrowed(strictest(rules), ask.approvers, ask.quorum)
        names = tuple(dict.fromkeys(tool for tool, _ in calls))
        tools = _in_short(names)
        lacking = lacks_approvers(rule, askers) if rule is not None else None
        if rule is not None and lacking and not rule.escalate:
            raise ApprovalsFailed(
                f"Nobody could answer the question about {tools or interrupt.reason!r}, "
                f"which was not asked: {lacking}."
            )
        pinned = interrupt.tool_call is not None
        found.append(
            replace(
                interrupt,
                rule=rule,
                asked_by=first,
                joined_by=joined_by,
                about_tool=None if pinned else tools,
                about_tools=names if names[1:] and not pinned else (),
            )
        )
    return tuple(found)


def _in_short(names: Sequence[str]) -> str | None:
    """Names of tools as one text; None without any."""
    return ", ".join([*names[:_NAMED], *(["…"] if names[_NAMED:] else [])]) or None


def _calls_of(
    ask: Ask, asks: Sequence[Ask], messages: Sequence[Mapping[str, Json]]
) -> list[tuple[str, Mapping[str, Json] | None]]:
    """Tool and arguments of each call that a question is about."""
    # What a neighbour asks to run is shown with the questions.
    beside = {one.tool_call.id: one.tool_call for one in asks if one.tool_call is not None}
    found: list[tuple[str, Mapping[str, Json] | None]] = []
    for named in ask.calls:
        call = beside.get(named, named) if isinstance(named, str) else named
        if isinstance(call, ToolCall):
            found.append((clean(call.name), clean(dict(call.args))))
            continue
        shown = shown_call(messages, call)
        if shown is None:
            raise ProtocolViolation(
                f"a question is about tool call {call!r}, which nobody has begun"
            )
        args = _arguments(shown)
        found.append((shown["name"], args if isinstance(args, dict) else None))
    return found


def shown_call(messages: Sequence[Mapping[str, Json]], call_id: str) -> Mapping[str, Json] | None:
    """The function of a call that a conversation has, as the person sees it."""
    for message in reversed(messages):
        for call in message.get("toolCalls") or ():
            if call["id"] == call_id:
                function: Mapping[str, Json] = call["function"]
                return function
    return None


def check_shown(shown: Mapping[str, Json], call: ToolCall) -> None:
    """What was shown is what runs: a question may not pin another tool or other arguments.

    Raises:
        ProtocolViolation: it does.
    """
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
