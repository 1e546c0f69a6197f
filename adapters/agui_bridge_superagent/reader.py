"""The streams of a SuperAgent-compatible server, in either mode, made into items and a question.

The mode is told by the frames themselves: A2UI frames have an event name of their own; tokens have
none, or `message`, the default of server-sent events, which the original server writes out.

Source: SuperAgent's page "Interrupt/Resume"; the handler of the original (superagent-base,
backend/api/handler/coze/chat_sse.go) and the writer that it uses (hertz, pkg/protocol/sse).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_bridge.adapters import RunItem
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.wire.sse import Decoder, Frame, FrameTooLarge
from agui_bridge_superagent.frames import FrameEvents
from agui_bridge_superagent.pauses import Question, malformed

_INTERRUPT: Final = "\0INTERRUPT:"
_ERROR: Final = "\0ERROR:"
_FAILED: Final = "[error] "
"""How the original server begins the last token of an agent that failed, wherever it was then."""

_DONE: Final = "[DONE]"
_MESSAGE: Final = "message"
_LONGEST_TOKEN: Final = 1024 * 1024


class Reader:
    """One stream.

    Args:
        frames: reads the frames that are neither text nor an end.

    Attributes:
        question: what it ended with, None when it asked nothing.
    """

    def __init__(self, frames: FrameEvents) -> None:
        self.question: Question | None = None
        self._frames = frames
        self._decoder = Decoder()
        self._ended = False
        self._failed: str | None = None
        # The start of a control token, until all of it is there.
        self._control = ""
        # A token that tells of a failure if nothing comes behind it.
        self._suspect = ""

    def feed(self, chunk: bytes) -> Iterator[RunItem]:
        """Take the next bytes; gives the text and the events in them.

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
            is_token = frame.event in ("", _MESSAGE)
            if is_token:
                if text := self._take_token(frame):
                    yield text
            else:
                yield from self._take_event(frame)

    def end(self) -> None:
        """The server has ended the stream.

        Raises:
            UpstreamError: it told of an error, or did not come to an end, which is a question,
                `[DONE]`, `done` or an error.
        """
        if self._control:
            raise malformed("a token that begins with NUL and is none of the protocol's")
        if self.question is None and self._failed is not None:
            raise UpstreamError(self._failed)
        if not self._ended:
            raise UpstreamError("The remote agent's stream broke off before its end.")

    def _take_event(self, frame: Frame) -> Iterator[RunItem]:
        body = _json(frame.data)
        data = body.get("data") if isinstance(body, Mapping) else None
        if frame.event == "text":
            if not isinstance(data, Mapping) or not isinstance(data.get("delta"), str):
                raise malformed("a text without a delta")
            # The original never fills in `content`.
            if text := self._heard(data["delta"], may_fail=not data.get("content")):
                self._frames.spoke()
                yield text
        elif frame.event == "interrupt":
            self.question, self._ended = Question.of(data), True
        elif frame.event == "error":
            self._failed = _told(data)
        elif frame.event == "done":
            self._finish()
        elif isinstance(data, Mapping):
            yield from self._frames.read(frame.event, data)

    def _take_token(self, frame: Frame) -> str:
        token = _token_of(frame)
        if not self._control:
            if token == _DONE:
                self._finish()
                return ""
            if not token.startswith("\0"):
                return self._heard(token, may_fail=frame.event == _MESSAGE)
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

    def _heard(self, text: str, *, may_fail: bool) -> str:
        """Text, once it is certain that it tells of no failure: behind one nothing comes."""
        before, self._suspect = self._suspect, ""
        if may_fail and text.startswith(_FAILED):
            self._suspect = text
            return before
        return before + text

    def _finish(self) -> None:
        self._ended = True
        if self._suspect:
            self._failed = self._failed or _told(None)


def _token_of(frame: Frame) -> str:
    r"""The token of a frame.

    The original's writer leaves out the last line of a token that ends with a line break, so that
    of `\n\n` one empty line less arrives. Where it is certain, it is put back.
    """
    cut = frame.event == _MESSAGE and (frame.data == "" or frame.data.endswith("\n"))
    return frame.data + "\n" if cut else frame.data


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
