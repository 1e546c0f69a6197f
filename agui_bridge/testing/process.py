"""One process with the adapter under test: its bridge, and the conversations that it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.engine import Engine
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.testing.conversation import Conversation, Stream
from agui_bridge.testing.verdicts import expect
from agui_bridge.testing.watched import Watched

__all__ = ["AGENT", "Process"]

AGENT: Final = "agent"


@dataclass(eq=False)
class Process:
    """One process: a bridge whose only agent is the adapter under test.

    Attributes:
        watched: the adapter, and what it did.
        bridge: the bridge.
    """

    watched: Watched
    bridge: Bridge
    _engine: Engine
    _patience: float
    _threads: Callable[[], str]

    def conversation(self, thread: str | None = None) -> Conversation:
        """A conversation, on a new thread unless one is named."""
        agent = self.bridge.agents[AGENT]
        return Conversation(self._engine, agent, thread or self._threads(), self._patience)

    async def stop(self, conversation: Conversation, *, force: bool = False) -> StopResult:
        """Stop what a thread does, for which it has half of the scenario's patience."""
        timeout = self._patience / 2
        return await self.bridge.stop(AGENT, conversation.thread, force=force, timeout=timeout)

    def expect_ending(self, stream: Stream, *endings: str, of: str) -> None:
        """Fail the check unless a stream ended in one of some ways.

        Raises:
            Failed: it did not; `of` says what run it is of.
        """
        error = self.watched.runs[-1].error if self.watched.runs else None
        why = f"{type(error).__name__}: {error}" if error else stream.fault
        expect(
            stream.ending in endings,
            f"{of} ended with {stream.ending}, not {' or '.join(endings)}"
            + (f": {why}" if why else ""),
        )

    async def expect_success(
        self, conversation: Conversation, message: str, *, of: str = "the next message's run"
    ) -> Stream:
        """Send a message, and fail the check unless its run succeeds.

        Raises:
            Failed: it does not; `of` says what run it is.
        """
        stream = await conversation.say(message)
        self.expect_ending(stream, "success", of=of)
        return stream
