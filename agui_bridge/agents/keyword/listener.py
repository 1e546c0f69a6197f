"""Listens to what an agent says: finds out which text belongs to which message, and scans it.

Only what the agent itself says to the user is scanned: no reasoning, no tool's arguments and
results, no message of another role, and no text of a sub-agent, which talks to its agent.
"""

from __future__ import annotations

from hashlib import sha256

from ag_ui.core import (
    BaseEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import FoundRequest, SentenceScanner
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES

__all__ = ["Listener"]

_ACT = b"\xff"
"""Stands among what was said for something that was carried out: no text has this byte."""


class Listener:
    """Scans the text of one run.

    Text without a message of its own (plain str, chunks) goes on with the open message, or with
    what came before it; a tool call, a step, reasoning or another message between is its end,
    while changes of the state and the like are not. A tool call ends the sentence of an open
    message too: what follows it is said anew.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing said."""
        self._table = table
        self._open: dict[str, SentenceScanner] = {}
        self._foreign: set[str] = set()
        self._implicit: SentenceScanner | None = None
        self._chunks: str | None = None
        self._found: list[FoundRequest] = []
        self._story = sha256()

    @property
    def holding(self) -> bool:
        """Whether nothing may be carried out now."""
        if self._found or any(scanner.holding for scanner in self._open.values()):
            return True
        return self._implicit is not None and self._implicit.holding

    @property
    def story(self) -> str:
        """A digest of what the agent has said and begun, in its order, but not in which pieces."""
        return self._story.hexdigest()

    def hear_act(self) -> None:
        """Take that the agent carries something out."""
        self._story.update(_ACT)

    def forget(self) -> None:
        """What was found so far holds no more: it was answered."""
        self._found, self._implicit = [], None
        self._open = {message_id: SentenceScanner(self._table) for message_id in self._open}

    def finish(self) -> list[FoundRequest]:
        """All that was found, once the agent has ended."""
        self._end_implicit()
        for message_id in list(self._open):
            self._end(message_id)
        return self._found

    def hear(self, item: BaseEvent | str) -> None:
        """Take what the agent emitted."""
        match item:
            case str():
                self._feed(self._speaking(), item)
            case TextMessageContentEvent():
                self._content(item)
            case TextMessageStartEvent():
                self._start(item.message_id, item.subagent_run_id, item.role)
            case TextMessageEndEvent():
                self._end(item.message_id)
            case TextMessageChunkEvent():
                self._chunk(item)
            case BaseEvent():
                kind = str(getattr(item.type, "value", item.type))
                rule = EVENT_RULES.get(kind)
                own = getattr(item, "subagent_run_id", None) is None
                if rule is not None and own and rule.verb in ("open", "close", "chunk"):
                    self._end_implicit()
                    if rule.kind == "call" and rule.verb != "close":
                        for scanner in self._open.values():
                            scanner.end()

    def _speaking(self) -> SentenceScanner:
        if self._implicit is None:
            for scanner in reversed(self._open.values()):
                return scanner
            self._implicit = SentenceScanner(self._table)
        return self._implicit

    def _start(self, message_id: str, owner: str | None, role: str | None) -> None:
        if owner is None:
            self._end_implicit()
        if owner is not None or role not in (None, "assistant"):
            self._foreign.add(message_id)
        elif message_id not in self._open:
            self._foreign.discard(message_id)
            self._open[message_id] = SentenceScanner(self._table)

    def _content(self, event: TextMessageContentEvent) -> None:
        message_id = event.message_id
        if message_id in self._foreign:
            return
        if message_id not in self._open:
            self._start(message_id, event.subagent_run_id, None)
        if message_id in self._open:
            self._feed(self._open[message_id], event.delta)

    def _chunk(self, event: TextMessageChunkEvent) -> None:
        if event.subagent_run_id is not None or event.role not in (None, "assistant"):
            return
        if event.message_id in self._open:
            self._feed(self._open[event.message_id], event.delta or "")
            return
        if event.message_id in self._foreign:
            return
        if event.message_id is not None and event.message_id != self._chunks:
            self._end_implicit()
            self._chunks = event.message_id
        if self._implicit is None:
            self._implicit = SentenceScanner(self._table)
        self._feed(self._implicit, event.delta or "")

    def _feed(self, scanner: SentenceScanner, text: str) -> None:
        self._story.update(text.encode(errors="surrogatepass"))
        scanner.feed(text)

    def _end(self, message_id: str) -> None:
        self._foreign.discard(message_id)
        scanner = self._open.pop(message_id, None)
        if scanner is not None:
            self._close(scanner)

    def _end_implicit(self) -> None:
        scanner, self._implicit, self._chunks = self._implicit, None, None
        if scanner is not None:
            self._close(scanner)

    def _close(self, scanner: SentenceScanner) -> None:
        scanner.end()
        self._found += scanner.found
