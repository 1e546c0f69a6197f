"""What waits for people, and what was decided, page by page; several questions decided at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from agui_bridge.channels.closing import close_notices, configured_elsewhere, left_notices
from agui_bridge.engine.engine import mint
from agui_bridge.errors import CODES, BridgeError, Refused, StoreUnavailable
from agui_bridge.http.inbox.door import Form, Visit
from agui_bridge.http.inbox.forms import UNDECIDED, read_decision
from agui_bridge.http.inbox.question import QuestionView, view_of
from agui_bridge.http.inbox.wording import AnswerResult, counted, tell
from agui_bridge.inbox.answering import answer_question
from agui_bridge.inbox.pending import Filters, find_page
from agui_bridge.inbox.reference import Reference, find_question, scopes_of
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.stores.base import InterruptRow

REFRESH: Final = 30
"""Seconds between looks at the list, for who asked for it."""


async def inbox_page(visit: Visit) -> Response:
    """`GET /inbox`: what waits. `POST /inbox`: decide on several, one after the other."""
    if not visit.is_form:
        return await _waiting(visit)
    async with visit.form() as form:
        try:
            results = await decide_several(visit, form)
        except Refused as error:
            if error.code != "INVALID_INPUT":
                raise
            return await _waiting(visit, fault=error.message, ticked=form.get("question", ()))
        return await _waiting(visit, results=results)


async def _waiting(
    visit: Visit,
    *,
    results: Sequence[Result] = (),
    fault: str | None = None,
    ticked: Sequence[str] = (),
) -> Response:
    asked = visit.request.query_params
    filters = chosen_filters(visit)
    service, principal, now = visit.service, visit.principal, time.time()
    found = await find_page(
        await service.open(),
        service.references,
        principal,
        filters,
        agents=service.agents,
        after=asked.get("after") or None,
        limit=MOST,
    )
    views = [
        view_of(listed.row, listed.ref, principal, now, service.agents) for listed in found.rows
    ]
    # What is ticked would be lost: who has the list load anew decides one at a time.
    refresh = REFRESH if "refresh" in asked and not visit.is_form else None
    waiting = "Many" if found.count is None else str(found.count)
    title = f"{waiting} waiting · Inbox"
    return visit.page(
        "list",
        f"Error: {title}" if fault is not None else title,
        status=200 if fault is None else UNDECIDED,
        refresh=refresh,
        heading=f"{waiting} waiting" if views else "Inbox",
        views=views,
        filters=filters,
        filtered=filters != Filters(),
        agents=sorted(service.agents),
        choosing=refresh is None and sum(view.may_tick for view in views) > 1,
        ticked=ticked,
        results=results,
        told=f"{sum(result.taken for result in results)} of {counted(len(results), 'question')}",
        fault=fault,
        with_refresh=query_of(filters, refresh="1"),
        without_refresh=query_of(filters),
        more=query_of(filters, after=found.cursor) if found.cursor is not None else None,
    )


def chosen_filters(visit: Visit) -> Filters:
    """The filters that the address of a list names."""
    asked = visit.request.query_params
    return Filters(
        agent=asked.get("agent") or None,
        tool=asked.get("tool") or None,
        thread=asked.get("thread") or None,
        mine=asked.get("mine") == "1",
    )


def query_of(filters: Filters, **more: str) -> str:
    """Filters, and what else is asked of a list, as they stand behind its address."""
    chosen = {
        "agent": filters.agent,
        "tool": filters.tool,
        "thread": filters.thread,
        "mine": "1" if filters.mine else None,
        **more,
    }
    query = urlencode({name: value for name, value in chosen.items() if value})
    return f"?{query}" if query else ""


_LIMIT: Final = 50
_LOOKED_AT: Final = 1_000
"""Questions of a scope that one look into the store brings."""

_WINDOWS: Final = (3600.0, 86400.0, 30 * 86400.0, None)
"""Seconds back in which it is looked for, one after the other: stores list the oldest first."""


async def decided_page(visit: Visit) -> Response:
    """`GET /inbox/decided`: the last questions that no longer wait, the newest first."""
    if visit.is_form:
        raise Refused("METHOD_NOT_ALLOWED", "There is nothing to decide on this page.")
    filters = replace(chosen_filters(visit), status=None, mine=False)
    views = await _views(visit, filters)
    return visit.page(
        "decided",
        "Decided · Inbox",
        heading="Decided",
        views=views,
        filters=filters,
        filtered=filters != Filters(status=None),
        agents=sorted(visit.service.agents),
    )


async def _views(visit: Visit, filters: Filters) -> list[QuestionView]:
    now = time.time()
    views: list[QuestionView] = []
    for seconds in _WINDOWS:
        rows = await _rows(visit, filters, None if seconds is None else now - seconds)
        views = _shown(visit, rows, now)
        if len(views) >= _LIMIT:
            break
    return views[:_LIMIT]


async def _rows(visit: Visit, filters: Filters, since: float | None) -> list[InterruptRow]:
    """What was asked since then, of each scope that who looks may see."""
    engine = await visit.service.open()
    after = None if since is None else (since, "", "", -1, "")
    return await engine.as_seen(
        [
            row
            for scope in scopes_of(visit.principal)
            for row in await engine.store.list_interrupts(
                scope, filters.stored, after=after, limit=_LOOKED_AT
            )
        ]
    )


def _shown(visit: Visit, rows: Sequence[InterruptRow], now: float) -> list[QuestionView]:
    references = visit.service.references
    views = (
        view_of(
            row,
            references.write(Reference(row.key, row.interrupt.id)),
            visit.principal,
            now,
            visit.service.agents,
        )
        for row in rows
    )
    return sorted(
        (view for view in views if not view.waits), key=lambda view: view.asked_at, reverse=True
    )


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
    told: AnswerResult
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
    return Result(reference, title, AnswerResult("Not taken", why, "no"), False)


def _words(error: BridgeError) -> str:
    return error.message if isinstance(error, Refused) else CODES["STORE_UNAVAILABLE"].cause


# --- `/inbox/rules`: decisions that are remembered, and the buttons that end them ---


async def remembered_page(visit: Visit) -> Response:
    """`GET`: what is remembered. `POST`: revoke the decision that `grant` names."""
    if not visit.is_form:
        return await _rules(visit)
    async with visit.form() as form:
        named = form.get("grant", [])
        if len(named) != 1 or form.get("decision") != ["revoke"]:
            raise Refused("INVALID_INPUT", "Nothing was revoked: press the button of one rule.")
        engine = await visit.service.open()
        for scope in scopes_of(visit.principal):
            if await engine.store.grants.revoke(scope, named[0], visit.principal.actor):
                return await _rules(visit, "Revoked: people are asked again.")
        return await _rules(visit, "Nothing was revoked: it was revoked before, or is not yours.")


async def _rules(visit: Visit, told: str | None = None) -> Response:
    engine = await visit.service.open()
    grants = [
        grant
        for scope in scopes_of(visit.principal)
        for grant in await engine.store.grants.list(scope)
    ]
    now = await engine.store.ping()
    return visit.page(
        "remembered",
        "Rules · Inbox",
        told=told,
        standing=[grant for grant in grants if grant.stands(now)],
        over=[grant for grant in grants if not grant.stands(now)],
    )


async def notices_page(visit: Visit) -> Response:
    """`GET`: what is left. `POST`: close that of `channel` in `scope`."""
    if not visit.is_form:
        return await _notices(visit)
    async with visit.form() as form:
        channel, scope = form.get("channel", []), form.get("scope", [])
        if (len(channel), len(scope), form.get("decision")) != (1, 1, ["close"]):
            raise Refused("INVALID_INPUT", "Nothing was closed: press the button of one channel.")
        if scope[0] not in scopes_of(visit.principal):
            return await _notices(visit, "Nothing was closed: these notices are not yours.")
        if channel[0] in await _names(visit):
            return await _notices(visit, "Nothing was closed: there is such a channel.")
        engine = await visit.service.open()
        closed = await close_notices(
            engine.store, scope[0], channel[0], visit.principal.actor, "inbox", mint
        )
        told = closed.told or "Nothing was closed: nothing was left of this channel."
        return await _notices(visit, told)


async def _names(visit: Visit) -> frozenset[str]:
    """The channels that this server has, or one that runs beside it."""
    engine = await visit.service.open()
    return await configured_elsewhere(engine.store) | visit.service.channels.keys()


async def _notices(visit: Visit, told: str | None = None) -> Response:
    engine, names = await visit.service.open(), await _names(visit)
    left = [
        one
        for scope in scopes_of(visit.principal)
        for one in await left_notices(engine.store, scope, names)
    ]
    own = visit.principal.scope
    return visit.page("notices", "Notices · Inbox", told=told, left=left, own=own)
