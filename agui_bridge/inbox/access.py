"""Whose questions a principal sees: those of its own scope, and of the scopes that it reviews."""

from __future__ import annotations

from agui_bridge.engine.engine import Engine
from agui_bridge.errors import Refused
from agui_bridge.inbox.reference import Reference
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.stores.base import InterruptRow

__all__ = ["find_question", "scopes_of"]


def scopes_of(principal: Principal) -> tuple[str, ...]:
    """The scopes whose questions a principal sees, its own first."""
    return tuple(dict.fromkeys((principal.scope, *principal.reviews)))


async def find_question(engine: Engine, reference: Reference, principal: Principal) -> InterruptRow:
    """The question that a reference names, as it is stored.

    Raises:
        Refused: FORBIDDEN: it is somebody else's link; INTERRUPT_NOT_FOUND: there is no such
            question, or it is of a scope whose questions the principal does not see.
        StoreUnavailable: the store did not answer.
    """
    if reference.actor not in (None, principal.actor):
        raise Refused("FORBIDDEN", "This link was made for somebody else: use your own.")
    key = reference.key
    if key.scope in scopes_of(principal):
        loaded = await engine.store.load(key, [reference.interrupt])
        ask = loaded.interrupts.get(reference.interrupt)
        if ask is not None:
            row = InterruptRow(key, ask, ask.audit[0].at if ask.audit else 0.0)
            return (await engine.as_seen([row]))[0]
    raise Refused("INTERRUPT_NOT_FOUND", "There is no such question here.")
