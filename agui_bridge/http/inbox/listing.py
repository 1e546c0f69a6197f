"""What waits for people, page by page; several questions decided at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from agui_bridge.errors import Refused
from agui_bridge.http.inbox.door import Visit
from agui_bridge.http.inbox.forms.deciding import UNDECIDED
from agui_bridge.http.inbox.several import MOST, Result, decide_several
from agui_bridge.http.inbox.telling.words import counted
from agui_bridge.http.inbox.views import view_of
from agui_bridge.inbox.pending import Filters, find_page

__all__ = ["chosen_filters", "inbox_page", "query_of"]

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
