"""NexAU's stop request: a session, and what is answered to it.

Its clients know neither agents' names nor threads: they stop whatever runs in a session. An
unknown session is an answer, no failure, and so is another user's.

Source: NexAU's RFC-0001, "Phase 4"; a real server's answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.engine.engine import Engine
from agui_bridge.engine.waiting import appears
from agui_bridge.errors import Refused
from agui_bridge.protocol.field_rules import IS_MISSING
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey, ThreadStatus
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.surfaces.reading import check_text_id

LONGEST_STOP: Final = 600.0
"""Seconds that a graceful stop may be given at most."""

DEFAULT_USER: Final = "default-user"
"""Whom NexAU's clients name when nobody told them a user."""

_DEFAULT_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class SessionStop:
    """A request to stop a session.

    Attributes:
        session_id: the thread.
        user_id: whose; None is whoever asks, and so is `DEFAULT_USER` in a request.
        agent_id: the agent's name; None is any.
        force: cancel at once.
        timeout: seconds that a graceful stop may take.
    """

    session_id: str
    user_id: str | None = None
    agent_id: str | None = None
    force: bool = False
    timeout: float = _DEFAULT_TIMEOUT

    @classmethod
    def of(cls, body: Json, max_id_bytes: int) -> SessionStop:
        """Read a request.

        Raises:
            Refused: INVALID_INPUT, naming the field.
        """
        if not isinstance(body, dict):
            raise Refused("INVALID_INPUT", "The request must be a JSON object.")
        session = _text(body, "session_id", max_id_bytes)
        if not session:
            raise Refused(
                "INVALID_INPUT",
                "session_id: is required for stop.",
                {"field": "session_id", "reason": IS_MISSING},
            )
        force, timeout = stop_options(body, _DEFAULT_TIMEOUT)
        user = _text(body, "user_id", max_id_bytes)
        return cls(
            session,
            None if user == DEFAULT_USER else user,
            _text(body, "agent_id", max_id_bytes),
            force,
            timeout,
        )


def stop_options(body: Json, timeout: float) -> tuple[bool, float]:
    """Read `force` and `timeout` of a request.

    Args:
        body: the request.
        timeout: seconds where it names none.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    if not isinstance(body, dict):
        raise Refused("INVALID_INPUT", "The body must be a JSON object or absent.")
    force = body.get("force", False)
    if not isinstance(force, bool):
        raise Refused("INVALID_INPUT", "force: must be true or false.")
    seconds = body.get("timeout", timeout)
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 <= seconds <= LONGEST_STOP:
        raise Refused("INVALID_INPUT", f"timeout: must be seconds from 0 to {LONGEST_STOP:.0f}.")
    return force, float(seconds)


async def stop_session(
    engine: Engine, agents: Iterable[str], principal: Principal, stop: SessionStop
) -> dict[str, Any]:
    """Stop what a session's agents do, and wait until it is over; loses nothing.

    Args:
        engine: the engine.
        agents: names of all agents.
        principal: the caller; another user's session is an unknown one.
        stop: the request.

    Returns:
        `{"status", "stop_reason", "message_count", "error"}`.

    Raises:
        Refused: TOO_MANY_RUNS: as many stops of the scope are waiting.
        StoreUnavailable: the store did not answer.
    """
    if stop.user_id not in (None, principal.actor):
        return _unknown(principal, stop)
    keys = [
        ThreadKey(principal.scope, agent, stop.session_id)
        for agent in agents
        if stop.agent_id in (None, agent)
    ]
    known = await _known(engine, keys)
    if not known and await appears(engine.store, keys):
        known = await _known(engine, keys)
    if not known:
        return _unknown(principal, stop)
    active = [key for key, status in known.items() if status is not ThreadStatus.IDLE]
    keys = active or list(known)[:1]
    return _answer(await asyncio.gather(*(_stop(engine, key, principal, stop) for key in keys)))


async def _stop(
    engine: Engine, key: ThreadKey, principal: Principal, stop: SessionStop
) -> StopResult:
    """Stop one of a session's threads: what waits for others to decide is an answer, no failure."""
    try:
        return await engine.stop(key, force=stop.force, timeout=stop.timeout, principal=principal)
    except Refused as refusal:
        if refusal.code != "NOT_AN_APPROVER":
            raise
        return StopResult("error", error=refusal.message)


async def _known(engine: Engine, keys: Iterable[ThreadKey]) -> dict[ThreadKey, ThreadStatus]:
    """The status of each of these threads that exists."""
    loaded = {key: await engine.store.load(key) for key in keys}
    return {key: seen.record.status for key, seen in loaded.items() if seen.record is not None}


def _answer(results: Iterable[StopResult]) -> dict[str, Any]:
    """One answer for all: an error if there is one."""
    first, *others = results
    worst = next((r for r in (first, *others) if r.status == "error"), first)
    return {
        "status": worst.status,
        "stop_reason": worst.stop_reason,
        "message_count": first.message_count + sum(r.message_count for r in others),
        "error": worst.error,
    }


def _unknown(principal: Principal, stop: SessionStop) -> dict[str, Any]:
    who = stop.user_id if stop.user_id is not None else principal.actor
    return {
        "status": "error",
        "stop_reason": None,
        "message_count": 0,
        "error": (
            f"No running agent found for user_id={who}, session_id={stop.session_id}, "
            f"agent_id={stop.agent_id if stop.agent_id is not None else 'any'}"
        ),
    }


def _text(body: Mapping[str, Json], field: str, max_bytes: int) -> str | None:
    value = body.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Refused(
            "INVALID_INPUT", f"{field}: must be a string.", {"field": field, "reason": "no string"}
        )
    check_text_id(field, value, max_bytes)
    return value
