"""One request to a team: a run ends when the team does, or when all of it waits.

A team goes on until its leader calls `finish_team`. A question ends nothing: who asks waits, and
the others work. So a question goes to people once all wait; then the team is stopped, of which
nothing is cut off, and the answer begins its next run.

Source: NexAU 0.4.1, `nexau/archs/main_sub/team`, and recordings.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any, Final

from agui_bridge.adapters import Ask, Run, RunItem
from agui_bridge.errors import NotDelivered
from agui_bridge_nexau.pauses import ask_of
from agui_bridge_nexau.standing import Standing
from agui_bridge_nexau.team_runs import TeamRuns
from agui_bridge_nexau.turn import Turn

_LOOK: Final = 0.5
"""Seconds of silence before the teammates are asked for, and again before a team is at rest."""


class TeamTurn(Turn):
    """One request to a team; takes what `Turn` takes."""

    _team: TeamRuns

    def _runs_of(self, run: Run) -> TeamRuns:
        self._team = TeamRuns(run.mint, run.call_ids().new)
        return self._team

    async def items(self) -> AsyncGenerator[RunItem, None]:
        """Give what is to be told.

        Raises:
            NotDelivered: nothing reached the server.
            UpstreamError: it refused, the connection broke, or another run took the message.
        """
        resting = asyncio.create_task(self._end_at_rest())
        reached = True
        try:
            async with contextlib.aclosing(super().items()) as items:
                async for item in items:
                    yield item
        except NotDelivered:
            reached = False
            raise
        finally:
            resting.cancel()
            await asyncio.gather(resting, return_exceptions=True)
            told = self.reader.finished or self._team.joined
            if reached and not told and self.leaving is None:
                # It would go on, and wait, with nobody to hear it or to stop it.
                self.leaving = asyncio.create_task(self._exchange.give_up(self._drain_timeout))

    @property
    def asks(self) -> list[Ask]:
        """The questions that it ended with; a teammate's name its sub-agent."""
        found: list[Ask] = []
        for call, name, subagent in self._team.asks:
            ask = ask_of(call)
            if name is not None:
                metadata: Mapping[str, Any] = {**(ask.metadata or {}), "agent": name}
                ask = replace(ask, subagent_run_id=subagent, metadata=metadata)
            found.append(ask)
        return found

    async def _end_at_rest(self) -> None:
        """Stop the team once all of it waits for people, or for nothing."""
        seen = -1
        while not self._exchange.ended:
            await asyncio.sleep(_LOOK)
            quiet = self._exchange.heard_out and self._team.events == seen
            seen = self._team.events
            if quiet and self._team.waits and await self._at_rest() and seen == self._team.events:
                await self._exchange.stop(force=True, timeout=_LOOK)

    async def _at_rest(self) -> bool:
        mates = await self._exchange.look("/team/teammates")
        if not isinstance(mates, list):
            return False
        statuses = {str(mate.get("agent_id")): mate.get("status") for mate in mates}
        idle = all(status in ("idle", "error") for status in statuses.values())
        return idle and self._team.rests(statuses)

    async def _leave(self) -> None:
        if self._team.joined:
            # The run is somebody else's.
            await self._exchange.abandon()
        else:
            await super()._leave()

    # --- what the session has ---

    def _finished(self) -> Standing | None:
        # In its next run of the session NexAU would do again what was cut off, and let a teammate
        # that asked go on without the answer.
        asks = any(name is not None for _, name, _ in self._team.asks)
        return super()._finished() if self._team.whole and not asks else None

    def _stopped(self) -> Standing | None:
        # The teammates of a stopped team go on with the next message of its session.
        return None

    _forced = _stopped
