"""`/inbox/notices`: what is left of channels that were removed, and the buttons that close it."""

from __future__ import annotations

from starlette.responses import Response

from agui_bridge.channels.closing import close_notices, configured_elsewhere, left_notices
from agui_bridge.engine.engine import mint
from agui_bridge.errors import Refused
from agui_bridge.http.inbox.door import Visit
from agui_bridge.inbox.access import scopes_of

__all__ = ["notices_page"]


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
