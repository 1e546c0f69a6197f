"""A session of Claude Code as it is kept with the thread: any replica can go on with it.

Claude Code mirrors each line of its transcript to a SessionStore of the SDK, and begins with what
one gives it. Here that is the run's own note: lines as JSON, compressed, since a session begins
with some 100 KB of instructions.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Any

from claude_agent_sdk import SessionKey, SessionStoreEntry

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.marks import unmarked
from agui_bridge.protocol.threads.records import Json


class Transcript:
    """The lines of one session and of its sub-agents, as SessionStore has them.

    Args:
        packed: what `packed` gave, "" for none.
    """

    def __init__(self, packed: str = "") -> None:
        text = zlib.decompress(base64.b85decode(packed)) if packed else b"{}"
        self._lines: dict[str, list[Any]] = json.loads(text)

    def packed(self, session: str) -> str:
        """Those of a session alone, as text: another one may have been forked from it."""
        own = {
            name: lines
            for name, lines in self._lines.items()
            if name == session or name.startswith(f"{session}/")
        }
        text = json.dumps(own, ensure_ascii=False, separators=(",", ":"))
        return base64.b85encode(zlib.compress(text.encode())).decode()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add lines; one that is there already stays as it is."""
        lines = self._lines.setdefault(_name(key), [])
        known = {line.get("uuid") for line in lines}
        lines += [one for one in entries if not one.get("uuid") or one.get("uuid") not in known]

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The lines of a session, None for one that has none."""
        return self._lines.get(_name(key))

    async def list_subkeys(self, key: Any) -> list[str]:
        """The sub-agents of a session."""
        begin = f"{key['session_id']}/"
        return [name.removeprefix(begin) for name in self._lines if name.startswith(begin)]


class Beginning:
    """A SessionStore that has one session up to a line alone.

    What came after it may hold a call that waits: Claude Code would take it up.

    Args:
        store: that has all of it.
        line: the id of that line.
    """

    def __init__(self, store: Any, line: str) -> None:
        self._store = store
        self._line = line

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add lines, of the fork."""
        await self._store.append(key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The lines up to that one; None where it is not known any more."""
        lines: list[SessionStoreEntry] = await self._store.load(key) or []
        places = [n for n, line in enumerate(lines) if line.get("uuid") == self._line]
        if not places:
            return None
        end = places[0] + 1
        # Of the marks behind it, which have no id, one says that the conversation ends there. The
        # next message follows with its place in the queue.
        marks = takewhile(_is_mark, lines[end:])
        return [*lines[:end], *marks]


def _is_mark(line: SessionStoreEntry) -> bool:
    return not line.get("uuid") and line.get("type") != "queue-operation"


def _name(key: SessionKey) -> str:
    # Not by the project, which is the working folder's name: replicas may have others.
    subpath = key.get("subpath")
    return f"{key['session_id']}/{subpath}" if subpath else key["session_id"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run leaves for the next one: as its memo, or with its pause.

    Attributes:
        actor: who began the run.
        session: Claude Code's own id of the session.
        transcript: packed; "" where the author keeps it in a store of their own.
        marks: which messages of the thread it stands for; see `marks`.
        call: the id of the call that waits for a person, "" where none does.
        name: its tool.
        args: its arguments, as they were shown.
        late: messages that the agent has not heard, as JSON.
        points: where a run ended by itself: how many of the marks the session stood for then, and
            the id of its last line, at which it can be forked.
    """

    actor: str
    session: str
    transcript: str
    marks: Sequence[str]
    call: str = ""
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    late: Sequence[Mapping[str, Any]] = ()
    points: Sequence[tuple[int, str]] = ()

    @classmethod
    def from_json(cls, kept: Any) -> Kept:
        """Read what `to_json` gave."""
        return cls(**kept)

    def to_json(self) -> Json:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Standing:
    """The session that the thread's next message goes to.

    Attributes:
        kept: what is known of it; None where a new one begins.
        messages: those of the thread that it lacks, as JSON.
        fork_at: the id of the line that it is forked after; "" where it goes on itself.
    """

    kept: Kept | None
    messages: Sequence[Mapping[str, Any]]
    fork_at: str = ""

    @classmethod
    def of(cls, run: Run) -> Standing:
        """That for a run.

        A new session begins where none stands for the beginning of the thread. Where the client
        has gone back, or what came of a run is unknown, it is forked where it still stood for that.
        """
        noted, is_certain = run.memo or run.outdated_memo, True
        for closed in run.closed:
            # Of a call whose run was lost, Claude Code may have other things noted than happened.
            noted, is_certain = closed.continuation, closed.cause != "lost"
        if not isinstance(noted, dict) or noted.keys() != set(Kept.__slots__):
            return cls(None, run.raw_messages)
        kept = Kept.from_json(noted)
        rest = unmarked(run.raw_messages, kept.marks)
        if is_certain and rest is not None:
            return cls(kept, [*kept.late, *rest])
        return cls._forked(kept, run.raw_messages)

    @classmethod
    def _forked(cls, kept: Kept, messages: Sequence[Mapping[str, Any]]) -> Standing:
        for place, (marks, line) in reversed([*enumerate(kept.points)]):
            rest = unmarked(messages, kept.marks[:marks])
            if rest is not None:
                stood = Kept(
                    actor=kept.actor,
                    session=kept.session,
                    transcript=kept.transcript,
                    marks=kept.marks[:marks],
                    points=kept.points[: place + 1],
                )
                return cls(stood, rest, line)
        return cls(None, messages)
