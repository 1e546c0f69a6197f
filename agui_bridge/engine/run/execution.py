"""One claimed run, from the claim to its end.

The run is its own task and outlives its connection. It drives the adapter (`_pump`),
and looks after stops, disconnects and lost leases (`_supervise`); a `Keeper` keeps the lease and
the store up to date. Whatever happens, it ends by telling the store first and the client second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Handoff, Pause, Run, close_items
from agui_bridge.engine.input.agent import Agent
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.observing.telemetry import InputTelemetry
from agui_bridge.engine.run.claim import Claim, Opening
from agui_bridge.engine.run.context import Context
from agui_bridge.engine.run.decided_calls import DecidedCalls
from agui_bridge.engine.run.ending_after import ending_after
from agui_bridge.engine.run.keeper import Keeper
from agui_bridge.engine.run.leases import Owner
from agui_bridge.engine.run.listeners import Listeners
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.folding import fold
from agui_bridge.engine.streaming.signal import Signal
from agui_bridge.errors import (
    AgentMistake,
    Fenced,
    NotDelivered,
    StoreUnavailable,
)
from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.contract.transitions import Change, flush
from agui_bridge.protocol.json_values import WireEvent, clean_text
from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge.protocol.threads.history import History, StoredMessage
from agui_bridge.protocol.threads.records import Interrupt, StopRequest, ThreadRecord
from agui_bridge.protocol.threads.run_ends import Ending, Lost, Stopped
from agui_bridge.protocol.wire.run_events import messages_snapshot, state_snapshot
from agui_bridge.protocol.wire.sse import encode, encode_text

__all__ = ["Execution"]

logger: Final = logging.getLogger("agui_bridge")

_BURST = 256
"""Items of an agent that never suspends, before others have their turn: a millisecond's worth."""


_SOONEST_TEXT = 0.1
"""Seconds between two looks at what a run is saying, at least: all of the process look then."""


class Execution:
    """Carries out one run.

    Attributes:
        agent: who answers.
        owner: the lease and the owner's writes.
        run: what the adapter sees.
        history: the thread's messages and state as the run changes them.
        lifecycle: the order of the run's events.
        claimed: the interrupts that this run carries out, by id, as last written.
        decisions: what was decided on them, by interrupt id.
        calls: what was approved and is to be carried out.
        context: what of the conversation the agent is sent.
        partial: text of a message that a stop cut off.
        listeners: who wants to see its end.
        over: set once the run's end is stored (or can't be).
        joinable: whether others may still follow its stream: its end is not being made.
        unsent: a result of the history that the stream has not told yet.
        goes_on: the input that carries its pause on, where nobody has to answer it.
        opening: what the client is told first.
        heard: whether the agent has got what the run brings, as far as one can tell.
    """

    def __init__(
        self,
        submission: Submission,
        owner: Owner,
        stream: EventStream,
        run: Run,
        claim: Claim,
        *,
        keeper: Keeper,
        watch: InputTelemetry,
    ) -> None:
        self.agent: Agent = submission.agent
        self.watch = watch
        self.owner = owner
        self.stream = stream
        self.run = run
        self.history: History = claim.history
        self.claimed: dict[str, Interrupt] = dict(claim.interrupts)
        self.decisions: Mapping[str, Decision] = claim.decisions
        self.partial: str | None = None
        self.over: Signal = Signal()
        self.joinable: bool = True
        self.unsent: WireEvent | None = None
        self.heard: bool = True
        self.goes_on: Submission | None = None
        self.pause: Pause | None = None
        self.handoff: Handoff | None = None
        messages = self.history.messages
        self.lifecycle: Lifecycle = Lifecycle(
            owner.mint,
            known_calls=self.history.calls.ids,
            settled_calls=self.history.calls.answered,
            known_messages=self.history.ids,
            known_activities=[m["id"] for m in messages if m["role"] == "activity"],
            relayed=self._relayed,
        )
        # What others have is not kept again: with more than 29 attributes each execution would
        # have a dict of its own, of 1.5 KB.
        self._keeper = keeper
        self.opening: Opening = claim.opening
        self.context: Context = claim.context
        self._told_state = self._delivered = self._abandoned = self._reached = False
        self.calls: DecidedCalls = DecidedCalls(claim.asked_about, claim.carried, claim.decisions)
        self._signal = Signal()
        self.listeners: Listeners = Listeners(
            stream.pipe, submission.on_disconnect, self._signal.set
        )
        self._announcing: asyncio.Task[None] | None = None
        self._stop_timeout = self.agent.settings.stop_timeout

    # --- from outside ---

    def request_stop(self, *, force: bool, timeout: float | None = None) -> None:
        """Ask the run to end: gracefully within `timeout` seconds, or at once."""
        if timeout is not None:
            self._stop_timeout = timeout
        self.run.stop.request(force=force, timeout=self._stop_timeout)
        self.stream.release()
        self._signal.set()

    @property
    def approved_calls(self) -> tuple[str, ...]:
        """Ids of the calls that were approved, are this run's to carry out, and have no result."""
        goes_on = self.resumed or self.run.handoff is not None
        return (*self.calls.approved, *self.calls.carried) if goes_on else ()

    def never_begun(self) -> frozenset[str]:
        """Ids of the calls without a result that certainly nobody began to carry out.

        The agent says so of them, they were cut off before their arguments were complete, or
        were approved for an agent that this run never came to.
        """
        cut_off = (call.id for call in self.lifecycle.unanswered if call.cut_off)
        unreached = () if self._reached else self.calls.approved
        return frozenset((*self.run.not_begun, *cut_off, *unreached))

    @property
    def _relayed(self) -> bool:
        return self.agent.adapter.capabilities.relays

    @property
    def resumed(self) -> bool:
        """Whether this run carries out the answers to a pause."""
        return bool(self.claimed)

    # --- the whole of it ---

    async def carry_out(self) -> Ending:
        """Run to the end, and give how it ended. Never raises for what the agent does."""
        self.stream.begin()
        self._bring_up_to_date()
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

    def _bring_up_to_date(self) -> None:
        """Show the conversation first where the client can't know what this run builds on.

        Results that were supplied come after it as events: a client puts an event's result
        behind its call, but what a snapshot adds at the end of its list.
        """
        opening = self.opening
        if opening.level and not (self.resumed or opening.repairs or self.approved_calls):
            return
        supplied = {event.get("messageId") for event in opening.repairs}
        if opening.told_alone is not None:
            alone = self.history.messages[: opening.told_alone]
            self.stream.send(messages_snapshot([m for m in alone if m["id"] not in supplied]))
        known = [m for m in self.history.messages if m["id"] not in supplied]
        self.stream.snapshots(self.history.state, known)
        self._told_state = True
        for event in opening.repairs:
            self.stream.send(event)

    # --- the adapter's items ---

    async def _pump(self) -> None:
        self._reached = True
        items = self.agent.adapter.run(self.run)
        pipe, lifecycle, history = self.stream.pipe, self.lifecycle, self.history
        followers, since = self.stream.followers, 0
        try:
            async for item in items:
                if self._abandoned:
                    # It was cancelled and goes on all the same: nobody listens any more.
                    return
                if not self._delivered:
                    self.watch.first_item()
                    await self.deliver()
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
                    self.pause = item
                    return
                elif isinstance(item, Handoff):
                    self.handoff = item
                    return
                else:
                    for event in lifecycle.feed(item):
                        await self.emit(event)
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
        await self.deliver()

    async def deliver(self) -> None:
        """The framework has the answers now: say, once, which calls will not run."""
        if self._delivered:
            return
        self._delivered = True
        for interrupt_id, decision in self.decisions.items():
            call = self.claimed[interrupt_id].tool_call
            if call is not None and not isinstance(decision, Approve):
                refusal = ToolCallResultEvent(
                    message_id=self.owner.mint(),
                    tool_call_id=call.id,
                    content=decision.text,
                    role="tool",
                )
                for event in self.lifecycle.feed(refusal):
                    await self.emit(event)

    async def emit(self, event: WireEvent) -> None:
        """Fold an event into the history and send it; a decided call's result is stored first."""
        kind, state = event["type"], self.history.state
        if not fold(event, self.history, relayed=self._relayed):
            return
        if kind == "STATE_DELTA" and not self._told_state:
            # A delta fits only the state that it was made from: the client must have that.
            self.stream.send(state_snapshot(state))
        if kind in ("STATE_DELTA", "STATE_SNAPSHOT"):
            self._told_state = True
        if kind == "TOOL_CALL_RESULT" and event["toolCallId"] in self.calls:
            self.unsent = event
            await self._settle(event["toolCallId"])
            self.unsent = None
        self.stream.send(event)

    async def _settle(self, call_id: str) -> None:
        """Store the result of an approved call, and that its interrupt is closed by it."""
        asked = self.calls.settle(call_id)
        await self.write(settled=[self.claimed[asked]] if asked is not None else ())
        # What kept a stop waiting may be over.
        self._signal.set()

    async def write(self, settled: Sequence[Interrupt] = ()) -> None:
        """Store what has finished so far.

        Raises:
            Fenced: the lease is over.
            StoreUnavailable: the store did not answer; what was to be written is kept for the
                next write.
        """
        messages: list[StoredMessage] = []

        def build(record: ThreadRecord, now: float) -> Change:
            messages.extend(self.history.take_dirty())
            change = flush(
                record,
                messages=messages,
                state=self.history.take_state(),
                settled=settled,
                now=now,
            )
            self.claimed.update({row.id: row for row in change.interrupts})
            return change

        def undo() -> None:
            self.history.put_back(messages)
            self.history.apply({"type": "STATE_SNAPSHOT", "snapshot": self.history.state})
            self.claimed.update({row.id: row for row in settled})

        await self.owner.commit(build, undo)

    # --- beside it ---

    def notice_stop(self, stop: StopRequest) -> None:
        """Heed a stop request that another process took."""
        if not self.run.stop.requested or (stop.force and not self.run.stop.force):
            timeout = max(0.0, stop.until - self.owner.time.now())
            self.request_stop(force=stop.force, timeout=timeout)

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

    # --- how it ends ---

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

    def _ending(self, pump: asyncio.Task[None]) -> Ending:
        if not pump.done() or (pump.cancelled() and self.run.stop.requested):
            return Stopped()
        error = asyncio.CancelledError() if pump.cancelled() else pump.exception()
        if isinstance(error, Fenced) or self.owner.lost:
            return Lost()
        self.heard = self._delivered or not isinstance(error, NotDelivered)
        return ending_after(
            error, stopped=self.run.stop.requested, reopens=self.resumed and not self.heard
        )


def _left_behind() -> None:
    raise Fenced("this run was stopped; it may do nothing more")
