"""What a pause asks, made into interrupts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ag_ui.core import Interrupt as WireInterrupt
from pydantic import ValidationError

from agui_bridge.adapters import AdapterCapabilities, Ask
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    CONFIRM_SCHEMA,
    DECLINE,
    EDIT,
    approval_schema,
)
from agui_bridge.protocol.answers.schemas import check_schema
from agui_bridge.protocol.json_values import clean
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
        UnsafeSchema: a response schema that could do harm.
    """
    if not asks:
        raise ProtocolViolation("a Pause must ask at least one question")
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
    schema = ask.response_schema
    if call is not None:
        call = ToolCall(call.id, call.name, clean(dict(call.args)))
        allowed = _allowed(ask, capabilities)
        offered = approval_schema(ask.parameters, editable=EDIT in allowed)
        schema = offered if schema is None else _with_edits(schema, offered)
    elif schema is None and ask.reason == "confirmation":
        schema = CONFIRM_SCHEMA
    if schema is not None:
        check_schema(schema)
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
        metadata=clean(ask.metadata) if ask.metadata is not None else None,
        audit=(AuditEntry(InterruptStatus.OPEN, now, "agent"),),
    )
    _check(interrupt)
    return interrupt


def _allowed(ask: Ask, capabilities: AdapterCapabilities) -> tuple[str, ...]:
    """The decisions that are offered; unasked, edits only where something checks them."""
    allowed: Sequence[str] = (APPROVE, DECLINE, EDIT)
    if ask.allowed is not None:
        allowed = ask.allowed
    elif ask.parameters is None:
        allowed = (APPROVE, DECLINE)
    return tuple(decision for decision in capabilities.decisions if decision in allowed)


def _with_edits(schema: Mapping[str, Json], offered: Mapping[str, Json]) -> dict[str, Json]:
    """An adapter's own schema with the tool's parameters for edited arguments.

    Whatever else it asks for, edited arguments satisfy the tool's parameter schema.
    """
    edits = offered["properties"].get("editedArgs")
    if edits is None:
        return dict(schema)
    shared = {key: offered[key] for key in ("$defs", "definitions") if key in offered}
    properties = {**schema.get("properties", {}), "editedArgs": edits}
    return {**schema, **shared, "properties": properties}


def _check(interrupt: Interrupt) -> None:
    """Refuse what no client could read, before it is stored: it would brick the thread."""
    try:
        WireInterrupt.model_validate(public_interrupt(interrupt))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(step) for step in first["loc"])
        raise ProtocolViolation(f"a question's {field} is wrong: {first['msg']}") from None
