"""Stores the acts of one run: each before it begins, and its result before the next one begins.

Whoever takes the run up, should this process die, finds the results in the journal, and the acts
that had begun. One of these begins again only if its author says that it may, with the same key.

What is stored goes the way of all that the function says, so that both tell of the same moment.

Source: docs/contract.md, "Checkpoints".
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ag_ui.core import BaseEvent

from agui_bridge.adapters import BegunAct, Checkpoint, Run
from agui_bridge.agents.function.outbox import Outbox
from agui_bridge.agents.replay.continuation import Asking, Begun, EntryKey, Outcome
from agui_bridge.agents.replay.journal import Journal
from agui_bridge.protocol.threads.records import Json

REPLAY_PATIENCE = 10.0
"""Seconds that a replay may take to come to its next recalled call (awaits of its own)."""

_LONGEST_NAME: Final = 200


class Checkpoints:
    """The acts of one run that have begun, and how they are stored.

    Args:
        run: makes ids.
        journal: what is remembered.
        outbox: what goes to the engine, in order.
        pack: makes the continuation of the journal's entries.

    Attributes:
        wanted: whether the run has checkpoints.
    """

    def __init__(
        self,
        run: Run,
        journal: Journal,
        outbox: Outbox,
        pack: Callable[[Mapping[EntryKey, Outcome]], Json],
    ) -> None:
        """Begin with what a lost run has left."""
        self.wanted: bool = run.checkpoints
        self._run = run
        self._journal = journal
        self._outbox = outbox
        self._pack = pack
        entries = journal.entries.items()
        self._open = {key: found for key, found in entries if isinstance(found, Begun)}
        if self.wanted:
            outbox.marking = self._mark

    async def begin(
        self,
        key: EntryKey,
        known: Outcome | None,
        *,
        idempotent: bool,
        call_id: str | None,
        asking: Asking | None,
    ) -> str:
        """Have an act stored as begun.

        Args:
            key: the act's entry.
            known: what is stored of it already.
            idempotent: whether its author says that it may begin again.
            call_id: the tool call that it carries out, if any.
            asking: what that call has asked, in a later round of it.

        Returns:
            The act's own key.

        Raises:
            ReplayMismatch: the run before had made calls that this one does not come to.
        """
        if isinstance(known, Begun):
            return known.act
        begun = Begun(
            act=self._run.mint(), idempotent=idempotent, tool_call_id=call_id, asking=asking
        )
        if self.wanted:
            await self._come_to_what_was_made()
            self._open[key] = begun
            stored = asyncio.Event()
            self._outbox.put(self._mark(stored=lambda: stored.set()))
            await stored.wait()
        return begun.act

    def end(self, key: EntryKey, tell: Callable[[], None] | None = None) -> None:
        """Have stored what came of an act, as the journal has it, and what is told of that.

        Args:
            key: the act's entry.
            tell: tells it.
        """
        if not self.wanted:
            if tell is not None:
                tell()
            return
        self._open.pop(key, None)
        events = self._outbox.put_together(tell) if tell is not None else ()
        self._outbox.put(self._mark(events, has_result=True))

    def _mark(
        self,
        events: Sequence[BaseEvent | str] = (),
        *,
        has_result: bool = False,
        stored: Callable[[], None] = lambda: None,
    ) -> Checkpoint:
        standing = self._pack({**self._journal.entries, **self._open})
        begun = tuple(_as_act(key, act) for key, act in self._open.items())
        return Checkpoint(standing, begun, has_result, tuple(events), stored)

    async def _come_to_what_was_made(self) -> None:
        """Wait until every call is made again that the run before had made: none needs a new one.

        Else the function has taken another path, and what it does now is not what it did.
        """
        journal, loop = self._journal, asyncio.get_running_loop()
        left, since = journal.unvisited, loop.time()
        while journal.replaying:
            if journal.unvisited != left:
                left, since = journal.unvisited, loop.time()
            elif loop.time() - since >= REPLAY_PATIENCE:
                mismatch = journal.find_mismatch()
                assert mismatch is not None, "calls are left"
                raise mismatch
            await asyncio.sleep(0.01)


def _as_act(key: EntryKey, begun: Begun) -> BegunAct:
    digest = hashlib.blake2b(key.args.encode(), digest_size=16).hexdigest()
    return BegunAct(str(key)[:_LONGEST_NAME], digest, begun.act, begun.idempotent)


# --- the key of the act that is carried out ---

_KEY: Final[ContextVar[str | None]] = ContextVar("agui_bridge_act", default=None)


def idempotency_key() -> str | None:
    """The key of the step, call or tool that runs here; None outside of one.

    If an act with `idempotent=True` begins again after its process died, it has the same key: pass
    it to the service that carries the act out, such as in an `Idempotency-Key` header. It works in
    async functions, in sync ones that run in a thread, and in what these call.
    """
    return _KEY.get()


@contextmanager
def carrying_out(act: str) -> Iterator[None]:
    """Have `idempotency_key` tell the key of an act."""
    token = _KEY.set(act)
    try:
        yield
    finally:
        _KEY.reset(token)
