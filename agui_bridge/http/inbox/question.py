"""One question's page: what is asked, by whom, after what; and its form."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from agui_bridge.errors import CODES, Refused
from agui_bridge.http.inbox.door import Form, Visit
from agui_bridge.http.inbox.forms.deciding import UNDECIDED, Decided, read_decision
from agui_bridge.http.inbox.forms.fields import Field
from agui_bridge.http.inbox.telling.conversation import Conversation, conversation_of
from agui_bridge.http.inbox.telling.outcome import Told, tell, tell_decided
from agui_bridge.http.inbox.views import Argument, QuestionView, view_of
from agui_bridge.inbox.access import find_question
from agui_bridge.inbox.answering import answer_question
from agui_bridge.inbox.reference import Reference
from agui_bridge.stores.base import InterruptRow
from agui_bridge.text.visible import visible_value

__all__ = ["PATIENCE", "question_page"]

PATIENCE: Final = 20.0
"""Seconds that a page waits for the run that an answer sets off; it goes on without it."""


async def question_page(visit: Visit) -> Response:
    """`GET`, `POST /inbox/{reference}` and `/d/{reference}`: look at a question, and answer it."""
    written = visit.request.path_params["reference"]
    reference = visit.reference or visit.service.references.read(written)
    engine = await visit.service.open()
    row = await find_question(engine, reference, visit.principal)
    if not visit.is_form:
        return await _shown(visit, reference, row, told=tell_decided(row.interrupt))
    async with visit.form() as form:
        try:
            decided = read_decision(row.interrupt, form)
        except Refused as error:
            told = Told("Nothing was decided", error.message, "no", UNDECIDED)
            return await _shown(visit, reference, row, form=form, told=told)
        if decided.faults and row.interrupt.is_open:
            return await _shown(visit, reference, row, form=form, decided=decided)
        outcome = await answer_question(
            engine,
            visit.service.agents,
            reference,
            decided.answer,
            visit.principal,
            via="link" if visit.place.link else "inbox",
            wait=PATIENCE,
        )
        # A link may be passed on: who comes by it sees the question alone.
        known = outcome.result is not None and not visit.place.link
        result = Argument("Result", visible_value(outcome.result)) if known else None
        return await _shown(visit, reference, outcome.row, told=tell(outcome), result=result)


async def _shown(
    visit: Visit,
    reference: Reference,
    row: InterruptRow,
    *,
    form: Form | None = None,
    decided: Decided | None = None,
    told: Told | None = None,
    result: Argument | None = None,
) -> Response:
    """The page as it is now: as asked for, with a form's faults, or with what came of it."""
    view = view_of(
        row,
        visit.request.path_params["reference"],
        visit.principal,
        time.time(),
        visit.service.agents,
    )
    faults = decided.faults if decided is not None else {}
    status = told.status if told is not None else 200
    title = f"{told.heading if told is not None else view.state}: {view.title[:80]}"
    if faults:
        title, status = f"Error: {view.title[:80]}", CODES["INVALID_RESUME_PAYLOAD"].status
    return visit.page(
        "question",
        title,
        status=status,
        view=view,
        edit=_shown_fields(view, "edit", form, faults),
        answer=_shown_fields(view, "answer", form, faults),
        sent=form or {},
        faults=faults,
        told=told,
        result=result,
        conversation=await _conversation(visit, reference),
    )


def _shown_fields(
    view: QuestionView, group: str, form: Form | None, faults: Mapping[str, str]
) -> tuple[Field, ...]:
    fields = view.offered.arguments if group == "edit" else view.offered.answer
    if fields is None:
        return ()
    pressed = (form or {}).get("decision", [""])[0]
    return fields.shown(form, faults if pressed == group else {})


async def _conversation(visit: Visit, reference: Reference) -> Conversation | None:
    """What was said before; None for whoever sees the question alone.

    Those are who reviews another scope, and who comes by a link, which may be passed on.
    """
    if visit.place.link or reference.key.scope != visit.principal.scope:
        return None
    engine = await visit.service.open()
    async with engine.reads.whole(reference.key) as loaded:
        return conversation_of(loaded.messages)
