"""The chunks of a stream out of its bytes: lines of server-sent events, or records of a workflow.

Mastra writes each chunk as one line. A short one is held as it is, a long one without what nobody
reads of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agui_bridge.errors import UpstreamError

_HELD_WHOLE: Final = 1024 * 1024
_DATA: Final = b"data:"


class Frames:
    """Takes a stream's bytes and gives the JSON of its chunks.

    Args:
        records: whether it is one of records, which a separator ends, rather than of events.
    """

    def __init__(self, *, records: bool) -> None:
        self._end = b"\x1e" if records else b"\n"
        self._prefix = b"" if records else _DATA
        self._line = bytearray()
        self._long: Pruned | None = None
        self._unread = False

    def feed(self, part: bytes) -> Iterator[bytes]:
        """Take the next bytes, and give what they complete.

        Raises:
            UpstreamError: a chunk is too large, and somebody would decide about it.
        """
        *ended, rest = part.split(self._end)
        for piece in ended:
            self._more(piece)
            if found := self._ends():
                yield found
        self._more(rest)

    def close(self) -> bytes:
        """What the stream ended with, without a separator after it; empty if there is nothing."""
        return self._ends()

    def _more(self, piece: bytes) -> None:
        if self._long is not None:
            self._long.feed(piece)
        elif not self._unread:
            self._line += piece
            if len(self._line) > _HELD_WHOLE:
                self._unread = not self._line.startswith(self._prefix)
                if not self._unread:
                    self._long = Pruned()
                    self._long.feed(bytes(self._line[len(self._prefix) :]))
                self._line.clear()

    def _ends(self) -> bytes:
        if self._long is not None:
            found = self._long.end()
        else:
            line = bytes(self._line)
            found = line[len(self._prefix) :].strip() if line.startswith(self._prefix) else b""
        self._line.clear()
        self._long, self._unread = None, False
        return found.strip()


# --- a long chunk as it comes, without what nobody reads of it ---
#
# At the end of a step and of a run Mastra repeats the whole conversation several times. A turn of
# two megabytes makes such a chunk of eighteen. Of these chunks few members are read, so the others
# are passed over while they come, and never held.
#
# A value that is read and is too large itself is replaced by a sentence that says so, unless
# somebody would decide about it.

LONGEST: Final = 16 * 1024 * 1024
"""Bytes of one chunk that are held at most."""

_READ: Final = {
    ("payload",): frozenset({"stepResult", "output", "metadata"}),
    ("payload", "output"): frozenset({"usage"}),
    ("payload", "metadata"): frozenset({"modelMetadata"}),
}
"""What is read of the end of a step or a run, by where it stands in the chunk."""

_ENDS: Final = ("finish", "step-finish")
_CARRIERS: Final = ("agent-execution-event-", "workflow-execution-event-")
_DECIDED: Final = ("tool-call", "tool-call-approval", "tool-call-suspended")
_TOKEN: Final = re.compile(rb'["{}\[\],:]')
_IN_STRING: Final = re.compile(rb'["\\]')
_SHORT: Final = 200
_TOO_LARGE: Final = (
    f"This is too large to be told: it has more than {LONGEST >> 20} MB. Have the tool give less, "
    "such as an address to fetch it from."
)


@dataclass(slots=True)
class _Level:
    """An object or array that is open.

    Attributes:
        key: name of the member that it is the value of; "" of a list's item.
        is_object: whether it has members.
        chunk: whether it is a chunk, rather than a part of one.
        kind: of a chunk its type, once that has come.
        member: name of the member that comes.
        started: where the member's value began in what is held.
    """

    key: str
    is_object: bool
    chunk: bool
    kind: str = ""
    member: str = ""
    started: int = 0


class Pruned:
    """One chunk's JSON, fed as it comes.

    Args:
        longest: bytes that are held at most.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._held = bytearray()
        self._levels: list[_Level] = []
        self._string: bytearray | None = None
        self._escaped = False
        self._is_key = False
        self._text = ""
        self._skipping: int | None = None
        """How many levels are open around the value that is passed over."""

    def feed(self, part: bytes) -> None:
        """Take the next bytes.

        Raises:
            UpstreamError: somebody would decide about what is too large.
        """
        at = 0
        while at < len(part):
            if self._string is not None:
                at = self._in_string(part, at)
                continue
            found = _TOKEN.search(part, at)
            self._keep(part[at : found.start() if found else len(part)])
            if found is None:
                return
            self._token(found.group())
            at = found.end()

    def end(self) -> bytes:
        """What is held of the chunk, as JSON."""
        return bytes(self._held)

    # --- tokens ---

    def _in_string(self, part: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            self._more(part[at : at + 1])
            return at + 1
        found = _IN_STRING.search(part, at)
        self._more(part[at : found.end() if found else len(part)])
        if found is None:
            return len(part)
        if found.group() == b"\\":
            self._escaped = True
        else:
            self._string_ends()
        return found.end()

    def _more(self, part: bytes) -> None:
        """More of a string."""
        assert self._string is not None
        if len(self._string) < _SHORT:
            self._string += part[:_SHORT]
        self._keep(part)

    def _string_ends(self) -> None:
        assert self._string is not None
        text, self._string = self._string[:-1].decode(errors="replace"), None
        level = self._levels[-1] if self._levels else None
        if level is None or self._skipping is not None:
            return
        if self._is_key:
            level.member = text
        elif level.chunk and level.member == "type":
            level.kind = text

    def _token(self, token: bytes) -> None:
        match token:
            case b'"':
                self._string = bytearray()
                self._keep(token)
            case b"{" | b"[":
                self._open(token)
            case b"}" | b"]":
                self._value_ends()
                if self._levels:
                    self._levels.pop()
                self._keep(token)
            case b":":
                self._keep(token)
                self._value_begins()
            case _:
                self._value_ends()
                self._keep(token)
                self._is_key = bool(self._levels) and self._levels[-1].is_object

    def _open(self, token: bytes) -> None:
        above = self._levels[-1] if self._levels else None
        key = above.member if above is not None and above.is_object else ""
        # A chunk of a sub-agent stands in that of the call, or is what an agent's event carries.
        chunk = above is None or (
            (key == "output" and above.key == "payload" and not self._ends_here())
            or (key == "payload" and above.kind.startswith(_CARRIERS))
        )
        self._levels.append(_Level(key, token == b"{", chunk))
        self._is_key = token == b"{"
        self._keep(token)

    # --- values ---

    def _value_begins(self) -> None:
        self._is_key = False
        level = self._levels[-1]
        level.started = len(self._held)
        if self._skipping is None and self._is_unread():
            self._keep(b"null")
            self._skipping = len(self._levels)

    def _value_ends(self) -> None:
        if self._skipping is not None and len(self._levels) <= self._skipping:
            self._skipping = None

    def _path(self) -> tuple[_Level, tuple[str, ...]]:
        """The innermost chunk that is open, and the members that lead from it to here."""
        path: list[str] = []
        for level in reversed(self._levels):
            if level.chunk:
                return level, tuple(reversed(path))
            path.append(level.key)
        return self._levels[0], ()

    def _ends_here(self) -> bool:
        return self._path()[0].kind in _ENDS

    def _is_unread(self) -> bool:
        chunk, path = self._path()
        read = _READ.get(path)
        return chunk.kind in _ENDS and read is not None and self._levels[-1].member not in read

    def _keep(self, part: bytes) -> None:
        if self._skipping is not None:
            return
        self._held += part
        if len(self._held) > self._longest:
            self._replace()

    def _replace(self) -> None:
        """Say of the value that comes that it is too large, and pass the rest of it over."""
        chunk, _ = self._path()
        if chunk.kind in _DECIDED:
            raise UpstreamError(
                f"A call of a tool at Mastra is too large to be shown to anybody: it has more than "
                f"{self._longest >> 20} MB. Have the agent call it with less."
            )
        holder = next(i for i, level in enumerate(self._levels) if level is chunk)
        if len(self._levels) > holder + 1 and self._levels[holder + 1].key == "payload":
            holder += 1
        level = self._levels[holder]
        del self._held[level.started :]
        self._held += b'"' + _TOO_LARGE.encode() + b'"'
        self._skipping = holder + 1
