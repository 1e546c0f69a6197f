"""Who is let in to the pages; and what is refused on the way, told as a page."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.http.bodies import form_body
from agui_bridge.http.callers import principal_of
from agui_bridge.http.hosts import HostGuard, comes_from_elsewhere
from agui_bridge.http.inbox.forgery import FormToken, check_form
from agui_bridge.http.inbox.page import Pages, Place
from agui_bridge.http.service import Service
from agui_bridge.inbox.reference import Reference
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Principal

__all__ = ["Door", "Form", "Visit"]

logger: Final = logging.getLogger("agui_bridge")

Form = Mapping[str, list[str]]
"""What a form sent: values by the fields' names."""

_HEADINGS: Final[Mapping[str, str]] = {
    "UNAUTHENTICATED": "Please sign in",
    "FORBIDDEN": "Not accepted",
    "INTERRUPT_NOT_FOUND": "No such question",
    "INVALID_REFERENCE": "This link is not valid",
    "REFERENCE_EXPIRED": "This link has expired",
    "STORE_UNAVAILABLE": "Not available just now",
    "INTERNAL_ERROR": "Something went wrong",
}


@dataclass(frozen=True)
class Visit:
    """One request of a page by somebody who was let in.

    Attributes:
        service: the bridge.
        request: what was asked.
        principal: the caller.
        place: the page.
        pages: makes the response.
        token: what forms on it must bring back.
        reference: the question that a link leads to; None on pages that are no link's.
    """

    service: Service
    request: Request
    principal: Principal
    place: Place
    pages: Pages
    token: FormToken
    reference: Reference | None = None

    @property
    def is_form(self) -> bool:
        """Whether a form was sent; all else only looks."""
        return self.request.method == "POST"

    def page(self, template: str, title: str, **shown: Any) -> Response:
        """Make the page; see `Pages.make`."""
        return self.pages.make(template, self.place, title, token=self.token.value, **shown)

    @contextlib.asynccontextmanager
    async def form(self) -> AsyncIterator[Form]:
        """What the form sent, once it is known to be our own page's.

        Raises:
            Refused: FORBIDDEN, or the body is none of a form.
        """
        scope = self.principal.scope
        async with form_body(self.service, self.request, scope) as sent:
            check_form(self.token, sent)
            yield sent


Handler = Callable[[Visit], Awaitable[Response]]


class Door:
    """A page's handler behind all that must hold before it is asked.

    Args:
        pages: makes the responses.
        guard: refuses requests by their host and origin; always there, since browsers come with
            cookies.
        handler: makes the page.
        path: the page's, below the bridge's, without a slash in front.
    """

    def __init__(self, pages: Pages, guard: HostGuard, handler: Handler, path: str) -> None:
        self._pages = pages
        self._guard = guard
        self._handler = handler
        self._place = Place(path, link=path.startswith("d/"))

    async def __call__(self, service: Service, request: Request) -> Response:
        """Answer a request with a page."""
        token = FormToken(request, secure=(service.inbox.url or "").startswith("https:"))
        try:
            response = await self._answer(service, request, token)
        except Refused as error:
            service.telemetry.refused(error.code)
            response = self._refuse(service, request, error)
        except StoreUnavailable:
            service.telemetry.refused("STORE_UNAVAILABLE")
            response = self._refuse(service, request, _told("STORE_UNAVAILABLE"))
        except ClientDisconnect:
            raise
        except Exception:
            # The path of a link is as good as a password.
            logger.exception("%s of a page of the inbox failed", request.method)
            service.telemetry.refused("INTERNAL_ERROR")
            response = self._refuse(service, request, _told("INTERNAL_ERROR"))
        return response

    async def _answer(self, service: Service, request: Request, token: FormToken) -> Response:
        if request.method not in ("GET", "HEAD", "POST"):
            raise Refused("METHOD_NOT_ALLOWED", f"{request.method} is not allowed here.")
        self._check_site(request)
        if find_forbidden(list(request.query_params.values())) is not None:
            # PostgreSQL would refuse the statement that looks for it.
            raise Refused("INVALID_INPUT", "The address holds a character that no text may.")
        if comes_from_elsewhere(request.headers):
            if request.method == "POST":
                raise Refused("FORBIDDEN", "Another site sent this form: nothing was decided.")
            if "here" not in request.query_params:
                return self._step_in(request)
        reference = None
        if self._place.link:
            reference = service.references.read(request.path_params["reference"])
            if reference.holder is None:
                raise Refused("INVALID_REFERENCE", "This is no link: copy it whole.")
            principal = reference.holder
        else:
            principal = await principal_of(service, request)
        place = Place(self._place.path, principal.actor, self._place.link)
        response = await self._handler(
            Visit(service, request, principal, place, self._pages, token, reference)
        )
        # Strict cookies did not come along: a new one would take the place of what is there.
        if not comes_from_elsewhere(request.headers):
            token.keep(response)
        return response

    def _check_site(self, request: Request) -> None:
        """Refuse other hosts and origins.

        Link pages send no referrer, so their forms have the origin `null`. Only holders of the link
        can send them.
        """
        headers = MutableHeaders(scope=request.scope)
        if self._place.link and headers.get("origin") == "null":
            headers = MutableHeaders(headers)
            del headers["origin"]
        self._guard.check(headers)

    def _step_in(self, request: Request) -> Response:
        """Have our own page ask again: who comes by a link elsewhere brings no strict cookies.

        Without them a new one would be made, and forms that are open elsewhere would lose theirs;
        a host's own session would not be seen either.
        """
        here = "?" + urlencode([*request.query_params.multi_items(), ("here", "1")])
        response = self._pages.make("step_in", self._place, "Inbox", here=here)
        response.headers["Refresh"] = f"0; url={here}"
        return response

    def _refuse(self, service: Service, request: Request, error: Refused) -> Response:
        login = service.inbox.login_url
        if error.code == "UNAUTHENTICATED" and login and not self._place.link:
            address = login.replace("{next}", quote(str(request.url), safe=""))
            # A form may lead nowhere else: the browser would not follow.
            if request.method != "POST":
                return RedirectResponse(address, 303, {"Cache-Control": "no-store"})
            login = address
        return self._pages.make(
            "notice",
            self._place,
            _HEADINGS.get(error.code, "This did not work"),
            status=error.status,
            message=error.message,
            login=login if error.code == "UNAUTHENTICATED" else None,
            decided_nothing=request.method == "POST",
        )


def _told(code: str) -> Refused:
    entry = CODES[code]
    return Refused(code, f"{entry.cause} {entry.remedy}")
