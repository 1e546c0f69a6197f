"""The page of error codes, from the table in `agui_bridge/errors.py`."""

from __future__ import annotations

from collections.abc import Iterable

from agui_bridge.errors import CODES, ErrorCode

__all__ = ["errors_page"]

_HEAD = """\
# Error codes

Made from `agui_bridge/errors.py` by `make docs`. A code never changes its meaning; the message
beside it may.

## In a stream

These end a stream as its last event, `{"type": "RUN_ERROR", "code": …, "message": …}`. The HTTP
status of the stream is 200; the one below is what the code would be as an answer, for callers that
have no stream. A refused input changes nothing and executes nothing. Unless the thread was busy,
`RUN_FINISHED` with what the thread still waits for comes before it, so that a card stays open; a
client may ask for the question [without the error](dialects.md#how-a-refusal-is-told).

"""

_HTTP = """
## As an HTTP answer

These come instead of a stream: the status, and
`{"error": {"code", "message", "details"?}, "message"}`, the same message twice.

"""


def errors_page() -> str:
    """The whole page, as Markdown."""
    streamed = [(code, entry) for code, entry in CODES.items() if entry.stream]
    others = [(code, entry) for code, entry in CODES.items() if not entry.stream]
    return _HEAD + _table(streamed) + _HTTP + _table(others)


def _table(rows: Iterable[tuple[str, ErrorCode]]) -> str:
    lines = ["| code | status | cause | what to do |", "|---|---|---|---|"]
    for code, entry in rows:
        lines.append(f"| `{code}` | {entry.status} | {entry.cause} | {entry.remedy} |")
    return "\n".join(lines) + "\n"
