"""Text on its way to a chat client: the sentence that is a request is kept back, the rest passes.

A chat client shows the question in a form of its own, so that it must not stand in the text too.
Whether a sentence is a request shows at its end at the latest: of an agent that asks in words at
most the current sentence is held back, of any other nothing. Source: seed
000_9c3a40ec0d8c2fa7.txt, the example of an interrupted stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agui_bridge.protocol.json_values import WireEvent

if TYPE_CHECKING:  # Only agents that ask in words need it, and it takes long to import.
    from agui_bridge.agents.sentences.scanner import SentenceScanner

__all__ = ["NewScanner", "SpokenText"]

NewScanner = Callable[[], "SentenceScanner"]

_PARAGRAPH = "\n\n"
"""Stands between two messages of one reply: frames of this API know no messages."""


class SpokenText:
    """What an agent says to the user in one run, without what it asks.

    Args:
        new_scanner: makes a scanner for a message; None when nothing is held back.

    Attributes:
        withheld: the sentences that were kept back, in order.
    """

    def __init__(self, new_scanner: NewScanner | None) -> None:
        self.withheld: list[str] = []
        self._new_scanner = new_scanner
        self._open: dict[str, _Message] = {}
        self._said = False
        self._between = False

    def hear(self, event: WireEvent) -> str:
        """Take an event; gives the text that may be shown now.

        Only what the agent itself says counts: no reasoning, no message of another role, and no
        text of a sub-agent, which talks to its agent.
        """
        kind = event["type"]
        if kind == "TEXT_MESSAGE_CONTENT":
            message = self._open.get(event["messageId"])
            return self._shown(message.feed(event["delta"])) if message is not None else ""
        if kind == "TEXT_MESSAGE_START":
            if event.get("role", "assistant") == "assistant" and not event.get("subagentRunId"):
                scanner = self._new_scanner() if self._new_scanner is not None else None
                self._open[event["messageId"]] = _Message(scanner, self.withheld)
                self._between = self._said
            return ""
        if kind == "TEXT_MESSAGE_END":
            message = self._open.pop(event["messageId"], None)
            return self._shown(message.end()) if message is not None else ""
        if kind == "TOOL_CALL_START" and not event.get("subagentRunId"):
            # What follows a tool call is said anew.
            return "".join(self._shown(message.end()) for message in self._open.values())
        return ""

    def _shown(self, text: str) -> str:
        if not text:
            return ""
        if self._between:
            text = _PARAGRAPH + text
        self._said, self._between = True, False
        return text


class _Message:
    """One message: what was fed, less what a request may still be made of."""

    def __init__(self, scanner: SentenceScanner | None, withheld: list[str]) -> None:
        self._scanner = scanner
        self._withheld = withheld
        self._held = ""
        # Offset of the first character held, and requests seen.
        self._at = self._seen = 0

    def feed(self, delta: str) -> str:
        if self._scanner is None:
            return delta
        self._scanner.feed(delta)
        self._held += delta
        return self._pass(self._scanner.sentence_start)

    def end(self) -> str:
        if self._scanner is None:
            return ""
        self._scanner.end()
        return self._pass(self._scanner.offset)

    def _pass(self, until: int) -> str:
        assert self._scanner is not None
        passed = []
        for request in self._scanner.requests[self._seen :]:
            passed.append(self._take(request.start))
            self._withheld.append(self._take(request.start + len(request.sentence)))
        self._seen = len(self._scanner.requests)
        passed.append(self._take(until))
        return "".join(passed)

    def _take(self, until: int) -> str:
        taken, self._held = self._held[: until - self._at], self._held[until - self._at :]
        self._at = until
        return taken
