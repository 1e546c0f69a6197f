"""Frameworks that call the bridge back: what they tell of a thread, and what adapters make of it.

A workflow tool answers its start at once, and tells by requests of its own what came of it: it asks
something, it has ended. Such a request may come while the thread runs in another process, waits for
people or does nothing. So the bridge keeps it beside the thread before it acknowledges it, and the
thread's adapter hears it: in the run that waits for it, or in one that nobody asks for.

Source: docs/contract.md, "Callbacks".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from agui_bridge.protocol.threads.records import Json

LONGEST: Final = 64 * 1024
"""Bytes of a callback's body: more is not read of what nobody has signed in for."""

Standing = Literal["new", "heard", "over"]
"""Of a callback: a run is to hear it, a run has heard it, or nothing waits for it (any more)."""


@dataclass(frozen=True, slots=True)
class Callback:
    """What a framework told of a thread, once its adapter has found it genuine.

    Attributes:
        scope: the thread's.
        thread: its id.
        id: the same again is the same callback.
        body: what the adapter wants to have of it, as plain JSON.
    """

    scope: str
    thread: str
    id: str
    body: Json


class Callbacks(Protocol):
    """What was told of one thread and is kept for it."""

    async def first(
        self, wanted: Callable[[Callback], bool], seconds: float = 0.0
    ) -> Callback | None:
        """The first callback that is wanted, oldest first; None where none came in time.

        Args:
            wanted: says of each whether it is.
            seconds: how long one is waited for.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        ...


class CalledBack(Protocol):
    """An adapter whose framework calls back: `capabilities.called_back`, and `looks` besides.

    The bridge takes `POST /agents/{agent}/callbacks/{token}`, whoever sends it. The token is the
    adapter's own: it made it, and finds the thread by it.
    """

    def read_callback(
        self, agent: str, token: str, headers: Mapping[str, str], body: bytes, now: float
    ) -> Callback:
        """Read a request, and make certain that it is genuine.

        Args:
            agent: the agent's name.
            token: the last part of the path.
            headers: the request's.
            body: as it came.
            now: seconds since the epoch.

        Raises:
            Refused: it is not genuine, or makes no sense. Nothing changes.
        """
        ...

    def judge_callback(self, left: Json, callback: Callback) -> Standing:
        """Say whether work that a run has left waits for a callback; a pure function.

        Args:
            left: what the thread's last run has set as `Run.left`.
            callback: as `read_callback` gave it.
        """
        ...
