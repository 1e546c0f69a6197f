"""What comes between a thread and its clients: stops, deletions, the sweeper."""

from __future__ import annotations

from agui_bridge.errors import Conflict
from agui_bridge.protocol.contract.transitions import Change, close_unanswered, recover
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import StopRequest, ThreadStatus
from agui_bridge.stores.base import ABSENT, Expected
from tests.model.operations import Commit, Delete, Load, Process, RequestStop, Wait
from tests.model.world import World

__all__ = ["Interventions"]


class Interventions:
    """The part of an engine that ends things. Each method that is a process may be stepped."""

    def __init__(self, world: World) -> None:
        self.world = world

    # --- what the broken variants override ---

    def recover(self, loaded: Loaded) -> Change:
        """Make the thread of a lost run idle."""
        return recover(loaded)

    def close_stopped(self, loaded: Loaded) -> Change | None:
        """Close an interrupted thread's batch because of a stop."""
        return close_unanswered(loaded, "stopped", "stopper")

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
                if record.run is not None and record.run.ends_at <= loaded.now:
                    yield self._commit(loaded, self.recover(loaded), "recover")
                elif record.run is not None:
                    token = record.run.token
                    yield RequestStop(StopRequest(token, force, loaded.now + 30.0, "stopper"))
                    yield Wait()
                elif loaded.status is ThreadStatus.INTERRUPTED:
                    change = self.close_stopped(loaded)
                    if change is not None:
                        yield self._commit(loaded, change, "stop")
                    asks = {ask.id for ask in loaded.batch_interrupts()}
                    self.world.ledger.stopped_asks |= asks
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
                elif record.run.ends_at <= loaded.now:
                    yield self._commit(loaded, self.recover(loaded), "recover")
                else:
                    yield RequestStop(StopRequest(record.run.token, True, loaded.now, "deleter"))
                    yield Wait()
            except Conflict:
                continue

    def sweep(self) -> Process:
        """Look once for a lost run or an expired batch."""
        loaded = yield Load()
        record, asks = loaded.record, loaded.batch_interrupts()
        try:
            if record is None:
                return "nothing"
            if record.run is not None and record.run.ends_at <= loaded.now:
                yield self._commit(loaded, self.recover(loaded), "recover")
            elif loaded.status is ThreadStatus.INTERRUPTED and all(
                ask.expired(loaded.now) for ask in asks
            ):
                yield self._commit(loaded, close_unanswered(loaded, "expired", "b"), "expire")
        except Conflict:
            return "somebody was first"
        return "swept"
