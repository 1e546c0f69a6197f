"""Forms that other pages send in somebody's name are refused.

Three things must hold, each of which would do alone: the browser says that one of our pages sent
the form (`Sec-Fetch-Site` and `Origin`, see `http.hosts`), and the form holds what a cookie
says that no other page may send along or read.

Source: OWASP, Cross-Site Request Forgery Prevention; Fetch Metadata, W3C.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.errors import Refused

__all__ = ["FIELD", "FormToken", "check_form"]

FIELD: Final = "csrf"
"""The form's hidden field."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class FormToken:
    """What a form must bring back: the cookie's value, a new one where there is none yet.

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
