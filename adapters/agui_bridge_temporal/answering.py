"""The answers to a pause on their way to the workflow: what still waits, and which answer stands.

The workflow is asked first whether it waits, and then sent one update. Its id is made of the
questions, so of what was sent twice one counts, and the workflow says which.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from agui_bridge.adapters import Run
from agui_bridge.errors import NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.answers.decisions import Cancel
from agui_bridge.protocol.threads.records import Json
from agui_bridge_temporal.told import (
    Asked,
    Gone,
    Lost,
    Refused,
    State,
    Unknown,
    answer_of,
    same,
)

if TYPE_CHECKING:
    from agui_bridge_temporal.server import Server

_RETRY_PAUSE: Final = 0.5

_UNKNOWN: Final = (
    "Whether the workflow has the answer is unknown, so it is not sent again. What becomes of it "
    "is told here."
)
_WENT_ON: Final = "The workflow waits for this answer no more, and was not given it."
_OTHER: Final = "The workflow had another answer before this one: that one counts."
_NOT_ASKED: Final = "The workflow can't be asked whether it waits for the answer."
_NOT_TAKEN: Final = "The workflow was not given the answer:"


class Answering:
    """The answers of one run.

    Args:
        run: the run.
        server: Temporal.
        workflow: the workflow's id.
        patience: seconds for which an answer is sent again whose fate is unknown.
    """

    def __init__(self, run: Run, server: Server, workflow: str, patience: float) -> None:
        self._run = run
        self._server = server
        self._workflow = workflow
        self._patience = patience

    async def still_wanted(self, asked: Asked) -> Mapping[str, Json]:
        """The answers that the workflow waits for.

        Raises:
            Lost: Temporal knows the workflow no more, or runs another one.
            Gone: it waits for one no more that somebody gave.
            NotDelivered: the workflow can't be asked.
        """
        run, place = self._run, asked.place
        assert run.resume is not None
        standing = await self._server.standing(self._workflow, run.trace_headers)
        if standing is None or standing.first != place.first:
            raise Lost(_WENT_ON)
        with contextlib.nullcontext() if standing.runs else contextlib.suppress(NotDelivered):
            state = await self._state(asked)
            if state is None:
                raise NotDelivered(_NOT_ASKED)
            waits = asked.waits_in(state) if standing.runs else set()
            if waits and self._may_leave_out(asked.questions.keys() - waits, state):
                decisions, shown = run.resume.decisions, asked.shown
                return {
                    id: answer_of(decisions[id], shown[id]) for id in asked.questions if id in waits
                }
            if state.run == place.run:
                run.not_begun = asked.calls_of(state.never)
        raise Gone(_WENT_ON)

    async def send(self, asked: Asked, answers: Mapping[str, Json]) -> None:
        """Give the workflow answers, again while their fate is unknown: Temporal takes them once.

        Raises:
            Gone: it has ended, or had other answers before.
            NotDelivered: it has none of them: it was not allowed, or is too large.
            OutcomeUnknown: it may have them.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + self._patience
        unsure = False
        while True:
            try:
                stands = await self._server.update(
                    "agui_bridge_answer",
                    dict(answers),
                    workflow=self._workflow,
                    run=asked.place.run,
                    id=asked.update,
                    trace=self._run.trace_headers,
                )
                break
            except Gone as error:
                raise Gone(_WENT_ON) from error
            except Refused as error:
                rest = await self._rest(asked, answers)
                if rest is None and unsure:
                    raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
                if rest is None:
                    raise NotDelivered(f"{_NOT_TAKEN} {error}") from error
                if not rest:
                    raise Gone(_OTHER) from error
                answers = rest
            except Unknown as error:
                unsure = True
                if clock() > until:
                    raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
                await asyncio.sleep(_RETRY_PAUSE)
            await self._run.check_stop()
            self._run.check_lease()
        if not same(stands, answers):
            raise Gone(_OTHER)

    async def _rest(self, asked: Asked, answers: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """What to send of answers that were refused: none where others count; None: none counts."""
        try:
            state = await self._state(asked)
        except NotDelivered:
            return None
        if state is None or state.run != asked.place.run:
            return None
        taken = answers.keys() & state.decided.keys()
        if not taken:
            return None
        left = {id: answer for id, answer in answers.items() if id not in taken}
        return left if self._may_leave_out(taken, state) else {}

    def _may_leave_out(self, over: set[str], state: State) -> bool:
        """Whether nobody decided on what the workflow waits for no more, here or elsewhere."""
        resume = self._run.resume
        return over <= state.never and all(
            resume is None or isinstance(resume.decisions[id], Cancel) for id in over
        )

    async def _state(self, asked: Asked) -> State | None:
        place = asked.place
        try:
            return await self._server.state(
                self._workflow, place.offset, place.run, self._run.trace_headers
            )
        except UpstreamError:
            return None
