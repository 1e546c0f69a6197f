"""AG-UI events to server-sent events and back, without IO.

Sources: the AG-UI 1.0 http-sse binding (one event per ``data:``, LF line ends, comments
allowed), the WHATWG HTML standard, section "Interpreting an event stream", for decoding.
"""

import codecs
import json
import re
from json.encoder import encode_basestring
from typing import Final

from pydantic_core import PydanticSerializationError, to_json

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.json_values import NUL, WireEvent, clean

__all__ = ["KEEP_ALIVE", "Decoder", "Frame", "FrameTooLarge", "encode", "encode_text"]

KEEP_ALIVE: Final = b": keep-alive\n\n"
"""A comment: it keeps proxies from closing an idle stream, and no client sees it."""

_MANY: Final = 1024
_SHORT: Final = 100


class _Prefixes(dict[str, str]):
    """What stands before a delta, by the entity that it belongs to.

    A dict costs half of what `lru_cache` does. One that is full begins anew.
    """

    __slots__ = ("_start", "key")

    def __init__(self, kind: str, key: str) -> None:
        super().__init__()
        self.key = key
        self._start = f'data: {{"type":"{kind}","{key}":'

    def __missing__(self, entity: str) -> str:
        if NUL in entity:
            raise ValueError("a NUL character is to be replaced")
        if len(self) >= _MANY:
            self.clear()
        prefix = self[entity] = f'{self._start}{encode_basestring(entity)},"delta":'
        return prefix


# The deltas are nearly all of a stream, most of them a few characters long. A string around
# the C string encoder of the standard library beats every other encoder for those.
_DELTAS: Final = {
    kind: _Prefixes(kind, key)
    for kind, key in (
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("TOOL_CALL_ARGS", "toolCallId"),
        ("REASONING_MESSAGE_CONTENT", "messageId"),
    )
}


_TEXTS: Final = _DELTAS["TEXT_MESSAGE_CONTENT"]


def encode_text(message_id: str, delta: str) -> bytes:
    """Encode a TEXT_MESSAGE_CONTENT of nothing but a clean text, as `encode` does.

    Args:
        message_id: whose text it is.
        delta: what `json_values.clean_text` gives.
    """
    if len(delta) > _SHORT:
        return _TEXTS[message_id].encode() + to_json(delta) + b"}\n\n"
    return f"{_TEXTS[message_id]}{encode_basestring(delta)}}}\n\n".encode()


def encode(event: WireEvent) -> bytes:
    """Encode one event as a server-sent event, never failing on a value.

    Byte-identical to the official ``ag_ui.encoder.EventEncoder`` for values that it can
    encode, except that NUL characters become U+FFFD, as do lone surrogates.

    Args:
        event: The event; its keys are written in their order.

    Returns:
        ``data: {json}`` and an empty line, UTF-8.
    """
    if len(event) == 3 and (prefixes := _DELTAS.get(event["type"])) is not None:
        try:
            delta = event["delta"]
            if NUL not in delta:
                prefix = prefixes[event[prefixes.key]]
                if len(delta) > _SHORT:
                    return prefix.encode() + to_json(delta) + b"}\n\n"
                return f"{prefix}{encode_basestring(delta)}}}\n\n".encode()
        except (KeyError, TypeError, ValueError):
            pass  # other keys or types than the plain ones, a lone surrogate, or a NUL
    return b"data: %b\n\n" % _to_json(event)


def _to_json(event: WireEvent) -> bytes:
    try:
        encoded = to_json(event, inf_nan_mode="null")
    except (PydanticSerializationError, ValueError):
        return to_json(clean(event))
    # Also true of text that spells the escape; cleaning leaves that alone.
    return to_json(clean(event), inf_nan_mode="null") if b"\\u0000" in encoded else encoded


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event: its ``event`` field, its data, and the last id seen so far."""

    event: str
    data: str
    id: str

    def wire_event(self) -> WireEvent | None:
        """Return the data as an AG-UI event, or None when it is not a JSON object.

        Some servers end a stream with ``data: [DONE]``; what to make of it is up to the
        caller, who still has ``data``.
        """
        try:
            value = json.loads(self.data)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class FrameTooLarge(ValueError):
    """The peer sent more bytes without ending a frame than the decoder was to hold."""


_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class Decoder:
    """Decode server-sent events from bytes that arrive in pieces.

    Call `feed` with every piece in order and `close` when the peer has ended the stream.
    A piece may end anywhere: within a UTF-8 sequence, between CR and LF, within a field.

    Args:
        max_frame_bytes: How many bytes may come between two empty lines. A decoder that has
            raised FrameTooLarge must not be used again.
    """

    def __init__(self, *, max_frame_bytes: int = 16 * 1024 * 1024) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._frame_bytes = 0
        self._partial: list[bytes] = []
        self._at_start = True
        self._after_cr = False
        self._event = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they complete.

        Args:
            chunk: as many as came, wherever they end.

        Raises:
            FrameTooLarge: A frame, or what there is of it, exceeds ``max_frame_bytes``.
        """
        if not chunk:
            return []
        if self._after_cr:
            # A CR at the end of a chunk has ended its line; an LF now belongs to it.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        frames: list[Frame] = []
        position = 0
        for end in _LINE_END.finditer(chunk):
            self._hold(chunk[position : end.start()])
            position = end.end()
            line = b"".join(self._partial)
            self._partial.clear()
            if (frame := self._take_line(line)) is not None:
                frames.append(frame)
        self._after_cr = chunk.endswith(b"\r")
        if position < len(chunk):
            self._hold(chunk[position:])
        return frames

    def close(self) -> bool:
        """Say whether the stream broke off within a frame, which is then lost."""
        partial = b"".join(self._partial)
        if self._at_start:
            partial = partial.removeprefix(codecs.BOM_UTF8)
        in_field = partial != b"" and not partial.startswith(b":")
        return in_field or bool(self._data)

    def _hold(self, part: bytes) -> None:
        self._frame_bytes += len(part)
        if self._frame_bytes > self._max_frame_bytes:
            raise FrameTooLarge(f"a frame exceeds {self._max_frame_bytes} bytes")
        self._partial.append(part)

    def _take_line(self, line: bytes) -> Frame | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line:
            return self._end_frame()
        name, _, rest = line.partition(b":")
        value = rest.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id" and "\x00" not in value:
            self._id = value
        return None

    def _end_frame(self) -> Frame | None:
        self._frame_bytes = 0
        data, event = self._data, self._event
        self._data, self._event = [], ""
        return Frame(event, "\n".join(data), self._id) if data else None
