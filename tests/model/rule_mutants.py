"""Variants that break one rule of who may answer each, and of how many must."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from unittest.mock import patch

from agui_bridge.protocol import approvals
from agui_bridge.protocol.approvals import Refusal, why_not
from agui_bridge.protocol.contract import admission, settling
from agui_bridge.protocol.contract.requests import Request, Ruling
from agui_bridge.protocol.contract.settling import outstanding, resume_of, settle
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Principal, Vote

__all__ = ["BROKEN_RULES"]


def _without(number: str) -> AbstractContextManager[object]:
    rows = tuple(row for row in admission.ROWS if row[0] != number)
    return patch.object(admission, "ROWS", rows)


def _self_approval(ask: Interrupt, principal: Principal) -> Refusal | None:
    refusal = why_not(ask, principal)
    return None if refusal is None or refusal.code == "SELF_APPROVAL" else refusal


def _edits_reset_nothing(ask: Interrupt, vote: Vote) -> tuple[Vote, ...]:
    return (*(other for other in ask.votes if other.actor != vote.actor), vote)


def _votes_twice(ask: Interrupt, vote: Vote) -> tuple[Vote, ...]:
    return (*(v for v in ask.votes if v.args_digest == vote.args_digest), vote)


def _answers_of_anybody(loaded: Loaded, request: Request) -> Ruling | None:
    auto = request.auto_resume
    if not loaded.asks or request.entries or auto is None or not auto.follows_ask:
        return None
    if any(ask.expired(loaded.now) or ask.tool_call is not None for ask in loaded.asks):
        return None
    settled = settle(loaded, replace(request, entries=auto.entries))
    return resume_of(loaded, settled) if auto.entries and not settled.unsettled else None


def messages_of_anybody_answer() -> AbstractContextManager[object]:
    rows = tuple((n, _answers_of_anybody if n == "11" else row) for n, row in admission.ROWS)
    return patch.object(admission, "ROWS", rows)


def _of(part: object, name: str, broken: object) -> Callable[[], AbstractContextManager[object]]:
    return lambda: patch.object(part, name, broken)


BROKEN_RULES: tuple[tuple[str, int, Callable[[], AbstractContextManager[object]]], ...] = (
    ("anybody answers", 11, lambda: _without("15a")),
    ("who asked may approve it", 1, _of(settling, "why_not", _self_approval)),
    ("who asked may not withdraw", 7, _of(settling, "may_withdraw", lambda ask, who: False)),
    ("the same vote counts again", 6, lambda: _without("15b")),
    ("what is others' must be covered", 1, _of(admission, "to_cover", outstanding)),
    ("one vote is enough", 1, _of(settling, "is_enough", lambda rule, votes, vote: True)),
    ("one of each group is not asked for", 30, _of(approvals, "_each_has_one", lambda *_: True)),
    ("an edit resets no votes", 30, _of(settling, "cast", _edits_reset_nothing)),
    ("one person votes twice", 6, _of(settling, "cast", _votes_twice)),
)
"""What is broken, where a search soon meets a schedule that shows it, and how."""
