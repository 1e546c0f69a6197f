r"""The frames of the chat API, in its two output modes.

A2UI (`X-A2UI: true`): each frame has an event name and JSON data with `type`, `timestamp` (Unix,
seconds) and `data`. A stream ends with one `interrupt`, `error` or `done`; an `interrupt` may
follow an `error`: what was asked is still open.

Legacy: each frame is a token of text. Two tokens begin with NUL, which no text has:
`\0INTERRUPT:` and `\0ERROR:`, each with JSON behind it. `[DONE]` ends a stream, except after an
interrupt. Source: SuperAgent's page "Interrupt/Resume"; the errors are this project's addition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from agui_bridge.protocol.json_values import clean
from agui_bridge.protocol.threads.records import Json

__all__ = ["A2UIFrames", "Frames", "LegacyFrames"]

_LINE_SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029"}


class Frames(Protocol):
    """One output mode. Each method gives bytes; times are seconds since the epoch."""

    def text(self, delta: str, now: float) -> bytes:
        """A piece of text, not empty."""
        ...

    def interrupt(self, state: Mapping[str, Json]) -> bytes:
        """A question, as the state that `interrupt_state` gives."""
        ...

    def error(self, code: str, message: str, now: float) -> bytes:
        """The run failed."""
        ...

    def done(self, now: float, *, stopped: bool, failed: bool) -> bytes:
        """The end of a stream that asks nothing."""
        ...


class A2UIFrames:
    """`event: NAME` and JSON data."""

    def __init__(self) -> None:
        self._content = ""

    def text(self, delta: str, now: float) -> bytes:
        """`content` is all text so far, `delta` what is new."""
        self._content += delta
        return _frame("text", now, {"content": self._content, "delta": delta})

    def interrupt(self, state: Mapping[str, Json]) -> bytes:
        """The reason and the fields; its time is that of the question."""
        data = {"reason": state["reason"], "fields": state["fields"]}
        return _frame("interrupt", state["timestamp"], data)

    def error(self, code: str, message: str, now: float) -> bytes:
        """A stable code, and a text for people."""
        return _frame("error", now, {"code": code, "message": message})

    def done(self, now: float, *, stopped: bool, failed: bool) -> bytes:
        """The end; a run that was stopped says so, and one that failed has said it."""
        if failed:
            return b""
        return _frame("done", now, {"stop_reason": "USER_INTERRUPTED"} if stopped else {})


class LegacyFrames:
    """Tokens."""

    def __init__(self) -> None:
        self._after_cr = False

    def text(self, delta: str, now: float) -> bytes:
        """A token. SSE knows one line end only, so that CR and CRLF become LF."""
        if self._after_cr:
            delta = delta.removeprefix("\n")
            self._after_cr = False
        if not delta:
            return b""
        self._after_cr = delta.endswith("\r")
        token = delta.replace("\r\n", "\n").replace("\r", "\n")
        if token == "[DONE]":
            # It is text: in two tokens it ends nothing.
            return _token("[") + _token("DONE]")
        return _token(token)

    def interrupt(self, state: Mapping[str, Json]) -> bytes:
        """The whole state."""
        return _token(f"\0INTERRUPT:{_json(state)}")

    def error(self, code: str, message: str, now: float) -> bytes:
        """A stable code, and a text for people."""
        return _token("\0ERROR:" + _json({"code": code, "message": message}))

    def done(self, now: float, *, stopped: bool, failed: bool) -> bytes:
        """`[DONE]`, however the run ended."""
        return _token("[DONE]")


def _frame(kind: str, now: float, data: Mapping[str, Json]) -> bytes:
    body = _json({"type": kind, "timestamp": int(now), "data": data})
    return f"event: {kind}\ndata: {body}\n\n".encode()


def _token(text: str) -> bytes:
    return "".join([*(f"data: {line}\n" for line in text.split("\n")), "\n"]).encode()


def _json(value: Any) -> str:
    text = json.dumps(clean(value), ensure_ascii=False, separators=(",", ":"))
    # A client that looks for `data: (.+)` stops at these, which JSON lets stand.
    for separator, escape in _LINE_SEPARATORS.items():
        text = text.replace(separator, escape)
    return text
