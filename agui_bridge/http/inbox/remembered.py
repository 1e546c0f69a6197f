"""`/inbox/rules`: decisions that are remembered, and the buttons that end them."""

from __future__ import annotations

from starlette.responses import Response

from agui_bridge.errors import Refused
from agui_bridge.http.inbox.door import Visit
from agui_bridge.inbox.access import scopes_of

__all__ = ["remembered_page"]


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
