"""The page of error codes, from the table in `agui_bridge/errors.py`."""

from __future__ import annotations

from collections.abc import Iterable

from agui_bridge.errors import CODES, ErrorCode

_HEAD = """\
# Error codes

Made from `agui_bridge/errors.py` by `make docs`. A code never changes its meaning; the message
beside it may.

## In a stream

Something is wrong with an input, or a run fails. Then the last event of the stream is
`{"type": "RUN_ERROR", "code": …, "message": …}`. The stream's own HTTP status is 200; the status
below is for callers that have no stream.

A refused input changes nothing and executes nothing. `RUN_FINISHED` with the open questions comes
before the error, so that their cards stay open; it is left out while the thread is busy. A client
may ask for the questions [without the error](dialects.md#how-a-refusal-is-told).

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
