"""What is told of an endpoint's refusal, and what to do about it."""

from __future__ import annotations

from typing import Final

from agui_bridge.client import HttpError

__all__ = ["ADDRESS", "SIGN_IN", "told_refusal"]

SIGN_IN: Final = 'Begin again with a token: --header "Authorization: Bearer …".'

ADDRESS: Final = (
    "Check the address: that of an AG-UI endpoint, or of an agui-bridge server with --agent."
)
_NO_SUCH_PLACE: Final = frozenset({None, "NOT_FOUND", "METHOD_NOT_ALLOWED"})


def told_refusal(error: HttpError) -> str:
    """What the endpoint said, and the remedy if the caller has one.

    Args:
        error: the refusal.
    """
    if error.status == 401:
        return f"{error}\n{SIGN_IN}"
    if 300 <= error.status < 400:
        return f"{error}\nThe server redirects to another address: give that one."
    # A stream comes with 200, and what is no stream from an address that is no endpoint.
    wrong = error.status == 200 or (error.status in (404, 405) and error.code in _NO_SUCH_PLACE)
    return f"{error}\n{ADDRESS}" if wrong else str(error)
