"""One request to NexAU: what is told of it, how it is stopped, and what its session has then."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from ag_ui.core import (
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)

from agui_bridge.adapters import Ask, Run, RunItem
from agui_bridge_nexau.exchange import Exchange
from agui_bridge_nexau.pauses import ASK_USER, ask_of
from agui_bridge_nexau.reader import Reader
from agui_bridge_nexau.requests import Answer, Request
from agui_bridge_nexau.runs import Runs
from agui_bridge_nexau.standing import Standing
from agui_bridge_nexau.team_runs import TeamRuns

_STOP_TIMEOUT: Final = 30.0
"""Seconds of a graceful stop where nobody said any."""


class Turn:
    """One request.

    Args:
        request: what was sent.
        exchange: its stream.
        run: the run that it is of.
        stop_timeout: seconds that a graceful stop gives NexAU at most.
        settle_timeout: seconds for which a forced stop waits for what NexAU keeps.
        drain_timeout: seconds for which the stream is read on once the run is over.

    Attributes:
        reader: what NexAU said of the agent's own run.
        left: what its session has, once that is known for certain.
        leaving: reads on what the run did not wait for, None while nothing is left to read.
    """

    def __init__(
        self,
        request: Request,
        exchange: Exchange,
        run: Run,
        *,
        stop_timeout: float | None,
        settle_timeout: float,
        drain_timeout: float,
    ) -> None:
        self._runs = self._runs_of(run)
        self.reader: Reader = self._runs.own
        self.left: Standing | None = None
        self.leaving: asyncio.Task[None] | None = None
        self._request = request
        self._exchange = exchange
        self._run = run
        self._stop_timeout = stop_timeout
        self._settle_timeout = settle_timeout
        self._drain_timeout = drain_timeout

    def _runs_of(self, run: Run) -> Runs | TeamRuns:
        """What reads the runs of its stream."""
        return Runs(run.mint, run.call_ids().new)

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Give what is to be told.

        Raises:
            NotDelivered: nothing reached the server.
            UpstreamError: it refused, or the connection broke.
        """
        reader, run = self.reader, self._run
        stopping = asyncio.create_task(self._stop_with())
        answers = list(self._request.answers)
        try:
            async with contextlib.aclosing(self._exchange.events()) as events:
                async for event in events:
                    items = self._runs.take(event)
                    run.iteration = reader.iterations or None
                    while reader.started and answers:
                        # Only now: until it has begun, nothing may have reached anybody.
                        for part in _user_message(answers.pop(0)):
                            yield part
                    for item in items:
                        yield item
            self.left = self._stopped() if run.stop.requested else self._finished()
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
            if not self._exchange.ended:
                await self._leave()
        if not run.stop.requested:
            for item in self._runs.close():
                yield item

    @property
    def asks(self) -> list[Ask]:
        """The questions that it ended with."""
        calls = self.reader.calls.values()
        return [ask_of(call) for call in calls if call.name == ASK_USER and call.stops]

    @property
    def usage(self) -> list[dict[str, Any]]:
        """Tokens, one entry for each model."""
        return self._runs.usage_entries()

    # --- stops ---

    async def _stop_with(self) -> None:
        stop = self._run.stop
        await stop
        timeout = _STOP_TIMEOUT if stop.timeout is None else stop.timeout
        if self._stop_timeout is not None:
            timeout = min(timeout, self._stop_timeout)
        await self._exchange.stop(force=stop.force, timeout=timeout)

    async def _leave(self) -> None:
        """Have NexAU end the run by force, and wait a moment for what it keeps of it."""
        for call in self._runs.calls:
            if call.result is not None:
                # It may have come too late to be told.
                self._run.late_result(call.id, call.result)
        self.leaving = asyncio.create_task(self._exchange.leave(self._drain_timeout, self._late))
        await asyncio.wait({self.leaving}, timeout=self._settle_timeout)
        if self._exchange.ended and self._run.stop.requested:
            self.left = self._forced()

    def _late(self, event: Mapping[str, Any]) -> None:
        for item in self._runs.take(event):
            if isinstance(item, ToolCallResultEvent) and isinstance(item.content, str):
                self._run.late_result(item.tool_call_id, item.content)

    # --- what the session has ---

    def _finished(self) -> Standing | None:
        reader = self.reader
        if reader.started and reader.error is not None:
            # A failed run keeps what it was begun with; what it did since is not certain.
            return None if reader.said else self._request.standing(whole=True, said=False)
        if not reader.finished:
            return None
        return self._request.standing(whole=True, said=reader.said)

    def _stopped(self) -> Standing | None:
        """After a graceful stop, whose stream has ended."""
        reader = self.reader
        self._run.not_begun = unanswered = self._unanswered()
        if reader.step_text and reader.result != reader.step_text:
            return None
        return None if unanswered else self._finished()

    def _forced(self) -> Standing | None:
        """After a stop by force, whose stream has ended: of a cut text nothing is kept."""
        reader = self.reader
        self._run.not_begun = self._unanswered()
        certain = reader.finished and reader.error is None and not reader.result
        if not certain or reader.calls or self._request.answers:
            return None
        return self._request.standing(whole=False, said=reader.said)

    def _unanswered(self) -> list[str]:
        """Calls without a result, once NexAU has ended the run: it waits for tools that began."""
        if not self.reader.finished:
            return []
        return [call.id for call in self._runs.calls if call.result is None]


def _user_message(answer: Answer) -> list[RunItem]:
    """An answer is a message of the conversation, as it is to NexAU."""
    return [
        TextMessageStartEvent(message_id=answer.id, role="user"),
        TextMessageContentEvent(message_id=answer.id, delta=answer.text),
        TextMessageEndEvent(message_id=answer.id),
    ]
