"""What earlier versions write and announce.

A version from before servers noted themselves writes records without a format. One from before
processes listened on channels of their own announces every change to all, and names itself in no
lease.

That version itself was run beside this one by hand. Here its records are written by this version's
own stores, of which only the text of a record, and what the store in memory keeps, is as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import RECORD_FORMAT, StopRequest
from agui_bridge.stores import codec, commit_rules
from agui_bridge.stores.announcements import EVERYBODY, Announcements, is_on_the_way
from agui_bridge.stores.base import Expected, Renewed
from agui_bridge.stores.servers import Server
from agui_bridge.stores.watching import ANY_STOP

__all__ = ["AnnouncingAsBefore", "writing_as_before"]


class AnnouncingAsBefore(Announcements):
    """What a process announces and hears that listens on the channel of all, and on no other."""

    SERVER = Server("0b5e55ed", "0.1.0", RECORD_FORMAT)

    @classmethod
    def within(cls, store: Any) -> None:
        """Have a store in PostgreSQL or Redis announce so."""
        here = store._announcements.get()
        here.__class__ = cls
        here.name = ""

    @contextmanager
    def writing(self, thread: str, change: Change, expected: Expected) -> Iterator[None]:
        try:
            yield
        finally:
            self.changed(thread, told=not is_on_the_way(change, expected))

    def renewed(self, asked: Iterable[str], seconds: float, held: Renewed) -> None:
        pass

    def looked(self, thread: str, loaded: Loaded) -> None:
        pass

    def hears_of(self, thread: str) -> bool:
        return self.alive

    def stop_requested(self, thread: str, stop: StopRequest) -> None:
        self._wakeups.notify(ANY_STOP)
        self.changed(thread)

    def changed(self, thread: str, *, told: bool = True) -> None:
        self._wakeups.notify(thread)
        if told and self._post is not None:
            self._post.tell(EVERYBODY, thread)

    def _hear(self, word: str) -> None:
        raise AssertionError(f"a process of the version before was told {word}")


@contextmanager
def writing_as_before(older: bool = True) -> Iterator[None]:
    """Write thread records as that version does within, if `older`."""
    if not older:
        yield
        return

    def encode(value: Any) -> str:
        if isinstance(value, dict):
            value = {name: it for name, it in value.items() if name != "format"}
        return json.dumps(value, separators=(",", ":"), allow_nan=False)

    with (
        mock.patch.object(codec, "encode", encode),
        mock.patch.object(commit_rules, "RECORD_FORMAT", 0),
    ):
        yield
