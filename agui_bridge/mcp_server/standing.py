"""How a call stands, read from its thread: the same for its first result and for every retry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from agui_bridge.engine.engine import Engine
from agui_bridge.engine.reconnecting import messages_so_far
from agui_bridge.engine.stopping import was_stopped
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json, ThreadKey, ThreadStatus

Progress = Literal["done", "waiting", "working", "stopped", "failed", "expired", "unknown"]
"""`expired`: nobody answered in time; `unknown`: there is no such thread."""

_ENDED: Final[Mapping[str, Progress]] = {
    "finished": "done",
    "stopped": "stopped",
    "failed": "failed",
    "lost": "failed",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How a call stands.

    Attributes:
        key: its thread.
        progress: what it is doing.
        text: what the agent has said since the call's message.
        result: what its run gave; None where it gave nothing.
        waiting: the questions that it waits with.
    """

    key: ThreadKey
    progress: Progress
    text: str = ""
    result: Json = None
    waiting: tuple[Interrupt, ...] = ()


async def standing_of(engine: Engine, key: ThreadKey, said: str | None) -> Standing:
    """Read how a call stands.

    Args:
        engine: where its thread is.
        key: the thread.
        said: id of the call's message; None: of whatever was said last.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    words = await engine.store.words(key)
    async with engine.threads.whole(key) as loaded:
        if loaded.record is None:
            return Standing(key, "unknown")
        text, is_last = _said_since(messages_so_far(loaded, words), said)
        if not is_last:
            # The conversation has gone on: what it does now is about something else.
            return Standing(key, "done", text)
        waiting = loaded.waiting
        return Standing(key, _progress(loaded), text, loaded.result, waiting)


def _progress(loaded: Loaded) -> Progress:
    if loaded.status is ThreadStatus.RUNNING:
        return "working"
    if loaded.waiting:
        return "waiting"
    if loaded.only_answered or loaded.timer_due:
        # It is about to go on, perhaps in another process.
        return "working"
    if loaded.asks:
        return "expired"
    record = loaded.record
    if record is None or record.ended is None:
        return "done"
    return "stopped" if was_stopped(record) else _ENDED[record.ended.outcome]


def _said_since(messages: Sequence[Mapping[str, Any]], said: str | None) -> tuple[str, bool]:
    """What the agent said to a message, and whether no other message came after it."""
    asked = [n for n, message in enumerate(messages) if message["role"] == "user"]
    if said is None:
        begin = asked[-1] if asked else -1
    else:
        begin = next((n for n in asked if messages[n]["id"] == said), -2)
        if begin == -2:
            # It was taken back, or archived: what stands there now answers something else.
            return "", False
    end = next((n for n in asked if n > begin), None)
    texts = [
        message["content"].strip()
        for message in messages[begin + 1 : end]
        if message["role"] == "assistant"
        and isinstance(message.get("content"), str)
        and message["content"].strip()
        and "subagentRunId" not in message
    ]
    return "\n\n".join(texts), end is None
