"""Several questions decided at once: one after the other, each with an outcome of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from agui_bridge.errors import CODES, BridgeError, Refused, StoreUnavailable
from agui_bridge.http.inbox.door import Form, Visit
from agui_bridge.http.inbox.forms.deciding import read_decision
from agui_bridge.http.inbox.telling.outcome import Told, tell
from agui_bridge.http.inbox.views import view_of
from agui_bridge.inbox.access import find_question
from agui_bridge.inbox.answering import answer_question
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE

__all__ = ["Result", "decide_several"]

MOST: Final = 50
"""Questions at once: as many as a page lists."""

_PATIENCE: Final = 5.0
"""Seconds for each to be carried out in; it goes on when they are over."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one of them.

    Attributes:
        reference: its address.
        title: what it is called.
        told: what came of it.
        taken: whether the decision was taken.
    """

    reference: str
    title: str
    told: Told
    taken: bool


async def decide_several(visit: Visit, form: Form) -> list[Result]:
    """Approve or decline each question that is ticked, as its own page would.

    Args:
        visit: of the list.
        form: what it sent.

    Raises:
        Refused: INVALID_INPUT: no button was pressed, or nothing is ticked.
    """
    if form.get("decision") not in ([APPROVE], [DECLINE]):
        raise Refused("INVALID_INPUT", "Press one of the two buttons below the list.")
    ticked = list(dict.fromkeys(form.get("question", ())))
    if not 0 < len(ticked) <= MOST:
        raise Refused("INVALID_INPUT", f"Tick from 1 to {MOST} questions first.")
    chosen = {name: form[name] for name in ("decision", "reason") if name in form}
    return [await _decide(visit, reference, chosen) for reference in ticked]


async def _decide(visit: Visit, reference: str, chosen: Form) -> Result:
    title = "A question"
    try:
        named = visit.service.references.read(reference)
        engine = await visit.service.open()
        row = await find_question(engine, named, visit.principal)
        ask = row.interrupt
        title = ask.tool_call.name if ask.tool_call is not None else ask.message or ask.reason
        shown = view_of(row, reference, visit.principal, time.time(), visit.service.agents)
        if chosen["decision"] == [APPROVE] and shown.waits and not shown.listed.is_whole:
            return _not_taken(reference, title, "The list does not show all of it: open it.")
        decided = read_decision(ask, chosen)
        if decided.faults:
            return _not_taken(reference, title, " ".join(decided.faults.values()))
        outcome = await answer_question(
            engine,
            visit.service.agents,
            named,
            decided.answer,
            visit.principal,
            via="inbox",
            wait=_PATIENCE,
        )
    except (Refused, StoreUnavailable) as error:
        return _not_taken(reference, title, _words(error))
    return Result(reference, title, tell(outcome), not outcome.refused)


def _not_taken(reference: str, title: str, why: str) -> Result:
    return Result(reference, title, Told("Not taken", why, "no"), False)


def _words(error: BridgeError) -> str:
    return error.message if isinstance(error, Refused) else CODES["STORE_UNAVAILABLE"].cause
