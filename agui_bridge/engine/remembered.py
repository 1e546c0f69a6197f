"""Remembered decisions in the engine: kept with an answer, applied when a pause is stored."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.errors import StoreError
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.grants import Grant, answered_by, grant_of, offering, usable
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, Principal, ThreadKey
from agui_bridge.stores.base import GrantStore

logger: Final = logging.getLogger("agui_bridge")


async def apply_grants(
    store: GrantStore, key: ThreadKey, asks: Sequence[Interrupt], now: float
) -> tuple[Interrupt, ...]:
    """Answer what somebody has approved for good, and let the rest offer it.

    A use is counted before the questions are stored: a pause that is never stored may waste one,
    and none is used twice. Where the store does not answer, people are asked.

    Args:
        store: has the decisions.
        key: the thread.
        asks: what a pause asks, with its rules.
        now: the store's time.
    """
    offered = tuple(map(offering, asks))
    tools = {
        ask.tool_call.name
        for ask in offered
        if ask.tool_call is not None and ask.rule is not None and ask.rule.remember
    }
    if not tools:
        return offered
    try:
        grants = await store.find(key.scope, key.agent, tools)
        return tuple([await _applied(store, grants, key, ask, now) for ask in offered])
    except StoreError:
        logger.warning("remembered decisions could not be read; people are asked", exc_info=True)
        return offered


async def _applied(
    store: GrantStore, grants: Sequence[Grant], key: ThreadKey, ask: Interrupt, now: float
) -> Interrupt:
    for grant in usable(grants, key, ask, now):
        if await store.use(key.scope, grant.id):
            return answered_by(ask, grant, now)
    return ask


def continuing(agent: Agent, principal: Principal, body: dict[str, object]) -> Submission:
    """What carries a pause on to which nobody has to answer: an input that brings nothing.

    Args:
        agent: whose run it was.
        principal: who asked for it.
        body: its input, on the wire.
    """
    kept = {name: value for name, value in body.items() if name not in ("resume", "state")}
    parsed = parse_input({**kept, "protocolVersion": "1.0", "messages": []})
    return Submission(agent, principal, parsed, on_disconnect="continue", via="rule")


# --- decisions that an answer asks to be remembered ---

_ANSWERED: Final = (InterruptStatus.ANSWERED, InterruptStatus.CLAIMED)


async def keep_grants(
    store: GrantStore, key: ThreadKey, asks: Sequence[Interrupt], now: float
) -> None:
    """Store what was approved for good, once the answers themselves are stored.

    A decision that is lost here is asked for again: that is the safe side.

    Args:
        store: takes them.
        key: the thread.
        asks: questions as they were committed.
        now: the store's time.
    """
    for ask in asks:
        grant = grant_of(key, ask, now) if ask.status in _ANSWERED else None
        if grant is None:
            continue
        try:
            await store.add(grant)
        except StoreError:
            logger.warning("the decision on %s is not remembered", ask.id, exc_info=True)
