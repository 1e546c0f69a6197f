"""One claimed run, from the claim to its end.

The run is its own task and outlives its connection. From the claim to the end this process owns the
thread, for as long as its lease holds, and all that it writes goes through one door (`Owner`). Of
the parts of a run, each may do this:

| part | does | writes |
|---|---|---|
| `Claim` | works out what the run begins with | the claim, by compare-and-swap |
| `_pump` | drives the adapter, one item after the other | before the next: what it leaves |
| `Transcript` | folds what is said, then tells it | before it is told: results of approved calls |
| `Keeper` | looks at what is not written, and at the lease | behind: the rest; renews the lease |
| `_supervise` | heeds stops, leaving clients, a lost lease | that the run is being stopped |
| `RunEnd` | ends what the adapter has ended | the end, once, before it is told |

`Execution` has them follow each other: claimed → driven → ended → over. The adapter's task is done,
or left behind without its lease, before the end is made, and the keeper looks no more: at the end
nobody else writes. What is refused or fails before it becomes an `Ending`:

| what fails | the run ends as |
|---|---|
| the adapter, or what it yields | failed; stopped, if a stop was asked for |
| the adapter before the framework had the answers | undelivered: they are open again |
| the store does not answer for a result that must be stored first | lost, `STORE_UNAVAILABLE` |
| the lease is over or another's | lost: nothing is written any more |
| the end itself | see `run_end` |
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from agui_bridge.adapters import Checkpoint, Handoff, Pause, Run, close_items
from agui_bridge.engine.input.settings import DisconnectPolicy
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.repository import Repository
from agui_bridge.engine.run.claim import Claim
from agui_bridge.engine.run.context import Context
from agui_bridge.engine.run.holds import Holds, close_waiting
from agui_bridge.engine.run.keeper import Keeper
from agui_bridge.engine.run.leases import Owner
from agui_bridge.engine.run.notes import check_size, watch_of
from agui_bridge.engine.run.refused_request import failure_of
from agui_bridge.engine.run.run_end import RunEnd
from agui_bridge.engine.run.transcript import OpenCalls, Transcript
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe, Signal
from agui_bridge.engine.telemetry import InputTelemetry
from agui_bridge.errors import (
    AgentMistake,
    Fenced,
    NotDelivered,
    StoreUnavailable,
)
from agui_bridge.protocol.json_values import clean_text
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.records import Interrupt, Json, StopRequest
from agui_bridge.protocol.threads.run_ends import (
    Ending,
    EndReason,
    Finished,
    Lost,
    Stopped,
    Undelivered,
)
from agui_bridge.protocol.wire.sse import encode, encode_text

# --- who wants to see a run's end ---


class Listeners:
    """The client that began a run, and those who came later: they follow its stream, or wait.

    Args:
        pipe: of the first client.
        policy: what happens to the run once nobody listens.
        changed: called when somebody has left.
    """

    __slots__ = ("_changed", "_later", "_pipe", "_policy")

    def __init__(self, pipe: Pipe, policy: DisconnectPolicy, changed: Callable[[], None]) -> None:
        self._pipe = pipe
        self._policy = policy
        self._changed = changed
        self._later = 0

    @contextmanager
    def present(self) -> Iterator[None]:
        """Be one of them."""
        self._later += 1
        try:
            yield
        finally:
            self._later -= 1
            self._changed()

    @property
    def deserted(self) -> bool:
        """Whether the run is to stop, because the last one has left."""
        return self._policy == "stop" and self._pipe.detached and not self._later


# --- the execution ---

logger: Final = logging.getLogger("agui_bridge")

_BURST: Final = 256
"""Items of an agent that never suspends, before others have their turn: a millisecond's worth."""

_SOONEST_TEXT: Final = 0.1
"""Seconds between two looks at what a run is saying, at least: all of the process look then."""


class Execution:
    """Carries out one run.

    Attributes:
        agent: who answers.
        watch: observes it.
        owner: the lease and the owner's writes.
        stream: what the client is told.
        run: what the adapter sees.
        said: what the run says, on its way to the store and the client.
        history: the thread's messages and state as the run changes them.
        listeners: who wants to see its end.
        over: set once the run's end is stored (or can't be).
        joinable: whether others may still follow its stream: its end is not being made.
        asked: the questions that it ended with, as they are stored.
        goes_on: the input that carries its pause on, where nobody has to answer it.
        partial: text of a message that a stop cut off.
    """

    __slots__ = (
        *("_abandoned", "_announcing", "_calls", "_context", "_heard", "_holds", "_keeper"),
        *("_noted",),
        *("_owed", "_pause", "_reached", "_signal", "_stop_timeout", "_unwanted"),
        *("agent", "asked", "goes_on", "history", "joinable", "listeners", "over", "owner"),
        *("partial", "run", "said", "stream", "watch"),
    )

    def __init__(
        self,
        submission: Submission,
        owner: Owner,
        stream: EventStream,
        run: Run,
        claim: Claim,
        keeper: Keeper,
        holds: Holds,
        watch: InputTelemetry,
    ) -> None:
        self.agent: Agent = submission.agent
        self.watch = watch
        self.owner = owner
        self.stream = stream
        self.run = run
        self._signal = Signal()
        relayed = self.agent.adapter.capabilities.relays
        # The result of an approved call may be what kept a stop waiting.
        self.said: Transcript = Transcript(
            claim, owner, stream, relayed=relayed, settled=self._signal.set
        )
        self.history: History = claim.history
        self.over: Signal = Signal()
        self.joinable: bool = True
        self.asked: tuple[Interrupt, ...] = ()
        self.goes_on: Submission | None = None
        self.partial: str | None = None
        self.listeners: Listeners = Listeners(
            stream.pipe, submission.on_disconnect, self._signal.set
        )
        self._keeper = keeper
        self._holds = holds
        self._context: Context = claim.context
        self._calls = OpenCalls(run, self.said)
        self._noted = run.left
        self._owed: Json = None
        self._pause: Pause | None = None
        self._abandoned = self._reached = False
        self._heard = True
        self._announcing: asyncio.Task[None] | None = None
        self._stop_timeout = self.agent.settings.stop_timeout
        self._unwanted = False

    # --- from outside ---

    @property
    def approved_calls(self) -> tuple[str, ...]:
        """Ids of the calls that were approved, are this run's to carry out, and have no result."""
        return self._calls.approved

    def request_stop(
        self, *, force: bool, timeout: float | None = None, unwanted: bool = False
    ) -> None:
        """Ask the run to end: gracefully within `timeout` seconds, or at once.

        Args:
            force: whether nothing may be waited for.
            timeout: seconds that a graceful stop may take; None: those of the settings.
            unwanted: whether somebody wants nothing more of what the thread has begun. A client
                that goes away, and a server that ends, say nothing of that.
        """
        self._unwanted = self._unwanted or unwanted
        if timeout is not None:
            self._stop_timeout = timeout
        self.run.stop.request(force=force, timeout=self._stop_timeout)
        self.stream.release()
        self._signal.set()

    def notice_stop(self, stop: StopRequest) -> None:
        """Heed a stop request that another process took, or this one for a client that is gone."""
        self._unwanted = self._unwanted or self._announcing is None
        if not self.run.stop.requested or (stop.force and not self.run.stop.force):
            timeout = max(0.0, stop.until - self.owner.time.now())
            self.request_stop(force=stop.force, timeout=timeout)

    def keep(self, threads: Repository) -> None:
        """Have kept what the thread's next input is compared with, once the end is stored."""
        threads.keep(self.owner.record, self.history, self.asked, self.owner.time)

    def is_stored(self, changed: Callable[[], None]) -> bool:
        """Whether nothing is to be written now; if so, the next event calls `changed`, once.

        What a run with checkpoints says is stored with the next of them, and never before: who
        takes it up says it again.
        """
        if self.run.checkpoints:
            self.history.tell_next(changed)
            return True
        return self.history.is_stored(changed)

    async def write(self) -> None:
        """Store what has finished so far, and what the run leaves by now.

        Raises: as `Transcript.write`.
        """
        owed = None if self._unwanted else self._owed
        left = partial(watch_of, self.agent, self.run) if owed is not None else None
        await self.said.write(left=left)
        if self._owed is owed:
            self._owed = None

    # --- the whole of it ---

    async def carry_out(self) -> Ending:
        """Run to the end, store that and tell it.

        Returns:
            How the run really ended: storing its end may have failed.
        """
        driven = await self._drive()
        if self._unwanted and isinstance(driven, Stopped):
            self.run.left = None
        resume = self.run.resume
        if resume is not None and resume.held and not self._reached:
            # What waits for the last pause was to be this run's, which never came to it.
            await close_waiting(self.agent, resume.continuation, "stopped")
        held = await self._holds.reserve(self.owner.key, self.agent, self._pause, driven)
        end = RunEnd(
            self.agent,
            self.run,
            self.said,
            self._calls,
            self._context,
            pause=self._pause,
            hold=held.token if held is not None else None,
            reached=self._reached,
            heard=self._heard,
        )
        try:
            ending = await end.close(driven)
        finally:
            if held is not None:
                self._holds.begin(held, self.owner.record, end.asked)
            # An agent that outlives its run finds its lease over.
            self.owner.lost = True
            self.asked, self.goes_on, self.partial = end.asked, end.goes_on, end.partial
            self.over.set()
        if self.goes_on is None:
            self.stream.pipe.close()
        return ending

    def reason(self, ending: Ending) -> EndReason:
        """Why the run is over, for those who want to know."""
        match ending:
            case Stopped():
                return EndReason.USER_INTERRUPTED
            case Finished() if self._pause is not None:
                return EndReason.INTERRUPTED
            case Finished():
                return self.run.end_reason or EndReason.SUCCESS
            case _:
                return self.run.end_reason or EndReason.ERROR_OCCURRED

    # --- the adapter's items ---

    async def _drive(self) -> Ending:
        """Run the adapter, and give how it ended. Never raises for what the agent does."""
        self.stream.begin()
        record = self.owner.record
        if (stop := record.stop_requested) is not None and record.checkpoint is not None:
            # It was asked of the run that was lost. What an open act did nobody knows.
            if record.checkpoint.begun:
                return Lost()
            self.notice_stop(stop)
        self.said.bring_up_to_date(goes_on=self.said.resumed or bool(self.approved_calls))
        pump = asyncio.create_task(self.watch.adapter(self.run, self._pump))
        pump.add_done_callback(lambda _: self._signal.set())
        settings = self.agent.settings
        pace = settings.text_interval
        often = min(settings.flush_interval, max(pace or math.inf, _SOONEST_TEXT))
        interval = min(often, settings.lease_seconds / 6)
        keeping = self._keeper.keep(self, interval, self._signal.set, text_interval=pace)
        self.stream.pipe.on_detach = self._signal.set
        try:
            return await self._supervise(pump)
        except asyncio.CancelledError:
            # Whoever ends the run's own task: what was said so far is kept all the same.
            self.request_stop(force=True)
            await self._cancel(pump)
            return Stopped()
        finally:
            self.joinable = False
            self.stream.pipe.on_detach = None
            await keeping.aclose()
            if self._announcing is not None:
                self._announcing.cancel()
                await asyncio.gather(self._announcing, return_exceptions=True)

    async def _pump(self) -> None:
        self._reached = True
        items = self.agent.adapter.run(self.run)
        said, pipe, history = self.said, self.stream.pipe, self.history
        lifecycle = said.lifecycle
        followers, since = self.stream.followers, 0
        run = self.run
        try:
            async for item in items:
                if self._abandoned:
                    # It was cancelled and goes on all the same: nobody listens any more.
                    if isinstance(item, Pause) and item.held:
                        await close_waiting(self.agent, item.continuation, "stopped")
                    return
                if run.left is not self._noted:
                    await self._note()
                if not said.delivered:
                    self.watch.first_item()
                    await said.deliver()
                # Most of a stream are plain deltas, and nothing has to be awaited for them.
                if type(item) is str and item and (speaking := lifecycle.speaking) is not None:
                    message, text = speaking, clean_text(item)
                else:
                    message, text = lifecycle.spoken(item)
                if message:
                    history.add_text(message, text)
                    pipe.write(chunk := encode_text(message, text))
                    if followers:
                        self.stream.relay(chunk)
                elif (delta := lifecycle.delta(item)) is not None:
                    history.apply(delta)
                    pipe.write(chunk := encode(delta))
                    if followers:
                        self.stream.relay(chunk)
                elif isinstance(item, Pause):
                    if item.held and not self.agent.adapter.capabilities.holds:
                        raise AgentMistake("Pause.held must be False: the adapter holds nothing.")
                    self._pause = item
                    return
                elif isinstance(item, Handoff):
                    self._calls.handoff = item
                    return
                elif isinstance(item, Checkpoint):
                    check_size(self.agent, item.continuation)
                    await said.reach(item)
                else:
                    await said.emit(lifecycle.feed(item))
                since += 1
                if pipe.full or followers:
                    await self.stream.drained()
                if since >= _BURST or pipe.detached:
                    # An agent that never suspends must not keep the loop, nor its own reader;
                    # and nothing else holds one back whose reader is gone.
                    since = 0
                    await asyncio.sleep(0)
        except SystemExit as error:
            # Let through, it would end the whole server.
            raise AgentMistake("the agent called sys.exit()") from error
        finally:
            await close_items(items)
        await said.deliver()

    async def _note(self) -> None:
        """Store what the run leaves before it says anything more: lost, it could not tell.

        What it takes away stays until its end is stored: lost, it would leave nothing.
        """
        self._noted = self._owed = self.run.left
        if self._owed is not None:
            # Nothing fails over a note, which comes with the next write then, or with the end.
            with contextlib.suppress(StoreUnavailable):
                await self.write()

    # --- beside it ---

    async def _supervise(self, pump: asyncio.Task[None]) -> Ending:
        """Wait for the adapter's end, or bring it about."""
        cancel_at: float | None = None
        while not pump.done():
            if self.owner.lost:
                await self._cancel(pump)
                return Lost()
            self._heed_client()
            if self.run.stop.requested and cancel_at is None:
                cancel_at = self._keeper.clock.monotonic() + self._stop_timeout
            if cancel_at is not None and self._patience_is_over(cancel_at):
                self.run.stop.request(force=True)
                await self._cancel(pump)
                break
            self._signal.clear()
            if not pump.done():
                # The keeper tells when the lease is over.
                if cancel_at is None:
                    await self._signal.wait()
                else:
                    left = max(0.0, cancel_at - self._keeper.clock.monotonic())
                    await self._signal.wait_until(self._keeper.clock, left)
                self.owner.notice_expiry()
        return self._ending(pump)

    def _heed_client(self) -> None:
        """Stop the run when its last listener went away, if that is its surface's policy.

        Never between an approval and its result: what was approved is carried out.
        """
        if not self.listeners.deserted or self._announcing or self.approved_calls:
            return
        self.request_stop(force=False)
        self._announcing = asyncio.create_task(self._announce_stop())

    async def _announce_stop(self) -> None:
        # So that the next input, which may be here already, waits for the end.
        with contextlib.suppress(StoreUnavailable):
            await self.owner.announce_stop(self._stop_timeout)

    def _patience_is_over(self, cancel_at: float) -> bool:
        """Whether a run that is to stop is cancelled now: nothing else would make it end."""
        stops_itself = self.agent.adapter.capabilities.stop
        late = self._keeper.clock.monotonic() >= cancel_at
        return self.run.stop.force or not stops_itself or late

    async def _cancel(self, pump: asyncio.Task[None]) -> None:
        self._abandoned = True
        pump.cancel()
        done, _ = await asyncio.wait({pump}, timeout=self.agent.settings.cancel_grace)
        if not done:
            # The thread goes on without it: it may do nothing more in its name.
            self.run.check_lease = _left_behind
            logger.warning("the agent does not end when cancelled; it is left behind")

    # --- how the adapter ended ---

    def _ending(self, pump: asyncio.Task[None]) -> Ending:
        if not pump.done() or (pump.cancelled() and self.run.stop.requested):
            return Stopped()
        error = asyncio.CancelledError() if pump.cancelled() else pump.exception()
        if isinstance(error, Fenced) or self.owner.lost:
            return Lost()
        if error is None:
            return Stopped() if self.run.stop.requested else Finished()
        self._heard = self.said.delivered or not isinstance(error, NotDelivered)
        if isinstance(error, StoreUnavailable):
            logger.error("the store did not answer in time")
            return Lost("STORE_UNAVAILABLE")
        if self.run.stop.requested:
            # What breaks while an agent is made to stop does not make the stop a failure.
            if not isinstance(error, NotDelivered):
                logger.warning("the agent raised an error while it stopped", exc_info=error)
            return Stopped()
        if self.said.resumed and not self._heard:
            return Undelivered(str(error))
        return failure_of(error)


def _left_behind() -> None:
    raise Fenced("this run was stopped; it may do nothing more")
