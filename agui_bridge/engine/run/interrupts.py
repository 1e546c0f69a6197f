"""What a pause asks, made into interrupts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from ag_ui.core import Interrupt as WireInterrupt
from pydantic import ValidationError

from agui_bridge.adapters import AdapterCapabilities, Ask
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    CONFIRM_SCHEMA,
    DECLINE,
    EDIT,
    RESPOND,
    approval_schema,
)
from agui_bridge.protocol.answers.question_schemas import declinable, without_null
from agui_bridge.protocol.field_faults import place_of_fault, told_field_fault
from agui_bridge.protocol.json_values import clean
from agui_bridge.protocol.own_metadata import with_own
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
    ToolCall,
)
from agui_bridge.protocol.wire.run_events import public_interrupt

__all__ = ["raise_interrupts"]


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
        call = ToolCall(call.id, call.name, clean(dict(call.args)))
        schema, allowed, unchecked = _approval(ask, capabilities)
    else:
        schema, allowed, unchecked = _question(ask, capabilities)
    expires_in = ask.expires_in if ask.expires_in is not None else settings.expires_in
    if expires_in is not None and not 0 <= expires_in <= LONGEST_WAIT:
        raise ProtocolViolation(f"expires_in must be 0 to {LONGEST_WAIT:.0f} seconds")
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
        expires_at=now + expires_in if expires_in is not None else None,
        subagent_run_id=ask.subagent_run_id,
        metadata=_metadata(ask.metadata, unchecked),
        audit=(AuditEntry(InterruptStatus.OPEN, now, "agent"),),
        about=_card(ask),
        permits=ask.permits,
    )
    _check(interrupt)
    return interrupt


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
        else _plain_approval(respond)
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
def _plain_approval(respond: bool) -> tuple[Mapping[str, Json] | None, tuple[str, ...]]:
    """The schema of an approval without edits: the same for all tools, so it is made once."""
    return _usable(approval_schema(None, editable=False, respond=respond))


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
    if not unchecked:
        return clean(metadata) if metadata is not None else None
    said = list(dict.fromkeys(unchecked))
    cleaned: Mapping[str, Json] = clean(with_own(metadata, "unchecked", said))
    return cleaned


def _allowed(ask: Ask, capabilities: AdapterCapabilities) -> tuple[str, ...]:
    """The decisions that are offered; unasked, edits only where something checks them."""
    allowed: Sequence[str] = (APPROVE, DECLINE, EDIT, RESPOND)
    if ask.allowed is not None:
        allowed = ask.allowed
    elif ask.parameters is None:
        allowed = (APPROVE, DECLINE, RESPOND)
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
