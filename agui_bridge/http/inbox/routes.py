"""The table of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.routing import BaseRoute, Route

from agui_bridge.http.endpoint import Endpoint, HostGuard
from agui_bridge.http.inbox.door import Door, Handler, Pages
from agui_bridge.http.inbox.listing import decided_page, inbox_page, notices_page, remembered_page
from agui_bridge.http.inbox.paths import (
    BY_LINK,
    DECIDED,
    INBOX,
    INBOX_PATHS,
    NOTICES,
    QUESTION,
    RULES,
)
from agui_bridge.http.inbox.question import question_page
from agui_bridge.http.service import Service

_PAGES: Final[Mapping[str, Handler]] = {
    INBOX: inbox_page,
    DECIDED: decided_page,
    RULES: remembered_page,
    NOTICES: notices_page,
    QUESTION: question_page,
    BY_LINK: question_page,
}
"""Handlers by path."""


def inbox_routes(service: Service, hosts: Sequence[str]) -> list[BaseRoute]:
    """The pages' routes.

    Args:
        service: the bridge.
        hosts: the names that requests may come to; that of the inbox's own URL besides.

    Raises:
        ConfigurationError: jinja2 is not installed.
    """
    pages = Pages()
    guard = _guard(service, hosts)
    return [
        Route(
            path,
            Endpoint(service, Door(pages, guard, _PAGES[path], path[1:])),
            include_in_schema=False,
        )
        for path in INBOX_PATHS
    ]


def _guard(service: Service, hosts: Sequence[str]) -> HostGuard:
    """Who may call: our own pages. Those of other origins have no business with these."""
    url = service.inbox.url
    if url is None:
        return HostGuard(hosts)
    parts = urlsplit(url)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
    # Behind a proxy that sends its own name of this server on, the page's origin is another.
    return HostGuard([*hosts, name], [f"{parts.scheme}://{parts.netloc.lower()}"])
