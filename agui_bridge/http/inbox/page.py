"""One page as a response: its template, and the headers that keep it from being misused.

No page has a script, and none may load anything: its style stands in it, named by its hash, and
so does its icon.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import HTMLResponse

from agui_bridge.errors import ConfigurationError
from agui_bridge.http.inbox.telling.words import Moment
from agui_bridge.text.visible import visible, visible_json, visible_name, visible_word

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["NAVIGATION", "Pages", "Place"]

NAVIGATION: Final[tuple[tuple[str, str], ...]] = (
    ("Waiting", "inbox"),
    ("Decided", "inbox/decided"),
    ("Rules", "inbox/rules"),
    ("Notices", "inbox/notices"),
)
"""What every page leads to: the words, and the path below the bridge's own."""

_TEMPLATES: Final = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Place:
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
        place: Place,
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

    def _headers(self, place: Place, refresh: int | None) -> Mapping[str, str]:
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
    made.filters["word"] = visible_word
    made.filters["name"] = visible_name
    made.filters["json"] = visible_json
    made.filters["moment"] = Moment
    return made
