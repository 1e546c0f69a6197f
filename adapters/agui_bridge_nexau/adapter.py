"""The adapter of a remote NexAU server: HTTP, server-sent events, one run for each session.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Final

import httpx
from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import AdapterCapabilities, Ask, Pause, Run, RunItem
from agui_bridge.errors import NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge_nexau.exchange import AGENT, TEAM, Exchange, Session
from agui_bridge_nexau.http_client import HttpClient
from agui_bridge_nexau.pauses import FINISH_TEAM, labels_of
from agui_bridge_nexau.reader import Reader
from agui_bridge_nexau.requests import Request
from agui_bridge_nexau.standing import Standing
from agui_bridge_nexau.team_turn import TeamTurn
from agui_bridge_nexau.turn import Turn

# --- what follows a stream of NexAU's: a question, a result, or the error that it comes down to ---

_BUSY: Final = ("is already locked", "could not acquire lock")
_PERMISSION: Final = "pending permission request"
_PENDING: Final = "This tool call waits for a permission in NexAU; it was not executed."

_UNKNOWN: Final = (
    "It had the answer by then, or may have had it: whether it acted is unknown, and the answer is "
    "not sent again."
)
_NEEDS_PERMISSION: Final = (
    "NexAU waits for a permission that none of its transports can give{what}. Decide it in the "
    "process that runs NexAU, or allow the tool there; until then it takes no message of this "
    "conversation."
)


def is_busy(reader: Reader) -> bool:
    """Whether the session is locked, so that the request reached nobody."""
    return not reader.started and any(words in (reader.error or "") for words in _BUSY)


def waits_for_permission(reader: Reader) -> bool:
    """Whether NexAU took nothing because it waits for a permission."""
    return not reader.started and _PERMISSION in (reader.error or "")


def broken_off(why: object, run: Run) -> UpstreamError | OutcomeUnknown:
    """The error for a run that NexAU did not tell to its end: what came of an answer is unknown."""
    if run.resume is None:
        return UpstreamError(str(why))
    return OutcomeUnknown(f"{why} {_UNKNOWN}")


def end_of(reader: Reader, run: Run, asks: Sequence[Ask]) -> Iterator[RunItem]:
    """What follows the stream of a run that nobody stopped.

    Args:
        reader: what the agent said.
        run: the run.
        asks: the questions that it ended with.

    Raises:
        NotDelivered: NexAU took nothing, for it waits for a permission.
        UpstreamError: it failed, said no end, or waits for a permission now.
        OutcomeUnknown: it said no end to an answer.
    """
    if waits_for_permission(reader):
        raise NotDelivered(_NEEDS_PERMISSION.format(what=""))
    if reader.error is not None:
        raise UpstreamError("The NexAU server reported that its run failed; its log says why.")
    if not reader.finished:
        raise broken_off("The NexAU server ended the stream before the run's end.", run)
    calls = reader.calls.values()
    if asks:
        asked: dict[str, Json] = {"labels": {ask.native_id: labels_of(ask) for ask in asks}}
        named = {ask.native_id: (ask.metadata or {}).get("agent") for ask in asks}
        if askers := {native_id: name for native_id, name in named.items() if name is not None}:
            asked["askers"] = askers
        yield Pause(asks, asked)
        return
    if pending := reader.pending:
        for call in pending:
            yield ToolCallResultEvent(
                message_id=run.mint(), tool_call_id=call.id, content=_PENDING, role="tool"
            )
        names = ", ".join(sorted({call.name for call in pending}))
        raise UpstreamError(_NEEDS_PERMISSION.format(what=f" (tool {names})"))
    if any(call.stops and call.name != FINISH_TEAM for call in calls):
        run.end_reason = EndReason.STOP_TOOL_TRIGGERED
    run.result = reader.result


# --- the adapter ---

_PAUSE: Final = 0.25
_LAST_WORDS: Final = 5.0
"""Seconds for which the bridge's own end waits for runs that were stopped."""


class NexauAdapter:
    """Runs the agent of a NexAU server.

    NexAU keeps the conversation itself, under a user id and a session id, and is sent what its
    session lacks. The scope is the user and the thread the session, so that agents of one scope
    need a server each, or a prefix. A session of which it is not certain what it has, or that
    stays locked, is left behind: the thread goes on in a new one, `THREAD~ID`, that is sent the
    whole conversation.

    Args:
        url: of the server, such as `http://127.0.0.1:8000`.
        team: whether the server's team is run in place of its agent.
        headers: to send with every request, for instance to a gateway before it.
        session_prefix: put before the thread's id.
        stop_timeout: seconds after which NexAU cancels a model or a tool that goes on after a
            graceful stop, at most; None leaves it to the timeout of the stop.
        busy_patience: seconds for which a session is tried again that somebody else has locked.
        settle_timeout: seconds for which a run that is cancelled waits to hear what NexAU keeps of
            it; less than `cancel_grace`.
        drain_timeout: seconds for which a stream is read on after its run was cancelled.
        client: to use instead of an own one; it is not closed.

    Raises:
        ConfigurationError: the URL is none.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        approve=False, decline=False, edit=False, answer=True, cancel=True, stop=True,
        own_history=True, subagents=True,
    )  # fmt: skip

    def __init__(
        self,
        url: str,
        *,
        team: bool = False,
        headers: Mapping[str, str] | None = None,
        session_prefix: str = "",
        stop_timeout: float | None = None,
        busy_patience: float = 2.0,
        settle_timeout: float = 0.5,
        drain_timeout: float = 30.0,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """Remember where the server is; nothing is sent yet."""
        self._server = HttpClient(url, headers=headers or {}, client=client)
        self._team = team
        self._prefix = session_prefix
        self._stop_timeout = stop_timeout
        self._busy_patience = busy_patience
        self._settle_timeout = settle_timeout
        self._drain_timeout = drain_timeout
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: nothing reached the agent.
            UpstreamError: it failed, refused, or waits for a permission.
            OutcomeUnknown: it has an answer, or may have, and broke off.
        """
        thread = self._prefix + run.thread_id
        standing = Standing.of(run.memo) if run.memo is not None else _first(run, thread)
        before = run.memo = standing and standing.memo
        if run.stop.requested:
            return
        until = asyncio.get_running_loop().time() + self._busy_patience
        while True:
            # The session may have kept it waiting for long.
            run.check_lease()
            request = Request.of(run, standing, thread, team=self._team)
            if not await self._team_runs(request, run):
                # Until it is known what became of it, nothing is.
                run.memo = None
                turn = self._begin(request, run)
                try:
                    async with contextlib.aclosing(turn.items()) as items:
                        async for item in items:
                            yield item
                except NotDelivered:
                    run.memo = before
                    raise
                except UpstreamError as error:
                    raise broken_off(error, run) from error
                finally:
                    if turn.left is not None:
                        run.memo = turn.left.memo
                    if turn.leaving is not None:
                        self._leaving.add(turn.leaving)
                        turn.leaving.add_done_callback(self._leaving.discard)
                if not is_busy(turn.reader):
                    break
            run.memo = before
            if run.stop.requested:
                return
            if request.fresh:
                raise NotDelivered("The NexAU server takes no new session.")
            if asyncio.get_running_loop().time() >= until:
                standing = None
            else:
                await asyncio.sleep(_PAUSE)
        run.usage.extend(turn.usage)
        if waits_for_permission(turn.reader):
            run.memo = before
        if not run.stop.requested:
            for last in end_of(turn.reader, run, turn.asks):
                yield last

    async def aclose(self) -> None:
        """Let runs that were stopped end for a moment, and close the connections."""
        if leaving := set(self._leaving):
            await asyncio.wait(leaving, timeout=min(_LAST_WORDS, self._drain_timeout))
            for task in leaving:
                task.cancel()
            await asyncio.gather(*leaving, return_exceptions=True)
        await self._server.aclose()

    async def _team_runs(self, request: Request, run: Run) -> bool:
        """Whether a team runs in the session: NexAU would pass the message on to that run."""
        if not self._team:
            return False
        session = Session(run.principal.scope, request.session)
        status = await self._server.look("/team/status", session.body())
        return isinstance(status, dict) and status.get("running") is True

    def _begin(self, request: Request, run: Run) -> Turn:
        session = Session(run.principal.scope, request.session)
        paths = TEAM if self._team else AGENT
        exchange = Exchange(self._server, session, request.body, run.trace_headers, paths)
        kind = TeamTurn if self._team else Turn
        return kind(
            request,
            exchange,
            run,
            stop_timeout=self._stop_timeout,
            settle_timeout=self._settle_timeout,
            drain_timeout=self._drain_timeout,
        )


def _first(run: Run, thread: str) -> Standing | None:
    """A thread's first session, if NexAU can have heard nothing of it yet."""
    new = {message["id"] for message in run.raw_new_messages}
    known = run.resume is not None or any(message["id"] not in new for message in run.raw_messages)
    return None if known else Standing(thread)
