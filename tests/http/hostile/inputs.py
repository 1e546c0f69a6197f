"""What the tests of hostile requests send, and the form that every refusal has."""

from typing import Any

import httpx

from agui_bridge.errors import CODES

JSON = {"content-type": "application/json"}


SECONDS = 20.0
"""Within which every answer comes, on a busy machine; each takes a fraction of it."""


def check_error(response: httpx.Response, code: str | None = None) -> dict[str, Any]:
    """The error of a refusal, which has the documented form."""
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error", "message"]
    assert response.json()["message"] == response.json()["error"]["message"]
    error: dict[str, Any] = response.json()["error"]
    assert {"code", "message"} <= set(error) <= {"code", "message", "details"}
    assert response.status_code == CODES[error["code"]].status
    assert 400 <= response.status_code < 500, error
    assert code in (None, error["code"]), error
    assert 5 < len(error["message"]) < 1000 and "Traceback" not in error["message"]
    assert len(response.content) < 3000
    return error
