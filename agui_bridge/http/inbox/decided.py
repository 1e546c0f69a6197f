"""What was decided: by whom, when, and through which channel."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from agui_bridge.errors import Refused
from agui_bridge.http.inbox.door import Visit
from agui_bridge.http.inbox.listing import chosen_filters
from agui_bridge.http.inbox.views import QuestionView, view_of
from agui_bridge.inbox.access import scopes_of
from agui_bridge.inbox.pending import Filters
from agui_bridge.inbox.reference import Reference
from agui_bridge.stores.base import InterruptRow

__all__ = ["decided_page"]

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
                scope, **filters.stored, after=after, limit=_LOOKED_AT
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
