"""Who is let in to the pages; and what is refused on the way, told as a page."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from agui_bridge.errors import CODES, ConfigurationError, Refused, StoreUnavailable
from agui_bridge.http.endpoint import HostGuard, comes_from_elsewhere
from agui_bridge.http.inbox.wording import Moment
from agui_bridge.http.request_parts import form_body, principal_of
from agui_bridge.http.service import Service
from agui_bridge.inbox.reference import Reference
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.text.shown import shown_json, shown_name, shown_word
from agui_bridge.text.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment

# --- one page as a response: its template, and the headers that keep it from being misused ---
#
# No page has a script, and none may load anything: its style stands in it, named by its hash, and
# so does its icon.

NAVIGATION: Final[tuple[tuple[str, str], ...]] = (
    ("Waiting", "inbox"),
    ("Decided", "inbox/decided"),
    ("Rules", "inbox/rules"),
    ("Notices", "inbox/notices"),
)
"""What every page leads to: the words, and the path below the bridge's own."""

_TEMPLATES: Final = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class PageAddress:
    """Where a page stands, and who reads it.

    Attributes:
        path: its own, below the bridge's: `inbox`, or longer.
        actor: who reads it; None where nobody is known.
        link: whether it was reached by a link to one question, and leads nowhere else.
    """

    path: str
    actor: str | None = None
    link: bool = False

    @property
    def up(self) -> str:
        """From this page to where the bridge stands, whatever a proxy calls that."""
        return "../" * self.path.count("/")


class Pages:
    """Makes pages of templates.

    Raises:
        ConfigurationError: jinja2 is not installed.
    """

    def __init__(self) -> None:
        style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self._policy = (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        self._environment = _environment(style)

    def make(
        self,
        template: str,
        place: PageAddress,
        title: str,
        *,
        status: int = 200,
        refresh: int | None = None,
        **shown: Any,
    ) -> HTMLResponse:
        """Make a page.

        Args:
            template: its file's name, without the ending.
            place: where it stands.
            title: what the window is called.
            status: of the response.
            refresh: seconds after which the browser loads it anew; None: never.
            **shown: what the template shows.
        """
        text = self._environment.get_template(f"{template}.html").render(
            place=place, title=title, navigation=NAVIGATION, refresh=refresh, **shown
        )
        return HTMLResponse(text, status, self._headers(place, refresh))

    def _headers(self, place: PageAddress, refresh: int | None) -> Mapping[str, str]:
        headers = {
            "Content-Security-Policy": self._policy,
            # A link is as good as a password, and stands in the address. Elsewhere the address
            # must reach this server itself: browsers name no origin without it.
            "Referrer-Policy": "no-referrer" if place.link else "same-origin",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Robots-Tag": "noindex, nofollow",
        }
        if refresh is not None:
            headers["Refresh"] = str(refresh)
        return headers


def _environment(style: str) -> Environment:
    try:
        import jinja2  # noqa: F401  # only to see whether it is there
    except ImportError as error:
        raise ConfigurationError(
            f"The inbox page needs jinja2 ({error.name or error} is missing). "
            'Install it: pip install "agui-bridge[inbox]"'
        ) from error
    return _templates(style)


@cache
def _templates(style: str) -> Environment:
    """The templates, which all bridges of a process share: to compile them takes 50 ms."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["style"] = style
    made.filters["visible"] = visible
    made.filters["word"] = shown_word
    made.filters["name"] = shown_name
    made.filters["json"] = shown_json
    made.filters["moment"] = Moment
    return made


# --- the door ---

FIELD: Final = "csrf"
"""The form's hidden field."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class FormToken:
    """What a form must bring back: the cookie's value, a new one where there is none yet.

    Other pages may send forms in somebody's name. Three things must hold, each of which would do
    alone: the browser says that one of our pages sent the form (`Sec-Fetch-Site` and `Origin`, see
    `http.endpoint`), and the form holds what a cookie says that no other page may send along or
    read.

    Source: OWASP, Cross-Site Request Forgery Prevention; Fetch Metadata, W3C.

    Args:
        request: asks for the page that the form stands on.
        secure: whether people come by https, so that the cookie is never sent otherwise.
    """

    def __init__(self, request: Request, *, secure: bool) -> None:
        # Such a name can't be set by other hosts of the same domain.
        self._cookie = "__Host-agui-inbox" if secure else "agui-inbox"
        self._secure = secure
        sent = request.cookies.get(self._cookie, "")
        self.known: bool = _TOKEN.fullmatch(sent) is not None
        self.value: str = sent if self.known else secrets.token_urlsafe(32)

    def keep(self, response: Response) -> None:
        """Have the browser keep it, if it does not yet."""
        if not self.known:
            # The path is the root: what a proxy puts before ours is not known here.
            response.set_cookie(
                self._cookie,
                self.value,
                path="/",
                secure=self._secure,
                httponly=True,
                samesite="strict",
            )


def check_form(token: FormToken, form: Mapping[str, Sequence[str]]) -> None:
    """Let a form pass that a person has sent from one of our pages.

    Raises:
        Refused: FORBIDDEN.
    """
    sent = form.get(FIELD, ())
    same = len(sent) == 1 and hmac.compare_digest(sent[0].encode(), token.value.encode())
    if token.known and same:
        return
    raise Refused(
        "FORBIDDEN",
        "Nothing was decided: this page was open for too long, or its cookie is gone. "
        "Look again at what is asked, and decide once more.",
    )


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
    place: PageAddress
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
        self._place = PageAddress(path, link=path.startswith("d/"))

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
        place = PageAddress(self._place.path, principal.actor, self._place.link)
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
