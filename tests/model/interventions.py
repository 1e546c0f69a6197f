"""What comes between a thread and its clients: stops, deletions, the sweeper."""

from __future__ import annotations

from agui_bridge.errors import Conflict
from agui_bridge.protocol.contract.lost_transitions import recover
from agui_bridge.protocol.contract.requests import Request
from agui_bridge.protocol.contract.transitions import (
    Change,
    close_unanswered,
    end_watch,
    look,
)
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import Watch
from agui_bridge.protocol.threads.records import Principal, StopRequest, ThreadStatus
from agui_bridge.stores.base import ABSENT, Expected
from tests.model.operations import Commit, Delete, Load, Process, RequestStop, Wait
from tests.model.watches import note_look
from tests.model.world import KEY, World

__all__ = ["Interventions"]


class Interventions:
    """The part of an engine that ends things. Each method that is a process may be stepped."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.woken: list[Request] = []

    # --- what the broken variants override ---

    def recover(self, loaded: Loaded) -> Change:
        """Make the thread of a lost run idle."""
        return recover(loaded)

    def close_stopped(self, loaded: Loaded) -> Change | None:
        """Close an interrupted thread's batch because of a stop."""
        return close_unanswered(loaded, "stopped", "stopper")

    def end_watch(self, loaded: Loaded) -> Change | None:
        """Look no more after what an idle thread has left, because of a stop."""
        return end_watch(loaded)

    def claims_looks(self) -> bool:
        """Whether a look is claimed before it is taken."""
        return True

    def wakes(self) -> bool:
        """Whether the sweeper has a run go on that slept."""
        return True

    def time_has_come(self, loaded: Loaded) -> Request:
        """What comes in nobody's name where the time of a run has come that sleeps."""
        askers = loaded.record.askers if loaded.record is not None else ()
        who = Principal(KEY.scope, askers[0]) if askers else Principal(KEY.scope)
        return Request(
            brings=False,
            ends_with_input=False,
            acts_on_state=True,
            wakes=True,
            principal=who,
        )

    def kept(self, claim: Change) -> Change:
        """A claim, with what another process needs to take its run up, if it may."""
        return claim

    def somebody_finds_it_lost(self) -> Request:
        """What comes in nobody's name where a run is lost that can be taken up."""
        return Request(brings=False, ends_with_input=False, takes_up=True)

    def go_on(self, loaded: Loaded, request: Request) -> Process:
        """Take a lost run up, and carry it out from where it stands."""
        raise NotImplementedError

    def _look(self, loaded: Loaded, watch: Watch) -> Process:
        """Look after what a run has left; there is always something to ask."""
        if self.claims_looks():
            yield self._commit(loaded, look(loaded), "look")
        if loaded.now >= watch.until:
            return "looked for the last time"
        note_look(self.world.ledger.looks, watch)
        who = Principal(KEY.scope, watch.askers[0])
        return (yield from self.answer(Request(brings=False, looks=True, principal=who)))

    def answer(self, request: Request) -> Process:
        """Carry an input out."""
        raise NotImplementedError

    def _commit(self, loaded: Loaded, change: Change, why: str, *, blind: bool = False) -> Commit:
        expected = Expected(version=loaded.record.version) if loaded.record else ABSENT
        return Commit(change, expected, self.world.mint("w"), why, blind=blind)

    # --- stop, delete, sweep ---

    def stop(self, force: bool) -> Process:
        """Stop what the thread does, and wait until it is over."""
        token: str | None = None
        while True:
            loaded = yield Load()
            record = loaded.record
            if record is None:
                return "no such thread"
            ended = record.ended
            if token is not None and not (record.run is not None and record.run.token == token):
                if ended is not None and ended.token == token and ended.outcome == "stopped":
                    self.world.ledger.stopped_runs.add(token)
                    return "stopped"
                return "ended otherwise"
            try:
                if loaded.run_lost and loaded.way_on is None:
                    yield self._commit(loaded, self.recover(loaded), "recover")
                elif record.run is not None:
                    token = record.run.token
                    yield RequestStop(StopRequest(token, force, loaded.now + 30.0, "stopper"))
                    if loaded.run_lost:
                        self.woken.append(self.somebody_finds_it_lost())
                    yield Wait()
                elif loaded.status is ThreadStatus.INTERRUPTED:
                    change = self.close_stopped(loaded)
                    if change is not None:
                        yield self._commit(loaded, change, "stop")
                    asks = {ask.id for ask in loaded.batch_interrupts()}
                    self.world.ledger.stopped_asks |= asks
                    return "stopped"
                elif record.watch is not None:
                    change = self.end_watch(loaded)
                    if change is not None:
                        yield self._commit(loaded, change, "stop")
                    self.world.ledger.dropped.add(record.watch.note)
                    return "stopped"
                else:
                    return "nothing to stop"
            except Conflict:
                continue

    def delete(self) -> Process:
        """Delete the thread; what it runs is stopped first."""
        while True:
            loaded = yield Load()
            record = loaded.record
            if record is None:
                return "deleted"
            try:
                if record.run is None:
                    yield Delete(Expected(version=record.version))
                elif loaded.run_lost and loaded.way_on is None:
                    yield self._commit(loaded, self.recover(loaded), "recover")
                else:
                    yield RequestStop(StopRequest(record.run.token, True, loaded.now, "deleter"))
                    if loaded.run_lost:
                        self.woken.append(self.somebody_finds_it_lost())
                    yield Wait()
            except Conflict:
                continue

    def sweep(self) -> Process:
        """Look once for a lost run, an expired batch, or what a run has left."""
        loaded = yield Load()
        record, asks = loaded.record, loaded.batch_interrupts()
        try:
            if record is None:
                return "nothing"
            if loaded.look_is_due and record.watch is not None:
                return (yield from self._look(loaded, record.watch))
            if loaded.timer_due and self.wakes():
                return (yield from self.answer(self.time_has_come(loaded)))
            if loaded.way_on == "now":
                return (yield from self.answer(self.somebody_finds_it_lost()))
            if loaded.run_lost and loaded.way_on is None:
                yield self._commit(loaded, self.recover(loaded), "recover")
            elif loaded.status is ThreadStatus.INTERRUPTED and all(
                ask.expired(loaded.now) for ask in asks
            ):
                yield self._commit(loaded, close_unanswered(loaded, "expired", "b"), "expire")
        except Conflict:
            return "somebody was first"
        return "swept"
