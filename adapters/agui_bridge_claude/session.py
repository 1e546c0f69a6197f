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
from dataclasses import asdict, dataclass, field, replace
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

    def packed(self) -> str:
        """All of it, as text."""
        text = json.dumps(self._lines, ensure_ascii=False, separators=(",", ":"))
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
    """

    actor: str
    session: str
    transcript: str
    marks: Sequence[str]
    call: str = ""
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    late: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def from_json(cls, kept: Any) -> Kept:
        """Read what `to_json` gave."""
        return cls(**kept)

    def to_json(self) -> Json:
        """As JSON."""
        return asdict(self)

    def without_call(self) -> Kept:
        """The same, when nothing waits."""
        return replace(self, call="", name="", args={})


def standing(run: Run) -> tuple[Kept | None, Sequence[Mapping[str, Any]]]:
    """The session that the thread's next message goes to, and the messages that it lacks.

    Returns:
        None where there is none that stands for the beginning of the thread: it was lost, or a
        message of it was edited, or taken back. Then the messages are all.
    """
    noted = run.memo
    for closed in run.closed:
        # What became of a call whose run was lost is unknown: Claude Code would be told otherwise.
        noted = closed.continuation if closed.cause != "lost" else None
    if not isinstance(noted, dict) or noted.keys() != set(Kept.__slots__):
        return None, run.raw_messages
    kept = Kept.from_json(noted)
    rest = unmarked(run.raw_messages, kept.marks)
    return (None, run.raw_messages) if rest is None else (kept, [*kept.late, *rest])
