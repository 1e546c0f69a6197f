"""Whether a run waits for people although its stream stays open, as a durable agent's does.

Mastra ends the stream of an ordinary agent that waits. That of a durable or evented agent it ends
only sometimes: after the first question it does not, nor after an answer while others still wait.
So a stream that is quiet after a question is compared with the runs that Mastra lists as suspended.

Source: observed of `@mastra/core` 1.71 and 1.64.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from agui_bridge.errors import AdapterError
from agui_bridge_mastra.http_client import Chunk, as_mapping

_QUIET: Final = 0.5
"""Seconds without a chunk after which Mastra is asked whether the run waits."""

_LISTED_WITHIN: Final = 10.0
"""Seconds after a question within which its pause must be in Mastra's storage."""

_PAUSES: Final = ("tool-call-approval", "tool-call-suspended")
_RESULTS: Final = ("tool-result", "tool-error", "tool-output-denied")


@dataclass
class QuietStream:
    """Judges one stream of an agent each time that it is quiet.

    Attributes:
        listed: asks Mastra for the keys of what waits in the run.
        waiting: keys of what waits, as far as the streams have told.
        answering: key of what the stream is the answer to; "" once that has been carried out, or
            asks again. Until then the list is no proof: it does not know what is carried out.
    """

    listed: Callable[[], Awaitable[Collection[str]]]
    waiting: set[str] = field(default_factory=set)
    answering: str = ""
    _since: float | None = None
    _agreed: bool = False

    @property
    def patience(self) -> float | None:
        """Seconds to wait for a chunk before the stream is judged; None while nothing waits."""
        return _QUIET if self.waiting else None

    def heard(self, chunk: Chunk) -> None:
        """Note a chunk."""
        self._since, self._agreed = None, False
        key = str(as_mapping(chunk.get("payload")).get("toolCallId"))
        if chunk.get("type") in _PAUSES:
            self.waiting.add(key)
        elif chunk.get("type") not in _RESULTS:
            return
        if key == self.answering:
            self.answering = ""

    async def waits(self, *, busy: bool) -> bool:
        """Whether the run waits, and nothing of it is being carried out.

        Args:
            busy: whether something else of it is, as far as its streams have told.
        """
        now = asyncio.get_running_loop().time()
        self._since = now if self._since is None else self._since
        if self.answering:
            return False
        try:
            agrees = set(await self.listed()) == self.waiting
            if agrees and self._agreed:
                return True
            # An ordinary agent's stream has until the next look to end by itself.
            self._agreed = agrees
        except AdapterError:
            # Time stands for the list.
            pass
        return not busy and now - self._since > _LISTED_WITHIN
