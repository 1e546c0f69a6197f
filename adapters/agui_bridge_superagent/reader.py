"""The streams of a SuperAgent-compatible server, in either mode, made into text and a question.

The mode is told by the frames themselves: A2UI frames have an event name, legacy ones have none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.wire.sse import Decoder, Frame, FrameTooLarge
from agui_bridge_superagent.pauses import Question, malformed

__all__ = ["Reader"]

_INTERRUPT = "\0INTERRUPT:"
_ERROR = "\0ERROR:"
_LONGEST_TOKEN = 1024 * 1024


class Reader:
    """One stream.

    Attributes:
        question: what it ended with, None when it asked nothing.
    """

    def __init__(self) -> None:
        self.question: Question | None = None
        self._decoder = Decoder()
        self._ended = False
        self._legacy = False
        self._failed: str | None = None
        # The start of a control token, until all of it is there.
        self._control = ""

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Take the next bytes; gives the text in them.

        Raises:
            UpstreamError: they are no frames of this protocol.
        """
        try:
            frames = self._decoder.feed(chunk)
        except FrameTooLarge:
            raise malformed("a frame that is too large") from None
        for frame in frames:
            if self._ended:
                return
            text = self._take_event(frame) if frame.event else self._take_token(frame.data)
            if text:
                yield text

    def end(self) -> None:
        """The server has ended the stream.

        Raises:
            UpstreamError: it told of an error, or did not come to an end: a legacy stream ends
                with an interrupt or `[DONE]`; in A2UI mode the seed shows no such mark.
        """
        if self._control:
            raise malformed("a token that begins with NUL and is none of the protocol's")
        if self.question is None and self._failed is not None:
            raise UpstreamError(self._failed)
        if self._decoder.close() or (self._legacy and not self._ended):
            raise UpstreamError("The remote agent's stream broke off before its end.")

    def _take_event(self, frame: Frame) -> str:
        body = _json(frame.data)
        data = body.get("data") if isinstance(body, Mapping) else None
        if frame.event == "text":
            delta = data.get("delta") if isinstance(data, Mapping) else None
            if not isinstance(delta, str):
                raise malformed("a text without a delta")
            return delta
        if frame.event == "interrupt":
            self.question, self._ended = Question.of(data), True
        elif frame.event == "error":
            self._failed = _told(data)
        elif frame.event == "done":
            self._ended = True
        # Of other frames there is nothing to be known: A2UI has more than this API.
        return ""

    def _take_token(self, token: str) -> str:
        self._legacy = True
        if not self._control:
            if token == "[DONE]":
                self._ended = True
                return ""
            if not token.startswith("\0"):
                return token
        # A server may break a long token in pieces as it breaks text.
        self._control += token
        if len(self._control) > _LONGEST_TOKEN:
            raise malformed("a token that is too large")
        for mark in (_INTERRUPT, _ERROR):
            if self._control.startswith(mark):
                try:
                    data = json.loads(self._control.removeprefix(mark))
                except ValueError:
                    return ""
                self._control = ""
                if mark == _ERROR:
                    self._failed = _told(data)
                else:
                    self.question, self._ended = Question.of(data), True
        return ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise malformed("a frame that is no JSON") from None


def _told(data: Any) -> str:
    """Only the code: the server's own words may hold what nobody here should read."""
    code = data.get("code") if isinstance(data, Mapping) else None
    shown = f" ({code})" if isinstance(code, str) and code.isidentifier() and len(code) < 64 else ""
    return f"The remote agent failed{shown}."
